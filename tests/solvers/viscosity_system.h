// The implicit viscosity system of staggered velocities, assembled: a general symmetric positive definite matrix.
//
//   const SystemRows rows = viscosity_system(70);   // 1.01 M unknowns
#pragma once

#include <cstdint>
#include <vector>

namespace aegir {

/// The rows that one rank owns of a system A x = b, in compressed rows with global columns, ascending in each row.
struct SystemRows {
  std::int64_t global_rows = 0;
  std::int64_t first_row = 0;       ///< global number of the first row held here
  std::vector<std::int64_t> first;  ///< where each row starts in `column` and `value`, and the end
  std::vector<std::int64_t> column;
  std::vector<double> value;
  std::vector<double> rhs;
  std::vector<std::uint8_t> component;  ///< 0, 1, 2: the axis of each row's velocity
  std::vector<std::int64_t> block;      ///< first local row of each bucket's block, and the end
  std::int64_t rows() const { return static_cast<std::int64_t>(rhs.size()); }
};

/// u - dt div(mu (grad u + grad uᵀ)) = u* in a box of n³ cells with u = 0 on and beyond its sides, the variational form
/// of Batty & Bridson 2008: 15 entries per row, dt mu / (rho h²) from 1 to 100 in smooth waves. Rows are numbered
/// bucket by bucket along the curve, in a bucket cell by cell, components together; ranks hold equal shares of buckets.
SystemRows viscosity_system(int n, int rank = 0, int ranks = 1);

}  // namespace aegir
