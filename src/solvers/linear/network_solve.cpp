#include "solvers/linear/network_solve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/simd.h"
#include "domain/for_each_bucket.h"
#include "domain/transport/halo.h"
#include "domain/transport/overlap.h"
#include "solvers/linear/pressure.h"

namespace aegir {
namespace {

/// x += alpha p, p = z + beta p. Bytes per cell: 28. (z 4, p 8, x 16)
AEGIR_HOT void advance(double* __restrict x, float* __restrict p, const float* __restrict z, double alpha, float beta) {
  for (int c = 0; c < bucket_cells; ++c) {
    x[c] += alpha * static_cast<double>(p[c]);
    p[c] = z[c] + beta * p[c];
  }
}

AEGIR_HOT void narrow(float* __restrict to, const double* __restrict from, double scale) {
  for (int c = 0; c < bucket_cells; ++c) to[c] = static_cast<float>(from[c] * scale);
}

/// Eight running sums, then in order: a loop that vectorises and always adds the same way.
AEGIR_HOT double dot(const double* __restrict r, const float* __restrict z) {
  double lane[8] = {};
  for (int c = 0; c < bucket_cells; c += 8)
    for (int k = 0; k < 8; ++k) lane[k] += r[c + k] * static_cast<double>(z[c + k]);
  return ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

/// r = b and x = its start or 0, nothing where there is no unknown; returns the sum of r².
AEGIR_HOT double begin_bucket(double* __restrict r, double* __restrict x, const float* __restrict b,
                              const float* __restrict unknown, bool keep) {
  double lane[8] = {};
  for (int c = 0; c < bucket_cells; c += 8)
    for (int k = 0; k < 8; ++k) {
      const double value = unknown[c + k] > 0 ? static_cast<double>(b[c + k]) : 0.0, start = x[c + k];
      r[c + k] = value;
      x[c + k] = keep && unknown[c + k] > 0 && start - start == 0 ? start : 0.0;
      lane[k] += value * value;
    }
  return ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

}  // namespace

/// Conjugate gradients for one system.
class ConjugateGradients {
 public:
  ConjugateGradients(Exec& exec, NetworkSolver& solver, const NetworkVectors& vectors,
                     const MultigridSettings& settings)
      : exec_(exec),
        vectors_(vectors),
        settings_(settings),
        cycle_(solver.cycle()),
        pools_(solver.pools()),
        fine_(cycle_.level(0)),
        topology_(fine_.topology()),
        residual_(static_cast<std::size_t>(topology_.local_count()) * bucket_cells * sizeof(double), settings.memory),
        direction_(topology_.total_count(), bucket_cells, settings.memory),
        sums_(static_cast<std::size_t>(topology_.local_count()), 0.0) {}

  /// Iterates until the true residual is small enough, or says why not.
  void run(SolveReport& report);

 private:
  double* r(int b) { return reinterpret_cast<double*>(residual_.data()) + static_cast<std::size_t>(b) * bucket_cells; }
  double* x(int b) { return vectors_.x + static_cast<std::size_t>(b) * bucket_cells; }
  const float* rhs(int b) const { return vectors_.rhs + static_cast<std::size_t>(b) * bucket_cells; }
  /// Calls body(bucket) for the buckets with unknowns; its result is summed exactly over all ranks.
  template <class Body>
  double sum(const char* label, std::int64_t bytes_per_cell, const Body& body);
  double add_sums();
  double squared_norm();
  void finish_step(double alpha);
  double start(bool cold = false);
  double evaluate();
  bool iterate(SolveReport& report, double target, int limit, double& norm);

  Exec& exec_;
  const NetworkVectors& vectors_;
  const MultigridSettings& settings_;
  Multigrid& cycle_;
  const Pools& pools_;
  Level& fine_;
  const Topology& topology_;
  PooledBuffer residual_;
  BucketField direction_;
  std::vector<double> sums_;
  double norm_b_ = 0, incompatible_ = 0;
};

template <class Body>
double ConjugateGradients::sum(const char* label, std::int64_t bytes_per_cell, const Body& body) {
  Stopwatch watch;
  fine_.for_unknowns([&](int b) { sums_[static_cast<std::size_t>(b)] = body(b); });
  exec_.profile.kernel(label, watch.seconds(), fine_.pass_bytes(bytes_per_cell));
  return add_sums();
}

double ConjugateGradients::squared_norm() {
  return sum("pressure.norm", 8, [&](int b) {
    double square = 0;
    for (int c = 0; c < bucket_cells; ++c) square += r(b)[c] * r(b)[c];
    return square;
  });
}

double ConjugateGradients::add_sums() {
  return exact_sum(exec_, topology_, [&](const Bucket& b) { return sums_[static_cast<std::size_t>(b.index)]; });
}

/// Clears what is no unknown and evaluates |b|; returns the norm of the first residual.
double ConjugateGradients::start(bool cold) {
  static const std::vector<float> nothing(bucket_cells, 0.0f), everything(bucket_cells, 1.0f);
  parallel_for(0, static_cast<std::size_t>(topology_.local_count()), 4, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const int b = static_cast<int>(i);
      const bool empty = fine_.kind(b) == BucketKind::empty;
      const NetworkBucket* n = empty ? nullptr : fine_.bucket_operator(b).network;
      const float* unknown = empty ? nothing.data() : n ? n->relax : everything.data();
      sums_[i] = begin_bucket(r(b), x(b), rhs(b), unknown, settings_.warm_start && !cold);
    }
  });
  double square = add_sums();
  if (pools_.closed()) {
    const double removed = pools_.remove_means(exec_, reinterpret_cast<double*>(residual_.data()));
    incompatible_ = square > 0 ? std::sqrt(removed / square) : 0;
    square = squared_norm();
  }
  norm_b_ = std::sqrt(square);
  if (!settings_.warm_start || cold) return norm_b_;
  const double norm = evaluate();
  return norm <= norm_b_ ? norm : start(true);  // a start worse than zero is none
}

/// r = b - A x anew, without the part of b that closed pools cannot meet; returns its norm.
double ConjugateGradients::evaluate() {
  double square = network_residual(exec_, fine_, vectors_, reinterpret_cast<double*>(residual_.data()));
  if (pools_.closed()) {
    pools_.remove_means(exec_, reinterpret_cast<double*>(residual_.data()));
    square = squared_norm();
  }
  return std::sqrt(square);
}

void ConjugateGradients::run(SolveReport& report) {
  double norm = start();
  report.incompatible = incompatible_;
  if (norm_b_ == 0) {  // then x = 0 is the solution
    for (int b = 0; b < topology_.local_count(); ++b) std::fill_n(x(b), bucket_cells, 0.0);
    report.converged = true;
    return;
  }
  const double target = settings_.tolerance * norm_b_;
  const int first = report.iterations, limit = first + settings_.max_iterations;
  for (int restart = 0; restart < 6 && norm > target && report.iterations < limit; ++restart) {
    const int before = report.iterations;
    double next = norm;
    if (!iterate(report, target * (restart ? 0.5 : 1.0), limit, next)) break;
    next = evaluate();
    const bool stuck = next > 0.5 * norm && next > target;
    norm = next;
    if (report.iterations == before || stuck) break;
  }
  if (!report.trouble.empty()) norm = evaluate();
  if (!(norm <= norm_b_)) norm = start(true);  // zero is better than this
  if (pools_.closed() && report.iterations > first) {
    pools_.remove_means(exec_, x(0));
    norm = evaluate();
  }
  report.residual = norm / norm_b_;
  report.converged = norm <= target;
  if (!report.converged && report.trouble.empty())
    report.trouble = fmt::format("{} iterations left a relative residual of {:.1e} instead of {:.1e}",
                                 report.iterations, report.residual, settings_.tolerance);
}

/// The last step along the direction, after which the direction is no longer needed.
void ConjugateGradients::finish_step(double alpha) {
  Stopwatch watch;
  fine_.for_unknowns([&](int b) { advance(x(b), direction_.at(b), fine_.unknown.at(b), alpha, 0.0f); });
  exec_.profile.kernel("pressure.advance", watch.seconds(), fine_.pass_bytes(28));
}

/// Iterates from the residual in r, whose norm is given and kept up to date. False when it broke down; then
/// report.trouble says how.
bool ConjugateGradients::iterate(SolveReport& report, double target, int limit, double& norm) {
  const double size = norm / std::sqrt(static_cast<double>(std::max<std::int64_t>(report.unknowns, 1)));
  if (!(size > 0)) return true;
  const double scale = std::exp2(-std::ilogb(size));  // brings the residual into the range of single precision
  double alpha = 0, rz_before = 0, rate = 1;
  bool first_time = true;
  const auto move = [&](int b) {
    UnknownTile p;
    load_bucket(p, topology_, b, direction_.data(), fine_.bucket_operator(b));
    return sums_[static_cast<std::size_t>(b)] = subtract_product(p, fine_.bucket_operator(b), alpha, r(b));
  };
  const auto again = [&](int b, float* scratch) -> const float* {
    narrow(scratch, r(b), scale);
    return scratch;
  };
  const auto move_first = [&](int b, float* scratch) -> const float* { return move(b), again(b, scratch); };
  const auto done = [&](double square) {
    const double before = std::exchange(norm, std::sqrt(square));
    rate = norm / before;
    return !(norm > target) || report.iterations >= limit;
  };
  const auto end = [&] {
    finish_step(alpha);
    if (!std::isfinite(norm)) report.trouble = "the residual is no longer a finite number";
    return std::isfinite(norm);
  };
  for (;;) {
    // The residual moves in the pass that relaxes it for the first time, unless that would probably be in vain.
    const bool probably_last = !first_time && norm * rate < target;
    if (probably_last && done(sum("pressure.move", 20, move))) return end();
    if (first_time || probably_last)
      cycle_.begin(exec_, again, again);
    else
      cycle_.begin(exec_, move_first, again);
    if (!first_time && !probably_last && done(add_sums())) return end();
    cycle_.finish(exec_, again, [&](int b, const float* z) { sums_[static_cast<std::size_t>(b)] = dot(r(b), z); });
    const double rz = add_sums();
    const double beta = first_time ? 0.0 : rz / rz_before;
    Stopwatch watch;
    fine_.for_unknowns(exec_, direction_, -1, [&](int b) {
      advance(x(b), direction_.at(b), fine_.unknown.at(b), alpha, static_cast<float>(beta));
    });
    exec_.profile.kernel("pressure.advance", watch.seconds(), fine_.pass_bytes(28));
    const double square = sum("pressure.energy", 4, [&](int b) {
      UnknownTile p;
      load_bucket(p, topology_, b, direction_.data(), fine_.bucket_operator(b));
      return energy(p, fine_.bucket_operator(b));
    });
    if (!(rz > 0) || !(square > 0) || !std::isfinite(rz) || !std::isfinite(square)) {
      report.trouble = fmt::format("conjugate gradients broke down after {} iterations (r·z = {:.1e}, p·Ap = {:.1e})",
                                   report.iterations, rz, square);
      return false;
    }
    alpha = rz / square;
    rz_before = rz;
    first_time = false;
    ++report.iterations;
  }
}

NetworkSolver::NetworkSolver(Exec& exec, std::shared_ptr<const Topology> topology, std::vector<BucketShape> shapes,
                             std::int64_t unknowns, TileLoader load, const Multigrid::Settings& settings)
    : cycle_(exec, std::move(topology), std::move(shapes), unknowns, load, settings), pools_(exec, cycle_.level(0)) {}

NetworkSolver::NetworkSolver(Exec& exec, const NetworkSolver& base, int first, std::vector<BucketShape> shapes,
                             std::span<const ChangeBox> changed, TileLoader load, const Multigrid::Settings& settings)
    : cycle_(exec, base.cycle_, first, std::move(shapes), changed, load, settings),
      pools_(base.pools_.closed() ? Pools(exec, cycle_.level(0)) : Pools()) {}

void NetworkSolver::solve(Exec& exec, const NetworkVectors& vectors, const MultigridSettings& settings,
                          SolveReport& report) {
  ConjugateGradients(exec, *this, vectors, settings).run(report);
}

void NetworkSolver::descend(Exec& exec, const double* r, double size, double* x) {
  Level& level = cycle_.level(0);
  const Topology& t = level.topology();
  const double scale = size > 0 && std::isfinite(size) ? std::exp2(-std::ilogb(size)) : 1.0;
  const auto at = [](int b) { return static_cast<std::size_t>(b) * bucket_cells; };
  const auto rhs = [&](int b, float* scratch) -> const float* {
    narrow(scratch, r + at(b), scale);
    if (const NetworkBucket* n = level.bucket_operator(b).network)
      for (int c = 0; c < bucket_cells; ++c) scratch[c] = n->relax[c] > 0 ? scratch[c] : 0.0f;
    return scratch;
  };
  std::vector<double> sums(static_cast<std::size_t>(t.local_count()), 0.0);
  const auto total = [&] {
    return exact_sum(exec, t, [&](const Bucket& b) { return sums[static_cast<std::size_t>(b.index)]; });
  };
  cycle_.begin(exec, rhs, rhs);
  cycle_.finish(exec, rhs, [&](int b, const float* z) { sums[static_cast<std::size_t>(b)] = dot(r + at(b), z); });
  const double along = total();
  level.unknown.exchange(exec, t);
  level.for_unknowns([&](int b) {
    UnknownTile z;
    load_bucket(z, t, b, level.unknown.data(), level.bucket_operator(b));
    sums[static_cast<std::size_t>(b)] = energy(z, level.bucket_operator(b));
  });
  const double bend = total();
  if (!(along > 0) || !(bend > 0) || !std::isfinite(along / bend)) return;
  const double alpha = along / bend;
  level.for_unknowns([&](int b) {
    const float* z = level.unknown.at(b);
    for (int c = 0; c < bucket_cells; ++c) x[at(b) + static_cast<std::size_t>(c)] += alpha * static_cast<double>(z[c]);
  });
}

namespace {

/// `measure(bucket, square)` with the bucket's sum of r².
template <class Measure>
double residual_by_bucket(Exec& exec, const Level& level, const NetworkVectors& vectors, double* r,
                          const Measure& measure) {
  const Topology& t = level.topology();
  Stopwatch watch;
  HaloFlight flight(exec.comm);
  flight.add_layers(t, reinterpret_cast<std::byte*>(vectors.x), sizeof(double), 1);
  std::vector<double> sums(static_cast<std::size_t>(t.local_count()), 0.0);
  inner_first(BorderSplit(t), flight, [&](std::span<const int> buckets) {
    PaddedTile<double, 1> tile;
    for (const int b : buckets) {
      const auto i = static_cast<std::size_t>(b);
      if (level.kind(b) == BucketKind::empty) continue;
      const BucketOperator a = level.bucket_operator(b);
      load_tile<Star<1>>(tile, t, b, const_cast<const double*>(vectors.x), 0.0);
      mirror(tile, a.closed);
      sums[i] = measure(b, true_residual(tile, vectors.rhs + i * bucket_cells, a, r + i * bucket_cells));
    }
  });
  exec.profile.kernel("pressure.residual", watch.seconds(), level.pass_bytes(28));
  return exact_sum(exec, t, [&](const Bucket& b) { return sums[static_cast<std::size_t>(b.index)]; });
}

}  // namespace

double network_residual(Exec& exec, const Level& level, const NetworkVectors& vectors, double* r) {
  return residual_by_bucket(exec, level, vectors, r, [](int, double square) { return square; });
}

double network_residual(Exec& exec, const Level& level, const NetworkVectors& vectors, double* r,
                        FunctionRef<double(int bucket)> measure) {
  return residual_by_bucket(exec, level, vectors, r, [&](int b, double) { return measure(b); });
}

}  // namespace aegir
