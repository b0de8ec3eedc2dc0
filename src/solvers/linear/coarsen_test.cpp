#include "solvers/linear/coarsen.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include "base/random.h"
#include "solvers/linear/bucket_kernels.h"

namespace aegir {
namespace {

struct Coarse {
  NetworkBlock block;
  TransferWeights weights;
  bool operator==(const Coarse& o) const {
    return std::memcmp(&block, &o.block, sizeof block) == 0 && std::memcmp(&weights, &o.weights, sizeof weights) == 0;
  }
};

std::unique_ptr<Coarse> coarsened(const NetworkTile& tile) {
  auto c = std::make_unique<Coarse>();
  coarsen(tile, c->block, c->weights);
  return c;
}

std::unique_ptr<NetworkTile> uniform_tile(float unit) {
  auto tile = std::make_unique<NetworkTile>();
  for (int a = 0; a < 3; ++a) {
    std::ranges::fill(tile->link[a], unit);
    std::ranges::fill(tile->sink[a], 0.0f);
  }
  return tile;
}

template <class Body>
void for_tile(const Body& body) {
  for (int i = -4; i < 12; ++i)
    for (int j = -4; j < 12; ++j)
      for (int k = -4; k < 12; ++k) body(Vec3i{i, j, k});
}
int at(const Vec3i& c) { return NetworkTile::at(c.x, c.y, c.z); }

void make_solid(NetworkTile& tile, const Vec3i& c) {
  for (int a = 0; a < 3; ++a) {
    tile.link[a][at(c)] = tile.sink[a][at(c)] = 0;
    if (c[a] < 11) tile.link[a][at(c) + NetworkTile::stride[a]] = 0;
  }
}

/// Solid cells and weights by chance; `sinks` is the share of cells with one along each axis.
std::unique_ptr<NetworkTile> random_tile(std::uint64_t seed, double solid, double sinks) {
  auto tile = uniform_tile(1);
  for_tile([&](const Vec3i& c) {
    const Random random(seed, static_cast<std::uint64_t>(at(c)), 0, Purpose::test);
    for (int a = 0; a < 3; ++a) {
      const auto n = static_cast<std::uint32_t>(4 * a);
      const double kind = random.uniform(n);
      if (tile->link[a][at(c)] > 0)
        tile->link[a][at(c)] = kind < 0.15   ? 0.0f
                               : kind < 0.25 ? 1e-12f
                               : kind < 0.6  ? static_cast<float>(random.uniform(n + 1))
                                             : 1.0f;
      if (random.uniform(n + 2) < sinks) tile->sink[a][at(c)] = static_cast<float>(random.uniform(n + 3, 0, 100));
    }
    if (random.uniform(20) < solid) make_solid(*tile, c);
  });
  return tile;
}

TEST(Coarsen, UniformNetworkBecomesTheRediscretisedOne) {
  for (const float unit : {1.0f, 2.0f, 64.0f}) {
    const auto c = coarsened(*uniform_tile(unit));
    for (int a = 0; a < 3; ++a)
      for (int i = 0; i < 64; ++i) {
        EXPECT_EQ(c->block.link[a][i], 2 * unit);
        EXPECT_EQ(c->block.sink[a][i], 0.0f);
      }
    for (const float w : c->weights.own_x) EXPECT_EQ(w, 0.5f);
    for (const float w : c->weights.next_x) EXPECT_EQ(w, 0.5f);
    for (const float w : c->weights.own_y) EXPECT_EQ(w, 0.5f);
    for (const float w : c->weights.next_y) EXPECT_EQ(w, 0.5f);
    for (const float w : c->weights.own_z) EXPECT_EQ(w, 0.5f);
    for (const float w : c->weights.next_z) EXPECT_EQ(w, 0.5f);
  }
}

/// The walls of these tests lie across `axis`; `below(x)` is 1 for cells below the wall, 2 above it and 0 inside.
struct Wall {
  int axis;
  std::function<int(int)> below;
};

/// Which sides the unknowns that a coarse value reaches lie on: 3 for both.
int sides_reached(const NetworkBucket& bucket, const TransferWeights& weights, int coarse, const Wall& wall) {
  alignas(64) float values[coarse_pitch] = {}, fine[bucket_cells];
  values[coarse] = 1;
  prolong_bucket(values, &weights, fine);
  int sides = 0;
  for (int c = 0; c < bucket_cells; ++c) {
    const int place[3] = {c >> 6, (c >> 3) & 7, c & 7};
    if (fine[c] != 0 && bucket.relax[c] > 0) sides |= wall.below(place[wall.axis]);
  }
  return sides;
}

/// No coarse value reaches both sides, and no coarse link joins two that reach different ones.
void expect_wall_stays(const NetworkTile& tile, const Coarse& c, const Wall& wall) {
  auto bucket = std::make_unique<NetworkBucket>();
  extract(tile, *bucket);
  int sides[coarse_side][coarse_side][coarse_side];
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 5; ++j)
      for (int k = 0; k < 5; ++k) {
        sides[i][j][k] = sides_reached(*bucket, c.weights, (i * 5 + j) * 5 + k, wall);
        ASSERT_NE(sides[i][j][k], 3) << "coarse cell " << i << ", " << j << ", " << k;
      }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j)
      for (int k = 0; k < 4; ++k)
        for (int a = 0; a < 3; ++a) {
          const int l[3] = {i - (a == 0), j - (a == 1), k - (a == 2)};
          if (l[a] < 0 || !(c.block.link[a][(i * 4 + j) * 4 + k] > 0)) continue;
          ASSERT_NE(sides[i][j][k] | sides[l[0]][l[1]][l[2]], 3)
              << "link " << a << " of " << i << ", " << j << ", " << k;
        }
}

/// How strongly the coarse cells hang together along an axis, to see that a wall cuts something.
int open_links(const Coarse& c, int axis) {
  return 64 - static_cast<int>(std::ranges::count(c.block.link[axis], 0.0f));
}

TEST(Coarsen, PlateOfOneCellStaysAWall) {
  for (int axis = 0; axis < 3; ++axis)
    for (int place = 0; place < 8; ++place)
      for (const double solid : {0.0, 0.3}) {
        auto tile = solid > 0 ? random_tile(static_cast<std::uint64_t>(place), solid, 0.05) : uniform_tile(1);
        for_tile([&](const Vec3i& c) {
          if (c[axis] == place) make_solid(*tile, c);
        });
        const auto c = coarsened(*tile);
        expect_wall_stays(*tile, *c, {axis, [&](int x) { return x < place ? 1 : x > place ? 2 : 0; }});
        if (solid > 0 || place == 7) continue;  // the links above the last coarse cells belong to the next bucket
        EXPECT_EQ(open_links(*c, axis), 48) << "one layer of coarse links is cut, the others hold";
      }
}

TEST(Coarsen, ClosedFacesStayAWall) {
  for (int axis = 0; axis < 3; ++axis)
    for (int place = 1; place < 8; ++place) {
      auto tile = uniform_tile(1);
      for_tile([&](const Vec3i& c) {
        if (c[axis] == place) tile->link[axis][at(c)] = 0;
      });
      const auto c = coarsened(*tile);
      expect_wall_stays(*tile, *c, {axis, [&](int x) { return x < place ? 1 : 2; }});
      if (place == 7) continue;
      EXPECT_EQ(open_links(*c, axis), 48);
    }
}

/// A hole of one cell in a plate is a way through, and the only one.
TEST(Coarsen, HoleInAPlateStaysOpen) {
  for (int axis = 0; axis < 3; ++axis)
    for (const int place : {2, 3, 4, 5}) {
      auto tile = uniform_tile(1);
      Vec3i hole{4, 4, 4};
      hole[axis] = place;
      for_tile([&](const Vec3i& c) {
        if (c[axis] == place && !(c == hole)) make_solid(*tile, c);
      });
      const int open = open_links(*coarsened(*tile), axis);
      EXPECT_GT(open, 48) << "axis " << axis << ", place " << place;
      EXPECT_LT(open, 64);
    }
}

TEST(Coarsen, WeightsAreSharesAndNothingIsNegative) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto c = coarsened(*random_tile(seed, 0.05 * static_cast<double>(seed % 10), 0.1));
    for (int a = 0; a < 3; ++a)
      for (int i = 0; i < 64; ++i) {
        ASSERT_TRUE(c->block.link[a][i] >= 0 && c->block.link[a][i] <= 4.001f) << c->block.link[a][i];
        ASSERT_TRUE(c->block.sink[a][i] >= 0 && std::isfinite(c->block.sink[a][i]));
      }
    const auto check = [](const float* own, const float* next, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_TRUE(own[i] >= 0 && own[i] <= 1.0f + 1e-6f && next[i] >= 0 && next[i] <= 1.0f + 1e-6f);
        ASSERT_LE(own[i] + next[i], 1.0f + 1e-6f);
      }
    };
    check(c->weights.own_x, c->weights.next_x, std::size(c->weights.own_x));
    check(c->weights.own_y, c->weights.next_y, std::size(c->weights.own_y));
    check(c->weights.own_z, c->weights.next_z, std::size(c->weights.own_z));
  }
}

TEST(Coarsen, DoesNotDependOnWhatWasCoarsenedBefore) {
  const auto tile = random_tile(50, 0.2, 0.1);
  std::unique_ptr<Coarse> alone, before, after;
  std::thread([&] { alone = coarsened(*tile); }).join();
  before = coarsened(*tile);
  for (std::uint64_t seed = 51; seed < 55; ++seed) coarsened(*random_tile(seed, 0.1, 0.9));
  coarsened(*uniform_tile(1e20f));
  after = coarsened(*tile);
  EXPECT_TRUE(*alone == *before);
  EXPECT_TRUE(*before == *after);
}

TEST(Extract, HoldsTheNetworkOfTheBucket) {
  const auto tile = random_tile(60, 0.2, 0.1);
  auto bucket = std::make_unique<NetworkBucket>();
  EXPECT_TRUE(extract(*tile, *bucket));
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j)
      for (int k = 0; k < 8; ++k) {
        const int c = NetworkTile::at(i, j, k), to = cell_offset(i, j, k);
        EXPECT_EQ(bucket->x_row(i, j)[k], tile->link[0][c]);
        EXPECT_EQ(bucket->x_row(i + 1, j)[k], tile->link[0][c + NetworkTile::stride[0]]);
        EXPECT_EQ(bucket->y_row(i, j)[k], tile->link[1][c]);
        EXPECT_EQ(bucket->y_row(i, j + 1)[k], tile->link[1][c + NetworkTile::stride[1]]);
        EXPECT_EQ(bucket->z_row(i, j)[k], tile->link[2][c]);
        EXPECT_EQ(bucket->z_row(i, j)[k + 1], tile->link[2][c + 1]);
        EXPECT_EQ(bucket->sink[to], tile->sink[0][c] + tile->sink[1][c] + tile->sink[2][c]);
        double diagonal = static_cast<double>(bucket->sink[to]);
        for (int a = 0; a < 3; ++a)
          diagonal +=
              static_cast<double>(tile->link[a][c]) + static_cast<double>(tile->link[a][c + NetworkTile::stride[a]]);
        // Relaxation is stable: never more than the inverse of the diagonal.
        if (diagonal > 0)
          EXPECT_TRUE(bucket->relax[to] > 0 && static_cast<double>(bucket->relax[to]) * diagonal <= 1.0 + 1e-6);
        else
          EXPECT_EQ(bucket->relax[to], 0.0f);
      }
  auto nothing = std::make_unique<NetworkTile>();
  EXPECT_FALSE(extract(*nothing, *bucket));
}

/// Where nothing leaves, nothing may leave on the coarse level either: a closed pool stays closed.
TEST(Coarsen, NoSinkAppearsWhereThereWasNone) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto c = coarsened(*random_tile(seed, 0.05 * static_cast<double>(seed % 10), 0));
    for (int a = 0; a < 3; ++a)
      for (int i = 0; i < 64; ++i) ASSERT_EQ(c->block.sink[a][i], 0.0f) << "seed " << seed;
  }
}

/// Cell (2, 4, 4) is solid, the faces between x = 2 and x = 3 are closed.
TEST(Coarsen, ClosedFacesBesideASolidCellStayAWall) {
  auto tile = uniform_tile(1);
  for_tile([&](const Vec3i& c) {
    if (c.x == 3) tile->link[0][at(c)] = 0;
  });
  make_solid(*tile, {2, 4, 4});
  expect_wall_stays(*tile, *coarsened(*tile), {0, [](int x) { return x < 3 ? 1 : 2; }});
}

}  // namespace
}  // namespace aegir
