#include "domain/volume/discrete_volume.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <map>
#include <tuple>

#include "base/random.h"
#include "domain/for_each_bucket.h"

namespace aegir {
namespace {

constexpr CellChannel<float> pressure{"pressure", unit::pascal, -7.0f, Keep::between_steps};
constexpr CellChannel<float> scratch{"scratch", {}, 3.0f};
constexpr CellChannel<double> weight{"weight"};
constexpr FaceChannel<float> velocity{"u", unit::metre_per_second};
constexpr CellChannel<Vec3d> colour{"colour", {}, {1, 2, 3}};
constexpr NodeChannel<std::int32_t> mark{"mark", {}, 9};

struct World {
  std::unique_ptr<Comm> comm = make_single_comm();
  Profile profile;
  Exec exec{*comm, profile};
};

/// About half of the buckets of a 5³ box, so that neighbours are missing on every side.
std::vector<BucketKey> sparse_keys(std::uint64_t seed) {
  std::vector<BucketKey> keys;
  for (int x = -2; x < 3; ++x)
    for (int y = -2; y < 3; ++y)
      for (int z = -2; z < 3; ++z)
        if (Random(seed, static_cast<std::uint64_t>(x * 100 + y * 10 + z + 5000), 0, Purpose::test).uniform(0) < 0.5)
          keys.push_back({{x, y, z}, 0});
  return keys;
}

/// A number that belongs to one cell of space.
double value_at(const Vec3i& cell) {
  const auto id = (static_cast<std::uint64_t>(cell.x + 512) * 1024 + static_cast<std::uint64_t>(cell.y + 512)) * 1024 +
                  static_cast<std::uint64_t>(cell.z + 512);
  return Random(3, id, 0, Purpose::test).uniform(0, -1, 1);
}

Vec3i cell_at(const Bucket& b, int i, int j, int k) { return b.topology.key(b.index).coord * 8 + Vec3i{i, j, k}; }

template <class T>
void fill_field(World& w, DiscreteVolume& v, const CellChannel<T>& c) {
  for_each_bucket(
      w.exec, "fill", v.topology(),
      [](const Bucket& b, auto& out) {
        for (int i = 0; i < 8; ++i)
          for (int j = 0; j < 8; ++j)
            for (int k = 0; k < 8; ++k) out(i, j, k) = static_cast<T>(value_at(cell_at(b, i, j, k)));
      },
      v.write(c));
}

template <class Pad, class T>
void check_tiles(std::uint64_t seed, const CellChannel<T>& channel) {
  World w;
  DiscreteVolume v("water", Topology::build(1.0, sparse_keys(seed), Partition{}, *w.comm));
  v.declare(channel);
  fill_field(w, v, channel);
  std::atomic<int> wrong = 0;
  for_each_bucket(
      w.exec, "check", v.topology(),
      [&](const Bucket& b, auto& in) {
        for (int i = -Pad::width; i < 8 + Pad::width; ++i)
          for (int j = -Pad::width; j < 8 + Pad::width; ++j)
            for (int k = -Pad::width; k < 8 + Pad::width; ++k) {
              const auto outside = [](int x) { return x < 0 || x > 7; };
              if (Pad::star && outside(i) + outside(j) + outside(k) > 1) continue;
              const Vec3i c = cell_at(b, i, j, k);
              const bool exists = b.topology.find({{c.x >> 3, c.y >> 3, c.z >> 3}, 0}) >= 0;
              wrong += in(i, j, k) != (exists ? static_cast<T>(value_at(c)) : channel.background);
              wrong += in.row(i, j)[k] != in(i, j, k);
            }
        if constexpr (FitsRow<T>)
          for (int i = 0; i < 8; ++i)
            for (int j = 0; j < 8; ++j)
              for (int d = -Pad::width; d <= Pad::width; ++d)
                for (int k = 0; k < 8; ++k) wrong += in.line(i, j, d)[k] != in(i, j, k + d);
      },
      v.template read<Pad>(channel));
  EXPECT_EQ(wrong, 0);
}

TEST(Tiles, HalosOfEveryWidthAgreeWithBruteForce) {
  for (std::uint64_t seed : {1, 2}) {
    check_tiles<Halo<1>>(seed, pressure), check_tiles<Halo<2>>(seed, pressure);
    check_tiles<Halo<3>>(seed, pressure), check_tiles<Halo<4>>(seed, pressure);
    check_tiles<Halo<1>>(seed, weight), check_tiles<Halo<4>>(seed, weight);
  }
}

TEST(Tiles, StarsOfEveryWidthAgreeWithBruteForce) {
  for (std::uint64_t seed : {1, 2}) {
    check_tiles<Star<1>>(seed, pressure), check_tiles<Star<2>>(seed, pressure);
    check_tiles<Star<3>>(seed, pressure), check_tiles<Star<4>>(seed, pressure);
    check_tiles<Star<1>>(seed, weight), check_tiles<Star<3>>(seed, weight);
  }
}

/// Every cell gives its value, times a weight that depends on the offset, to all cells within the halo.
template <class Pad>
std::map<std::tuple<int, int, int>, double> scatter(int threads, bool brute_force) {
  World w;
  DiscreteVolume v("water", Topology::build(1.0, sparse_keys(4), Partition{}, *w.comm));
  v.declare(weight);
  constexpr int h = Pad::width;
  const auto share = [](int dx, int dy, int dz) { return 1.0 / (3 + dx + 5 * dy * dy + 7 * std::abs(dz) + dx * dx); };
  std::map<std::tuple<int, int, int>, double> result;
  if (brute_force) {
    for (int b = 0; b < v.topology().local_count(); ++b)
      for (int c = 0; c < 512; ++c)
        for (int dx = -h; dx <= h; ++dx)
          for (int dy = -h; dy <= h; ++dy)
            for (int dz = -h; dz <= h; ++dz) {
              const Vec3i at = v.topology().key(b).coord * 8 + Vec3i{c >> 6, c >> 3 & 7, c & 7};
              const Vec3i to = at + Vec3i{dx, dy, dz};
              if (v.topology().find({{to.x >> 3, to.y >> 3, to.z >> 3}, 0}) >= 0)
                result[{to.x, to.y, to.z}] += value_at(at) * share(dx, dy, dz);
            }
    return result;
  }
  ThreadScope scope(threads);
  scope.run([&] {
    for_each_bucket(
        w.exec, "scatter", v.topology(),
        [&](const Bucket& b, auto& sum) {
          for (int c = 0; c < 512; ++c)
            for (int dx = -h; dx <= h; ++dx)
              for (int dy = -h; dy <= h; ++dy)
                for (int dz = -h; dz <= h; ++dz) {
                  const int i = c >> 6, j = c >> 3 & 7, k = c & 7;
                  sum(i + dx, j + dy, k + dz) += value_at(cell_at(b, i, j, k)) * share(dx, dy, dz);
                }
        },
        v.add<Pad>(weight));
  });
  for (int b = 0; b < v.topology().local_count(); ++b)
    for (int c = 0; c < 512; ++c) {
      const Vec3i at = v.topology().key(b).coord * 8 + Vec3i{c >> 6, c >> 3 & 7, c & 7};
      result[{at.x, at.y, at.z}] = v.store("weight").plane<double>(0)[b * 512 + c];
    }
  return result;
}

TEST(Add, AgreesWithBruteForce) {
  const auto compare = [](const auto& expected, const auto& found) {
    for (const auto& [cell, value] : found) {
      const auto at = expected.find(cell);
      ASSERT_NEAR(value, at == expected.end() ? 0.0 : at->second, 1e-12);
    }
    EXPECT_LE(expected.size(), found.size());
  };
  compare(scatter<Halo<1>>(1, true), scatter<Halo<1>>(2, false));
  compare(scatter<Halo<2>>(1, true), scatter<Halo<2>>(2, false));
}

TEST(Add, GivesTheSameBitsForAnyThreads) {
  const auto one = scatter<Halo<2>>(1, false);
  EXPECT_EQ(one, scatter<Halo<2>>(2, false));
  EXPECT_EQ(one, scatter<Halo<2>>(7, false));
}

TEST(Add, AddsToWhatIsThere) {
  World w;
  DiscreteVolume v("water", Topology::build(1.0, sparse_keys(1), Partition{}, *w.comm));
  v.declare(pressure);
  for_each_bucket(
      w.exec, "add", v.topology(), [](const Bucket&, auto& sum) { sum(0, 0, 0) += 2.0f; }, v.add<Halo<1>>(pressure));
  EXPECT_EQ(v.store("pressure").plane<float>(0)[0], -5.0f);
  EXPECT_EQ(v.store("pressure").plane<float>(0)[1], -7.0f);
}

TEST(Volume, DeclareFillsWithTheBackground) {
  World w;
  DiscreteVolume v("water", Topology::build(1.0, sparse_keys(1), Partition{}, *w.comm));
  v.declare(colour), v.declare(mark), v.declare(velocity), v.declare(pressure);
  for (int b = 0; b < v.topology().local_count(); ++b)
    for (int a = 0; a < 3; ++a) {
      EXPECT_EQ(v.store("colour").plane<double>(a)[b * 512 + 77], a + 1.0);
      EXPECT_EQ(v.store("u").plane<float>(a)[b * 512 + 3], 0.0f);
    }
  EXPECT_EQ(v.store("mark").plane<std::int32_t>(0)[5], 9);
  v.store("mark").plane<std::int32_t>(0)[5] = 10;
  v.declare(mark);  // again: nothing changes
  EXPECT_EQ(v.store("mark").plane<std::int32_t>(0)[5], 10);
  EXPECT_THROW(v.declare(CellChannel<double>{"pressure"}), BugFound);
  EXPECT_THROW(v.store("nothing"), BugFound);
  EXPECT_GE(v.memory_bytes(), static_cast<std::size_t>(v.topology().local_count()) * 512 * (24 + 4 + 12 + 4));
}

TEST(Volume, SeesFacesAsThreePlanes) {
  World w;
  DiscreteVolume v("water", Topology::build(1.0, sparse_keys(1), Partition{}, *w.comm));
  v.declare(velocity), v.declare(scratch);
  for_each_bucket(
      w.exec, "set", v.topology(),
      [](const Bucket&, auto& u) {
        for (std::size_t a = 0; a < 3; ++a)
          for (int c = 0; c < 512; ++c) u[a][c] = static_cast<float>(a + 1);
      },
      v.write(velocity));
  for_each_bucket(
      w.exec, "sum", v.topology(),
      [](const Bucket&, auto& u, auto& s) {
        for (int c = 0; c < 512; ++c) s[c] = u[0][c] + 10 * u[1][c] + 100 * u[2][c];
      },
      v.read(velocity), v.overwrite(scratch));
  for (int c = 0; c < 512; ++c) ASSERT_EQ(v.store("scratch").plane<float>(0)[c], 321.0f);
  EXPECT_EQ(w.profile.kernels().at("sum").calls, 1);
  EXPECT_EQ(w.profile.kernels().at("sum").bytes, v.topology().local_count() * 512 * (12 + 8));
}

TEST(Volume, AdoptKeepsKeptChannelsAndResetsTheRest) {
  World w;
  const auto before = Topology::build(1.0, sparse_keys(1), Partition{}, *w.comm);
  const auto after = Topology::build(1.0, sparse_keys(2), Partition{}, *w.comm);
  DiscreteVolume v("water", before);
  v.declare(pressure), v.declare(scratch);
  fill_field(w, v, pressure), fill_field(w, v, scratch);
  v.adopt(after);
  ASSERT_EQ(&v.topology(), after.get());
  int kept = 0, fresh = 0;
  for (int b = 0; b < after->local_count(); ++b)
    for (int c = 0; c < 512; ++c) {
      const bool was_there = before->find(after->key(b)) >= 0;
      const Vec3i at = after->key(b).coord * 8 + Vec3i{c >> 6, c >> 3 & 7, c & 7};
      ASSERT_EQ(v.store("pressure").plane<float>(0)[b * 512 + c], was_there ? static_cast<float>(value_at(at)) : -7.0f);
      ASSERT_EQ(v.store("scratch").plane<float>(0)[b * 512 + c], 3.0f);
      ++(was_there ? kept : fresh);
    }
  EXPECT_GT(kept, 0);
  EXPECT_GT(fresh, 0);
  v.adopt(*w.comm, before);
  v.adopt(*w.comm, Topology::empty(1.0, Partition{}));
  EXPECT_EQ(v.topology().local_count(), 0);
}

TEST(Volume, OverwriteReachesMemoryAroundTheCachesToo) {
  // Large enough to take the path that bypasses the caches.
  World w;
  std::vector<BucketKey> keys;
  for (int x = 0; x < 33; ++x)
    for (int y = 0; y < 32; ++y)
      for (int z = 0; z < 32; ++z) keys.push_back({{x, y, z}, 0});
  DiscreteVolume v("water", Topology::build(1.0, keys, Partition{}, *w.comm));
  v.declare(scratch);
  ThreadScope scope(2);
  scope.run([&] {
    for_each_bucket(
        w.exec, "number", v.topology(),
        [](const Bucket& b, auto& out) {
          for (int c = 0; c < 512; ++c) out[c] = static_cast<float>((b.index * 512 + c) & 0xffff);
        },
        v.overwrite(scratch));
  });
  const float* values = v.store("scratch").plane<float>(0);
  for (int i = 0; i < v.topology().local_count() * 512; ++i) ASSERT_EQ(values[i], static_cast<float>(i & 0xffff));
}

TEST(Volume, AnEmptyOneRunsKernels) {
  World w;
  DiscreteVolume v("water", Topology::empty(1.0, Partition{}));
  v.declare(pressure);
  for_each_bucket(
      w.exec, "none", v.topology(), [](const Bucket&, auto&, auto&) { FAIL(); }, v.read<Halo<1>>(pressure),
      v.add<Halo<1>>(pressure));
  EXPECT_EQ(exact_sum(w.exec, v.topology(), [](const Bucket&) { return 1.0; }), 0.0);
  EXPECT_EQ(maximum(w.exec, v.topology(), -1.0, [](const Bucket&) { return 1.0; }), -1.0);
}

TEST(Volume, AccessorsOfOneKernelShareTheirTopology) {
  World w;
  DiscreteVolume a("a", Topology::build(1.0, sparse_keys(1), Partition{}, *w.comm));
  DiscreteVolume b("b", Topology::build(1.0, sparse_keys(1), Partition{}, *w.comm));
  a.declare(pressure), b.declare(pressure);
  EXPECT_THROW(for_each_bucket(
                   w.exec, "mixed", a.topology(), [](const Bucket&, auto&) {}, b.read(pressure)),
               BugFound);
}

TEST(Reductions, AreExactForAnyThreads) {
  World w;
  const auto t = Topology::build(1.0, sparse_keys(3), Partition{}, *w.comm);
  std::vector<double> sums, maxima;
  for (int threads : {1, 2, 7}) {
    ThreadScope scope(threads);
    scope.run([&] {
      sums.push_back(exact_sum(w.exec, *t, [](const Bucket& b) { return std::pow(-1.3, b.index) * 1e-5; }));
      maxima.push_back(maximum(w.exec, *t, 0.0, [](const Bucket& b) { return (b.index * 37) % 101; }));
    });
  }
  EXPECT_EQ(sums[0], sums[1]);
  EXPECT_EQ(sums[0], sums[2]);
  EXPECT_EQ(maxima[0], maxima[1]);
  EXPECT_EQ(maxima[0], maxima[2]);
}

#ifdef AEGIR_CHECKED
TEST(Checked, AccessBeyondTheDeclaredHaloStops) {
  World w;
  DiscreteVolume v("water", Topology::build(1.0, sparse_keys(1), Partition{}, *w.comm));
  v.declare(pressure);
  float sink = 0;
  const auto run = [&](auto kernel, auto access) { for_each_bucket(w.exec, "bad", v.topology(), kernel, access); };
  EXPECT_THROW(run([&](const Bucket&, auto& in) { sink = in(-2, 0, 0); }, v.read<Halo<1>>(pressure)), BugFound);
  EXPECT_THROW(run([&](const Bucket&, auto& in) { sink = in(0, 0, 8); }, v.read(pressure)), BugFound);
  EXPECT_THROW(run([&](const Bucket&, auto& out) { out(8, 0, 0) = 1; }, v.write(pressure)), BugFound);
  EXPECT_THROW(run([&](const Bucket&, auto& out) { out(0, 8, 0) = 1; }, v.overwrite(pressure)), BugFound);
  DiscreteVolume u("water", v.shared_topology());
  u.declare(pressure);
  EXPECT_THROW(
      for_each_bucket(
          w.exec, "bad", u.topology(), [](const Bucket&, auto& sum) { sum(0, 9, 0) += 1; }, u.add<Halo<1>>(pressure)),
      BugFound);
}
#endif

}  // namespace
}  // namespace aegir
