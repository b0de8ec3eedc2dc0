// Hostile systems: whatever the channels hold, the solver ends and its report says what happened.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "tests/solvers/box_system.h"

namespace aegir {
namespace {

constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

/// A tank of 24³ cells, half full.
BoxSystem tank() {
  BoxSystem system(Vec3i(24));
  for (std::size_t i = 0; i < system.rhs.values.size(); ++i) {
    const Vec3i c = system.rhs.cell(i);
    system.distance.values[i] = static_cast<float>(c.y) - 11.7f + 0.1f * static_cast<float>(c.x % 3);
    system.rhs.values[i] = static_cast<float>(Random(21, i, 0, Purpose::test).uniform(0, -1, 1));
  }
  return system;
}

BoxField<double> filled(double value) { return BoxField<double>(Vec3i(24), value); }

void expect_refused(const BoxSystem& system, const std::string& channel, const std::string& cell) {
  const BoxField<double> start = filled(3);
  const Solution solution = solve(system, {}, &start);
  EXPECT_FALSE(solution.report.converged);
  EXPECT_EQ(solution.report.method, SolveMethod::none);
  EXPECT_NE(solution.report.trouble.find(channel), std::string::npos) << solution.report.trouble;
  EXPECT_NE(solution.report.trouble.find(cell), std::string::npos) << solution.report.trouble;
  EXPECT_EQ(solution.pressure.values, start.values) << "the pressure is left as it is";
}

TEST(HostileSystem, AreaThatIsNoNumberOrNegativeIsNamed) {
  for (const float bad : {nan_value, infinity, -infinity, -0.25f})
    for (const Vec3i& cell : {Vec3i{5, 6, 7}, Vec3i{8, 8, 16}, Vec3i{23, 3, 1}}) {
      BoxSystem system = tank();
      system.area[1].at(cell) = bad;
      expect_refused(system, "scene_area", std::to_string(cell.x) + ", " + std::to_string(cell.y));
    }
}

TEST(HostileSystem, DistanceThatIsNoNumberIsNamed) {
  for (const float bad : {nan_value, infinity})
    for (const Vec3i& cell : {Vec3i{5, 6, 7}, Vec3i{8, 8, 16}, Vec3i{5, 20, 7}}) {
      BoxSystem system = tank();
      system.distance.at(cell) = bad;
      expect_refused(system, "scene_distance", std::to_string(cell.x) + ", " + std::to_string(cell.y));
    }
}

TEST(HostileSystem, RightHandSideThatIsNoNumberIsNamed) {
  for (const float bad : {nan_value, infinity, -infinity})
    for (const Vec3i& cell : {Vec3i{5, 6, 7}, Vec3i{8, 8, 16}, Vec3i{0, 0, 0}}) {
      BoxSystem system = tank();
      system.rhs.at(cell) = bad;
      expect_refused(system, "scene_rhs", std::to_string(cell.x) + ", " + std::to_string(cell.y));
    }
}

/// Infinitely deep in a bucket that is all liquid is inside; in one with a surface it has no place.
TEST(HostileSystem, DistanceOfMinusInfinityIsInsideOrNamed) {
  BoxSystem deep = tank(), near = tank();
  deep.distance.at({5, 3, 5}) = near.distance.at({5, 11, 5}) = -infinity;
  expect_solved(deep, solve(deep, {.tolerance = 1e-8}), 1e-8);
  expect_refused(near, "scene_distance", "5, 11, 5");
}

TEST(HostileSystem, NoBucketsAtAllIsSolved) {
  const auto comm = make_single_comm();
  Profile profile;
  Exec exec{*comm, profile};
  DiscreteVolume volume("nothing", Topology::empty(1.0, Partition{}));
  volume.declare(scene_area), volume.declare(scene_distance), volume.declare(scene_rhs);
  volume.declare(scene_pressure);
  const SolveReport report = solve_pressure(exec, volume, {scene_area, scene_distance, scene_rhs, scene_pressure});
  EXPECT_TRUE(report.converged) << report.trouble;
  EXPECT_EQ(report.unknowns, 0);
  EXPECT_EQ(report.iterations, 0);
}

TEST(HostileSystem, NothingButSolidOrAirIsSolved) {
  BoxSystem solid = tank(), air = tank();
  for (auto& area : solid.area) std::ranges::fill(area.values, 0.0f);
  std::ranges::fill(air.distance.values, 0.0f);  // on the surface is not inside
  const BoxField<double> start = filled(3);
  for (const BoxSystem* system : {&solid, &air}) {
    const Solution solution = solve(*system, {}, &start);
    expect_solved(*system, solution, 0);
    EXPECT_EQ(solution.report.unknowns, 0);
    EXPECT_EQ(solution.report.pools, 0);
  }
}

TEST(HostileSystem, ZeroRightHandSideGivesZeroWhateverTheStart) {
  for (const double garbage : {3.0, 1e30, 1e300, std::numeric_limits<double>::quiet_NaN()}) {
    BoxSystem system = tank();
    std::ranges::fill(system.rhs.values, 0.0f);
    const BoxField<double> start = filled(garbage);
    const Solution solution = solve(system, {}, &start);
    expect_solved(system, solution, 0);
    for (const double p : solution.pressure.values) ASSERT_EQ(p, 0.0);
  }
}

/// What one solve has set up serves another right-hand side, to the same bits as if it were set up anew.
TEST(PressureHierarchy, ServesSeveralRightHandSides) {
  const auto comm = make_single_comm();
  Profile profile;
  Exec exec{*comm, profile};
  const BoxSystem system = tank();
  const auto solve_twice = [&](PressureHierarchy* kept) {
    const auto volume = make_volume(exec, system, Partition{});
    const PressureChannels channels{scene_area, scene_distance, scene_rhs, scene_pressure};
    EXPECT_TRUE(solve_pressure(exec, *volume, channels, {}, kept).converged);
    const std::size_t count = static_cast<std::size_t>(volume->topology().local_count()) * bucket_cells;
    float* rhs = volume->store(scene_rhs.name).plane<float>(0);
    for (std::size_t i = 0; i < count; ++i) rhs[i] *= static_cast<float>(i % 7);
    const SolveReport report = solve_pressure(exec, *volume, channels, {.warm_start = false}, kept);
    EXPECT_TRUE(report.converged) << report.trouble;
    EXPECT_GT(report.unknowns, 0);
    const double* found = volume->store(scene_pressure.name).plane<double>(0);
    return std::vector<double>(found, found + count);
  };
  PressureHierarchy kept;
  EXPECT_EQ(solve_twice(&kept), solve_twice(nullptr));
}

/// Also where the second right-hand side is the one that is wrong.
TEST(PressureHierarchy, NamesWhatIsNoNumber) {
  const auto comm = make_single_comm();
  Profile profile;
  Exec exec{*comm, profile};
  const auto volume = make_volume(exec, tank(), Partition{});
  const PressureChannels channels{scene_area, scene_distance, scene_rhs, scene_pressure};
  PressureHierarchy kept;
  EXPECT_TRUE(solve_pressure(exec, *volume, channels, {}, &kept).converged);
  volume->store(scene_rhs.name).plane<float>(0)[5] = nan_value;
  const SolveReport report = solve_pressure(exec, *volume, channels, {}, &kept);
  EXPECT_FALSE(report.converged);
  EXPECT_NE(report.trouble.find("scene_rhs"), std::string::npos) << report.trouble;
}

TEST(HostileSystem, StartThatIsNoNumberIsLikeZero) {
  const BoxSystem system = tank();
  const Solution cold = solve(system, {.tolerance = 1e-8, .warm_start = false});
  for (const double garbage : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    const BoxField<double> start = filled(garbage);
    const Solution solution = solve(system, {.tolerance = 1e-8}, &start);
    expect_solved(system, solution, 1e-8);
    EXPECT_EQ(solution.pressure.values, cold.pressure.values);
  }
}

TEST(HostileSystem, LargeStartIsOvercome) {
  const BoxSystem system = tank();
  for (const double garbage : {1e6, 1e30, 1e200, 1e300}) {
    BoxField<double> start = filled(garbage);
    for (std::size_t i = 0; i < start.values.size(); i += 3) start.values[i] *= -0.7;
    expect_solved(system, solve(system, {.tolerance = 1e-6}, &start), 1e-6);
  }
}

/// Pressure is proportional to the right-hand side, over all sizes that single precision holds.
TEST(HostileSystem, SizeOfRightHandSideDoesNotMatter) {
  const BoxSystem system = tank();
  const Solution plain = solve(system, {.tolerance = 1e-8});
  expect_solved(system, plain, 1e-8);
  for (const int exponent : {-100, -60, 60, 100}) {  // by powers of two: nothing is rounded
    BoxSystem scaled = system;
    for (float& b : scaled.rhs.values) b = std::ldexp(b, exponent);
    const Solution solution = solve(scaled, {.tolerance = 1e-8});
    expect_solved(scaled, solution, 1e-8);
    EXPECT_EQ(solution.report.iterations, plain.report.iterations);
    double most = 0, difference = 0;
    for (std::size_t i = 0; i < plain.pressure.values.size(); ++i) {
      most = std::max(most, std::abs(plain.pressure.values[i]));
      difference =
          std::max(difference, std::abs(std::ldexp(solution.pressure.values[i], -exponent) - plain.pressure.values[i]));
    }
    EXPECT_LE(difference, 1e-7 * most) << exponent;
  }
}

/// So it is to the areas, the other way round.
TEST(HostileSystem, SizeOfAreasDoesNotMatter) {
  for (const float area : {1e-12f, 1e-6f, 1e6f, 1e12f}) {
    BoxSystem system = tank();
    for (auto& a : system.area) std::ranges::fill(a.values, area);
    expect_solved(system, solve(system, {.tolerance = 1e-8}), 1e-8);
  }
}

/// Two halves that hang together by 1e-12 of a face, one without a surface and with a source that nothing balances: its
/// pressure is about 1e15, and no double holds the residual to 1e-8.
TEST(HostileSystem, PoolThatHangsByAThreadEndsWithATrueReport) {
  BoxSystem system = tank();
  for (int y = 0; y < 24; ++y)
    for (int z = 0; z < 24; ++z) system.area[0].at({12, y, z}) = 0;
  system.area[0].at({12, 4, 4}) = 1e-12f;
  for (int x = 0; x < 12; ++x)
    for (int y = 0; y < 24; ++y)
      for (int z = 0; z < 24; ++z) system.distance.at({x, y, z}) = -1, system.rhs.at({x, y, z}) = 1;
  const BoxPools pools = find_pools(system);
  for (const double tolerance : {1e-3, 1e-8}) {
    const Solution solution = solve(system, {.tolerance = tolerance});
    const double residual = true_residual(system, pools, solution.pressure);
    std::printf("residual %.1e, reported %.1e: %s\n", residual, solution.report.residual,
                solution.report.trouble.c_str());
    EXPECT_EQ(solution.report.pools, 1);
    EXPECT_EQ(solution.report.closed_pools, 0);
    EXPECT_EQ(solution.report.converged, residual <= tolerance);
    EXPECT_NEAR(solution.report.residual / residual, 1, 0.5);
    EXPECT_EQ(solution.report.trouble.empty(), solution.report.converged);
  }
}

TEST(HostileSystem, OneCellOfLiquidIsSolved) {
  for (const Vec3i& cell : {Vec3i{0, 0, 0}, Vec3i{7, 8, 15}, Vec3i{23, 23, 23}}) {
    BoxSystem system = tank();
    std::ranges::fill(system.distance.values, 0.5f);
    system.distance.at(cell) = -0.25f;
    const Solution solution = solve(system, {.tolerance = 1e-10});
    expect_solved(system, solution, 1e-10);
    const double expected = static_cast<double>(system.rhs.at(cell)) / system.row(cell).diagonal();
    EXPECT_NEAR(solution.pressure.at(cell), expected, 1e-10 * std::abs(expected));
  }
}

TEST(HostileSystem, ToleranceOfZeroOrTooFewIterationsEndsWithATrueReport) {
  const BoxSystem system = tank();
  const BoxPools pools = find_pools(system);
  for (const MultigridSettings& settings :
       {MultigridSettings{.tolerance = 0, .direct_limit = 0}, MultigridSettings{.tolerance = 0},
        MultigridSettings{.tolerance = 1e-10, .max_iterations = 2, .direct_limit = 0},
        MultigridSettings{.tolerance = 1e-10, .max_iterations = 0, .direct_limit = 0}}) {
    const Solution solution = solve(system, settings);
    const double residual = true_residual(system, pools, solution.pressure);
    EXPECT_FALSE(solution.report.converged && residual > settings.tolerance);
    EXPECT_NE(solution.report.trouble, "");
    EXPECT_LE(solution.report.iterations, 2 * settings.max_iterations);
    EXPECT_NEAR(solution.report.residual, residual, 0.1 * residual + 1e-14) << solution.report.trouble;
  }
}

/// What multigrid does not reach in the iterations it is given, the direct solver does, and says so.
TEST(HostileSystem, DirectSolverStepsInAndSaysSo) {
  const BoxSystem system = tank();
  const BoxPools pools = find_pools(system);
  const Solution solution = solve(system, {.tolerance = 1e-10, .max_iterations = 1});
  EXPECT_TRUE(solution.report.converged) << solution.report.trouble;
  EXPECT_EQ(solution.report.method, SolveMethod::direct);
  EXPECT_NE(solution.report.trouble.find("directly"), std::string::npos) << solution.report.trouble;
  EXPECT_LE(true_residual(system, pools, solution.pressure), 1e-10);
}

TEST(WarmStart, FromTheSolutionTakesNoIteration) {
  for (const PressureScene& scene : {sloshing_box(40), sealed_box(40)}) {
    const BoxSystem system(scene);
    const Solution cold = solve(system, {.tolerance = 1e-7});
    const Solution warm = solve(system, {.tolerance = 1e-7}, &cold.pressure);
    EXPECT_GT(cold.report.iterations, 3);
    EXPECT_EQ(warm.report.iterations, 0);
    expect_solved(system, warm, 1e-7);
    EXPECT_EQ(warm.report.residual, cold.report.residual);
  }
}

TEST(WarmStart, FromANearbySolutionTakesFewer) {
  BoxSystem system(sloshing_box(48));
  const Solution before = solve(system, {.tolerance = 1e-7});
  for (std::size_t i = 0; i < system.rhs.values.size(); ++i)
    system.rhs.values[i] *= static_cast<float>(1 + 1e-3 * Random(22, i, 0, Purpose::test).uniform(0, -1, 1));
  const Solution cold = solve(system, {.tolerance = 1e-7, .warm_start = false}, &before.pressure);
  const Solution warm = solve(system, {.tolerance = 1e-7}, &before.pressure);
  expect_solved(system, warm, 1e-7);
  EXPECT_LT(warm.report.iterations, cold.report.iterations);
  EXPECT_EQ(cold.report.iterations, before.report.iterations) << "without a warm start the channel is not read";
}

TEST(HostileSystem, RightHandSideOfAirIsNotRead) {
  BoxSystem system = tank();
  for (std::size_t i = 0; i < system.rhs.values.size(); ++i)
    if (system.distance.values[i] >= 0) system.rhs.values[i] = nan_value;
  expect_solved(system, solve(system, {.tolerance = 1e-8}), 1e-8);
}

TEST(HostileSystem, AreasTooLargeToAddAreNamed) {
  BoxSystem system = tank();
  for (auto& a : system.area) std::ranges::fill(a.values, 3e38f);
  expect_refused(system, "scene_area", "");
}

}  // namespace
}  // namespace aegir
