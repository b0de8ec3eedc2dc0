#include "solvers/lcp/active_set.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <numeric>

#include "domain/for_each_bucket.h"
#include "solvers/lcp/held_network.h"

namespace aegir {

ActiveSet::ActiveSet(Exec& exec, const LcpProblem& problem, const LcpSettings& settings)
    : exec_(exec),
      problem_(problem),
      settings_(settings),
      level_(problem.solver.cycle().level(problem.level)),
      topology_(level_.topology()),
      held_(topology_.total_count(), bucket_cells, settings.memory),
      correction_(topology_.total_count(), bucket_cells, settings.memory),
      rhs_(topology_.local_count(), bucket_cells, settings.memory),
      residual_(at(topology_.local_count()) * sizeof(double), settings.memory),
      delta_(at(topology_.total_count()) * sizeof(double), settings.memory),
      bounded_(static_cast<std::size_t>(topology_.local_count()), 0),
      sums_(static_cast<std::size_t>(topology_.local_count()), 0.0) {}

double ActiveSet::sum(const std::vector<double>& parts) {
  return exact_sum(exec_, topology_, [&](const Bucket& b) { return parts[static_cast<std::size_t>(b.index)]; });
}

/// Above 0 where there are unknowns; only for buckets that have any.
const float* ActiveSet::unknowns(int b) const {
  static const std::vector<float> everything(bucket_cells, 1.0f);
  const NetworkBucket* n = level_.bucket_operator(b).network;
  return n ? n->relax : everything.data();
}

/// x = max(x, l) in one bucket, where there are unknowns.
void ActiveSet::lift(int b) {
  if (!bounded_[static_cast<std::size_t>(b)]) return;
  const float *l = bound(b), *unknown = unknowns(b);
  double* at = x(b);
  for (int c = 0; c < bucket_cells; ++c) {
    const double least = static_cast<double>(l[c]);
    at[c] = (l[c] > no_bound) & (unknown[c] > 0) & (at[c] < least) ? least : at[c];
  }
}

/// Finds the buckets with bounds, makes x feasible and evaluates |b|.
void ActiveSet::start(SolveReport& report) {
  parallel_for(0, static_cast<std::size_t>(topology_.local_count()), 4, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) start_bucket(static_cast<int>(i));
  });
  double square = sum(sums_);
  if (problem_.pools && problem_.pools->closed()) {
    const double removed = problem_.pools->remove_means(exec_, r(0));
    report.incompatible = square > 0 ? std::sqrt(removed / square) : 0;
    square -= removed;
  }
  norm_ = std::sqrt(std::max(square, 0.0));
  const auto buckets = static_cast<std::int64_t>(level_.buckets(0).size() + level_.buckets(1).size());
  unknowns_ = exec_.comm.sum(buckets) * bucket_cells;
}

/// r = b and x its start, nothing where there is no unknown.
void ActiveSet::start_bucket(int b) {
  static const std::vector<float> nothing(bucket_cells, 0.0f);
  const bool empty = level_.kind(b) == BucketKind::empty;
  const float *rhs = problem_.rhs + at(b), *l = bound(b), *unknown = empty ? nothing.data() : unknowns(b);
  double *xs = x(b), *rs = r(b), lane[8] = {};
  int any = 0;
  for (int c = 0; c < bucket_cells; c += 8)
    for (int k = c; k < c + 8; ++k) {
      const bool here = unknown[k] > 0;
      xs[k] = here & (xs[k] - xs[k] == 0) ? xs[k] : 0.0;
      rs[k] = here ? static_cast<double>(rhs[k]) : 0.0;
      any |= here & (l[k] > no_bound);
      lane[k - c] += rs[k] * rs[k];
    }
  bounded_[static_cast<std::size_t>(b)] = any != 0;
  sums_[static_cast<std::size_t>(b)] =
      ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
  if (!empty) lift(b);
}

/// The square of what a bucket lacks to complementarity, where r is b - A x.
double ActiveSet::defect(int b) {
  const double *xs = x(b), *rs = r(b);
  double lane[8] = {};
  if (bounded_[static_cast<std::size_t>(b)]) {
    const float *l = bound(b), *unknown = unknowns(b);
    for (int c = 0; c < bucket_cells; c += 8)
      for (int k = c; k < c + 8; ++k) {
        const double least = std::min(xs[k] - static_cast<double>(l[k]), -rs[k]);
        const double lacks = unknown[k] > 0 ? (l[k] > no_bound ? least : rs[k]) : 0.0;
        lane[k - c] += lacks * lacks;
      }
  } else {
    for (int c = 0; c < bucket_cells; c += 8)
      for (int k = 0; k < 8; ++k) lane[k] += rs[c + k] * rs[c + k];
  }
  return ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

/// r = b - A x, and the relative complementarity residual.
double ActiveSet::evaluate() {
  const auto measure = [&](int b) { return defect(b); };
  double square = network_residual(exec_, level_, {problem_.rhs, problem_.x}, r(0), measure);
  if (problem_.pools && problem_.pools->closed()) {
    problem_.pools->remove_means(exec_, r(0));
    level_.for_unknowns([&](int b) { sums_[static_cast<std::size_t>(b)] = defect(b); });
    square = sum(sums_);
  }
  return norm_ > 0 ? std::sqrt(square) / norm_ : std::sqrt(square);
}

/// Projected relaxation of x by a correction that starts at zero; r holds the residual.
void ActiveSet::sweep() {
  const int passes = 2 * settings_.sweeps;
  for (int pass = 0; pass < passes; ++pass) {
    if (pass > 0) correction_.exchange(exec_, topology_);
    const auto buckets = level_.buckets(pass & 1);
    parallel_for(0, buckets.size(), 4, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        sweep_bucket(buckets[i], pass);
        if (pass + 2 < passes) continue;
        const int b = buckets[i];
        for (int c = 0; c < bucket_cells; ++c) x(b)[c] += static_cast<double>(correction_.at(b)[c]);
        lift(b);
      }
    });
  }
}

/// Relaxes the correction of one bucket.
void ActiveSet::sweep_bucket(int b, int pass) {
  const BucketOperator a = level_.bucket_operator(b);
  UnknownTile tile;
  if (pass >= 2) {
    load_bucket(tile, topology_, b, correction_.data(), a);
  } else {  // its own values are zero, and in the first pass so are its neighbours'
    for (int c = 0; c < bucket_cells; ++c) rhs_.at(b)[c] = static_cast<float>(r(b)[c]);
    std::memset(tile.values, 0, sizeof tile.values);
    if (pass == 1) load_faces(tile, topology_, b, correction_.data());
    mirror(tile, a.closed);
  }
  if (bounded_[static_cast<std::size_t>(b)]) {
    alignas(64) float least[bucket_cells];
    const float *l = bound(b), *unknown = unknowns(b);
    const double* at = x(b);
    for (int c = 0; c < bucket_cells; ++c) {
      const auto below = static_cast<float>(static_cast<double>(l[c]) - at[c]);
      least[c] = (l[c] > no_bound) & (unknown[c] > 0) ? below : no_bound;
    }
    relax_projected(tile, rhs_.at(b), a, least, 3);
  } else {
    relax(tile, rhs_.at(b), a, 3, false);
  }
  store_own(tile, correction_.at(b));
}

/// Holds the cells that are at their bound and pressed against it. True when the set changed.
bool ActiveSet::hold_cells() {
  std::vector<std::uint8_t> differs(static_cast<std::size_t>(topology_.local_count()), 0);
  std::atomic<std::int64_t> changes{0}, all{0};
  level_.for_unknowns([&](int b) {
    if (!bounded_[static_cast<std::size_t>(b)]) return;
    const float* l = bound(b);
    const double *xs = x(b), *rs = r(b);
    float* held = held_.at(b);
    int changed = 0, count = 0;
    for (int c = 0; c < bucket_cells; ++c) {
      const bool holds = (l[c] > no_bound) & (xs[c] <= static_cast<double>(l[c])) & (rs[c] < 0);
      changed += holds != (held[c] != 0), count += holds;
      held[c] = holds ? 1.0f : 0.0f;
    }
    differs[static_cast<std::size_t>(b)] = changed > 0;
    changes += changed, all += count;
  });
  changed_.clear();
  for (int b = 0; b < topology_.local_count(); ++b)
    if (differs[static_cast<std::size_t>(b)]) changed_.push_back(b);
  std::int64_t counts[2] = {changes, all};
  exec_.comm.sum(std::span<std::int64_t>(counts));
  stale_ += counts[0], held_count_ = counts[1];
  return counts[0] > 0;
}

/// The hierarchy of the free cells.
void ActiveSet::build_free() {
  held_.exchange(exec_, topology_);
  HeldOutline outline = outline_held(level_, held_);
  const auto load = [&](int b, NetworkTile& tile) {
    PaddedTile<float, 4> held;
    problem_.load(b, tile);
    load_tile<Halo<4>>(held, topology_, b, const_cast<const float*>(held_.data()), 0.0f);
    hold(tile, held.values);
  };
  free_.reset();
  free_ = std::make_unique<NetworkSolver>(
      exec_, problem_.solver, problem_.level, std::move(outline.shapes), outline.changed, load,
      Multigrid::Settings{.memory = settings_.memory, .relax_last = problem_.level > 0});  // only a guess
  stale_ = 0;
  std::vector<std::int32_t> all(static_cast<std::size_t>(topology_.local_count()));
  std::iota(all.begin(), all.end(), 0);
  if (free_->cycle().level_count() > 1) free_->cycle().level(0).hold(level_, held_, all);
}

/// Brings the free cells closer to A x = b and lifts x to its bounds: by one step where the held cells are others than
/// before, else to the tolerance.
void ActiveSet::solve_free(SolveReport& report, double tolerance) {
  Stopwatch watch;
  const bool changed = hold_cells() || !free_;
  // For a step, coarse levels that are right but for few cells will do.
  if (!free_ || stale_ > (changed && free_->cycle().level_count() > 1 ? held_count_ / 32 : 0))
    build_free();
  else if (changed)
    free_->cycle().level(0).hold(level_, held_, changed_);
  report.setup_seconds += watch.seconds();
  if (changed) {  // more than a step would be lost on the wrong cells
    const double size = report.residual * norm_ / std::sqrt(static_cast<double>(std::max<std::int64_t>(unknowns_, 1)));
    free_->descend(exec_, r(0), size, problem_.x);
    ++report.iterations;
    return level_.for_unknowns([&](int b) { lift(b); });
  }
  level_.for_unknowns([&](int b) {
    for (int c = 0; c < bucket_cells; ++c) rhs_.at(b)[c] = static_cast<float>(r(b)[c]);
  });
  SolveReport round;
  round.unknowns = unknowns_;
  free_->solve(exec_, {rhs_.data(), delta(0)},
               {.tolerance = tolerance, .warm_start = false, .memory = settings_.memory}, round);
  report.iterations += round.iterations;
  report.trouble = round.trouble;
  level_.for_unknowns([&](int b) {
    if (free_->fine().kind(b) == BucketKind::empty) return;  // all of them held
    for (int c = 0; c < bucket_cells; ++c) x(b)[c] += delta(b)[c];
    lift(b);
  });
}

double ActiveSet::begin(SolveReport& report) {
  start(report);
  return report.residual = evaluate();
}

void ActiveSet::run(SolveReport& report, double tolerance) {
  for (int round = 0; round < settings_.max_rounds && report.residual > tolerance; ++round) {
    sweep();
    report.residual = evaluate();
    if (report.residual <= tolerance) break;
    solve_free(report, std::clamp(0.3 * tolerance / report.residual, 1e-9, 0.3));
    report.residual = evaluate();
    if (!std::isfinite(report.residual)) break;
  }
  if (std::isfinite(report.residual)) return;
  std::fill_n(problem_.x, at(topology_.local_count()), 0.0);  // nothing that is no number stays behind
  begin(report);
}

}  // namespace aegir
