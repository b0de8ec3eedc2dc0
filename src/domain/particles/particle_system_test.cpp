#include "domain/particles/particle_system.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "base/random.h"
#include "domain/for_each_bucket.h"
#include "domain/particles/id_lookup.h"
#include "domain/particles/test_support.h"

namespace aegir {
namespace {

using namespace particle_test;

/// Positions in cells of the whole lattice by id; checks on the way that order and channels are as they must be.
std::map<std::int64_t, Vec3d> check(const ParticleSystem& p) {
  std::map<std::int64_t, Vec3d> places;
  const auto position = p.read(particle::position);
  const auto id = p.read(particle::id);
  const auto v = p.read(velocity);
  const auto m = p.read(mass);
  const auto k = p.read(kind);
  const auto o = p.read(parent);
  const auto r = p.read(rest);
  for (int b = 0; b < p.topology().local_count(); ++b) {
    std::pair<int, std::int64_t> before{-1, 0};
    for (std::size_t i = 0; i < p.count(b); ++i) {
      const Vec3f x = position(b)[i];
      const std::int64_t who = id(b)[i];
      for (int a = 0; a < 3; ++a) EXPECT_TRUE(x[a] >= 0 && x[a] < 8);
      const std::pair<int, std::int64_t> now{
          cell_offset(static_cast<int>(x.x), static_cast<int>(x.y), static_cast<int>(x.z)), who};
      EXPECT_LT(before, now) << "canonical order";
      before = now;
      EXPECT_TRUE(places.emplace(who, Vec3d(p.topology().key(b).coord) * 8.0 + Vec3d(x)).second) << "twice: " << who;
      EXPECT_EQ(v(b)[i], (Vec3f(Vec3d{tag(who, 0), tag(who, 1), tag(who, 2)})));
      EXPECT_EQ(m(b)[i], tag(who, 3));
      EXPECT_EQ(k(b)[i], tag(who, 4));
      EXPECT_EQ(o(b)[i], tag(who, 5));
      EXPECT_EQ(r(b)[i], (Vec3d{tag(who, 6), tag(who, 7), tag(who, 8)}));
    }
  }
  EXPECT_EQ(places.size(), p.size());
  return places;
}

/// All planes of all channels, one after the other, and the bucket keys.
std::vector<unsigned char> bytes_of(const ParticleSystem& p) {
  std::vector<unsigned char> all;
  const auto append = [&](const void* data, std::size_t size) {
    const auto* from = static_cast<const unsigned char*>(data);
    all.insert(all.end(), from, from + size);
  };
  for (const ParticleStore& s : p.channels())
    for (const Buffer& plane : s.planes) append(plane.data(), p.size() * scalar_size(s.info.scalar));
  append(p.topology().local_keys().data(), p.topology().local_keys().size_bytes());
  return all;
}

/// Moves every particle; `jump` in a hundred go far.
void move(World& w, ParticleSystem& p, std::uint64_t step, double reach, double far,
          std::map<std::int64_t, Vec3d>* expected = nullptr) {
  for_each_bucket(
      w.exec, "move", p.topology(),
      [&](const Bucket&, auto& id, auto& x) {
        for (std::size_t i = 0; i < x.size(); ++i) {
          const Random r(6, static_cast<std::uint64_t>(id[i]), step, Purpose::test);
          const double scale = r.uniform(9) < 0.02 ? far : reach;
          const Vec3f by(Vec3d{r.uniform(0, -scale, scale), r.uniform(1, -scale, scale), r.uniform(2, -scale, scale)});
          x.set(i, x[i] + by);
        }
      },
      p.read(particle::id), p.write(particle::position));
  if (!expected) return;
  for (int b = 0; b < p.topology().local_count(); ++b)
    for (std::size_t i = 0; i < p.count(b); ++i)
      (*expected)[p.read(particle::id)(b)[i]] =
          Vec3d(p.topology().key(b).coord) * 8.0 + Vec3d(p.read(particle::position)(b)[i]);
}

TEST(Rebucket, LosesNothingAndCarriesEveryChannel) {
  World w;
  ParticleSystem p("water", 0.1, Partition{});
  declare_all(p);
  p.add(tagged_batch(p, cloud(5000, 3.0)));
  ASSERT_TRUE(p.rebucket(w.exec));
  std::map<std::int64_t, Vec3d> expected = check(p);
  ASSERT_EQ(expected.size(), 5000u);
  for (std::uint64_t step = 0; step < 12; ++step) {
    move(w, p, step, step % 3 == 0 ? 0.05 : 2.0, 1000.0, &expected);
    ASSERT_TRUE(p.rebucket(w.exec, static_cast<int>(step % 3)));
    const auto found = check(p);
    ASSERT_EQ(found.size(), expected.size());
    for (const auto& [id, at] : found)
      for (int a = 0; a < 3; ++a) ASSERT_NEAR(at[a], expected[id][a], 1e-4) << id;  // floats of a thousand cells
    expected = found;
  }
}

TEST(Rebucket, DoesNotDependOnOrderOrThreads) {
  std::vector<std::vector<unsigned char>> results;
  for (int variant = 0; variant < 4; ++variant) {
    World w;
    auto who = cloud(4000, 2.0);
    if (variant == 1) std::reverse(who.begin(), who.end());
    ParticleSystem p("water", 0.1, Partition{});
    declare_all(p);
    ThreadScope scope(variant == 2 ? 2 : variant == 3 ? 7 : 1);
    scope.run([&] {
      if (variant == 1) {  // in two parts
        p.add(tagged_batch(p, {who.begin(), who.begin() + 1000}));
        p.add(tagged_batch(p, {who.begin() + 1000, who.end()}));
      } else {
        p.add(tagged_batch(p, who));
      }
      for (std::uint64_t step = 0; step < 5; ++step) {
        ASSERT_TRUE(p.rebucket(w.exec, 1));
        move(w, p, step, 1.0, 100.0);
      }
      ASSERT_TRUE(p.rebucket(w.exec, 1));
    });
    results.push_back(bytes_of(p));
  }
  for (std::size_t i = 1; i < results.size(); ++i) EXPECT_TRUE(results[0] == results[i]) << i;
}

TEST(Rebucket, PutsCrowdedCellsInOrder) {
  // More in a cell than the small sorts take.
  World w;
  ParticleSystem p("water", 1.0, Partition{});
  declare_all(p);
  std::vector<std::pair<std::int64_t, Vec3d>> who;
  for (std::int64_t i = 0; i < 700; ++i) {
    const auto mixed = static_cast<std::int64_t>(mix(static_cast<std::uint64_t>(i)) >> 30);
    who.push_back({mixed, Vec3d(i < 400 ? 0.5 : 3.5 + static_cast<double>(i % 9))});
  }
  p.add(tagged_batch(p, who));
  ASSERT_TRUE(p.rebucket(w.exec));
  EXPECT_EQ(check(p).size(), 700u);
}

TEST(Rebucket, SurvivesAnIdThatOccursTwice) {
  World w;
  ParticleSystem p("water", 1.0, Partition{});
  ParticleBatch batch = p.batch(6);
  for (std::size_t i = 0; i < 6; ++i) batch.id[i] = static_cast<std::int64_t>(i / 2), batch.position[i] = Vec3d(0.5);
  p.add(batch);
  ASSERT_TRUE(p.rebucket(w.exec));
  EXPECT_EQ(p.size(), 6u);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(p.read(particle::id)(0)[i], static_cast<std::int64_t>(i / 2));
}

TEST(Rebucket, DropsThoseMarkedForRemoval) {
  World w;
  ParticleSystem p("water", 0.1, Partition{});
  declare_all(p);
  p.add(tagged_batch(p, cloud(3000, 2.0)));
  ASSERT_TRUE(p.rebucket(w.exec));
  move(w, p, 1, 1.5, 50.0);
  std::size_t marked = 0;
  for (int b = 0; b < p.topology().local_count(); ++b) {
    auto* id = p.store("id").plane<std::int64_t>(0) + p.first(b);
    for (std::size_t i = 0; i < p.count(b); ++i)
      if (id[i] % 3 == 0) id[i] = ~id[i], ++marked;
  }
  ASSERT_TRUE(p.rebucket(w.exec));
  const auto left = check(p);
  EXPECT_EQ(left.size(), 3000 - marked);
  for (const auto& [id, at] : left) EXPECT_NE(id % 3, 0);
  // All of them: no particle, no bucket.
  auto* id = p.store("id").plane<std::int64_t>(0);
  for (std::size_t i = 0; i < p.size(); ++i) id[i] = ~id[i];
  ASSERT_TRUE(p.rebucket(w.exec));
  EXPECT_EQ(p.size(), 0u);
  EXPECT_EQ(p.topology().local_count(), 0);
  ASSERT_TRUE(p.rebucket(w.exec));
}

TEST(Rebucket, PlacesParticlesOnTheEdgeOfABucket) {
  World w;
  ParticleSystem p("water", 1.0, Partition{});
  declare_all(p);
  p.add(tagged_batch(p, {{0, Vec3d(4.0)}, {1, Vec3d(4.0)}, {2, Vec3d(4.0)}, {3, Vec3d(4.0)}, {4, Vec3d(4.0)}}));
  ASSERT_TRUE(p.rebucket(w.exec));
  const float x[5] = {8.0f, -0.0f, -1e-9f, 4.0f + 1000.0f, 4.0f - 1000.0f};
  for (int i = 0; i < 5; ++i) p.store("P").plane<float>(0)[i] = x[i];
  ASSERT_TRUE(p.rebucket(w.exec));
  const auto at = check(p);
  EXPECT_EQ(at.at(0).x, 8.0);
  EXPECT_EQ(at.at(1).x, 0.0);
  EXPECT_LT(at.at(2).x, 0.0);
  EXPECT_GT(at.at(2).x, -1e-6);
  EXPECT_EQ(at.at(3).x, 1004.0);
  EXPECT_EQ(at.at(4).x, -996.0);
}

TEST(Rebucket, NonFinitePositionsAreAnErrorThatNamesTheChannel) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), -1e30f}) {
    World w;
    ParticleSystem p("water", 1.0, Partition{});
    declare_all(p);
    p.add(tagged_batch(p, cloud(100, 20)));
    ASSERT_TRUE(p.rebucket(w.exec));
    p.store("P").plane<float>(1)[50] = bad;
    const Status status = p.rebucket(w.exec);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().kind, Failure::simulation);
    EXPECT_NE(status.error().message.find("water"), std::string::npos);
    EXPECT_NE(status.error().message.find("channel P"), std::string::npos);
  }
  World w;
  ParticleSystem p("water", 1.0, Partition{});
  ParticleBatch batch = p.batch(1);
  batch.id[0] = 1, batch.position[0] = Vec3d(0, std::nan(""), 0);
  p.add(batch);
  EXPECT_FALSE(p.rebucket(w.exec));
  batch.id[0] = -1;
  EXPECT_THROW(p.add(batch), BugFound);
}

TEST(Rebucket, LeavesARestingSystemAlone) {
  World w;
  ParticleSystem p("water", 0.1, Partition{});
  declare_all(p);
  p.add(tagged_batch(p, cloud(2000, 2.0)));
  ASSERT_TRUE(p.rebucket(w.exec, 1));
  const auto topology = p.shared_topology();
  const auto before = bytes_of(p);
  ASSERT_TRUE(p.rebucket(w.exec, 1));
  EXPECT_EQ(p.shared_topology(), topology);
  EXPECT_TRUE(bytes_of(p) == before);
  ASSERT_TRUE(p.rebucket(w.exec, 0));  // other padding: other buckets
  EXPECT_NE(p.shared_topology(), topology);
  EXPECT_EQ(check(p).size(), 2000u);
}

TEST(Rebucket, PaddingKeepsEmptyBucketsAround) {
  World w;
  ParticleSystem p("water", 1.0, Partition{});
  declare_all(p);
  p.add(tagged_batch(p, {{7, Vec3d(4.0)}}));
  ASSERT_TRUE(p.rebucket(w.exec, 2));
  EXPECT_EQ(p.topology().local_count(), 125);
  EXPECT_EQ(p.size(), 1u);
  p.store("P").plane<float>(0)[0] += 8;
  ASSERT_TRUE(p.rebucket(w.exec, 2));
  EXPECT_EQ(p.topology().local_count(), 125);
  EXPECT_GE(p.topology().find({{3, 0, 0}, 0}), 0);
  EXPECT_LT(p.topology().find({{-2, 0, 0}, 0}), 0);
}

TEST(ParticleSystem, EmptyOnesWork) {
  World w;
  ParticleSystem p("water", 1.0, Partition{});
  declare_all(p);
  EXPECT_EQ(p.size(), 0u);
  p.add(p.batch(0));
  ASSERT_TRUE(p.rebucket(w.exec, 1));
  EXPECT_EQ(p.size(), 0u);
  EXPECT_EQ(p.global_size(*w.comm), 0);
  EXPECT_EQ(p.imbalance(*w.comm), 1.0);
  EXPECT_EQ(p.balanced(*w.comm), Partition{});
  EXPECT_FALSE(find_id(p, 1));
  EXPECT_FALSE(IdIndex(p).find(1));
}

TEST(ParticleSystem, ChannelsDeclaredLateStartWithTheirBackground) {
  World w;
  ParticleSystem p("water", 1.0, Partition{});
  ParticleBatch batch = p.batch(10);
  std::iota(batch.id.begin(), batch.id.end(), 0);
  p.add(batch);
  p.declare(mass);  // before the newcomers are sorted in
  ASSERT_TRUE(p.rebucket(w.exec));
  p.declare(kind);
  p.declare(kind);
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(p.read(mass)(0)[i], 1.5);
    EXPECT_EQ(p.read(kind)(0)[i], 4);
  }
  EXPECT_TRUE(p.has("mass"));
  EXPECT_FALSE(p.has("v"));
  EXPECT_THROW(p.declare(ParticleChannel<float>{"mass"}), BugFound);
  EXPECT_THROW(p.store("nothing"), BugFound);
}

TEST(ParticleSystem, RestoreBringsBackWhatWasSaved) {
  World w;
  ParticleSystem p("water", 0.1, Partition{});
  declare_all(p);
  p.add(tagged_batch(p, cloud(2000, 2.0)));
  ASSERT_TRUE(p.rebucket(w.exec, 1));
  std::vector<std::uint64_t> counts;
  for (int b = 0; b < p.topology().local_count(); ++b) counts.push_back(p.count(b));

  ParticleSystem q("water", 0.1, Partition{});
  declare_all(q);
  q.add(tagged_batch(q, cloud(10, 1.0)));  // is forgotten
  q.restore(Topology::build(0.1, p.topology().local_keys(), Partition{}, *w.comm), counts);
  for (std::size_t c = 0; c < p.channels().size(); ++c) {
    ParticleStore& to = q.store(p.channels()[c].info.name);
    for (std::size_t k = 0; k < to.planes.size(); ++k)
      std::copy_n(p.channels()[c].planes[k].data(), p.size() * scalar_size(to.info.scalar), to.planes[k].data());
  }
  EXPECT_TRUE(bytes_of(q) == bytes_of(p));
  for (std::uint64_t step = 0; step < 3; ++step) {
    ASSERT_TRUE(p.rebucket(w.exec, 1));
    ASSERT_TRUE(q.rebucket(w.exec, 1));
    EXPECT_TRUE(bytes_of(q) == bytes_of(p));
    move(w, p, step, 1.0, 10.0), move(w, q, step, 1.0, 10.0);
  }
}

TEST(ParticleSystem, RestoredInAnyOrderIsSortedByTheNextRebucket) {
  World w;
  ParticleSystem p("water", 1.0, Partition{});
  const std::vector<BucketKey> keys{{{0, 0, 0}, 0}};
  p.restore(Topology::build(1.0, keys, Partition{}, *w.comm), std::vector<std::uint64_t>{3});
  for (int i = 0; i < 3; ++i) {
    p.store("id").plane<std::int64_t>(0)[i] = 10 - i;
    for (int a = 0; a < 3; ++a) p.store("P").plane<float>(a)[i] = 1.5f;
  }
  ASSERT_TRUE(p.rebucket(w.exec));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(p.read(particle::id)(0)[i], 8 + static_cast<std::int64_t>(i));
}

TEST(Particles, KernelsSeeTheirBucketOnly) {
  World w;
  ParticleSystem p("water", 0.1, Partition{});
  declare_all(p);
  p.add(tagged_batch(p, cloud(1000, 2.0)));
  ASSERT_TRUE(p.rebucket(w.exec));
  for_each_bucket(
      w.exec, "age", p.topology(),
      [](const Bucket&, auto& m) {
        for (std::size_t i = 0; i < m.size(); ++i) m.set(i, 2.0);
      },
      p.write(mass));
  const auto m = p.read(mass);
  const double total = exact_sum(w.exec, p.topology(), [&](const Bucket& b) {
    double sum = 0;
    for (std::size_t i = 0; i < m(b.index).size(); ++i) sum += m(b.index)[i];
    return sum;
  });
  EXPECT_EQ(total, 2000.0);
  EXPECT_GE(p.memory_bytes(), 1000u * (12 + 8 + 12 + 8 + 4 + 8 + 24));
}

#ifdef AEGIR_CHECKED
TEST(Checked, ParticleIndexOutsideTheBucketStops) {
  World w;
  ParticleSystem p("water", 1.0, Partition{});
  declare_all(p);
  p.add(tagged_batch(p, {{1, Vec3d(1.0)}}));
  ASSERT_TRUE(p.rebucket(w.exec));
  EXPECT_THROW(p.read(mass)(0)[1], BugFound);
}
#endif

}  // namespace
}  // namespace aegir
