// Bytes that ranks send each other, put together and taken apart value by value.
//
//   Parcels parcels(comm);
//   parcels.put(2, key), parcels.put(2, std::span<const float>(values));
//   for (Parcel& p : parcels.exchange()) { const auto key = p.take<Vec3i>(); const auto values = p.take_all<float>(n);
//   }
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/assert.h"
#include "parallel/comm.h"

namespace aegir {

/// Appends plain values to bytes.
template <class T>
void put_bytes(Bytes& bytes, std::span<const T> values) {
  static_assert(std::is_trivially_copyable_v<T>);
  const std::size_t at = bytes.size();
  bytes.resize(at + values.size_bytes());
  if (!values.empty()) std::memcpy(bytes.data() + at, values.data(), values.size_bytes());
}

/// Copies items of `width` bytes, picked by number, one after the other.
void pick_items(const std::byte* from, std::size_t width, std::span<const std::uint32_t> picked, std::byte* to);

/// Appends picked items to bytes.
inline void put_picked(Bytes& bytes, const void* from, std::size_t width, std::span<const std::uint32_t> picked) {
  const std::size_t at = bytes.size();
  bytes.resize(at + picked.size() * width);
  pick_items(static_cast<const std::byte*>(from), width, picked, bytes.data() + at);
}

/// What arrived from a rank, read from the front.
class Parcel {
 public:
  Parcel(int rank, Bytes bytes) : rank_(rank), bytes_(std::move(bytes)) {}
  int rank() const { return rank_; }
  bool at_end() const { return at_ == bytes_.size(); }
  void take(void* to, std::size_t size) {
    AEGIR_ASSERT(at_ + size <= bytes_.size(), "a rank sent less than was expected");
    if (size) std::memcpy(to, bytes_.data() + at_, size);
    at_ += size;
  }
  template <class T>
  T take() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    take(&value, sizeof value);
    return value;
  }
  template <class T>
  std::vector<T> take_all(std::size_t count) {
    std::vector<T> values(count);
    take(values.data(), count * sizeof(T));
    return values;
  }

 private:
  int rank_;
  Bytes bytes_;
  std::size_t at_ = 0;
};

/// One growing message per rank.
class Parcels {
 public:
  explicit Parcels(Comm& comm) : comm_(comm), bytes_(static_cast<std::size_t>(comm.size())) {}
  Bytes& to(int rank) { return bytes_[static_cast<std::size_t>(rank)]; }
  template <class T>
  void put(int rank, const T& value) {
    put_bytes(to(rank), std::span<const T>(&value, 1));
  }
  template <class T>
  void put(int rank, std::span<const T> values) {
    put_bytes(to(rank), values);
  }
  /// What arrived, in order of ranks; nothing from those that had nothing to send. Collective.
  std::vector<Parcel> exchange() {
    std::vector<Message> outgoing;
    for (int r = 0; r < comm_.size(); ++r)
      if (r != comm_.rank() && !to(r).empty()) outgoing.push_back({r, std::move(to(r))});
    std::vector<Parcel> arrived;
    // What a rank has for itself stays where it is.
    const auto add_own = [&] {
      if (!to(comm_.rank()).empty()) arrived.emplace_back(comm_.rank(), std::move(to(comm_.rank())));
      to(comm_.rank()) = {};
    };
    for (Message& m : comm_.exchange(std::move(outgoing))) {
      if (m.rank > comm_.rank()) add_own();
      arrived.emplace_back(m.rank, std::move(m.bytes));
    }
    add_own();
    return arrived;
  }

 private:
  Comm& comm_;
  std::vector<Bytes> bytes_;
};

}  // namespace aegir
