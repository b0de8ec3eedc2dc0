#include "solvers/lcp/lcp.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "domain/transport/halo.h"
#include "solvers/lcp/active_set.h"
#include "solvers/lcp/projected_cycles.h"
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

  /// Fills x of the finest problem.
  void guess() { guess(0, finest_); }

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
    if (l + 3 >= cycle_.level_count()) few.sweeps = 40;  // so few cells that sweeps are cheaper than a hierarchy
    ActiveSet set(exec_, below, few);
    set.begin(report);
    set.run(report, std::max(settings_.tolerance, coarse_tolerance));
    cycle_.prolong_from(exec_, l, below.x, problem.x);
  }

  /// A coarse cell is bounded where any of its eight fine cells is.
  BucketField coarse_bounds(int l, const float* bound) {
    const Level& fine = cycle_.level(l);
    BucketField result(cycle_.level(l + 1).topology().local_count(), bucket_cells, settings_.memory, false);
    std::fill_n(result.data(), static_cast<std::size_t>(cycle_.level(l + 1).topology().local_count()) * bucket_cells,
                2 * no_bound);
    const auto block_of = [&](int b, float* block) {
      const float* own = bound + static_cast<std::size_t>(b) * bucket_cells;
      float any = 2 * no_bound;
      for (int c = 0; c < bucket_cells; ++c) any = own[c] > any ? own[c] : any;
      if (any <= no_bound) return void(std::fill_n(block, 64, 2 * no_bound));
      for (int c = 0; c < 64; ++c) {
        float greatest = 2 * no_bound;
        for (int d = 0; d < 8; ++d)
          greatest = std::max(
              greatest,
              own[cell_offset(2 * (c >> 4) + (d >> 2), 2 * (c >> 2 & 3) + (d >> 1 & 1), 2 * (c & 3) + (d & 1))]);
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

/// One LCP from beginning to end.
class LcpSolve {
 public:
  LcpSolve(Exec& exec, DiscreteVolume& volume, const PressureOutline& outline, const PressureTiles& tiles,
           const BoundedVectors& vectors, const LcpSettings& settings)
      : exec_(exec),
        topology_(volume.shared_topology()),
        outline_(outline),
        tiles_(tiles),
        vectors_(vectors),
        settings_(settings) {}

  /// `distance` is that of the liquid's surface.
  void run(SolveReport& report, const float* distance) {
    const bool warm = settings_.warm_start && clear_start(distance);
    if (warm && from_start(report)) return;
    whole(report, warm && report.residual <= worst_start);
  }

 private:
  /// More than this and a start is worse than none.
  static constexpr double worst_start = 2;

  void load(int b, NetworkTile& tile) const { tiles_.load(b, tile); }
  bool done(const SolveReport& report) const { return report.residual <= settings_.tolerance; }
  bool clear_start(const float* distance);
  void hold_start(HeldSet& held) const;
  bool from_start(SolveReport& report);
  void whole(SolveReport& report, bool started);
  bool cycle_from(const NetworkSolver& full, TileLoader load, SolveReport& report);

  Exec& exec_;
  std::shared_ptr<const Topology> topology_;
  const PressureOutline& outline_;
  const PressureTiles& tiles_;
  const BoundedVectors& vectors_;
  const LcpSettings& settings_;
};

/// Clears what is no pressure of a liquid cell; true when any is left.
bool LcpSolve::clear_start(const float* distance) {
  std::atomic<bool> any{false};
  parallel_for(0, static_cast<std::size_t>(topology_->local_count()), 16, [&](std::size_t begin, std::size_t end) {
    int here = 0;
    for (std::size_t i = begin * bucket_cells; i < end * bucket_cells; ++i) {
      const double x = vectors_.x[i], start = (distance[i] < 0) & (x - x == 0) ? x : 0.0;
      vectors_.x[i] = start;
      here |= start != 0;
    }
    if (here) any = true;
  });
  return exec_.comm.any(any);
}

/// Cells of a bucket that are at their bound and pressed against it, if all links are 1.
void hold_pressed(const PaddedTile<double, 1>& x, const float* bound, const float* rhs, std::uint8_t* rows) {
  for (int i = 0; i < bucket_size; ++i)
    for (int j = 0; j < bucket_size; ++j) {
      const double *at = x.row(i, j), *near[4] = {x.row(i - 1, j), x.row(i + 1, j), x.row(i, j - 1), x.row(i, j + 1)};
      unsigned bits = 0;
      for (int k = 0; k < bucket_size; ++k) {
        const int c = cell_offset(i, j, k);
        const double around = (near[0][k] + near[1][k]) + (near[2][k] + near[3][k]) + (at[k - 1] + at[k + 1]);
        const bool holds = (bound[c] > no_bound) & (at[k] <= static_cast<double>(bound[c])) &
                           (static_cast<double>(rhs[c]) + (around - 6 * at[k]) < 0);
        bits |= static_cast<unsigned>(holds) << k;
      }
      rows[8 * i + j] = static_cast<std::uint8_t>(bits);
    }
}

/// The cells that are probably held, before there are operators to ask.
void LcpSolve::hold_start(HeldSet& held) const {
  if (exec_.comm.size() > 1)
    exchange_halo(exec_.comm, *topology_, reinterpret_cast<std::byte*>(vectors_.x), bucket_cells * sizeof(double));
  parallel_for(0, static_cast<std::size_t>(topology_->local_count()), 16, [&](std::size_t begin, std::size_t end) {
    PaddedTile<double, 1> tile;
    for (std::size_t b = begin; b < end; ++b) {
      if (outline_.shapes[b].kind == BucketKind::empty) continue;
      const float *bound = vectors_.bound + b * bucket_cells, *rhs = vectors_.rhs + b * bucket_cells;
      const double* x = vectors_.x + b * bucket_cells;
      int any = 0;
      for (int c = 0; c < bucket_cells; ++c) any |= (bound[c] > no_bound) & (x[c] <= static_cast<double>(bound[c]));
      if (!any) continue;
      load_tile<Star<1>>(tile, *topology_, static_cast<int>(b), const_cast<const double*>(vectors_.x), 0.0);
      hold_pressed(tile, bound, rhs, held.rows(static_cast<int>(b)));
    }
  });
}

/// From the pressure that is there: cycles over coarse levels that hold what it held. True when that sufficed.
bool LcpSolve::from_start(SolveReport& report) {
  HeldSet held(*topology_);
  hold_start(held);
  for (int attempt = 0; attempt < 2; ++attempt) {
    Stopwatch watch;
    held.prepare(exec_);
    const HeldCells cells = held.cells();
    Multigrid cycle(
        exec_, topology_, outline_.shapes, outline_.unknowns, [&](int b, NetworkTile& tile) { load(b, tile); },
        {.memory = settings_.memory}, &cells);
    if (attempt == 0) {
      const Pools pools(exec_, cycle.level(0));
      report.pools = pools.count(), report.closed_pools = pools.closed();
    }
    report.setup_seconds += watch.seconds();
    if (cycle.level_count() < 2 || report.closed_pools > 0) return report.residual = 2 * worst_start, false;
    ProjectedCycles cycles(exec_, cycle.level(0), vectors_, settings_.memory);
    cycles.begin();
    report.residual = cycles.evaluate();
    if (report.residual > worst_start) report.residual = cycles.polish(report.residual);  // it may lack in few places
    if (!(report.residual <= worst_start)) return false;
    cycles.run(cycle, report, {settings_.tolerance, settings_.max_rounds});
    if (done(report) || !std::isfinite(report.residual)) return done(report);
    cycles.find_held(held);
  }
  return false;
}

/// With the hierarchy without bounds: from a guess or from where the cycles got, and to the end by the active set.
void LcpSolve::whole(SolveReport& report, bool started) {
  Stopwatch watch;
  const auto load_tile = [&](int b, NetworkTile& tile) { load(b, tile); };
  NetworkSolver full(exec_, topology_, outline_.shapes, outline_.unknowns, load_tile,
                     {.memory = settings_.memory, .base_only = true});
  report.pools = full.pools().count(), report.closed_pools = full.pools().closed();
  report.setup_seconds += watch.seconds();
  // Closed pools that nothing bounds are fixed up to a constant, as without bounds.
  const Pools unbounded = full.pools().without(exec_, [&](int b, int c) {
    return vectors_.bound[static_cast<std::size_t>(b) * bucket_cells + static_cast<std::size_t>(c)] > no_bound;
  });
  const LcpProblem problem{full, 0, load_tile, vectors_.rhs, vectors_.bound, vectors_.x, &unbounded};
  if (!started) {
    Cascade(exec_, full, problem, settings_).guess();
    if (full.cycle().level_count() > 1 && report.closed_pools == 0 && cycle_from(full, load_tile, report)) return;
  }
  ActiveSet set(exec_, problem, settings_);
  set.begin(report);
  set.run(report, settings_.tolerance);
  if (!done(report) && report.trouble.empty() && report.closed_pools > unbounded.closed())
    report.trouble = fmt::format(
        "the complementarity residual is {:.1e} instead of {:.1e}; a closed pool with bounds has no solution if its "
        "right-hand side sums to more than 0",
        report.residual, settings_.tolerance);
}

/// Cycles from x as it is, over coarse levels that hold what is held now, and once more over newer ones. True when that
/// sufficed.
bool LcpSolve::cycle_from(const NetworkSolver& full, TileLoader load_tile, SolveReport& report) {
  HeldSet held(*topology_);
  ProjectedCycles cycles(exec_, full.fine(), vectors_, settings_.memory);
  cycles.begin();
  report.residual = cycles.evaluate();
  for (int attempt = 0; attempt < 2 && !done(report) && std::isfinite(report.residual); ++attempt) {
    Stopwatch watch;
    cycles.find_held(held);
    held.prepare(exec_);
    Multigrid cycle(exec_, full.cycle(), held.cells(), load_tile, {.memory = settings_.memory});
    report.setup_seconds += watch.seconds();
    cycles.run(cycle, report, {settings_.tolerance, settings_.max_rounds});
  }
  return done(report);
}

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
  report.setup_seconds = watch.seconds();
  const BoundedVectors vectors{volume.store(channels.rhs.name).plane<float>(0), bound,
                               volume.store(channels.pressure.name).plane<double>(0)};
  LcpSolve(exec, volume, outline, tiles, vectors, settings)
      .run(report, volume.store(channels.distance.name).plane<float>(0));
  volume.store(channels.pressure.name).ghosts_valid = false;
  report.converged = report.residual <= settings.tolerance;
  if (report.converged)
    report.trouble.clear();
  else if (report.trouble.empty())
    report.trouble =
        fmt::format("the complementarity residual is {:.1e} instead of {:.1e}", report.residual, settings.tolerance);
  report.seconds = watch.seconds();
  return report;
}

}  // namespace aegir
