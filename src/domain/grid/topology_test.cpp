#include "domain/grid/topology.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "base/random.h"

namespace aegir {
namespace {

using Coordinates = std::tuple<int, int, int, int>;
Coordinates coordinates(const BucketKey& k) { return {k.level, k.coord.x, k.coord.y, k.coord.z}; }

std::vector<BucketKey> box_keys(int low, int high) {
  std::vector<BucketKey> keys;
  for (int x = low; x < high; ++x)
    for (int y = low; y < high; ++y)
      for (int z = low; z < high; ++z) keys.push_back({{x, y, z}, 0});
  return keys;
}

std::shared_ptr<const Topology> build(std::span<const BucketKey> keys, double spacing = 1.0) {
  const auto comm = make_single_comm();
  return Topology::build(spacing, keys, Partition{}, *comm);
}

int distance(const BucketKey& a, const BucketKey& b) {
  const Vec3i d = a.coord - b.coord;
  return std::abs(d.x) + std::abs(d.y) + std::abs(d.z);
}

TEST(Curve, IsABijectionWhoseNeighboursTouch) {
  // An aligned cube of 16³ buckets is one stretch of the curve: no gap, no repetition, every step to a face neighbour.
  for (const int low : {0, -16, 1024}) {
    auto keys = box_keys(low, low + 16);
    const auto curve = sort_unique(keys);
    ASSERT_EQ(keys.size(), 4096u);
    for (std::size_t i = 1; i < keys.size(); ++i) {
      ASSERT_EQ(curve[i], curve[i - 1] + 1);
      ASSERT_EQ(distance(keys[i], keys[i - 1]), 1);
    }
    EXPECT_EQ(curve[0] % 4096, 0u);
  }
}

TEST(Curve, StaysWithin63BitsAtTheEndsOfSpace) {
  std::set<std::uint64_t> seen;
  for (int x : {-coordinate_limit, coordinate_limit - 1})
    for (int y : {-coordinate_limit, coordinate_limit - 1})
      for (int z : {-coordinate_limit, coordinate_limit - 1}) {
        EXPECT_TRUE(addressable({{x, y, z}, 0}));
        const auto position = curve_position({{x, y, z}, 0});
        EXPECT_EQ(position >> 63, 0u);
        seen.insert(position);
      }
  EXPECT_EQ(seen.size(), 8u);
  EXPECT_FALSE(addressable({{coordinate_limit, 0, 0}, 0}));
  EXPECT_FALSE(addressable({{coordinate_limit / 2, 0, 0}, 1}));
  EXPECT_TRUE(addressable({{-coordinate_limit / 2, 0, 0}, 1}));
}

TEST(Curve, ACoarseBucketStartsTheStretchOfTheFineOnesInIt) {
  for (const Vec3i at : {Vec3i{0, 0, 0}, Vec3i{-3, 5, 7}, Vec3i{100, -20, 33}}) {
    std::uint64_t first = ~std::uint64_t{0};
    for (int c = 0; c < 8; ++c)
      first = std::min(first, curve_position({{2 * at.x + (c & 1), 2 * at.y + (c >> 1 & 1), 2 * at.z + (c >> 2)}, 0}));
    EXPECT_EQ(curve_position({at, 1}), first);
  }
}

TEST(Topology, FindsEveryBucketAndNoOther) {
  std::vector<BucketKey> keys;
  std::set<Coordinates> expected;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    const Random r(1, i, 0, Purpose::test);
    const auto at = [&](std::uint32_t n) { return static_cast<std::int32_t>(std::floor(r.uniform(n, -10, 10))); };
    keys.push_back({{at(0), at(1), at(2)}, 0});
    expected.insert(coordinates(keys.back()));
  }
  const auto t = build(keys, 0.5);
  ASSERT_EQ(static_cast<std::size_t>(t->local_count()), expected.size());
  EXPECT_EQ(t->total_count(), t->local_count());
  for (int b = 0; b < t->local_count(); ++b) {
    EXPECT_TRUE(expected.count(coordinates(t->key(b))));
    EXPECT_EQ(t->find(t->key(b)), b);
    EXPECT_EQ(t->curve(b), curve_position(t->key(b)));
    if (b) {
      EXPECT_LT(t->curve(b - 1), t->curve(b));
    }
    EXPECT_EQ(t->origin(b), Vec3d(t->key(b).coord) * 4.0);
  }
  for (const BucketKey& k : box_keys(-12, 12)) ASSERT_EQ(t->find(k) >= 0, expected.count(coordinates(k)) == 1);
  for (int b = 0; b < t->local_count(); ++b)
    for (int n = 0; n < 27; ++n) {
      const BucketKey k{t->key(b).coord + neighbour_offset(n), 0};
      ASSERT_EQ(t->neighbours(b)[static_cast<std::size_t>(n)], t->find(k));
      ASSERT_EQ(t->relation(b, n), t->find(k) < 0 ? Relation::absent : Relation::same);
    }
}

TEST(Topology, KnowsCoarserAndFinerNeighbours) {
  // A coarse bucket over x in [2, 4), fine ones to its left at x = 1.
  std::vector<BucketKey> keys{{{1, 0, 0}, 1}};
  for (int y = 0; y < 2; ++y)
    for (int z = 0; z < 2; ++z) keys.push_back({{1, y, z}, 0});
  const auto t = build(keys);
  ASSERT_EQ(t->local_count(), 5);
  const int coarse = t->find({{1, 0, 0}, 1}), fine = t->find({{1, 0, 0}, 0});
  EXPECT_EQ(t->relation(fine, neighbour_index(1, 0, 0)), Relation::coarser);
  EXPECT_EQ(t->neighbours(fine)[neighbour_index(1, 0, 0)], coarse);
  EXPECT_EQ(t->relation(fine, neighbour_index(0, 1, 0)), Relation::same);
  EXPECT_EQ(t->relation(fine, neighbour_index(-1, 0, 0)), Relation::absent);
  EXPECT_EQ(t->relation(coarse, neighbour_index(-1, 0, 0)), Relation::finer);
  EXPECT_EQ(t->key(t->neighbours(coarse)[neighbour_index(-1, 0, 0)]).coord.x, 1);
  EXPECT_DOUBLE_EQ(t->bucket_width(coarse), 16.0);
  EXPECT_EQ(t->origin(coarse), (Vec3d{16, 0, 0}));
}

TEST(Topology, DoesNotDependOnTheOrderOfItsKeys) {
  auto keys = box_keys(-3, 4);
  const auto a = build(keys);
  std::reverse(keys.begin(), keys.end());
  keys.push_back(keys.front());
  const auto b = build(keys);
  EXPECT_TRUE(a->same_buckets(*b));
  keys.resize(5);
  EXPECT_FALSE(a->same_buckets(*build(keys)));
}

TEST(Topology, CanBeEmpty) {
  const auto t = build({});
  EXPECT_EQ(t->local_count(), 0);
  EXPECT_EQ(t->find({{0, 0, 0}, 0}), -1);
  EXPECT_EQ(Topology::empty(1.0, Partition{})->find({{0, 0, 0}, 0}), -1);
}

TEST(Topology, PaddingAddsEveryBucketWithinReach) {
  const std::vector<BucketKey> keys{{{0, 0, 0}, 0}, {{5, -2, 1}, 0}, {{6, -2, 1}, 0}};
  for (int layers : {0, 1, 2}) {
    std::set<Coordinates> expected;
    for (const BucketKey& k : keys)
      for (int x = -layers; x <= layers; ++x)
        for (int y = -layers; y <= layers; ++y)
          for (int z = -layers; z <= layers; ++z) expected.insert(coordinates({k.coord + Vec3i{x, y, z}, 0}));
    std::set<Coordinates> found;
    const auto all = padded(keys, layers);
    for (const BucketKey& k : all) found.insert(coordinates(k));
    EXPECT_EQ(found, expected);
    EXPECT_EQ(all.size(), expected.size());
  }
  EXPECT_EQ(padded(std::vector<BucketKey>{{{coordinate_limit - 1, 0, 0}, 0}}, 1).size(), 18u);  // not beyond the end
}

TEST(Topology, CoveringKeysTouchTheOthersBuckets) {
  const auto other = build(box_keys(-2, 3), 0.1);
  // The same lattice: one to one.
  EXPECT_EQ(covering_keys(*other, 0.1).size(), 125u);
  // Other lattices: exactly those whose box overlaps one of the other's.
  for (const double spacing : {0.05, 0.2, 0.07, 0.3}) {
    const auto keys = covering_keys(*other, spacing);
    std::set<Coordinates> found;
    for (const BucketKey& k : keys) found.insert(coordinates(k));
    EXPECT_EQ(found.size(), keys.size());
    const double low = -2 * 0.8, high = 3 * 0.8, width = spacing * 8;
    std::size_t expected = 0;
    for (const BucketKey& k : box_keys(-10, 12)) {
      bool inside = true;
      for (int a = 0; a < 3; ++a) inside &= k.coord[a] * width < high - 1e-6 && (k.coord[a] + 1) * width > low + 1e-6;
      expected += inside;
      ASSERT_EQ(inside, found.count(coordinates(k)) == 1) << spacing;
    }
    EXPECT_EQ(expected, keys.size());
  }
}

TEST(Partition, OwnsEveryPlaceOnceAndBalancesWeight) {
  const auto comm = make_single_comm();
  EXPECT_EQ(Partition{}.owner(0), 0);
  EXPECT_EQ(Partition{}.ranks(), 1);
  const Partition even = Partition::even(4);
  EXPECT_EQ(even.ranks(), 4);
  EXPECT_EQ(even.owner(0), 0);
  EXPECT_EQ(even.owner((std::uint64_t{1} << 61) - 1), 0);
  EXPECT_EQ(even.owner(std::uint64_t{1} << 61), 1);
  EXPECT_EQ(even.owner(~std::uint64_t{0} >> 1), 3);
  const std::vector<std::uint64_t> positions{3, 1, 2};
  const std::vector<std::int64_t> weights{5, 0, 1};
  EXPECT_EQ(Partition::by_weight(*comm, positions, weights), Partition{});
  EXPECT_EQ(Partition::by_weight(*comm, {}, {}), Partition{});
}

TEST(Locate, GoesThereAndBackFarFromTheOrigin) {
  for (const double spacing : {0.01, 1.0, 0.37})
    for (const double far : {0.0, 1e3, -1e5}) {
      for (std::uint64_t i = 0; i < 500; ++i) {
        const Random r(2, i, 0, Purpose::test);
        const Vec3d p{far * spacing + r.uniform(0, -3, 3), r.uniform(1, -3, 3), far * spacing - r.uniform(2, -3, 3)};
        const BucketPosition at = locate(p, spacing);
        for (int a = 0; a < 3; ++a) {
          ASSERT_GE(at.cell[a], 0.0f);
          ASSERT_LT(at.cell[a], 8.0f);
          const double back = (at.key.coord[a] * 8.0 + static_cast<double>(at.cell[a])) * spacing;
          ASSERT_NEAR(back, p[a], 1e-6 * spacing);  // half a unit in the last place of a float below 8
        }
      }
    }
}

TEST(Locate, KeepsTinyNegativesBelowZero) {
  for (const double tiny : {-1e-3, -1e-9, -1e-20, -1e-300}) {
    const BucketPosition at = locate({tiny, 0.0, -0.0}, 1.0);
    EXPECT_EQ(at.key.coord, (Vec3i{-1, 0, 0}));
    EXPECT_LT(at.cell.x, 8.0f);
    EXPECT_GT(at.cell.x, 7.9f);
  }
  EXPECT_EQ(locate({8.0, 16.0, -8.0}, 1.0).key.coord, (Vec3i{1, 2, -1}));
}

TEST(Locate, GivesAnUnaddressableKeyForNonsense) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double bad : {std::nan(""), infinity, -infinity, 1e30, -1e30})
    EXPECT_FALSE(addressable(locate({0.0, bad, 0.0}, 1.0).key));
}

}  // namespace
}  // namespace aegir
