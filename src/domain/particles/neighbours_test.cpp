#include "domain/particles/neighbours.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "domain/for_each_bucket.h"
#include "domain/particles/id_lookup.h"
#include "domain/particles/test_support.h"

namespace aegir {
namespace {

using namespace particle_test;

TEST(IdLookup, FindsEveryParticleAndNoOther) {
  World w;
  ParticleSystem p("water", 0.1, Partition{});
  declare_all(p);
  p.add(tagged_batch(p, cloud(2000, 2.0)));
  ASSERT_TRUE(p.rebucket(w.exec, 1));
  const IdIndex index(p);
  for (int b = 0; b < p.topology().local_count(); b += 3)
    for (std::size_t i = 0; i < p.count(b); i += 5) {
      const std::int64_t id = p.read(particle::id)(b)[i];
      ASSERT_EQ(index.find(id), (ParticlePlace{b, i}));
      ASSERT_EQ(find_id(p, id), (ParticlePlace{b, i}));
    }
  EXPECT_FALSE(index.find(-5));
  EXPECT_FALSE(find_id(p, -5));
}

TEST(Neighbours, AgreeWithBruteForce) {
  World w;
  ParticleSystem p("water", 1.0, Partition{});
  declare_all(p);
  p.add(tagged_batch(p, cloud(1500, 12.0)));
  ASSERT_TRUE(p.rebucket(w.exec));
  std::map<std::int64_t, Vec3d> all;  // positions in cells by id
  for (int b = 0; b < p.topology().local_count(); ++b)
    for (std::size_t i = 0; i < p.count(b); ++i)
      all[p.read(particle::id)(b)[i]] =
          Vec3d(p.topology().key(b).coord) * 8.0 + Vec3d(p.read(particle::position)(b)[i]);
  struct Pair {
    std::int64_t other;
    float distance2;
  };
  for (const float radius : {0.0f, 0.7f, 2.0f, 5.5f, 8.0f}) {
    std::map<std::int64_t, std::vector<Pair>> found;
    int out_of_order = 0;
    ThreadScope scope(1);
    scope.run([&] {
      for_each_bucket(
          w.exec, "near", p.topology(),
          [&](const Bucket&, auto& near, auto& ids) {
            NeighbourSearch search(near);
            for (std::size_t i = 0; i < near.self().size(); ++i) {
              auto& mine = found[ids.self()[i]];
              std::pair<int, std::size_t> before{-1, 0};
              search.within(i, radius, [&](int n, std::size_t j, float d2) {
                out_of_order += std::pair(n, j) <= before && before.first >= 0;
                before = {n, j};
                mine.push_back({ids.at[static_cast<std::size_t>(n)][j], d2});
              });
            }
          },
          p.read_neighbours(particle::position), p.read_neighbours(particle::id));
    });
    EXPECT_EQ(out_of_order, 0);
    std::size_t pairs = 0;
    for (const auto& [id, x] : all) {
      std::map<std::int64_t, float> mine;
      for (const Pair& q : found[id]) ASSERT_TRUE(mine.emplace(q.other, q.distance2).second);
      pairs += mine.size();
      for (const auto& [other, y] : all) {
        if (other == id) continue;
        const double d2 = dot(y - x, y - x);
        if (std::abs(std::sqrt(d2) - static_cast<double>(radius)) < 1e-4) continue;  // too close to call
        ASSERT_EQ(mine.count(other), d2 < static_cast<double>(radius * radius) ? 1u : 0u) << radius;
      }
      for (const Pair& q : found[id]) {  // the same bits from the other side
        const auto& theirs = found[q.other];
        const auto at = std::find_if(theirs.begin(), theirs.end(), [&](const Pair& t) { return t.other == id; });
        ASSERT_NE(at, theirs.end());
        ASSERT_EQ(at->distance2, q.distance2);
      }
    }
    if (radius >= 2) {
      EXPECT_GT(pairs, 1000u);
    }
  }
}

}  // namespace
}  // namespace aegir
