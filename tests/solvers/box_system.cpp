#include "tests/solvers/box_system.h"

#include <cmath>

#include <gtest/gtest.h>

#include "domain/for_each_bucket.h"
#include "solvers/linear/direct.h"
#include "solvers/linear/free_surface.h"
#include "solvers/linear/network.h"

namespace aegir {
namespace {

constexpr PressureChannels channels{scene_area, scene_distance, scene_rhs, scene_pressure};

/// Calls body(cell, offset) for the cells of a local bucket that lie in the box.
template <class Body>
void for_cells(const BoxSystem& system, const Topology& topology, int bucket, const Body& body) {
  const Vec3i first = (topology.key(bucket).coord - system.first_bucket) * bucket_size;
  for (int c = 0; c < bucket_cells; ++c) {
    const Vec3i cell = first + Vec3i{c >> 6, (c >> 3) & 7, c & 7};
    if (system.distance.inside(cell)) body(cell, c);
  }
}

/// Takes the mean out of every closed pool.
void remove_means(const BoxPools& pools, BoxField<double>& field) {
  std::vector<long double> sum(pools.closed.size()), cells(pools.closed.size());
  for (std::size_t i = 0; i < field.values.size(); ++i)
    if (const auto p = pools.pool.values[i]; p >= 0) {
      sum[static_cast<std::size_t>(p)] += static_cast<long double>(field.values[i]);
      cells[static_cast<std::size_t>(p)] += 1;
    }
  for (std::size_t i = 0; i < field.values.size(); ++i)
    if (const auto p = pools.pool.values[i]; p >= 0 && pools.closed[static_cast<std::size_t>(p)])
      field.values[i] -= static_cast<double>(sum[static_cast<std::size_t>(p)] / cells[static_cast<std::size_t>(p)]);
}

}  // namespace

BoxSystem::BoxSystem(const Vec3i& s)
    : size(s),
      area{BoxField<float>(s, 1.0f), BoxField<float>(s, 1.0f), BoxField<float>(s, 1.0f)},
      distance(s, -1.0f),
      rhs(s, 0.0f) {}

BoxSystem::BoxSystem(const PressureScene& scene) : BoxSystem(Vec3i(scene.n())) {
  for (std::size_t i = 0; i < distance.values.size(); ++i) {
    const Vec3i cell = distance.cell(i);
    for (int a = 0; a < 3; ++a) area[a].values[i] = scene.area(a, cell);
    distance.values[i] = scene.distance(cell);
    rhs.values[i] = scene.rhs(cell);
  }
}

float BoxSystem::open(int axis, const Vec3i& cell) const {
  return cell[axis] > 0 && distance.inside(cell) ? area[axis].at(cell) : 0.0f;
}

bool BoxSystem::unknown(const Vec3i& cell) const {
  if (!(distance.at(cell) < 0)) return false;
  float sum = 0;
  for (int a = 0; a < 3; ++a) sum += open(a, cell) + open(a, cell + step_along(a));
  return sum > least_diagonal;
}

SceneRow BoxSystem::row(const Vec3i& cell) const {
  SceneRow r;
  const float here = distance.at(cell);
  for (int a = 0; a < 3; ++a) {
    float sink = 0;
    for (int upper = 0; upper < 2; ++upper) {
      const Vec3i other = upper ? cell + step_along(a) : cell - step_along(a);
      const float w = open(a, upper ? other : cell);
      if (!(w > 0)) continue;
      if (distance.at(other) < 0)
        r.weight[static_cast<std::size_t>(2 * a + upper)] = w;
      else
        sink += ghost_fluid_sink(w, here, distance.at(other));
    }
    r.sink += sink;
  }
  return r;
}

void BoxSystem::make_solid(const Vec3i& cell) {
  for (int a = 0; a < 3; ++a) {
    area[a].at(cell) = 0;
    if (distance.inside(cell + step_along(a))) area[a].at(cell + step_along(a)) = 0;
  }
}

std::int64_t BoxPools::closed_count() const {
  std::int64_t n = 0;
  for (const char c : closed) n += c;
  return n;
}

BoxPools find_pools(const BoxSystem& system) {
  BoxPools result{BoxField<std::int32_t>(system.size, -1), {}, 0};
  std::vector<Vec3i> open;
  for (std::size_t i = 0; i < result.pool.values.size(); ++i) {
    if (result.pool.values[i] >= 0 || !system.unknown(result.pool.cell(i))) continue;
    const auto number = static_cast<std::int32_t>(result.closed.size());
    bool closed = true;
    open.push_back(result.pool.cell(i));
    result.pool.values[i] = number;
    while (!open.empty()) {
      const Vec3i cell = open.back();
      open.pop_back();
      ++result.unknowns;
      const SceneRow row = system.row(cell);
      closed &= !(row.sink > 0);
      for (int f = 0; f < 6; ++f) {
        if (!(row.weight[static_cast<std::size_t>(f)] > 0)) continue;
        const Vec3i next = f % 2 ? cell + step_along(f / 2) : cell - step_along(f / 2);
        if (result.pool.at(next) >= 0) continue;
        result.pool.at(next) = number;
        open.push_back(next);
      }
    }
    result.closed.push_back(closed);
  }
  return result;
}

std::unique_ptr<DiscreteVolume> make_volume(Exec& exec, const BoxSystem& system, const Partition& partition) {
  std::vector<BucketKey> keys;
  const auto buckets = [](int cells) { return (cells + bucket_size - 1) / bucket_size; };
  for (int x = 0; x < buckets(system.size.x); ++x)
    for (int y = 0; y < buckets(system.size.y); ++y)
      for (int z = 0; z < buckets(system.size.z); ++z) {
        const BucketKey key{system.first_bucket + Vec3i{x, y, z}, 0};
        if (partition.owner(curve_position(key)) == exec.comm.rank()) keys.push_back(key);
      }
  auto volume = std::make_unique<DiscreteVolume>("box", Topology::build(1.0, keys, partition, exec.comm));
  volume->declare(scene_area), volume->declare(scene_distance);
  volume->declare(scene_rhs), volume->declare(scene_pressure);
  for_each_bucket(
      exec, "fill box", volume->topology(),
      [&system](const Bucket& bucket, auto& area, auto& distance, auto& rhs) {
        for_cells(system, bucket.topology, bucket.index, [&](const Vec3i& cell, int c) {
          for (int a = 0; a < 3; ++a) area[static_cast<std::size_t>(a)][c] = system.open(a, cell);
          distance[c] = system.distance.at(cell);
          rhs[c] = system.rhs.at(cell);
        });
      },
      volume->write(scene_area), volume->write(scene_distance), volume->write(scene_rhs));
  return volume;
}

Solution solve(const BoxSystem& system, const MultigridSettings& settings, const BoxField<double>* start) {
  const auto comm = make_single_comm();
  Profile profile;
  Exec exec{*comm, profile};
  const auto volume = make_volume(exec, system, Partition{});
  const Topology& topology = volume->topology();
  double* values = volume->store(scene_pressure.name).plane<double>(0);
  const auto value = [&](int b, int c) -> double& { return values[b * bucket_cells + c]; };
  if (start)
    for (int b = 0; b < topology.local_count(); ++b)
      for_cells(system, topology, b, [&](const Vec3i& cell, int c) { value(b, c) = start->at(cell); });
  Solution solution{solve_pressure(exec, *volume, channels, settings), BoxField<double>(system.size)};
  for (int b = 0; b < topology.local_count(); ++b)
    for_cells(system, topology, b, [&](const Vec3i& cell, int c) { solution.pressure.at(cell) = value(b, c); });
  return solution;
}

BoxField<double> compatible_rhs(const BoxSystem& system, const BoxPools& pools) {
  BoxField<double> b(system.size, 0.0);
  for (std::size_t i = 0; i < b.values.size(); ++i)
    if (pools.pool.values[i] >= 0) b.values[i] = static_cast<double>(system.rhs.values[i]);
  remove_means(pools, b);
  return b;
}

double true_residual(const BoxSystem& system, const BoxPools& pools, const BoxField<double>& pressure) {
  const BoxField<double> b = compatible_rhs(system, pools);
  long double square = 0, norm = 0;
  for (std::size_t i = 0; i < b.values.size(); ++i) {
    if (pools.pool.values[i] < 0) continue;
    const Vec3i cell = b.cell(i);
    const SceneRow row = system.row(cell);
    const auto own = static_cast<long double>(pressure.values[i]);
    long double r = static_cast<long double>(b.values[i]) - static_cast<long double>(row.sink) * own;
    for (int f = 0; f < 6; ++f)
      if (const float w = row.weight[static_cast<std::size_t>(f)]; w > 0) {
        const Vec3i next = f % 2 ? cell + step_along(f / 2) : cell - step_along(f / 2);
        r -= static_cast<long double>(w) * (own - static_cast<long double>(pressure.at(next)));
      }
    square += r * r;
    norm += static_cast<long double>(b.values[i]) * static_cast<long double>(b.values[i]);
  }
  return square > 0 ? static_cast<double>(std::sqrt(square / norm)) : 0.0;
}

BoxField<double> direct_solution(const BoxSystem& system, const BoxPools& pools) {
  BoxField<double> x = compatible_rhs(system, pools);
  BoxField<int> number(system.size, -1);
  std::vector<std::size_t> cells;
  for (std::size_t i = 0; i < x.values.size(); ++i)
    if (pools.pool.values[i] >= 0) number.values[i] = static_cast<int>(cells.size()), cells.push_back(i);
  std::vector<char> pinned(pools.closed.size(), 0);
  std::vector<int> first{0}, rows;
  std::vector<double> values, rhs;
  for (const std::size_t i : cells) {
    const Vec3i cell = x.cell(i);
    const SceneRow row = system.row(cell);
    const auto p = static_cast<std::size_t>(pools.pool.values[i]);
    const bool pin = pools.closed[p] && !pinned[p];  // one equation too many: the first cell gets a sink
    if (pin) pinned[p] = 1;
    rows.push_back(number.values[i]), values.push_back(row.diagonal() + (pin ? 1.0 : 0.0));
    for (int a = 0; a < 3; ++a)
      if (const float w = row.weight[static_cast<std::size_t>(2 * a + 1)]; w > 0)
        rows.push_back(number.at(cell + step_along(a))), values.push_back(-static_cast<double>(w));
    first.push_back(static_cast<int>(rows.size()));
    rhs.push_back(x.values[i]);
  }
  const auto factor = DirectSolver::factor(static_cast<int>(cells.size()), first, rows, values);
  if (!factor) {
    ADD_FAILURE() << factor.error().message;
    return x;
  }
  factor->solve(rhs, rhs);
  for (std::size_t c = 0; c < cells.size(); ++c) x.values[cells[c]] = rhs[c];
  remove_means(pools, x);
  return x;
}

double largest_difference(const BoxPools& pools, BoxField<double> a, BoxField<double> b) {
  remove_means(pools, a), remove_means(pools, b);
  double most = 0, size = 0;
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    if (pools.pool.values[i] < 0) continue;
    most = std::max(most, std::abs(a.values[i] - b.values[i])), size = std::max(size, std::abs(b.values[i]));
  }
  return size > 0 ? most / size : most;
}

void expect_solved(const BoxSystem& system, const Solution& solution, double tolerance, Fallback fallback) {
  const BoxPools pools = find_pools(system);
  EXPECT_TRUE(solution.report.converged) << solution.report.trouble;
  const bool multigrid = solution.report.method == SolveMethod::multigrid_cg;
  EXPECT_TRUE(multigrid || (solution.report.method == SolveMethod::direct && fallback == Fallback::allowed))
      << solution.report.trouble;
  EXPECT_EQ(solution.report.trouble.empty(), multigrid);
  EXPECT_EQ(solution.report.unknowns, pools.unknowns);
  EXPECT_EQ(solution.report.pools, pools.count());
  EXPECT_EQ(solution.report.closed_pools, pools.closed_count());
  const double residual = true_residual(system, pools, solution.pressure);
  EXPECT_LE(residual, tolerance);
  EXPECT_LE(solution.report.residual, tolerance);
  EXPECT_NEAR(solution.report.residual, residual, 0.01 * tolerance);
  for (std::size_t i = 0; i < pools.pool.values.size(); ++i)
    ASSERT_TRUE(pools.pool.values[i] >= 0 || solution.pressure.values[i] == 0.0) << "no unknown, no pressure";
}

}  // namespace aegir
