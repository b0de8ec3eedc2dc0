// Building compressed rows on many threads: rows are made in pieces and joined in order.
//
//   FloatRows product = build_rows<RowSum>(rows, columns, 1024, [&](std::size_t r, RowSum& sum) { sum.add(column,
//   value); … });
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "parallel/threads.h"
#include "solvers/linear/sparse_rows.h"

namespace aegir {

/// The entries of one row, each column given once.
class RowList {
 public:
  explicit RowList(std::size_t) {}
  void add(std::int32_t column, double value) { column_.push_back(column), value_.push_back(value); }
  void clear() { column_.clear(), value_.clear(); }
  std::size_t size() const { return column_.size(); }
  const std::int32_t* columns() const { return column_.data(); }
  const double* values() const { return value_.data(); }

 private:
  std::vector<std::int32_t> column_;
  std::vector<double> value_;
};

/// Adds up the entries of one row by column, in double precision; columns come out in the order they were first seen.
class RowSum {
 public:
  explicit RowSum(std::size_t columns)
      : place_(columns, -1), column_(new std::int32_t[columns + 1]), value_(new double[columns + 1]) {
    value_[0] = 0;
  }
  /// Adds factor times `count` entries. Without branches, as whether a column is new is as good as random: the value
  /// after the last is always zero, waiting for the next new column.
  void add(const std::int32_t* column, const float* value, std::size_t count, double factor) {
    std::int32_t* places = place_.data();
    std::int32_t* columns = column_.get();
    double* sums = value_.get();
    std::int32_t size = size_;
    for (std::size_t k = 0; k < count; ++k) {
      const std::int32_t c = column[k], known = places[c], place = known < 0 ? size : known;
      places[c] = place;
      columns[place] = c;
      sums[place] += factor * static_cast<double>(value[k]);
      size += known < 0;
      sums[size] = 0;
    }
    size_ = size;
  }
  void add(std::int32_t column, double value) {
    const float one = 1;
    add(&column, &one, 1, value);
  }
  void clear() {
    for (std::size_t k = 0; k < size(); ++k) place_[static_cast<std::size_t>(column_[k])] = -1;
    size_ = 0;
    value_[0] = 0;
  }
  std::size_t size() const { return static_cast<std::size_t>(size_); }
  const std::int32_t* columns() const { return column_.get(); }
  const double* values() const { return value_.get(); }

 private:
  std::vector<std::int32_t> place_;
  std::unique_ptr<std::int32_t[]> column_;  // not initialised: only as much is touched as a row needs
  std::unique_ptr<double[]> value_;
  std::int32_t size_ = 0;
};

/// Rows 0 … rows with columns below `columns`, made by body(row, list or sum) and rounded to single precision; no rows
/// at all where they would have more than `limit` entries.
template <class Row, class Body>
FloatRows build_rows(std::size_t rows, std::size_t columns, std::size_t rows_per_piece, Body&& body,
                     std::int64_t limit = INT64_MAX) {
  struct Piece {
    std::vector<std::int32_t> count, column;
    std::vector<float> value;
  };
  const std::size_t pieces = (rows + rows_per_piece - 1) / rows_per_piece;
  const std::size_t at_once = 1 + pieces / (4 * static_cast<std::size_t>(current_threads()));
  std::vector<Piece> made(pieces);
  std::atomic<std::int64_t> entries = 0;  // beyond the limit in the end, or not, whichever thread comes first
  parallel_for(0, pieces, at_once, [&](std::size_t begin, std::size_t end) {
    Row sum(columns);
    for (std::size_t p = begin; p < end; ++p) {
      if (entries > limit) return;
      Piece& piece = made[p];
      const std::size_t last = std::min(rows, (p + 1) * rows_per_piece);
      piece.count.reserve(rows_per_piece);
      for (std::size_t r = p * rows_per_piece; r < last; ++r) {
        body(r, sum);
        const std::size_t at = piece.column.size(), size = sum.size();
        piece.count.push_back(static_cast<std::int32_t>(size));
        piece.column.insert(piece.column.end(), sum.columns(), sum.columns() + size);
        piece.value.resize(at + size);
        for (std::size_t k = 0; k < size; ++k) piece.value[at + k] = static_cast<float>(sum.values()[k]);
        sum.clear();
      }
      entries += static_cast<std::int64_t>(piece.column.size());
    }
  });
  if (entries > limit) return {};
  std::vector<std::int64_t> start(pieces + 1, 0);
  for (std::size_t p = 0; p < pieces; ++p) start[p + 1] = start[p] + static_cast<std::int64_t>(made[p].column.size());
  FloatRows result{Array<std::int64_t>(rows + 1), Array<std::int32_t>(static_cast<std::size_t>(start[pieces])),
                   Array<float>(static_cast<std::size_t>(start[pieces]))};
  result.first[rows] = start[pieces];
  parallel_for(0, pieces, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t p = begin; p < end; ++p) {
      std::int64_t at = start[p];
      for (std::size_t k = 0; k < made[p].count.size(); ++k)
        result.first[p * rows_per_piece + k] = at, at += made[p].count[k];
      std::copy(made[p].column.begin(), made[p].column.end(), result.column.begin() + start[p]);
      std::copy(made[p].value.begin(), made[p].value.end(), result.value.begin() + start[p]);
      made[p] = {};
    }
  });
  return result;
}

}  // namespace aegir
