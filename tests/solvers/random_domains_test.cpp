// Domains nobody would draw: mazes, thousands of pools, pools of one cell, pools without a surface, areas from 1e-12 to
// 1. The laws: what the solver returns is the solution of the system, as sparse Cholesky finds it; its pools are those
// of a flood fill; the residual it reports is the true one.
#include <cmath>

#include <gtest/gtest.h>

#include "tests/solvers/box_system.h"

namespace aegir {
namespace {

Random draw(std::uint64_t seed, std::size_t i) { return Random(seed, i, 0, Purpose::test); }

/// Every cell is solid, air or liquid by chance.
BoxSystem chance_box(const Vec3i& size, double solid, double air, std::uint64_t seed) {
  BoxSystem system(size);
  system.first_bucket = {-2, 1, -1};  // across the origin
  for (std::size_t i = 0; i < system.rhs.values.size(); ++i) {
    const Random random = draw(seed, i);
    const double kind = random.uniform(0);
    const Vec3i cell = system.rhs.cell(i);
    system.rhs.values[i] = static_cast<float>(random.uniform(1, -1, 1));
    system.distance.values[i] = static_cast<float>(kind < solid + air ? random.uniform(2) : -random.uniform(2) - 1e-3);
    if (kind < solid) system.make_solid(cell), system.distance.values[i] = -1;
  }
  return system;
}

/// Areas by chance among those that are open.
void scatter_areas(BoxSystem& system, std::uint64_t seed, double tiny_share) {
  for (int a = 0; a < 3; ++a)
    for (std::size_t i = 0; i < system.rhs.values.size(); ++i) {
      const Random random = draw(seed + 100 + static_cast<std::uint64_t>(a), i);
      const double kind = random.uniform(0);
      float& area = system.area[a].values[i];
      if (area == 0) continue;
      if (kind < tiny_share)
        area = 1e-12f;
      else if (kind < 0.5)
        area = static_cast<float>(random.uniform(1));
    }
}

void expect_same_as_direct(const BoxSystem& system, Fallback fallback = Fallback::forbidden) {
  const Solution solution = solve(system, {.tolerance = 1e-11});
  expect_solved(system, solution, 1e-11, fallback);
  const BoxPools pools = find_pools(system);
  EXPECT_LE(largest_difference(pools, solution.pressure, direct_solution(system, pools)), 1e-8);
  std::printf("%lld unknowns, %lld pools, %lld closed, %d iterations\n", static_cast<long long>(pools.unknowns),
              static_cast<long long>(pools.count()), static_cast<long long>(pools.closed_count()),
              solution.report.iterations);
}

TEST(RandomDomains, MazeWithSurfacesIsSolvedAsByCholesky) {
  expect_same_as_direct(chance_box({40, 32, 37}, 0.45, 0.02, 1));
}

TEST(RandomDomains, MazeWithoutSurfaceIsSolvedAsByCholesky) {
  expect_same_as_direct(chance_box({32, 40, 33}, 0.45, 0, 2));
}

TEST(RandomDomains, MazeNearPercolationIsSolvedAsByCholesky) {
  expect_same_as_direct(chance_box({40, 40, 40}, 0.62, 0.01, 3), Fallback::allowed);
}

TEST(RandomDomains, RandomAreasAreSolvedAsByCholesky) {
  BoxSystem system = chance_box({32, 33, 34}, 0.2, 0.02, 4);
  scatter_areas(system, 4, 0);
  expect_same_as_direct(system);
}

TEST(RandomDomains, ThousandsOfPoolsOpenAndClosedAreSolvedAsByCholesky) {
  const BoxSystem system = chance_box({64, 64, 64}, 0.66, 0.1, 5);
  const BoxPools pools = find_pools(system);
  EXPECT_GT(pools.count(), 10000);
  EXPECT_GT(pools.closed_count(), 500);
  expect_same_as_direct(system);
}

/// Cells of liquid in the corners of a lattice, each alone in air: p = b / s.
TEST(RandomDomains, PoolsOfOneCellAreSolvedExactly) {
  BoxSystem system({33, 34, 35});
  for (std::size_t i = 0; i < system.rhs.values.size(); ++i) {
    const Vec3i c = system.rhs.cell(i);
    const Random random = draw(6, i);
    const bool liquid = c.x % 2 == 0 && c.y % 2 == 0 && c.z % 2 == 0;
    system.distance.values[i] = static_cast<float>(liquid ? -random.uniform(0) - 1e-3 : random.uniform(0));
    system.rhs.values[i] = static_cast<float>(random.uniform(1, -1, 1));
  }
  scatter_areas(system, 6, 0);
  const Solution solution = solve(system, {.tolerance = 1e-10});
  expect_solved(system, solution, 1e-10);
  EXPECT_EQ(solution.report.pools, 17 * 17 * 18);
  for (std::size_t i = 0; i < system.rhs.values.size(); ++i) {
    if (!system.unknown(system.rhs.cell(i))) continue;
    const double expected = static_cast<double>(system.rhs.values[i]) / system.row(system.rhs.cell(i)).diagonal();
    ASSERT_NEAR(solution.pressure.values[i], expected, 1e-8);
  }
}

/// Sets the right-hand side to A x for an x of order one.
void set_rhs_of_known_solution(BoxSystem& system, std::uint64_t seed) {
  const auto x = [&](const Vec3i& c) { return draw(seed, system.rhs.index(c)).uniform(5, -1, 1); };
  for (std::size_t i = 0; i < system.rhs.values.size(); ++i) {
    const Vec3i cell = system.rhs.cell(i);
    if (!system.unknown(cell)) continue;
    const SceneRow row = system.row(cell);
    double sum = static_cast<double>(row.sink) * x(cell);
    for (int f = 0; f < 6; ++f)
      if (const float w = row.weight[static_cast<std::size_t>(f)]; w > 0)
        sum += static_cast<double>(w) * (x(cell) - x(f % 2 ? cell + step_along(f / 2) : cell - step_along(f / 2)));
    system.rhs.values[i] = static_cast<float>(sum);
  }
}

/// A cell that hangs on the rest by 1e-12 may have a pressure of 1e12, whose residual no double can hold; so the
/// right-hand side is that of a pressure of order one.
TEST(RandomDomains, WeightsOf1e12ReachTheTolerance) {
  for (const std::uint64_t seed : {7, 8, 9}) {
    BoxSystem system = chance_box({40, 24, 33}, 0.2, 0.02, seed);
    scatter_areas(system, seed, 0.15);
    set_rhs_of_known_solution(system, seed);
    const Solution solution = solve(system, {.tolerance = 1e-8});
    expect_solved(system, solution, 1e-8);
    std::printf("%d iterations\n", solution.report.iterations);
  }
}

TEST(TrueResidual, Reaches1e8And1e10) {
  for (const PressureScene& scene : {sloshing_box(64), hard_box(64), sealed_box(64)}) {
    const BoxSystem system(scene);
    for (const double tolerance : {1e-8, 1e-10}) {
      const Solution solution = solve(system, {.tolerance = tolerance});
      expect_solved(system, solution, tolerance);
      std::printf("%d iterations to %.1e\n", solution.report.iterations, solution.report.residual);
    }
  }
}

TEST(ClosedPools, IncompatiblePartIsProjectedAwayAndReported) {
  const BoxSystem system(sealed_box(48));
  const BoxPools pools = find_pools(system);
  ASSERT_GT(pools.closed_count(), 0);
  const BoxField<double> compatible = compatible_rhs(system, pools);
  double whole = 0, removed = 0;
  for (std::size_t i = 0; i < compatible.values.size(); ++i) {
    if (pools.pool.values[i] < 0) continue;
    const auto b = static_cast<double>(system.rhs.values[i]);
    whole += b * b, removed += (b - compatible.values[i]) * (b - compatible.values[i]);
  }
  const Solution solution = solve(system, {.tolerance = 1e-8});
  expect_solved(system, solution, 1e-8);
  EXPECT_GT(solution.report.incompatible, 0.01);
  EXPECT_NEAR(solution.report.incompatible, std::sqrt(removed / whole), 1e-10);
}

/// A constant source in a box without a surface has no compatible part: nothing is to be solved.
TEST(ClosedPools, ConstantSourceInClosedBoxLeavesNoPressure) {
  BoxSystem system({19, 17, 24});
  for (float& b : system.rhs.values) b = 0.1f;
  const Solution solution = solve(system, {.tolerance = 1e-6});
  EXPECT_NEAR(solution.report.incompatible, 1, 1e-12);
  EXPECT_EQ(solution.report.closed_pools, 1);
  EXPECT_TRUE(solution.report.converged) << solution.report.trouble;
  for (const double p : solution.pressure.values) ASSERT_NEAR(p, 0, 1e-9);
}

TEST(ClosedPools, PressureOfClosedPoolsHasMeanZero) {
  const BoxSystem system = chance_box({24, 24, 24}, 0.6, 0, 12);
  const BoxPools pools = find_pools(system);
  const Solution solution = solve(system, {.tolerance = 1e-9});
  expect_solved(system, solution, 1e-9, Fallback::allowed);
  EXPECT_EQ(pools.closed_count(), pools.count());
  std::vector<double> sum(pools.closed.size());
  for (std::size_t i = 0; i < solution.pressure.values.size(); ++i)
    if (const auto p = pools.pool.values[i]; p >= 0) sum[static_cast<std::size_t>(p)] += solution.pressure.values[i];
  for (const double s : sum) ASSERT_NEAR(s, 0, 1e-8);
}

/// Half of the box is full and hangs on the other, open half by a crack of one face: its pressure is one constant,
/// large against its differences.
TEST(RandomDomains, NearlySealedChamberIsSolved) {
  for (const float crack : {1e-2f, 1e-4f, 1e-5f}) {
    BoxSystem system(Vec3i(24));
    for (std::size_t i = 0; i < system.rhs.values.size(); ++i) {
      const Vec3i c = system.rhs.cell(i);
      const bool chamber = c.x < 12;
      if (c.x == 12) system.area[0].values[i] = 0;
      system.distance.values[i] = chamber ? -1.0f : static_cast<float>(c.y) - 11.7f;
      system.rhs.values[i] = chamber ? 1.0f : static_cast<float>(draw(13, i).uniform(0, -1, 1));
    }
    system.area[0].at({12, 4, 4}) = crack;
    expect_solved(system, solve(system, {.tolerance = 1e-6}), 1e-6);
  }
}

TEST(RandomDomains, MazesWithoutSurfaceNeedNoDirectSolver) {
  for (const std::uint64_t seed : {100, 101}) {
    const BoxSystem system = chance_box({48, 48, 48}, 0.45, 0, seed);
    expect_solved(system, solve(system, {.tolerance = 1e-8, .direct_limit = 0}), 1e-8);
  }
}

}  // namespace
}  // namespace aegir
