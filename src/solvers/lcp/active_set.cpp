#include "solvers/lcp/active_set.h"

#include <algorithm>
#include <atomic>
#include <cmath>

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

/// x = max(x, l) in one bucket, where there are unknowns.
void ActiveSet::lift(int b) {
  if (!bounded_[static_cast<std::size_t>(b)]) return;
  const NetworkBucket* n = level_.bucket_operator(b).network;
  for (int c = 0; c < bucket_cells; ++c)
    if (bound(b)[c] > no_bound && (!n || n->relax[c] > 0))
      x(b)[c] = std::max(x(b)[c], static_cast<double>(bound(b)[c]));
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
  const bool empty = level_.kind(b) == BucketKind::empty;
  const NetworkBucket* n = empty ? nullptr : level_.bucket_operator(b).network;
  const float* rhs = problem_.rhs + at(b);
  double square = 0;
  bool any = false;
  for (int c = 0; c < bucket_cells; ++c) {
    const bool unknown = !empty && (!n || n->relax[c] > 0);
    if (!unknown || !std::isfinite(x(b)[c])) x(b)[c] = 0;
    r(b)[c] = unknown ? static_cast<double>(rhs[c]) : 0.0;
    any |= unknown && bound(b)[c] > no_bound;
    square += r(b)[c] * r(b)[c];
  }
  bounded_[static_cast<std::size_t>(b)] = any;
  sums_[static_cast<std::size_t>(b)] = square;
  if (!empty) lift(b);
}

/// r = b - A x, and the relative complementarity residual.
double ActiveSet::evaluate() {
  network_residual(exec_, level_, {problem_.rhs, problem_.x}, r(0));
  if (problem_.pools) problem_.pools->remove_means(exec_, r(0));
  level_.for_unknowns([&](int b) {
    const double *xs = x(b), *rs = r(b);
    const float* l = bound(b);
    double square = 0;
    if (bounded_[static_cast<std::size_t>(b)]) {
      const NetworkBucket* n = level_.bucket_operator(b).network;
      for (int c = 0; c < bucket_cells; ++c) {
        if (n && !(n->relax[c] > 0)) continue;
        const double defect = l[c] > no_bound ? std::min(xs[c] - static_cast<double>(l[c]), -rs[c]) : rs[c];
        square += defect * defect;
      }
    } else {
      for (int c = 0; c < bucket_cells; ++c) square += rs[c] * rs[c];
    }
    sums_[static_cast<std::size_t>(b)] = square;
  });
  const double defect = std::sqrt(sum(sums_));
  return norm_ > 0 ? defect / norm_ : defect;
}

/// Projected relaxation of x by a correction that starts at zero; r holds the residual.
void ActiveSet::sweep() {
  level_.for_unknowns([&](int b) {
    std::fill_n(correction_.at(b), bucket_cells, 0.0f);
    for (int c = 0; c < bucket_cells; ++c) rhs_.at(b)[c] = static_cast<float>(r(b)[c]);
  });
  for (int pass = 0; pass < 2 * settings_.sweeps; ++pass) {
    correction_.exchange(exec_, topology_);
    const auto buckets = level_.buckets(pass & 1);
    parallel_for(0, buckets.size(), 4, [&](std::size_t begin, std::size_t end) {
      UnknownTile tile;
      alignas(64) float least[bucket_cells];
      for (std::size_t i = begin; i < end; ++i) {
        const int b = buckets[i];
        const BucketOperator a = level_.bucket_operator(b);
        load_bucket(tile, topology_, b, correction_.data(), a);
        if (bounded_[static_cast<std::size_t>(b)]) {
          for (int c = 0; c < bucket_cells; ++c) {
            const float l = bound(b)[c];
            const bool unknown = !a.network || a.network->relax[c] > 0;
            least[c] = l > no_bound && unknown ? static_cast<float>(static_cast<double>(l) - x(b)[c]) : no_bound;
          }
          relax_projected(tile, rhs_.at(b), a, least, 3);
        } else {
          relax(tile, rhs_.at(b), a, 3, false);
        }
        store_own(tile, correction_.at(b));
      }
    });
  }
  level_.for_unknowns([&](int b) {
    for (int c = 0; c < bucket_cells; ++c) x(b)[c] += static_cast<double>(correction_.at(b)[c]);
    lift(b);
  });
}

/// Holds the cells that are at their bound and pressed against it. True when the set changed.
bool ActiveSet::hold_cells() {
  std::atomic<bool> changed{!free_};
  level_.for_unknowns([&](int b) {
    if (!bounded_[static_cast<std::size_t>(b)]) return;
    float* held = held_.at(b);
    bool differs = false;
    for (int c = 0; c < bucket_cells; ++c) {
      const float l = bound(b)[c];
      const float next = l > no_bound && x(b)[c] <= static_cast<double>(l) && r(b)[c] < 0 ? 1.0f : 0.0f;
      differs |= next != held[c];
      held[c] = next;
    }
    if (differs) changed = true;
  });
  if (!exec_.comm.any(changed)) return false;
  held_.exchange(exec_, topology_);
  return true;
}

/// Brings the free cells closer to A x = b and lifts x to its bounds: by one step where the held cells are others than
/// before, else to the tolerance.
void ActiveSet::solve_free(SolveReport& report, double tolerance) {
  Stopwatch watch;
  const bool changed = hold_cells();
  if (changed) {
    HeldOutline outline = outline_held(level_, held_);
    const auto load = [&](int b, NetworkTile& tile) {
      PaddedTile<float, 4> held;
      problem_.load(b, tile);
      load_tile<Halo<4>>(held, topology_, b, const_cast<const float*>(held_.data()), 0.0f);
      hold(tile, held.values);
    };
    free_.reset();
    free_ = std::make_unique<NetworkSolver>(exec_, problem_.solver, problem_.level, std::move(outline.shapes),
                                            outline.changed, load, Multigrid::Settings{.memory = settings_.memory});
  }
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
