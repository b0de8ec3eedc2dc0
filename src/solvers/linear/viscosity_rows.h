// A viscosity system as an assembled sparse matrix: for the fail-safe, and for comparisons.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "solvers/linear/sparse.h"
#include "solvers/linear/viscosity_level.h"

namespace aegir {

/// The rows of one rank's unknowns: bucket by bucket, axis by axis, cell by cell.
class ViscosityRows {
 public:
  /// Numbers the unknowns of all ranks and assembles; up to 15 entries per row. Collective.
  ViscosityRows(Exec& exec, const ViscosityLevel& level);

  /// The matrix, or why there is none.
  Result<SparseMatrix> matrix(Comm& comm) const;

  /// Calls body(local row, bucket, face in it) for all unknowns of this rank, in order.
  template <class Body>
  void for_rows(const Body& body) const {
    std::size_t row = 0;
    for (const int b : level_.buckets())
      for (int f = 0; f < face_values; ++f)
        if (number_.at(b)[f] >= 0) body(row++, b, f);
  }
  std::size_t rows() const { return component_.size(); }

 private:
  void add_bucket(int b);

  const ViscosityLevel& level_;
  FaceField<std::int64_t> number_;  // global; -1 where there is no unknown
  std::vector<std::int64_t> first_{0}, column_, block_{0};
  std::vector<double> value_;
  std::vector<std::uint8_t> component_;
};

}  // namespace aegir
