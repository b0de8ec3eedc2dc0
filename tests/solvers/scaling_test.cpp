// How iterations grow with the grid, and that threads change nothing.
#include <bit>
#include <cstring>

#include <gtest/gtest.h>

#include "parallel/threads.h"
#include "tests/solvers/box_system.h"

namespace aegir {
namespace {

struct Outcome {
  SolveReport report;
  std::vector<double> pressure;  // bucket by bucket
};

Outcome solved(const PressureScene& scene, double tolerance, int threads, BufferPool* memory = nullptr) {
  Outcome result;
  ThreadScope scope(threads);
  scope.run([&] {
    const auto comm = make_single_comm();
    Profile profile;
    Exec exec{*comm, profile};
    const auto volume = make_volume(exec, scene, Partition{});
    result.report = solve_pressure(exec, *volume, {scene_area, scene_distance, scene_rhs, scene_pressure},
                                   {.tolerance = tolerance, .memory = memory});
    const double* values = volume->store(scene_pressure.name).plane<double>(0);
    result.pressure.assign(values, values + volume->topology().local_count() * bucket_cells);
  });
  return result;
}

/// Multigrid's own law: the work per unknown does not grow. From 64³ to 256³ at most three iterations more are allowed;
/// 128³ must leave room for that.
TEST(PressureIterations, HardlyGrowWithTheGrid) {
  const Outcome coarse = solved(sloshing_box(64), 1e-6, 2), fine = solved(sloshing_box(128), 1e-6, 2);
  EXPECT_TRUE(coarse.report.converged && fine.report.converged);
  EXPECT_LE(fine.report.iterations, coarse.report.iterations + 2);
  EXPECT_LE(fine.report.iterations, 10);
  std::printf("%d iterations at 64³, %d at 128³\n", coarse.report.iterations, fine.report.iterations);
}

/// The hard box at 128³ may take 14.
TEST(PressureIterations, PlatesHolesAndBubblesTakeAtMostFourteen) {
  const Outcome hard = solved(hard_box(128), 1e-6, 2);
  EXPECT_TRUE(hard.report.converged) << hard.report.trouble;
  EXPECT_LE(hard.report.iterations, 14);
  std::printf("%d iterations\n", hard.report.iterations);
}

/// Same bits for 1, 2 and 7 threads.
TEST(SameBits, ForAnyNumberOfThreads) {
  for (const PressureScene& scene : {sloshing_box(64), hard_box(64), sealed_box(64)}) {
    const Outcome one = solved(scene, 1e-8, 1);
    EXPECT_TRUE(one.report.converged) << one.report.trouble;
    for (const int threads : {2, 7}) {
      const Outcome many = solved(scene, 1e-8, threads);
      EXPECT_EQ(many.report.iterations, one.report.iterations);
      EXPECT_EQ(std::bit_cast<std::uint64_t>(many.report.residual), std::bit_cast<std::uint64_t>(one.report.residual));
      EXPECT_EQ(many.report.incompatible, one.report.incompatible);
      EXPECT_EQ(many.report.pools, one.report.pools);
      ASSERT_EQ(many.pressure.size(), one.pressure.size());
      EXPECT_EQ(std::memcmp(many.pressure.data(), one.pressure.data(), one.pressure.size() * sizeof(double)), 0)
          << threads << " threads";
    }
  }
}

/// Memory that a solve leaves behind serves the next one; nothing of what is in it may show.
TEST(SameBits, WhateverWasSolvedBefore) {
  const auto same = [](const Outcome& a, const Outcome& b) {
    return a.report.iterations == b.report.iterations && a.pressure.size() == b.pressure.size() &&
           std::memcmp(a.pressure.data(), b.pressure.data(), a.pressure.size() * sizeof(double)) == 0;
  };
  const Outcome first = solved(sealed_box(40), 1e-8, 2), other = solved(hard_box(64), 1e-8, 2);
  BufferPool memory;
  for (std::size_t size = 1 << 12; size <= 1 << 26; size *= 2)
    for (int copy = 0; copy < 4; ++copy) {
      Buffer buffer(size);
      std::memset(buffer.data(), 0xff, size);  // not a number, as floats and as doubles
      memory.give(std::move(buffer));
    }
  for (int round = 0; round < 2; ++round) {
    EXPECT_TRUE(same(solved(sealed_box(40), 1e-8, 2, &memory), first));
    EXPECT_TRUE(same(solved(hard_box(64), 1e-8, 2, &memory), other));
  }
}

/// The scene's own count of pools agrees with the solver's.
TEST(SceneCounts, AgreeWithTheReport) {
  for (const PressureScene& scene : {hard_box(64), sealed_box(64)}) {
    const SceneCount count = count_scene(scene);
    const Outcome r = solved(scene, 1e-6, 2);
    EXPECT_EQ(r.report.unknowns, count.unknowns);
    EXPECT_EQ(r.report.pools, count.pools);
    EXPECT_EQ(r.report.closed_pools, count.closed_pools);
  }
}

}  // namespace
}  // namespace aegir
