// Building compressed rows on many threads: rows are made in pieces and joined in order.
//
//   FloatRows product = build_rows<RowSum>(rows, columns, 1024, [&](std::size_t r, RowSum& sum) { sum.add(column,
//   value); … });
#pragma once

#include <cstdint>
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
  explicit RowSum(std::size_t columns) : place_(columns, -1) {}
  void add(std::int32_t column, double value) {
    std::int32_t& place = place_[static_cast<std::size_t>(column)];
    if (place >= 0) {
      value_[static_cast<std::size_t>(place)] += value;
      return;
    }
    if (size_ == column_.size()) column_.resize(2 * size_ + 64), value_.resize(2 * size_ + 64);
    place = static_cast<std::int32_t>(size_);
    column_[size_] = column, value_[size_] = value, ++size_;
  }
  void clear() {
    for (std::size_t k = 0; k < size_; ++k) place_[static_cast<std::size_t>(column_[k])] = -1;
    size_ = 0;
  }
  std::size_t size() const { return size_; }
  const std::int32_t* columns() const { return column_.data(); }
  const double* values() const { return value_.data(); }

 private:
  std::vector<std::int32_t> place_, column_;
  std::vector<double> value_;
  std::size_t size_ = 0;
};

/// Rows 0 … rows with columns below `columns`, made by body(row, list or sum) and rounded to single precision.
template <class Row, class Body>
FloatRows build_rows(std::size_t rows, std::size_t columns, std::size_t rows_per_piece, Body&& body) {
  struct Piece {
    std::vector<std::int32_t> count, column;
    std::vector<float> value;
  };
  const std::size_t pieces = (rows + rows_per_piece - 1) / rows_per_piece;
  const std::size_t at_once = 1 + pieces / (4 * static_cast<std::size_t>(current_threads()));
  std::vector<Piece> made(pieces);
  parallel_for(0, pieces, at_once, [&](std::size_t begin, std::size_t end) {
    Row sum(columns);
    for (std::size_t p = begin; p < end; ++p) {
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
    }
  });
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
