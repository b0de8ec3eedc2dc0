// An LCP on one level of a hierarchy, solved by rounds of projected sweeps and solves on the free cells.
#pragma once

#include <memory>

#include "solvers/lcp/held_network.h"
#include "solvers/lcp/lcp.h"
#include "solvers/linear/network_solve.h"

namespace aegir {

/// What an LCP is made of: a level of the hierarchy without bounds, which has kept its networks; how to load the
/// network of that level; 512 values per bucket of the rest.
struct LcpProblem {
  const NetworkSolver& solver;
  int level = 0;
  TileLoader load;
  const float* rhs = nullptr;
  const float* bound = nullptr;
  double* x = nullptr;           ///< with ghosts
  const Pools* pools = nullptr;  ///< closed pools without a bound: what they cannot meet is left out of the residual
};

/// One LCP on its way.
class ActiveSet {
 public:
  ActiveSet(Exec& exec, const LcpProblem& problem, const LcpSettings& settings);

  /// Makes x feasible and sets the report's residual. Collective.
  double begin(SolveReport& report);
  /// Brings x to `tolerance`, after begin(); adds to the report's iterations and sets its residual. Collective.
  void run(SolveReport& report, double tolerance);

 private:
  std::size_t at(int b) const { return static_cast<std::size_t>(b) * bucket_cells; }
  double* x(int b) { return problem_.x + at(b); }
  double* r(int b) { return reinterpret_cast<double*>(residual_.data()) + at(b); }
  double* delta(int b) { return reinterpret_cast<double*>(delta_.data()) + at(b); }
  const float* bound(int b) const { return problem_.bound + at(b); }
  double sum(const std::vector<double>& parts);
  const float* unknowns(int b) const;
  void start(SolveReport& report);
  void start_bucket(int b);
  double defect(int b);
  double evaluate();
  void lift(int b);
  void sweep();
  void sweep_bucket(int b, int pass);
  bool hold_cells();
  void build_free();
  void solve_free(SolveReport& report, double tolerance);

  Exec& exec_;
  const LcpProblem& problem_;
  const LcpSettings& settings_;
  const Level& level_;
  const Topology& topology_;
  BucketField held_, correction_, rhs_;
  PooledBuffer residual_, delta_;
  std::vector<std::uint8_t> bounded_;  // buckets with any bound
  std::vector<double> sums_;
  double norm_ = 0;
  std::int64_t unknowns_ = 0;                // at most
  std::vector<std::int32_t> changed_;        // buckets where held_ changed last
  std::int64_t held_count_ = 0, stale_ = 0;  // cells held, and changes since free_ was built
  std::unique_ptr<NetworkSolver> free_;
};

}  // namespace aegir
