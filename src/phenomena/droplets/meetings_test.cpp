// Pairs are found as comparing all with all finds them.
#include "phenomena/droplets/meetings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/random.h"
#include "parallel/threads.h"
#include "phenomena/common/channels.h"
#include "phenomena/droplets/swept_ball.h"

namespace aegir {
namespace {

constexpr double spacing = 0.02;

struct Spray {
  std::unique_ptr<Comm> comm = make_single_comm();
  Profile profile;
  Exec exec{*comm, profile};
  ParticleSystem particles{"spray", spacing, Partition{}};

  Spray() {
    particles.declare(particle::velocity), particles.declare(particle::radius), particles.declare(particle::mass);
    particles.declare(particle::age), particles.declare(particle::collide_after);
  }

  struct Ball {
    Vec3d place, velocity;
    double radius;
  };
  void add(const std::vector<Ball>& balls) {
    ParticleBatch batch = particles.batch(balls.size());
    for (std::size_t i = 0; i < balls.size(); ++i) {
      batch.id[i] = static_cast<std::int64_t>(i);
      batch.position[i] = balls[i].place;
      batch.set("v", i, balls[i].velocity), batch.set("pscale", i, balls[i].radius);
    }
    particles.add(batch);
    ASSERT_TRUE(particles.rebucket(exec));
  }
};

/// Random droplets in a cube; on average they move `diameters` of their own per substep.
std::vector<Spray::Ball> cloud(std::size_t count, double size, double radius, double diameters, double dt) {
  std::vector<Spray::Ball> balls;
  for (std::size_t i = 0; i < count; ++i) {
    const Random r(3, i, 0, Purpose::test);
    const double mine = radius * (0.3 + 1.4 * r.uniform(0) * r.uniform(1));
    balls.push_back({{r.uniform(2, -size, size), r.uniform(3, -size, size), r.uniform(4, -size, size)},
                     r.direction(5) * (diameters * 2 * radius / dt * 2 * r.uniform(7)) + Vec3d(20, -30, 10),
                     mine});
  }
  return balls;
}

struct Pair {
  std::int64_t a, b;
  float contact, closest;
  auto operator<=>(const Pair&) const = default;
};

std::vector<Pair> pairs_of(const Spray& s, const Meetings& meetings) {
  std::vector<Pair> pairs;
  const auto id = s.particles.read(particle::id);
  for (int b = 0; b < s.particles.topology().local_count(); ++b)
    for (const Meeting& m : meetings.of(b)) {
      const std::int64_t me = id(b)[m.droplet];
      pairs.push_back({std::min(me, m.other_id), std::max(me, m.other_id), m.contact, m.closest});
    }
  std::sort(pairs.begin(), pairs.end());
  // Each pair is there twice, once from each side, with the same times.
  EXPECT_EQ(pairs.size() % 2, 0u);
  std::vector<Pair> once;
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
    EXPECT_EQ(pairs[i], pairs[i + 1]);
    once.push_back(pairs[i]);
  }
  return once;
}

/// Algorithm 3 of Jones 2018 as it stands (with the contact time stored), all against all.
std::vector<Pair> brute_force(const Spray& s, double dt, bool overlap_only, int rounds) {
  struct Item {
    Vec3i bucket;
    Vec3f place, way;
    float radius;
    std::int64_t id;
  };
  std::vector<Item> all;
  const auto place = s.particles.read(particle::position), velocity = s.particles.read(particle::velocity);
  const auto radius = s.particles.read(particle::radius);
  const auto id = s.particles.read(particle::id);
  float largest = 0;
  for (int b = 0; b < s.particles.topology().local_count(); ++b)
    for (std::size_t i = 0; i < place(b).count; ++i) {
      all.push_back({s.particles.topology().key(b).coord, place(b)[i],
                     velocity(b)[i] * static_cast<float>(dt / spacing), radius(b)[i] * static_cast<float>(1 / spacing),
                     id(b)[i]});
      largest = std::max(largest, all.back().radius);
    }
  const auto meet = [&](const Item& i, const Item& j) {
    const Vec3f d = (j.place - i.place) + Vec3f(j.bucket - i.bucket) * float{bucket_size}, w = j.way - i.way;
    if (overlap_only && !(dot(d, d) < (i.radius + largest) * (i.radius + largest))) return Approach{};
    return approach(d.x, d.y, d.z, w.x, w.y, w.z, j.radius + i.radius);
  };
  struct Hit {
    std::size_t i, j;
    Approach at;
  };
  std::vector<std::vector<Hit>> rows(all.size());
  parallel_for(0, all.size(), 64, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      for (std::size_t j = 0; j < all.size(); ++j)
        if (const Approach at = i == j ? Approach{} : meet(all[i], all[j]); at.contact <= 1)
          rows[i].push_back({i, j, at});
  });
  std::vector<Pair> pairs;
  std::vector<char> paired(all.size(), 0);
  for (int round = 0; round < rounds; ++round) {
    std::vector<const Hit*> first(all.size(), nullptr);
    for (const auto& row : rows)
      for (const Hit& h : row)
        if (!paired[h.i] && !paired[h.j] &&
            (!first[h.i] ||
             std::pair(h.at.contact, all[h.j].id) < std::pair(first[h.i]->at.contact, all[first[h.i]->j].id)))
          first[h.i] = &h;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!first[i] || paired[i]) continue;
      const std::size_t j = first[i]->j;
      if (!first[j] || first[j]->j != i) continue;
      paired[i] = paired[j] = 1;
      pairs.push_back(
          {std::min(all[i].id, all[j].id), std::max(all[i].id, all[j].id), first[i]->at.contact, first[i]->at.closest});
    }
  }
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

TEST(Meetings, TwoBallsMeetWhenTheirSurfacesTouch) {
  // 10 apart, closing at 4 per substep, radii sum to 7: contact after 3/4, closest after 10/4.
  const Approach at = approach(10, 0, 0, -4, 0, 0, 7);
  EXPECT_FLOAT_EQ(at.contact, 0.75f);
  EXPECT_FLOAT_EQ(at.closest, 2.5f);
  EXPECT_TRUE(std::isinf(approach(10, 0, 0, 4, 0, 0, 7).contact)) << "moving apart";
  EXPECT_TRUE(std::isinf(approach(10, 0, 0, 0, 0, 0, 7).contact)) << "at rest";
  EXPECT_TRUE(std::isinf(approach(0, 0, 0, 1, 0, 0, 7).contact)) << "at one place";
  EXPECT_TRUE(std::isinf(approach(10, 8, 0, -40, 0, 0, 7).contact)) << "passing";
  EXPECT_LT(approach(5, 0, 0, -1, 0, 0, 7).contact, 0) << "overlapping and approaching";
}

TEST(Meetings, AreThoseOfComparingAllWithAll) {
  const double dt = 0.01;
  for (const double diameters : {0.3, 10.0})
    for (const bool overlap : {false, true}) {
      Spray s;
      s.add(cloud(20000, 0.2, 0.0015, diameters, dt));
      Meetings meetings;
      const MeetingCounts counts = meetings.find(
          s.exec, s.particles,
          {.dt = dt, .neighbourhood = overlap ? Neighbourhood::overlap : Neighbourhood::trajectory, .rounds = 3});
      const std::vector<Pair> expected = brute_force(s, dt, overlap, 3);
      const std::vector<Pair> found = pairs_of(s, meetings);
      EXPECT_GT(expected.size(), overlap ? 30u : 100u);
      EXPECT_EQ(found.size(), expected.size()) << diameters << " diameters, overlap " << overlap;
      EXPECT_TRUE(found == expected) << diameters << " diameters, overlap " << overlap;
      EXPECT_EQ(counts.pairs, static_cast<std::int64_t>(expected.size()));
      EXPECT_EQ(counts.blind, 0);
    }
}

TEST(Meetings, DoNotDependOnThreads) {
  std::vector<Pair> first;
  for (const int threads : {1, 2, 7}) {
    ThreadScope scope(threads);
    scope.run([&] {
      Spray s;
      s.add(cloud(5000, 0.1, 0.0015, 5, 0.01));
      Meetings meetings;
      meetings.find(s.exec, s.particles, {.dt = 0.01});
      const auto pairs = pairs_of(s, meetings);
      if (threads == 1) first = pairs;
      EXPECT_TRUE(pairs == first) << threads << " threads";
    });
  }
  EXPECT_GT(first.size(), 100u);
}

TEST(Meetings, LeaveOutTheNewbornAndTheCalm) {
  Spray s;
  s.add({{{0, 0, 0}, {1, 0, 0}, 0.001}, {{0.005, 0, 0}, {-1, 0, 0}, 0.001}});
  Meetings meetings;
  const auto pairs = [&](double time) { return meetings.find(s.exec, s.particles, {.time = time, .dt = 0.01}).pairs; };
  EXPECT_EQ(pairs(0), 1);
  s.particles.store("collide_after").plane<float>(0)[0] = 0.5f;
  EXPECT_EQ(pairs(0.4), 0);
  EXPECT_EQ(pairs(0.5), 1);
  s.particles.store("age").plane<float>(0)[1] = -0.001f;
  EXPECT_EQ(pairs(0.5), 0);
}

TEST(Meetings, OfACrowdAreBounded) {
  // 100000 droplets in one cell, and as many at one point.
  for (const double size : {0.5 * spacing, 0.0}) {
    Spray s;
    auto balls = cloud(100000, size / 2, 0.0001, 1, 0.001);
    for (auto& b : balls) b.place += Vec3d(0.01, 0.01, 0.01);
    s.add(balls);
    Meetings meetings;
    const MeetingCounts counts = meetings.find(s.exec, s.particles, {.dt = 0.001});
    EXPECT_LE(counts.pairs, 50000);
    if (size > 0) {
      EXPECT_GT(counts.pairs, 10000);
    } else {
      EXPECT_GT(counts.crowded, 90000);
    }
  }
}

TEST(Meetings, SayWhenDropletsLookBeyondTheirNeighbours) {
  Spray s;
  s.add({{{0, 0, 0}, {20, 0, 0}, 0.001}, {{0.15, 0, 0}, {-20, 0, 0}, 0.001}});
  Meetings meetings;
  EXPECT_EQ(meetings.find(s.exec, s.particles, {.dt = 0.001}).blind, 0);
  EXPECT_GT(meetings.find(s.exec, s.particles, {.dt = 0.01}).blind, 0);
}

}  // namespace
}  // namespace aegir
