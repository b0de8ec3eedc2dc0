// Parts of the general sparse solver that its driver puts together: a look at the input, sums over blocks, conjugate
// gradients, the direct fail-safe.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "parallel/threads.h"
#include "solvers/linear/aggregation.h"
#include "solvers/linear/sparse.h"
#include "solvers/linear/sparse_kernels.h"

namespace aegir {

/// Adds body(begin row, end row, sums) over all blocks of all ranks exactly: same bits for any threads and ranks.
template <std::size_t N, class Body>
std::array<double, N> block_sums(Comm& comm, const SparseStructure& s, Body&& body) {
  const std::size_t chunks = s.chunk.size() - 1;
  std::vector<std::array<ExactSum, N>> partial(chunks);
  parallel_for(0, chunks, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t c = begin; c < end; ++c)
      for (std::size_t b = s.chunk[c]; b < s.chunk[c + 1]; ++b) {
        double sums[N] = {};
        body(static_cast<std::size_t>(s.block[b]), static_cast<std::size_t>(s.block[b + 1]), sums);
        for (std::size_t n = 0; n < N; ++n) partial[c][n].add(sums[n]);
      }
  });
  std::array<double, N> result;
  for (std::size_t n = 0; n < N; ++n) {
    ExactSum all;
    for (const auto& p : partial) all.add(p[n]);
    result[n] = comm.sum(all);
  }
  return result;
}

/// What is wrong with a system, in a sentence; empty when nothing is. Fills |b|'s largest entry.
std::string find_trouble(Comm& comm, const SparseMatrix& a, std::span<const double> b, double& largest_b);

/// True when u·Av and v·Au differ by more than rounding for two arbitrary vectors.
bool looks_unsymmetric(Comm& comm, const SparseMatrix& a);

/// Conjugate gradients on scale·b: x and r in double precision, cycle and directions in single precision.
class SparseIteration {
 public:
  SparseIteration(Exec& exec, const SparseMatrix& a, std::span<const double> b, double scale);

  /// r = scale b - A x, evaluated anew; returns |r|².
  double evaluate(std::span<const double> x);
  /// |scale b|².
  double right_hand_side() const { return b_squared_; }
  /// Iterates until |r|² <= target holds for the true residual; says what kept it from that.
  std::string run(AggregationHierarchy& cycle, std::span<double> x, double target, int max_iterations);

  /// After trouble: goes back to the best iterate that was kept, if x is worse.
  void restore_best(std::span<double> x);

  int iterations() const { return iterations_; }
  double residual() const { return squared_; }  ///< |r|² of the last evaluation or step
  const Array<double>& r() const { return r_; }

 private:
  std::string step(AggregationHierarchy& cycle, std::span<double> x, bool fresh);
  void keep(std::span<const double> x);
  sparse::View<double> view() const;

  Exec& exec_;
  const SparseMatrix& a_;
  std::span<const double> b_;
  double scale_, b_squared_ = 0, squared_ = 0;
  double curvature_ = 0;  // p·Ap of the last step
  double kept_squared_ = 0;
  int iterations_ = 0;
  Array<double> r_, y_, whole_x_, kept_;
  Array<float> p_, single_;
};

/// Gathers the system on every rank and solves it there, with refinement until |r|² <= target; says why it could not.
std::string solve_directly(Exec& exec, const SparseMatrix& a, SparseIteration& iteration, std::span<double> x,
                           double target, const AggregationSettings& settings);

}  // namespace aegir
