// Conjugate gradients with a multigrid cycle, for any network on buckets. pressure.h and lcp.h stand on it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "domain/channel/buffer.h"
#include "domain/exec.h"
#include "solvers/linear/multigrid.h"
#include "solvers/linear/pools.h"
#include "solvers/report.h"

namespace aegir {

struct MultigridSettings;

/// A system A x = b: memory of the caller's, 512 values per bucket.
struct NetworkVectors {
  const float* rhs = nullptr;  ///< local buckets
  double* x = nullptr;         ///< with ghosts; start and result
};

/// r = b - A x in double, over the operators of a level; returns the sum of r², or of what `measure` makes of the
/// buckets when their r is there. Brings the ghosts of x. Collective.
double network_residual(Exec& exec, const Level& level, const NetworkVectors& vectors, double* r);
double network_residual(Exec& exec, const Level& level, const NetworkVectors& vectors, double* r,
                        FunctionRef<double(int bucket)> measure);

/// A network with everything that solves it, for one or several right-hand sides.
class NetworkSolver {
 public:
  /// Builds the hierarchy and finds the pools. Collective.
  NetworkSolver(Exec& exec, std::shared_ptr<const Topology> topology, std::vector<BucketShape> shapes,
                std::int64_t unknowns, TileLoader load, const Multigrid::Settings& settings);

  /// From level `first` of `base` down, where the network differs in the cells in `changed`; see Multigrid.
  /// Collective.
  NetworkSolver(Exec& exec, const NetworkSolver& base, int first, std::vector<BucketShape> shapes,
                std::span<const ChangeBox> changed, TileLoader load, const Multigrid::Settings& settings);

  /// Adds to the report's iterations and sets residual, converged, trouble and what was not compatible. Collective.
  void solve(Exec& exec, const NetworkVectors& vectors, const MultigridSettings& settings, SolveReport& report);

  /// One step of steepest descent in the cycle's metric: moves x, 512 values per bucket, towards A x = b, where r is b
  /// - A x and `size` about the size of its values. What lies outside the unknowns is not moved. Collective.
  void descend(Exec& exec, const double* r, double size, double* x);

  const Level& fine() const { return cycle_.level(0); }
  const Pools& pools() const { return pools_; }
  Multigrid& cycle() { return cycle_; }
  const Multigrid& cycle() const { return cycle_; }

 private:
  Multigrid cycle_;
  Pools pools_;
};

}  // namespace aegir
