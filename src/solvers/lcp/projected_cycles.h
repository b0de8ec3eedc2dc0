// Multigrid cycles that respect bounds: the fast way to the solution of an LCP, for as long as they make progress.
//
// Every cycle starts from the true residual r = b - A x and looks for a correction c >= l - x. Relaxation on the finest
// level is projected, and what is at its bound afterwards takes no part in the coarse correction, which is that of the
// linear system [truncated multigrid: Gräser and Kornhuber 2009]. Coarse levels hold the cells that were held when they
// were built; those that have changed since only make the correction worse. Before each cycle the buckets that
// lack more than others, mostly those along walls and at the edges of what is held, are relaxed on their own.
//
//   ProjectedCycles cycles(exec, level, vectors, memory);
//   cycles.begin();
//   cycles.evaluate();
//   cycles.run(hierarchy, report, {tolerance, rounds});   // report.residual says whether it got there
#pragma once

#include <vector>

#include "solvers/lcp/held_network.h"
#include "solvers/linear/multigrid.h"
#include "solvers/report.h"

namespace aegir {

/// What the cycles work on: 512 values per bucket each.
struct BoundedVectors {
  const float* rhs = nullptr;
  const float* bound = nullptr;  ///< below no_bound: none
  double* x = nullptr;           ///< with ghosts; start and result
};

/// The cycles of one LCP without closed pools.
class ProjectedCycles {
 public:
  /// When to stop.
  struct Goal {
    double tolerance = 1e-4;
    int most_rounds = 40;
  };

  /// `level` has the operators of the whole system.
  ProjectedCycles(Exec& exec, const Level& level, const BoundedVectors& vectors, BufferPool* memory);

  /// Clears x where there is no unknown and makes it feasible elsewhere. Collective.
  void begin();
  /// |min(x - l, A x - b)| / |b|, where cells without a bound count |A x - b|. Collective.
  double evaluate();
  /// Relaxes the buckets that lack more than most; takes the residual and returns what is left of it. Collective.
  double polish(double before);
  /// Notes the cells that are at their bound and pressed against it, as of the last evaluation.
  void find_held(HeldSet& held) const;
  /// Cycles from what was evaluated last until the goal is met, or until they no longer gain much. The finest level of
  /// `cycle` has the same operators; it needs two levels. Adds to the report's iterations and sets its residual.
  /// Collective.
  void run(Multigrid& cycle, SolveReport& report, const Goal& goal);

 private:
  std::size_t at(int b) const { return static_cast<std::size_t>(b) * bucket_cells; }
  double* x(int b) { return vectors_.x + at(b); }
  double begin_bucket(int b);
  double evaluate_bucket(int b);
  void move_bucket(int b, const float* correction);
  void relax_bucket(int b);
  void exchange_x();
  double total();
  double residual();

  Exec& exec_;
  const Level& level_;
  const BoundedVectors vectors_;
  const Topology& topology_;
  BucketField correction_;             // of polish(), 0 otherwise
  BucketField residual_, least_;       // of the correction, times scale_
  std::vector<std::uint8_t> bounded_;  // buckets with any bound
  std::vector<double> sums_;           // by bucket: the square of what it lacks to complementarity
  double norm_ = 0, scale_ = 1;
  std::int64_t buckets_ = 0;  // with unknowns, over all ranks
};

}  // namespace aegir
