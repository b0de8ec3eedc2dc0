#include "solvers/lcp/lcp.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "solvers/lcp/active_set.h"
#include "solvers/linear/pressure_network.h"

namespace aegir {
namespace {

/// True when every bound is a number or none.
bool usable(const float* bound, int buckets) {
  std::atomic<bool> good{true};
  parallel_for(0, static_cast<std::size_t>(buckets), 64, [&](std::size_t begin, std::size_t end) {
    int here = 1;
    for (std::size_t i = begin * bucket_cells; i < end * bucket_cells; ++i) here &= bound[i] < -no_bound;
    if (!here) good = false;
  });
  return good;
}

/// The same problem on all levels of the hierarchy without bounds: coarse ones give the finer ones their start.
class Cascade {
 public:
  Cascade(Exec& exec, NetworkSolver& solver, const LcpProblem& finest, const LcpSettings& settings)
      : exec_(exec), solver_(solver), cycle_(solver.cycle()), finest_(finest), settings_(settings) {}

  void run(SolveReport& report) {
    ActiveSet set(exec_, finest_, settings_);
    // A start that is worse than none is none.
    if (!settings_.warm_start || !(set.begin(report) <= 2)) guess(0, finest_), set.begin(report);
    set.run(report, settings_.tolerance);
  }

 private:
  /// Fills x of a problem on level l from the solution on level l + 1.
  void guess(int l, const LcpProblem& problem) {
    if (l + 2 >= cycle_.level_count()) {
      const int buckets = cycle_.level(l).topology().total_count();
      std::fill_n(problem.x, static_cast<std::size_t>(buckets) * bucket_cells, 0.0);
      return;
    }
    const Level& coarse = cycle_.level(l + 1);
    const Topology& up = coarse.topology();
    cycle_.restrict_to(exec_, l, problem.rhs);
    const BucketField& rhs = coarse.rhs;
    const BucketField bounds = coarse_bounds(l, problem.bound);
    PooledBuffer x(static_cast<std::size_t>(up.total_count()) * bucket_cells * sizeof(double), settings_.memory);
    const auto load = [&](int b, NetworkTile& tile) { coarse.network->load(up, b, tile); };
    const LcpProblem below{solver_, l + 1, load, rhs.data(), bounds.data(), reinterpret_cast<double*>(x.data())};
    guess(l + 1, below);
    SolveReport report;
    LcpSettings few = settings_;  // a guess need not be right
    few.max_rounds = 5;
    ActiveSet set(exec_, below, few);
    set.begin(report);
    set.run(report, std::max(settings_.tolerance, coarse_tolerance));
    cycle_.prolong_from(exec_, l, below.x, problem.x);
  }

  /// A coarse cell is bounded where any of its eight fine cells is.
  BucketField coarse_bounds(int l, const float* bound) {
    const Level& fine = cycle_.level(l);
    BucketField result(cycle_.level(l + 1).topology().local_count(), bucket_cells);
    std::fill_n(result.data(), static_cast<std::size_t>(cycle_.level(l + 1).topology().local_count()) * bucket_cells,
                2 * no_bound);
    const auto block_of = [&](int b, float* block) {
      for (int c = 0; c < 64; ++c) {
        float greatest = 2 * no_bound;
        for (int d = 0; d < 8; ++d)
          greatest = std::max(
              greatest, bound[static_cast<std::size_t>(b) * bucket_cells +
                              static_cast<std::size_t>(cell_offset(
                                  2 * (c >> 4) + (d >> 2), 2 * (c >> 2 & 3) + (d >> 1 & 1), 2 * (c & 3) + (d & 1)))]);
        block[c] = greatest;
      }
    };
    fine.to_parents(exec_, 64, block_of,
                    [&](int up, int octant, const float* block) { write_octant(result.at(up), octant, block); });
    return result;
  }

  static constexpr double coarse_tolerance = 1e-2;
  Exec& exec_;
  NetworkSolver& solver_;
  Multigrid& cycle_;
  const LcpProblem& finest_;
  const LcpSettings& settings_;
};

}  // namespace

SolveReport solve_lcp(Exec& exec, DiscreteVolume& volume, const PressureChannels& channels,
                      const CellChannel<float>& lower, const LcpSettings& settings) {
  Stopwatch watch;
  SolveReport report;
  const PressureOutline outline = aegir::outline(exec, volume, channels);
  report.unknowns = outline.unknowns;
  volume.read(lower).prepare(exec), volume.read(channels.rhs).prepare(exec),
      volume.write(channels.pressure).prepare(exec);
  const float* bound = volume.store(lower.name).plane<float>(0);
  std::string trouble = outline.trouble;
  if (trouble.empty() && exec.comm.any(!usable(bound, volume.topology().local_count())))
    trouble = fmt::format("a bound in '{}' is above 1e30 or not a number", lower.name);
  if (!trouble.empty()) {
    report.trouble = trouble + "; the pressure was left as it is";
    report.seconds = report.setup_seconds = watch.seconds();
    return report;
  }
  report.method = SolveMethod::active_set;
  const PressureTiles tiles(exec, volume, channels);
  const auto load = [&](int b, NetworkTile& tile) { tiles.load(b, tile); };
  NetworkSolver full(exec, volume.shared_topology(), outline.shapes, outline.unknowns, load,
                     {.memory = settings.memory, .base_only = true});
  report.pools = full.pools().count(), report.closed_pools = full.pools().closed();
  report.setup_seconds = watch.seconds();
  // Closed pools that nothing bounds are fixed up to a constant, as without bounds.
  const Pools unbounded = full.pools().without(exec, [&](int b, int c) {
    return bound[static_cast<std::size_t>(b) * bucket_cells + static_cast<std::size_t>(c)] > no_bound;
  });
  const LcpProblem problem{full,      0,
                           load,      volume.store(channels.rhs.name).plane<float>(0),
                           bound,     volume.store(channels.pressure.name).plane<double>(0),
                           &unbounded};
  Cascade(exec, full, problem, settings).run(report);
  volume.store(channels.pressure.name).ghosts_valid = false;
  report.converged = report.residual <= settings.tolerance;
  if (report.converged)
    report.trouble.clear();
  else if (report.trouble.empty())
    report.trouble =
        fmt::format("the complementarity residual is {:.1e} instead of {:.1e}{}", report.residual, settings.tolerance,
                    report.closed_pools > unbounded.closed()
                        ? "; a closed pool with bounds has no solution if its right-hand side sums to more than 0"
                        : "");
  report.seconds = watch.seconds();
  return report;
}

}  // namespace aegir
