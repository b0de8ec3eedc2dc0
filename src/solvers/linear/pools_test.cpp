#include "solvers/linear/pools.h"

#include <cmath>

#include <gtest/gtest.h>

#include "solvers/linear/network_test_system.h"

namespace aegir {
namespace {

/// Only the cells that `keep` wants stay.
template <class Keep>
void carve(TestNetwork& network, const Keep& keep) {
  network.for_cells([&](const Vec3i& c) {
    if (!keep(c)) network.make_solid(c);
  });
}

TEST(Pools, BoxWithoutSinksIsOneClosedPool) {
  TestNetwork network({2, 2, 2});
  const auto level = network.level(true);
  const Pools pools(network.exec, *level);
  EXPECT_EQ(pools.count(), 1);
  EXPECT_EQ(pools.closed(), 1);
}

TEST(Pools, OneSinkAnywhereOpensAPool) {
  for (const Vec3i& cell : {Vec3i{0, 0, 0}, Vec3i{15, 15, 15}, Vec3i{7, 8, 3}})
    for (const float sink : {1.0f, 1e-12f}) {
      TestNetwork network({2, 2, 2});
      network.sink(1, cell) = sink;
      const auto level = network.level(true);
      const Pools pools(network.exec, *level);
      EXPECT_EQ(pools.count(), 1);
      EXPECT_EQ(pools.closed(), 0);
    }
}

TEST(Pools, ThinWallsPartAndThinLinksJoin) {
  for (int axis = 0; axis < 3; ++axis)
    for (int place = 1; place < 16; ++place) {
      TestNetwork network({2, 2, 2});
      network.for_cells([&](const Vec3i& c) {
        if (c[axis] == place) network.link(axis, c) = 0;
      });
      network.sink(0, {0, 0, 0}) = 1;
      const auto parted = network.level(true);
      const Pools two(network.exec, *parted);
      EXPECT_EQ(two.count(), 2);
      EXPECT_EQ(two.closed(), 1);
      Vec3i hole{5, 9, 3};
      hole[axis] = place;
      network.link(axis, hole) = 1e-12f;
      const auto joined = network.level(true);
      const Pools one(network.exec, *joined);
      EXPECT_EQ(one.count(), 1);
      EXPECT_EQ(one.closed(), 0);
    }
}

/// A channel of one cell that winds through all buckets is one pool; cells that touch by edges are not.
TEST(Pools, SnakesAndDiagonals) {
  TestNetwork snake({2, 2, 2});
  // Along z on every second x, joined at alternating ends.
  carve(snake, [](const Vec3i& c) { return c.y == 9 && (c.x % 2 == 0 || c.z == (c.x % 4 == 1 ? 15 : 0)); });
  const auto winding = snake.level(true);
  EXPECT_EQ(Pools(snake.exec, *winding).count(), 1);

  TestNetwork diagonal({2, 2, 2});
  carve(diagonal, [](const Vec3i& c) { return (c.x / 2 + c.y / 2 + c.z / 2) % 2 == 0; });
  const auto checkers = diagonal.level(true);
  const Pools pools(diagonal.exec, *checkers);
  EXPECT_EQ(pools.count(), 256);
  EXPECT_EQ(pools.closed(), 256);
}

/// How many sets of cells links join, and how many of them have no sink: one cell after the other. Cells with neither
/// are none.
std::pair<std::int64_t, std::int64_t> count_by_cells(TestNetwork& network) {
  std::vector<std::size_t> root(static_cast<std::size_t>(network.cells()));
  std::vector<char> exists(root.size(), 0), drained(root.size(), 0);
  for (std::size_t i = 0; i < root.size(); ++i) root[i] = i;
  const auto find = [&](std::size_t i) {
    while (root[i] != i) i = root[i];
    return i;
  };
  network.for_cells([&](const Vec3i& c) {
    const std::size_t i = network.at(c);
    for (int a = 0; a < 3; ++a) {
      if (network.sink(a, c) > 0) exists[i] = drained[i] = 1;
      if (!(network.link(a, c) > 0)) continue;
      const std::size_t below = network.at(c - Vec3i{a == 0, a == 1, a == 2});
      exists[i] = exists[below] = 1;
      root[find(i)] = find(below);
    }
  });
  std::vector<char> open(root.size(), 0);
  for (std::size_t i = 0; i < root.size(); ++i)
    if (drained[i]) open[find(i)] = 1;
  std::int64_t all = 0, closed = 0;
  for (std::size_t i = 0; i < root.size(); ++i)
    if (exists[i] && find(i) == i) ++all, closed += !open[i];
  return {all, closed};
}

TEST(Pools, LinksByChanceAgreeWithCountingByCells) {
  for (const double kept : {0.1, 0.2, 0.25, 0.3, 0.5, 0.9}) {  // around 0.25 pools are long and crooked
    TestNetwork network({2, 2, 2});
    network.for_cells([&](const Vec3i& c) {
      const Random random(7, network.at(c), 0, Purpose::test);
      for (int a = 0; a < 3; ++a) {
        const auto index = static_cast<std::uint32_t>(2 * a);
        if (random.uniform(index) > kept) network.link(a, c) = 0;
        if (random.uniform(index + 1) < 0.01) network.sink(a, c) = 1;
      }
    });
    const auto [all, closed] = count_by_cells(network);
    const auto level = network.level(true);
    const Pools pools(network.exec, *level);
    EXPECT_EQ(pools.count(), all) << "links kept: " << kept;
    EXPECT_EQ(pools.closed(), closed) << "links kept: " << kept;
  }
}

TEST(Pools, MeansAreTakenOutOfClosedPoolsOnly) {
  TestNetwork network({3, 1, 2});
  network.for_cells([&](const Vec3i& c) {
    if (c.x == 5 || c.x == 16) network.link(0, c) = 0;
  });
  network.sink(2, {10, 3, 3}) = 0.5f;  // the pool in the middle is open
  const auto level = network.level(true);
  const Pools pools(network.exec, *level);
  EXPECT_EQ(pools.count(), 3);
  EXPECT_EQ(pools.closed(), 2);
  const std::vector<double> before = network.noise(*level, 1);
  std::vector<double> after = before;
  const double removed = pools.remove_means(network.exec, after.data());
  double low = 0, high = 0, square = 0;
  network.for_cells([&](const Vec3i& c) {
    const std::size_t i = network.at(c);
    EXPECT_TRUE(c.x < 5 || c.x >= 16 || after[i] == before[i]);
    (c.x < 5 ? low : high) += c.x < 5 || c.x >= 16 ? after[i] : 0.0;
    square += (after[i] - before[i]) * (after[i] - before[i]);
  });
  EXPECT_NEAR(low, 0, 1e-12);
  EXPECT_NEAR(high, 0, 1e-12);
  EXPECT_NEAR(removed, square, 1e-12 * square);
  EXPECT_GT(removed, 0);
}

TEST(Pools, NothingHasNoPools) {
  TestNetwork network({1, 1, 1});
  carve(network, [](const Vec3i&) { return false; });
  const auto level = network.level(true);
  const Pools pools(network.exec, *level);
  EXPECT_EQ(pools.count(), 0);
  EXPECT_EQ(pools.closed(), 0);
  std::vector<double> values(bucket_cells, 1.0);
  EXPECT_EQ(pools.remove_means(network.exec, values.data()), 0.0);
}

}  // namespace
}  // namespace aegir
