#include "solvers/lcp/lcp.h"

#include <fmt/format.h>
#include <immintrin.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "domain/transport/halo.h"
#include "solvers/lcp/active_set.h"
#include "solvers/lcp/projected_cycles.h"
#include "solvers/linear/pressure_network.h"

namespace aegir {
namespace {

/// Lanes that are set, as bits.
inline unsigned lanes(const Row<std::int32_t>& m) {
  return static_cast<unsigned>(_mm256_movemask_ps(reinterpret_cast<__m256>(m)));
}

/// What the bounds of some buckets are.
struct BoundsSeen {
  bool usable = true;                 ///< every bound is a number or none
  std::vector<std::uint8_t> bounded;  ///< by bucket, whether it has any
};

BoundsSeen look_at_bounds(const float* bound, int buckets) {
  BoundsSeen seen;
  seen.bounded.resize(static_cast<std::size_t>(buckets));
  const Row<float> none = Row<float>{} + no_bound;
  std::atomic<bool> good{true};
  parallel_for(0, seen.bounded.size(), 16, [&](std::size_t begin, std::size_t end) {
    Row<std::int32_t> numbers = Row<std::int32_t>{} - 1;
    for (std::size_t b = begin; b < end; ++b) {
      Row<std::int32_t> any{};
      for (std::size_t c = 0; c < bucket_cells; c += 8) {
        const Row<float> row = load_row(bound + b * bucket_cells + c);
        numbers &= row < -none;
        any |= row > none;
      }
      seen.bounded[b] = lanes(any) != 0;
    }
    if (lanes(numbers) != 0xff) good = false;
  });
  seen.usable = good;
  return seen;
}

/// The greatest of eight bounds each: 512 become 64.
void coarsen_bounds(const float* fine, float* coarse) {
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) {
      const auto row = [&](int di, int dj) { return load_row(fine + cell_offset(2 * i + di, 2 * j + dj, 0)); };
      alignas(32) float greatest[8];
      store_row<float>(greatest,
                       _mm256_max_ps(_mm256_max_ps(row(0, 0), row(0, 1)), _mm256_max_ps(row(1, 0), row(1, 1))));
      for (int k = 0; k < 4; ++k) coarse[(i * 4 + j) * 4 + k] = std::max(greatest[2 * k], greatest[2 * k + 1]);
    }
}

/// The same problem on all levels of the hierarchy without bounds: coarse ones give the finer ones their start.
class Cascade {
 public:
  Cascade(Exec& exec, NetworkSolver& solver, const LcpProblem& finest, const LcpSettings& settings)
      : exec_(exec), solver_(solver), cycle_(solver.cycle()), finest_(finest), settings_(settings) {}

  /// Fills x of the finest problem; `bounded` are its buckets with bounds.
  void guess(const std::vector<std::uint8_t>& bounded) { guess(0, finest_, bounded); }

 private:
  /// Fills x of a problem on level l from the solution on level l + 1.
  void guess(int l, const LcpProblem& problem, const std::vector<std::uint8_t>& bounded) {
    if (l + 2 >= cycle_.level_count()) {
      const int buckets = cycle_.level(l).topology().total_count();
      std::fill_n(problem.x, static_cast<std::size_t>(buckets) * bucket_cells, 0.0);
      return;
    }
    const Level& coarse = cycle_.level(l + 1);
    const Topology& up = coarse.topology();
    cycle_.restrict_to(exec_, l, problem.rhs);
    const BucketField& rhs = coarse.rhs;
    const BucketField bounds = coarse_bounds(l, problem.bound, bounded);
    PooledBuffer x(static_cast<std::size_t>(up.total_count()) * bucket_cells * sizeof(double), settings_.memory);
    const auto load = [&](int b, NetworkTile& tile) { coarse.network->load(up, b, tile); };
    const LcpProblem below{solver_, l + 1, load, rhs.data(), bounds.data(), reinterpret_cast<double*>(x.data())};
    guess(l + 1, below, look_at_bounds(bounds.data(), up.local_count()).bounded);
    SolveReport report;
    LcpSettings few = settings_;  // a guess need not be right
    few.max_rounds = 5;
    double tolerance = 1e-2;
    if (l + 3 >= cycle_.level_count()) few.sweeps = 40, tolerance = 5e-2;  // few cells: sweeps before any hierarchy
    ActiveSet set(exec_, below, few);
    set.begin(report);
    set.run(report, std::max(settings_.tolerance, tolerance));
    cycle_.prolong_from(exec_, l, below.x, problem.x);
  }

  /// A coarse cell is bounded where any of its eight fine cells is.
  BucketField coarse_bounds(int l, const float* bound, const std::vector<std::uint8_t>& bounded) {
    const Level& fine = cycle_.level(l);
    BucketField result(cycle_.level(l + 1).topology().local_count(), bucket_cells, settings_.memory, false);
    std::fill_n(result.data(), static_cast<std::size_t>(cycle_.level(l + 1).topology().local_count()) * bucket_cells,
                2 * no_bound);
    const auto block_of = [&](int b, float* block) {
      if (bounded[static_cast<std::size_t>(b)])
        coarsen_bounds(bound + static_cast<std::size_t>(b) * bucket_cells, block);
      else
        std::fill_n(block, 64, 2 * no_bound);
    };
    fine.to_parents(exec_, 64, block_of,
                    [&](int up, int octant, const float* block) { write_octant(result.at(up), octant, block); });
    return result;
  }

  Exec& exec_;
  NetworkSolver& solver_;
  Multigrid& cycle_;
  const LcpProblem& finest_;
  const LcpSettings& settings_;
};

}  // namespace

LcpHierarchy::LcpHierarchy() = default;
LcpHierarchy::~LcpHierarchy() = default;
void LcpHierarchy::clear() { outline_.reset(), full_.reset(); }

/// One LCP from beginning to end.
class LcpSolve {
 public:
  LcpSolve(Exec& exec, DiscreteVolume& volume, LcpHierarchy& hierarchy, const PressureTiles& tiles,
           const BoundedVectors& vectors, const LcpSettings& settings)
      : exec_(exec),
        topology_(volume.shared_topology()),
        hierarchy_(hierarchy),
        outline_(*hierarchy.outline_),
        tiles_(tiles),
        vectors_(vectors),
        settings_(settings) {}

  /// One look over the channels, where none was taken before.
  static const PressureOutline& look(Exec& exec, DiscreteVolume& volume, const PressureChannels& channels,
                                     LcpHierarchy& hierarchy) {
    if (!hierarchy.outline_)
      hierarchy.outline_ = std::make_unique<PressureOutline>(aegir::outline(exec, volume, channels));
    return *hierarchy.outline_;
  }

  /// `distance` is that of the liquid's surface, `bounded` are the buckets with bounds.
  void run(SolveReport& report, const float* distance, const std::vector<std::uint8_t>& bounded) {
    const bool warm = settings_.warm_start && clear_start(distance);
    if (warm && from_start(report)) return;
    whole(report, warm && report.residual <= worst_start, bounded);
  }

 private:
  /// More than this and a start is worse than none.
  static constexpr double worst_start = 2;

  void load(int b, NetworkTile& tile) const { tiles_.load(b, tile); }
  bool done(const SolveReport& report) const { return report.residual <= settings_.tolerance; }
  bool clear_start(const float* distance);
  void hold_start(HeldSet& held) const;
  bool from_start(SolveReport& report);
  void whole(SolveReport& report, bool started, const std::vector<std::uint8_t>& bounded);
  bool cycle_from(const NetworkSolver& full, TileLoader load, SolveReport& report);

  Exec& exec_;
  std::shared_ptr<const Topology> topology_;
  LcpHierarchy& hierarchy_;
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

namespace {

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

}  // namespace

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
void LcpSolve::whole(SolveReport& report, bool started, const std::vector<std::uint8_t>& bounded) {
  Stopwatch watch;
  const auto load_tile = [&](int b, NetworkTile& tile) { load(b, tile); };
  if (!hierarchy_.full_)
    hierarchy_.full_ =
        std::make_unique<NetworkSolver>(exec_, topology_, outline_.shapes, outline_.unknowns, load_tile,
                                        Multigrid::Settings{.memory = settings_.memory, .base_only = true});
  NetworkSolver& full = *hierarchy_.full_;
  report.pools = full.pools().count(), report.closed_pools = full.pools().closed();
  report.setup_seconds += watch.seconds();
  // Closed pools that nothing bounds are fixed up to a constant, as without bounds.
  const Pools unbounded = full.pools().without(exec_, [&](int b, int c) {
    return vectors_.bound[static_cast<std::size_t>(b) * bucket_cells + static_cast<std::size_t>(c)] > no_bound;
  });
  const LcpProblem problem{full, 0, load_tile, vectors_.rhs, vectors_.bound, vectors_.x, &unbounded};
  if (!started) {
    Cascade(exec_, full, problem, settings_).guess(bounded);
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

SolveReport solve_lcp(Exec& exec, DiscreteVolume& volume, const PressureChannels& channels,
                      const CellChannel<float>& lower, const LcpSettings& settings, LcpHierarchy* kept) {
  Stopwatch watch;
  SolveReport report;
  LcpHierarchy own;
  LcpHierarchy& hierarchy = kept ? *kept : own;
  const PressureOutline& outline = LcpSolve::look(exec, volume, channels, hierarchy);
  report.unknowns = outline.unknowns;
  volume.read(lower).prepare(exec), volume.read(channels.rhs).prepare(exec),
      volume.write(channels.pressure).prepare(exec);
  const float* bound = volume.store(lower.name).plane<float>(0);
  std::string trouble = outline.trouble;
  const BoundsSeen seen = look_at_bounds(bound, volume.topology().local_count());
  if (trouble.empty() && exec.comm.any(!seen.usable))
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
  LcpSolve(exec, volume, hierarchy, tiles, vectors, settings)
      .run(report, volume.store(channels.distance.name).plane<float>(0), seen.bounded);
  volume.store(channels.pressure.name).valid_ghosts = 0;
  report.converged = report.residual <= settings.tolerance;
  if (kept && !std::isfinite(report.residual))  // what was looked at may have been another right-hand side
    report.trouble = aegir::outline(exec, volume, channels).trouble;
  if (report.converged)
    report.trouble.clear();
  else if (report.trouble.empty())
    report.trouble =
        fmt::format("the complementarity residual is {:.1e} instead of {:.1e}", report.residual, settings.tolerance);
  report.seconds = watch.seconds();
  return report;
}

}  // namespace aegir
