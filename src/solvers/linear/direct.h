// Sparse Cholesky factorisation of a symmetric positive definite matrix (CHOLMOD), for the coarsest level of an
// iterative solver, for small systems and as its fail-safe. One process: every rank that calls it does the whole work.
//
//   Result<DirectSolver> solver = DirectSolver::factor(n, first, row, value);   // one triangle, compressed columns
//   if (!solver) return solver.error();
//   solver->solve(b, x);
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/result.h"

namespace aegir {

class DirectSolver {
 public:
  static constexpr std::int64_t default_memory_limit = std::int64_t{4} << 30;

  /// Factorises the matrix of which one triangle, diagonal included, is given: column c holds rows
  /// row[first[c] … first[c + 1]) in any order, each once. n = 0 is fine. The error says why there is no factor: an
  /// entry that is not finite, not positive definite at a column, more memory than `memory_limit` bytes needed (known
  /// before the factor is computed) or not to be had.
  static Result<DirectSolver> factor(int n, std::span<const int> first, std::span<const int> row,
                                     std::span<const double> value, std::int64_t memory_limit = default_memory_limit);

  DirectSolver(DirectSolver&&) noexcept;
  DirectSolver& operator=(DirectSolver&&) noexcept;
  ~DirectSolver();

  /// x = A⁻¹ b; b and x may be the same memory. Same b, same bits; calls from several threads wait for each other.
  void solve(std::span<const double> b, std::span<double> x) const;

  /// Rows of the matrix.
  int size() const;

  /// What the factor occupies.
  std::int64_t memory_bytes() const;

 private:
  struct Factor;
  explicit DirectSolver(std::unique_ptr<Factor> factor);
  std::unique_ptr<Factor> factor_;
};

}  // namespace aegir
