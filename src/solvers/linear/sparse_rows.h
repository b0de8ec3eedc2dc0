// Rows of a sparse matrix dealt to ranks, and what a rank needs of other ranks' rows.
//
//   RowShare share = share_rows(comm, my_rows);             // rank r owns a contiguous range of global rows
//   GhostPlan plan(comm, share, columns_of_other_ranks);    // ascending global numbers
//   plan.fill(comm, x);                                     // x: my rows, then the ghosts in the plan's order
//
// Locally a row or column is an int32: first the owned ones, then the ghosts in ascending global order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "domain/channel/buffer.h"
#include "parallel/comm.h"

namespace aegir {

/// A fixed-size array of plain values that are not initialised, in huge pages.
template <class T>
class Array {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Array() = default;
  explicit Array(std::size_t size) { resize(size); }
  /// What was there is lost.
  void resize(std::size_t size) { buffer_.reserve(size * sizeof(T), 0), size_ = size; }
  void fill(T value) { std::fill(begin(), end(), value); }
  std::size_t size() const { return size_; }
  T* data() { return reinterpret_cast<T*>(buffer_.data()); }
  const T* data() const { return reinterpret_cast<const T*>(buffer_.data()); }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  T& operator[](std::size_t i) { return data()[i]; }
  const T& operator[](std::size_t i) const { return data()[i]; }

 private:
  Buffer buffer_;
  std::size_t size_ = 0;
};

/// Which global rows each rank owns.
struct RowShare {
  std::vector<std::int64_t> start{0, 0};  ///< first row of every rank, and the end
  int rank = 0;

  std::int64_t first() const { return start[static_cast<std::size_t>(rank)]; }
  std::int64_t end() const { return start[static_cast<std::size_t>(rank) + 1]; }
  std::size_t count() const { return static_cast<std::size_t>(end() - first()); }
  std::int64_t total() const { return start.back(); }
  bool owns(std::int64_t row) const { return row >= first() && row < end(); }
  int owner(std::int64_t row) const {
    return static_cast<int>(std::upper_bound(start.begin(), start.end(), row) - start.begin()) - 1;
  }
};

/// Rank r owns the next mine(r) rows; collective.
RowShare share_rows(Comm& comm, std::int64_t mine);

/// Compressed rows with local columns.
struct FloatRows {
  Array<std::int64_t> first;  ///< where each row starts, and the end
  Array<std::int32_t> column;
  Array<float> value;
  std::size_t rows() const { return first.size() ? first.size() - 1 : 0; }
};

/// Rows of other ranks, with global columns.
struct GhostRows {
  std::vector<std::int64_t> first{0}, column;
  std::vector<float> value;
};

/// Brings values of other ranks' rows here.
class GhostPlan {
 public:
  GhostPlan() = default;
  /// `ghosts`: ascending, none owned; collective.
  GhostPlan(Comm& comm, const RowShare& share, std::vector<std::int64_t> ghosts);

  std::size_t owned() const { return owned_; }
  std::size_t size() const { return owned_ + ghosts_.size(); }
  const std::vector<std::int64_t>& ghosts() const { return ghosts_; }
  std::int32_t local(std::int64_t global) const {
    if (global >= first_ && global < first_ + static_cast<std::int64_t>(owned_))
      return static_cast<std::int32_t>(global - first_);
    return static_cast<std::int32_t>(static_cast<std::int64_t>(owned_) +
                                     (std::lower_bound(ghosts_.begin(), ghosts_.end(), global) - ghosts_.begin()));
  }
  std::int64_t global(std::int32_t local) const {
    const auto l = static_cast<std::size_t>(local);
    return l < owned_ ? first_ + local : ghosts_[l - owned_];
  }

  /// Fills values[owned() … size()) from their owners; collective.
  template <class T>
  void fill(Comm& comm, T* values) const {
    static_assert(std::is_trivially_copyable_v<T>);
    if (comm.size() > 1) fill(comm, reinterpret_cast<std::byte*>(values), sizeof(T));
  }

  /// The ghosts' rows of a matrix, from their owners; `columns` names the matrix's columns; collective.
  GhostRows fetch(Comm& comm, const FloatRows& matrix, const GhostPlan& columns) const;

 private:
  void fill(Comm& comm, std::byte* values, std::size_t size) const;

  struct Outgoing {
    int rank;
    std::vector<std::int32_t> rows;
  };
  struct Incoming {
    int rank;
    std::size_t begin, count;  // in ghosts_
  };
  std::int64_t first_ = 0;
  std::size_t owned_ = 0;
  std::vector<std::int64_t> ghosts_;
  std::vector<Outgoing> outgoing_;
  std::vector<Incoming> incoming_;
};

/// Sorted, each once.
void sort_unique_rows(std::vector<std::int64_t>& rows);

/// What a matrix is without its values; shared by the double matrix and its single precision copy.
struct SparseStructure {
  RowShare rows;
  GhostPlan ghosts;
  Array<std::int64_t> first;  ///< where each row starts, and the end
  Array<std::int32_t> column;
  std::vector<std::int64_t> block;      ///< first local row of every block, and the end
  std::vector<std::uint8_t> component;  ///< per local row and ghost; empty when there is one component
  std::vector<std::size_t> chunk;       ///< first block of every piece of work for a thread, and the end
  std::size_t count() const { return rows.count(); }
};

/// Cuts the blocks into pieces of work.
void cut_chunks(SparseStructure& structure);

}  // namespace aegir
