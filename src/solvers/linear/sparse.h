// General sparse symmetric positive definite systems, such as implicit viscosity: conjugate gradients preconditioned by
// smoothed aggregation (Vaněk, Mandel, Brezina 1996), with a direct solve as the fail-safe.
//
//   Result<SparseMatrix> a = SparseMatrix::from_rows(comm, {.first = first, .column = column, .value = value,
//                                                           .block = block, .component = component});
//   const SolveReport report = solve_sparse(exec, *a, b, x, {.tolerance = 1e-6});   // x: start in, solution out
//
// Rows are dealt to ranks in contiguous ranges of a global numbering that does not depend on the number of ranks, and
// in blocks (all rows of one bucket) that no rank shares. The solution has the same bits for any number of ranks and
// threads.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/result.h"
#include "domain/exec.h"
#include "solvers/linear/sparse_rows.h"
#include "solvers/report.h"

namespace aegir {

/// The rows of one rank as the caller has them; global row numbers follow the order of ranks.
struct SparseInput {
  std::span<const std::int64_t> first;   ///< where each row starts in `column` and `value`, and the end
  std::span<const std::int64_t> column;  ///< global, in any order; several entries of one column are added in order
  std::span<const double> value;
  std::span<const std::int64_t> block = {};  ///< first local row of every block, and the end; empty: rows stand alone
  std::span<const std::uint8_t> component = {};  ///< which of several coupled fields a row belongs to; empty: one
};

/// One entry of a matrix: global row (owned by the rank that gives it) and column.
struct SparseEntry {
  std::int64_t row = 0, column = 0;
  double value = 0;
};

/// A distributed symmetric matrix, both triangles, in double precision.
class SparseMatrix {
 public:
  /// Collective; fails where a column or a block does not exist.
  static Result<SparseMatrix> from_rows(Comm& comm, const SparseInput& input);

  /// The same from `rows` local rows given as entries in any order; entries of one place are added in order.
  static Result<SparseMatrix> from_entries(Comm& comm, std::int64_t rows, std::span<const SparseEntry> entries,
                                           std::span<const std::int64_t> block = {},
                                           std::span<const std::uint8_t> component = {});

  std::size_t rows() const { return structure_->count(); }
  std::int64_t global_rows() const { return structure_->rows.total(); }
  const SparseStructure& structure() const { return *structure_; }
  const std::shared_ptr<const SparseStructure>& shared_structure() const { return structure_; }
  const Array<double>& values() const { return values_; }

 private:
  std::shared_ptr<const SparseStructure> structure_;
  Array<double> values_;
};

struct AggregationSettings {
  double tolerance = 1e-5;  ///< of the true residual |b - A x| / |b|
  int max_iterations = 200;
  double strength = 0.25;               ///< couplings below this share of a row's strongest do not form aggregates
  int smoothing_degree = 2;             ///< of the Chebyshev polynomials before and after the coarse correction
  std::int64_t coarsest_rows = 500;     ///< levels up to this size are solved directly
  std::int64_t gather_rows = 5'000;     ///< levels up to this size are worked on by every rank alike
  std::int64_t direct_limit = 200'000;  ///< unknowns up to which a failure is answered with a direct solve
  std::int64_t direct_memory = std::int64_t{2} << 30;  ///< bytes that the direct solve may take
};

/// Solves A x = b from the start x; collective. Whatever the input, x stays finite and the report says what happened.
SolveReport solve_sparse(Exec& exec, const SparseMatrix& a, std::span<const double> b, std::span<double> x,
                         const AggregationSettings& settings = {});

}  // namespace aegir
