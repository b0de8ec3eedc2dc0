#include "solvers/lcp/projected_cycles.h"

#include <immintrin.h>

#include <algorithm>
#include <cmath>

#include "base/simd.h"
#include "domain/for_each_bucket.h"
#include "domain/transport/halo.h"

namespace aegir {
namespace {

/// Eight running sums in order: loops that vectorise and always add the same way.
inline double add_lanes(const double* lane) {
  return ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

const float* everything() {
  static const std::vector<float> ones(bucket_cells, 1.0f);
  return ones.data();
}

/// x = max(x, l) where there are unknowns, 0 elsewhere; returns the sum of b². Bytes per cell: 32.
AEGIR_HOT double make_feasible(double* __restrict x, const float* __restrict rhs, const float* __restrict bound,
                               const float* __restrict unknown, int* __restrict any) {
  double lane[8] = {};
  int bounds[8] = {};
  for (int c = 0; c < bucket_cells; c += 8)
    for (int k = 0; k < 8; ++k) {
      const bool here = unknown[c + k] > 0, has = bound[c + k] > no_bound;
      const double value = x[c + k], start = value - value == 0 ? value : 0.0;
      const double least = has ? static_cast<double>(bound[c + k]) : start;
      x[c + k] = here ? (start < least ? least : start) : 0.0;
      const double b = here ? static_cast<double>(rhs[c + k]) : 0.0;
      lane[k] += b * b;
      bounds[k] |= here & has;
    }
  *any = (bounds[0] | bounds[1] | bounds[2] | bounds[3]) | (bounds[4] | bounds[5] | bounds[6] | bounds[7]);
  return add_lanes(lane);
}

/// From r = b - A x: what the correction has to meet, its bounds, and the sum of min(x - l, -r)².
AEGIR_HOT double measure_bounded(const double* __restrict x, const double* __restrict r, const float* __restrict bound,
                                 const float* __restrict unknown, double scale, float* __restrict residual,
                                 float* __restrict least) {
  double lane[8] = {};
  for (int c = 0; c < bucket_cells; c += 8)
    for (int k = 0; k < 8; ++k) {
      const bool has = (bound[c + k] > no_bound) & (unknown[c + k] > 0);
      const double gap = static_cast<double>(bound[c + k]) - x[c + k], miss = r[c + k];
      const double greater = gap > miss ? gap : miss;
      const double lacks = has ? greater : miss;
      residual[c + k] = static_cast<float>(miss * scale);
      least[c + k] = has ? static_cast<float>(gap * scale) : no_bound;
      lane[k] += lacks * lacks;
    }
  return add_lanes(lane);
}

AEGIR_HOT void narrow(float* __restrict to, const double* __restrict from, double scale) {
  for (int c = 0; c < bucket_cells; ++c) to[c] = static_cast<float>(from[c] * scale);
}

/// x += c, exactly l where c is at its bound.
AEGIR_HOT void move_bounded(double* __restrict x, const float* __restrict c, const float* __restrict least,
                            const float* __restrict bound, double back) {
  for (int i = 0; i < bucket_cells; ++i) {
    const double next = x[i] + static_cast<double>(c[i]) * back, l = static_cast<double>(bound[i]);
    const bool has = least[i] > no_bound;
    x[i] = has & ((c[i] <= least[i]) | (next < l)) ? l : next;
  }
}

AEGIR_HOT void move_freely(double* __restrict x, const float* __restrict c, double back) {
  for (int i = 0; i < bucket_cells; ++i) x[i] += static_cast<double>(c[i]) * back;
}

}  // namespace

ProjectedCycles::ProjectedCycles(Exec& exec, const Level& level, const BoundedVectors& vectors, BufferPool* memory)
    : exec_(exec),
      level_(level),
      vectors_(vectors),
      topology_(level_.topology()),
      correction_(topology_.total_count(), bucket_cells, memory),
      residual_(topology_.local_count(), bucket_cells, memory, false),
      least_(topology_.local_count(), bucket_cells, memory, false),
      bounded_(static_cast<std::size_t>(topology_.local_count()), 0),
      sums_(static_cast<std::size_t>(topology_.local_count()), 0.0) {}

double ProjectedCycles::total() {
  return exact_sum(exec_, topology_, [&](const Bucket& b) { return sums_[static_cast<std::size_t>(b.index)]; });
}

double ProjectedCycles::residual() {
  const double square = total();
  return norm_ > 0 ? std::sqrt(square) / norm_ : std::sqrt(square);
}

void ProjectedCycles::exchange_x() {
  if (exec_.comm.size() > 1)
    exchange_halo(exec_.comm, topology_, reinterpret_cast<std::byte*>(vectors_.x), bucket_cells * sizeof(double));
}

void ProjectedCycles::begin() {
  parallel_for(0, sums_.size(), 4, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) sums_[i] = begin_bucket(static_cast<int>(i));
  });
  norm_ = std::sqrt(total());
  buckets_ = exec_.comm.sum(static_cast<std::int64_t>(level_.buckets(0).size() + level_.buckets(1).size()));
  // Brings the residual into the range of single precision.
  const double size = norm_ / std::sqrt(static_cast<double>(std::max<std::int64_t>(buckets_, 1) * bucket_cells));
  scale_ = size > 0 && std::isfinite(size) ? std::exp2(-std::ilogb(size)) : 1.0;
}

double ProjectedCycles::begin_bucket(int b) {
  if (level_.kind(b) == BucketKind::empty) return std::fill_n(x(b), bucket_cells, 0.0), 0.0;
  const NetworkBucket* n = level_.bucket_operator(b).network;
  int any = 0;
  const double square =
      make_feasible(x(b), vectors_.rhs + at(b), vectors_.bound + at(b), n ? n->relax : everything(), &any);
  bounded_[static_cast<std::size_t>(b)] = any != 0;
  return square;
}

/// What a correction has to meet. Bytes per cell: x 8, rhs 4, written 8, and with bounds 4 and 8 more. Flops: 14.
double ProjectedCycles::evaluate_bucket(int b) {
  const BucketOperator a = level_.bucket_operator(b);
  PaddedTile<double, 1> tile;
  alignas(64) double r[bucket_cells];
  load_tile<Star<1>>(tile, topology_, b, const_cast<const double*>(vectors_.x), 0.0);
  mirror(tile, a.closed);
  const double square = true_residual(tile, vectors_.rhs + at(b), a, r);
  if (bounded_[static_cast<std::size_t>(b)])
    return measure_bounded(x(b), r, vectors_.bound + at(b), a.network ? a.network->relax : everything(), scale_,
                           residual_.at(b), least_.at(b));
  narrow(residual_.at(b), r, scale_);
  return square;
}

double ProjectedCycles::evaluate() {
  Stopwatch watch;
  exchange_x();
  level_.for_unknowns([&](int b) { sums_[static_cast<std::size_t>(b)] = evaluate_bucket(b); });
  exec_.profile.kernel("lcp.evaluate", watch.seconds(), level_.pass_bytes(32));
  return residual();
}

void ProjectedCycles::find_held(HeldSet& held) const {
  level_.for_unknowns([&](int b) {
    std::uint8_t* rows = held.rows(b);
    if (!bounded_[static_cast<std::size_t>(b)]) return void(std::fill_n(rows, bucket_size * bucket_size, 0));
    for (int row = 0; row < bucket_size * bucket_size; ++row) {
      const Row<float> least = load_row(least_.at(b) + 8 * row), r = load_row(residual_.at(b) + 8 * row);
      const Row<std::int32_t> holds = (least == Row<float>{}) & (r < Row<float>{});
      rows[row] = static_cast<std::uint8_t>(_mm256_movemask_ps(reinterpret_cast<__m256>(holds)));
    }
  });
}

void ProjectedCycles::move_bucket(int b, const float* correction) {
  if (bounded_[static_cast<std::size_t>(b)])
    move_bounded(x(b), correction, least_.at(b), vectors_.bound + at(b), 1 / scale_);
  else
    move_freely(x(b), correction, 1 / scale_);
}

/// Relaxes a bucket of polish().
void ProjectedCycles::relax_bucket(int b) {
  constexpr int sweeps = 3;
  const BucketOperator a = level_.bucket_operator(b);
  UnknownTile tile;
  load_bucket(tile, topology_, b, correction_.data(), a);
  if (bounded_[static_cast<std::size_t>(b)])
    relax_projected(tile, residual_.at(b), a, least_.at(b), sweeps);
  else
    relax(tile, residual_.at(b), a, sweeps, false);
  store_own(tile, correction_.at(b));
}

double ProjectedCycles::polish(double before) {
  constexpr double more = 2;  // times the mean square
  constexpr int passes = 8;
  const double lacks = before * (norm_ > 0 ? norm_ : 1), limit = more * lacks * lacks / static_cast<double>(buckets_);
  std::vector<std::uint8_t> chosen(static_cast<std::size_t>(topology_.total_count()), 0);
  std::vector<std::int32_t> lists[2], again;
  for (int colour = 0; colour < 2; ++colour)
    for (const std::int32_t b : level_.buckets(colour))
      if (sums_[static_cast<std::size_t>(b)] > limit)
        lists[colour].push_back(b), chosen[static_cast<std::size_t>(b)] = 1;
  if (!exec_.comm.any(!lists[0].empty() || !lists[1].empty())) return before;
  if (exec_.comm.size() > 1) exchange_halo(exec_.comm, topology_, reinterpret_cast<std::byte*>(chosen.data()), 1);
  for (const auto colour : {0, 1})
    for (const std::int32_t b : level_.buckets(colour)) {
      const auto& n = topology_.neighbours(b);
      const auto is = [&](int dx, int dy, int dz) {
        const int other = n[static_cast<std::size_t>(neighbour_index(dx, dy, dz))];
        return other >= 0 && chosen[static_cast<std::size_t>(other)];
      };
      if (chosen[static_cast<std::size_t>(b)] || is(-1, 0, 0) || is(1, 0, 0) || is(0, -1, 0) || is(0, 1, 0) ||
          is(0, 0, -1) || is(0, 0, 1))
        again.push_back(b);
    }
  const auto for_list = [](const std::vector<std::int32_t>& list, const auto& body) {
    parallel_for(0, list.size(), 4, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) body(list[i]);
    });
  };
  for (int pass = 0; pass < passes; ++pass) {
    if (pass > 0) correction_.exchange(exec_, topology_);
    for_list(lists[pass & 1], [&](int b) { relax_bucket(b); });
  }
  for (const auto& list : lists)
    for_list(list, [&](int b) {
      move_bucket(b, correction_.at(b));
      std::fill_n(correction_.at(b), bucket_cells, 0.0f);
    });
  correction_.exchange(exec_, topology_);
  exchange_x();
  for_list(again, [&](int b) { sums_[static_cast<std::size_t>(b)] = evaluate_bucket(b); });
  return residual();
}

void ProjectedCycles::run(Multigrid& cycle, SolveReport& report, const Goal& goal) {
  const auto rhs = [&](int b, float*) -> const float* { return residual_.at(b); };
  const auto least = [&](int b) -> const float* {
    return bounded_[static_cast<std::size_t>(b)] ? least_.at(b) : nullptr;
  };
  // Coarse networks are a little too stiff: line searches along corrections find 1.05 to 1.25. Relaxing twice after the
  // correction costs an eighth of a cycle and leaves a third to a half of what relaxing once does.
  const Multigrid::Bounds bounds{least, 1.1f, 2};
  constexpr double slow = 0.5;
  for (int round = 0; round < goal.most_rounds && report.residual > goal.tolerance; ++round) {
    report.residual = polish(report.residual);
    if (report.residual <= goal.tolerance) return;
    const double before = report.residual;
    cycle.begin_bounded(exec_, rhs, rhs, bounds);
    cycle.finish_bounded(exec_, rhs, bounds, [&](int b, const float* c) { move_bucket(b, c); });
    ++report.iterations;
    report.residual = evaluate();
    if (!(report.residual < slow * before)) return;
  }
}

}  // namespace aegir
