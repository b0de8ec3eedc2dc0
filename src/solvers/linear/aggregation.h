// The preconditioner of the general sparse solver: one V-cycle of smoothed aggregation in single precision.
//
//   AggregationHierarchy hierarchy(exec, matrix, settings);
//   const float* z = hierarchy.apply(r);   // z ≈ A⁻¹ r, symmetric and positive; collective
//
// Aggregates come from a distance-2 maximal independent set in an order that only the global row numbers decide, a
// coarse matrix is summed in ascending fine rows, and smoothers are polynomials in the matrix: nothing depends on ranks
// or threads. Small levels are held by every rank, which then work on them alike.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "solvers/linear/direct.h"
#include "solvers/linear/sparse.h"

namespace aegir {

/// A matrix in slices of rows, as the cycle's loops read it.
struct SlicedRows {
  Array<std::int64_t> start;
  Array<std::int32_t> column;
  Array<float> value;
  std::size_t rows = 0;
  std::size_t slices() const { return start.size() ? start.size() - 1 : 0; }
};
SlicedRows slice(const Array<std::int64_t>& first, const Array<std::int32_t>& column, const Array<float>& value);

/// One matrix of the hierarchy and the way to the next coarser one.
struct AggregationLevel {
  std::shared_ptr<const SparseStructure> structure;
  Array<float> value;
  Array<float> diagonal;          ///< per row and ghost
  Array<float> inverse_diagonal;  ///< 0 where the diagonal is not positive
  double largest = 1;             ///< bound on the eigenvalues of D⁻¹A (Gershgorin)
  double least_sum = 0;           ///< smallest (sum of a row) / diagonal
  FloatRows prolong;              ///< per row: coarse columns
  FloatRows restrict_rows;        ///< per coarse row: rows of this level, ascending
  GhostPlan prolong_ghosts, restrict_ghosts;
  SlicedRows matrix, interpolation;          ///< `value` and `prolong` again, which are dropped after the setup
  Array<float> b, x, other, step, residual;  ///< scratch of the cycle

  std::size_t rows() const { return structure->count(); }
};

/// Sums of |entries|, diagonals and bounds that the rest of the setup needs; collective.
void measure_rows(Comm& comm, AggregationLevel& level);

/// Couplings that matter, with the rest of a row added to the diagonal.
struct StrongGraph {
  FloatRows edges;        ///< without the diagonal
  Array<float> diagonal;  ///< 0 where the row needs no coarse correction
  double largest = 1;     ///< bound on the eigenvalues of the filtered D⁻¹A
};
StrongGraph strong_graph(Comm& comm, const AggregationLevel& level, double strength);

/// Which coarse row every row and ghost belongs to; -1: none.
struct Aggregates {
  RowShare share;
  Array<std::int64_t> aggregate;
  std::vector<std::int32_t> root;  ///< local row that each owned aggregate grew from, ascending
};
Aggregates form_aggregates(Comm& comm, const AggregationLevel& level, const StrongGraph& graph);

/// Smoothed prolongation, its transpose and the Galerkin matrix of the next level; nothing where that matrix would be
/// much fuller than this one (graphs without geometry); collective.
std::optional<AggregationLevel> coarsen_level(Comm& comm, AggregationLevel& fine, const StrongGraph& graph,
                                              const Aggregates& aggregates);

/// The whole matrix on every rank.
AggregationLevel gather_level(Comm& comm, const AggregationLevel& level);

class AggregationHierarchy {
 public:
  AggregationHierarchy(Exec& exec, const SparseMatrix& matrix, const AggregationSettings& settings);

  /// One V-cycle from zero: z for this rank's rows r, valid until the next call.
  const float* apply(const float* r);

  std::size_t levels() const { return levels_.size(); }
  /// Entries of all matrices together over those of the finest, on this rank.
  double operator_complexity() const;
  /// What one cycle moves at least, in bytes, on this rank.
  std::int64_t cycle_bytes() const;

 private:
  void build();
  bool factor_coarsest();
  void cycle(std::size_t l, const float* b);  // leaves the result in the level's x
  void solve_coarsest(std::size_t l, const float* b);
  const float* whole_vector(const float* mine);
  Comm& comm(std::size_t l) { return l >= gathered_from_ ? *single_ : comm_; }
  void smooth(std::size_t l, const float* b, bool from_zero, int degree, double lowest);

  Comm& comm_;
  std::unique_ptr<Comm> single_ = make_single_comm();
  AggregationSettings settings_;
  std::vector<AggregationLevel> levels_;
  std::size_t gathered_from_ = SIZE_MAX;  ///< levels from here on are whole on every rank
  RowShare gathered_share_;               ///< who owned the rows of the first of them
  std::vector<float> gathered_b_;
  std::optional<DirectSolver> direct_;
  std::vector<double> direct_b_, direct_x_;
  int coarsest_degree_ = 4;
  double coarsest_lowest_ = 0.1;
};

}  // namespace aegir
