// Connected sets of unknowns, and those among them that have no free surface: there the pressure is fixed only up to a
// constant, and a right-hand side has a solution only if it sums to zero.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "domain/exec.h"
#include "solvers/linear/level.h"

namespace aegir {

/// The pools of a level; which of them are closed, and what is done about it.
class Pools {
 public:
  /// None, where nobody asks and none is closed.
  Pools() = default;
  /// Finds the pools of the finest level. Collective.
  Pools(Exec& exec, const Level& level);

  /// All of them, over all ranks, and those without a sink.
  std::int64_t count() const { return count_; }
  std::int64_t closed() const { return closed_; }

  /// These pools, but those with a cell that `exempt` names count as open. Collective.
  Pools without(Exec& exec, FunctionRef<bool(int bucket, int cell)> exempt) const;

  /// Takes the mean out of every closed pool of a field of 512 values per bucket; returns the sum of squares of what
  /// was taken. Collective.
  double remove_means(Exec& exec, double* values) const;

 private:
  using Labels = std::vector<std::uint16_t>;  // component inside the bucket by cell; none where it is one

  /// Calls visit(bucket, cell, pool) for the cells of closed pools, in order.
  template <class Visit>
  void for_closed(const Visit& visit) const;

  std::int64_t count_ = 0, closed_ = 0;
  std::vector<Labels> labels_;
  std::vector<std::int64_t> first_;  // component numbers of a bucket start here
  std::vector<std::int32_t> pool_;   // closed pool of a component, or -1
  std::vector<double> cells_;        // of each closed pool, over all ranks
};

}  // namespace aegir
