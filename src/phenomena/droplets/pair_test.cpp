// One collision at a time: what each outcome leaves, and in which limits.
#include "phenomena/droplets/pair.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

namespace aegir {
namespace {

constexpr double pi = std::numbers::pi;

double ball(double r) { return 4.0 / 3 * pi * r * r * r; }

/// Rules without limits that would show in these sizes.
CollisionRules wide() {
  CollisionRules rules;
  rules.smallest_radius = 1e-9, rules.largest_radius = 10, rules.most_satellites = satellite_capacity;
  rules.perturbation = 0;
  return rules;
}

/// Greater droplet of 1 mm at rest at the origin, the smaller one passes at its closest, to the right.
struct Encounter {
  Droplet a, b;
  Encounter(double weber, double offset, double ratio, const CollisionRules& rules = {}) {
    const double r = 1e-3, s = r * ratio;
    a = {{0, 0, 0}, {0, 0, 0}, r, rules.density * ball(r)};
    b = {{0, offset * (r + s), 0}, {0, 0, 0}, s, rules.density * ball(s)};
    b.velocity.x = std::sqrt(weber * rules.surface_tension / (2 * rules.density * s));
  }
  Collision meet(const CollisionRules& rules) const { return resolve(a, b, rules, Random(1, 2, 3, Purpose::test)); }
};

Vec3d relative(const Collision& c) { return c.droplets[1].velocity - c.droplets[0].velocity; }

TEST(Pair, CoalescenceAddsMassVolumeAndMomentumAtTheCentreOfMass) {
  const Encounter m(5, 0.3, 0.5);
  const Collision after = m.meet({});
  ASSERT_EQ(after.outcome, Outcome::coalescence);
  ASSERT_EQ(after.count, 2);
  const Droplet& d = after.droplets[0];
  EXPECT_EQ(after.droplets[1].mass, 0);
  EXPECT_NEAR(d.mass, m.a.mass + m.b.mass, 1e-15 * d.mass);
  EXPECT_NEAR(d.radius, 1e-3 * std::cbrt(1.125), 1e-18);
  EXPECT_NEAR(d.velocity.x, m.b.velocity.x / 9, 1e-15);
  EXPECT_NEAR(d.position.y, m.b.position.y / 9, 1e-18);
  EXPECT_NEAR(after.surface_energy_before, 4 * pi * 0.072 * 1e-6 * 1.25, 1e-16);
  EXPECT_NEAR(after.surface_energy_after, 4 * pi * 0.072 * d.radius * d.radius, 1e-16);
}

// The whole chain of (4.21)–(4.26) once more, with units and a root by halving.
TEST(Pair, StretchingTakesSatellitesFromTheOverlap) {
  const CollisionRules rules = wide();
  int most = 0;
  for (const double ratio : {1.0, 0.75, 0.5})
    for (const double offset : {0.5, 0.7, 0.9})
      for (const double weber : {150.0, 600.0, 2000.0}) {
        const Encounter m(weber, offset, ratio, rules);
        const Collision after = m.meet(rules);
        ASSERT_EQ(after.outcome, Outcome::stretching);
        const double u = m.b.velocity.x, vi = ball(m.a.radius), vj = ball(m.b.radius), d3 = ratio * ratio * ratio;
        const Overlap share = overlap_of(offset, ratio);
        const double stretch = 0.5 * rules.density * u * u * vi * d3 / ((1 + d3) * (1 + d3)) *
                               (1 + d3 - (1 - offset * offset) * (share.smaller + d3 * share.greater));
        const double length = (1 - offset) * (m.a.radius + m.b.radius);
        const double surface =
            2 * rules.surface_tension * std::sqrt(pi * length * (share.greater * vi + share.smaller * vj));
        const double lost = 0.3 * 0.5 * rules.density * vi * vj / (vi + vj) * u * u;
        const double separated = std::max(0.0, (stretch - surface - lost) / (stretch + surface + lost));
        const double ligament = separated * (share.greater * vi + share.smaller * vj), r0 = std::cbrt(ligament / pi);
        const double weber0 = 2 * r0 * rules.density * u * u / rules.surface_tension;
        double low = 0, high = r0;
        for (int k = 0; k < 200; ++k) {
          const double r = (low + high) / 2, q = r / r0;
          (2.744 * std::sqrt(weber0) * std::pow(q, 3.5) + q * q > 1 ? high : low) = r;
        }
        const double wanted = ligament > 0 ? ligament / ball(1.89 * low) : 0;
        most = std::max(most, after.count - 2);
        EXPECT_NEAR(after.count - 2, wanted, 0.51) << ratio << " " << offset << " " << weber;
        for (int k = 2; k < after.count; ++k)
          EXPECT_NEAR(ball(after.droplets[k].radius) / (ligament / (after.count - 2)), 1, 1e-12);
        EXPECT_NEAR(ball(after.droplets[0].radius) / (vi * (1 - separated * share.greater)), 1, 1e-12);
        EXPECT_NEAR(ball(after.droplets[1].radius) / (vj * (1 - separated * share.smaller)), 1, 1e-12);
      }
  EXPECT_GT(most, 5);
}

TEST(Pair, ReflexivePiecesAreOfOneSizeAndPartAlongTheRelativeVelocity) {
  const CollisionRules rules = wide();
  const Encounter m(1000, 0, 0.75, rules);
  const Collision after = m.meet(rules);
  ASSERT_EQ(after.outcome, Outcome::reflexive);
  ASSERT_GT(after.count, 4);
  const double r = 1e-3 * std::cbrt((1 + 0.421875) / after.count);
  for (int k = 0; k < after.count; ++k) {
    EXPECT_NEAR(after.droplets[k].radius, r, 1e-15);
    EXPECT_NEAR(after.droplets[k].mass, (m.a.mass + m.b.mass) / after.count, 1e-15 * m.a.mass);
    EXPECT_EQ(after.droplets[k].velocity.y, 0);
  }
  EXPECT_GT(relative(after).x, 0);
  EXPECT_LT(relative(after).x, m.b.velocity.x * std::sqrt(1 - reflexive_threshold(0, 0.75) / 1000) * (1 + 1e-12));
}

TEST(Pair, SlowReflexiveSeparationKeepsBothAndTakesSpeed) {
  const Encounter m(30, 0, 1);
  const Collision after = m.meet({});
  ASSERT_EQ(after.outcome, Outcome::reflexive);
  EXPECT_EQ(after.count, 2);
  EXPECT_EQ(after.droplets[0].radius, m.a.radius);
  EXPECT_EQ(after.droplets[1].position, m.b.position);
  EXPECT_NEAR(relative(after).x / m.b.velocity.x, std::sqrt(1 - reflexive_threshold(0, 1) / 30), 1e-12);
}

TEST(Pair, SatellitesLineUpAndMoveMostLikeTheParentTheyAreNextTo) {
  const CollisionRules rules = wide();
  for (const double ratio : {1.0, 0.5}) {
    const Encounter m(2000, 0.7, ratio, rules);
    const Collision after = m.meet(rules);
    ASSERT_GT(after.count, 6);
    double place = after.droplets[0].position.y, speed = after.droplets[0].velocity.x;
    for (int k = 2; k < after.count; ++k) {
      EXPECT_GT(after.droplets[k].position.y, place);
      EXPECT_GT(after.droplets[k].velocity.x, speed);
      place = after.droplets[k].position.y, speed = after.droplets[k].velocity.x;
    }
    EXPECT_GT(after.droplets[1].position.y, place);
    EXPECT_GT(after.droplets[1].velocity.x, speed);
  }
}

TEST(Pair, GrazingLeavesAPairAsItWas) {
  for (const double weber : {1e-6, 1.0, 100.0, 1e9}) {
    const Encounter m(weber, 1, 0.6);
    const Collision after = m.meet({});
    EXPECT_EQ(after.outcome, Outcome::stretching);
    EXPECT_EQ(after.count, 2);
    EXPECT_NEAR(relative(after).x / m.b.velocity.x, 1, 1e-12);
  }
}

TEST(Pair, WhatSeparatesReallyParts) {
  // Relative velocity left, from 0 at the edge of coalescence to 1 at X = 1, and never falling on the way.
  const CollisionRules rules = wide();
  for (const double ratio : {1.0, 0.7, 0.3, 0.05})
    for (const double weber : {0.5, 3.0, 10.0, 40.0, 150.0, 2000.0}) {
      double last = 0;
      for (int k = 0; k <= 400; ++k) {
        const double offset = k / 400.0;
        const Encounter m(weber, offset, ratio, rules);
        CollisionRules plain = rules;
        plain.most_satellites = 0;
        const Collision after = m.meet(plain);
        if (after.outcome != Outcome::stretching) continue;
        const double left = relative(after).x / m.b.velocity.x;
        ASSERT_GT(left, 0) << ratio << " " << weber << " " << offset;
        ASSERT_GE(left, last - 1e-9) << ratio << " " << weber << " " << offset;
        ASSERT_LE(left, 1 + 1e-15);
        last = left;
      }
      EXPECT_NEAR(last, 1, 1e-12);
    }
}

TEST(Pair, BounceActsAlongTheLineOfCentresOnly) {
  CollisionRules rules = wide();
  rules.bounce = true;
  for (const double restitution : {1.0, 0.5, 0.0})
    for (const double offset : {0.0, 0.3, 0.8, 1.0}) {
      rules.restitution = restitution;
      const Encounter m(0.5, offset, 0.7, rules);
      const Collision after = m.meet(rules);
      ASSERT_EQ(after.outcome, Outcome::bounce);
      ASSERT_EQ(after.count, 2);
      const Vec3d normal{-std::sqrt(1 - offset * offset), offset, 0};  // from a to b when they touch
      const Vec3d before = m.b.velocity - m.a.velocity, left = relative(after);
      const double speed = length(before);
      EXPECT_NEAR(dot(left, normal), -restitution * dot(before, normal), 1e-14 * speed);
      EXPECT_NEAR(length((left - before) - normal * dot(left - before, normal)), 0, 1e-14 * speed);
      EXPECT_EQ(after.droplets[0].radius, m.a.radius);
    }
  const Encounter equal(0.5, 0, 1, rules);
  rules.restitution = 1;
  const Collision after = equal.meet(rules);
  EXPECT_NEAR(after.droplets[0].velocity.x, equal.b.velocity.x, 1e-15);  // equal balls exchange velocities
  EXPECT_NEAR(after.droplets[1].velocity.x, 0, 1e-15);
}

TEST(Pair, SizeLimits) {
  CollisionRules rules = wide();
  rules.largest_radius = 1.1e-3;
  const Encounter slow(5, 0.3, 1, rules);
  Collision after = slow.meet(rules);
  EXPECT_TRUE(after.skipped);  // a merged one would be too large: nothing changes
  EXPECT_EQ(after.count, 2);
  EXPECT_EQ(after.droplets[1].velocity, slow.b.velocity);
  EXPECT_EQ(after.surface_energy_after, after.surface_energy_before);

  rules = wide();
  const Encounter fast(2000, 0.6, 1, rules);
  const int all = fast.meet(rules).count;
  ASSERT_GT(all, 6);
  rules.smallest_radius = fast.meet(rules).droplets[2].radius * 1.1;
  after = fast.meet(rules);
  EXPECT_LT(after.count, all);  // fewer, larger satellites
  EXPECT_GT(after.count, 2);
  EXPECT_GE(after.droplets[2].radius, rules.smallest_radius);
  rules.smallest_radius = 0.99e-3;  // parents would get too small: no satellites, but they part
  after = fast.meet(rules);
  EXPECT_EQ(after.count, 2);
  EXPECT_FALSE(after.skipped);
  EXPECT_LT(relative(after).x, fast.b.velocity.x);

  rules = wide();
  for (const int most : {0, 1, 3}) {
    rules.most_satellites = most;
    EXPECT_EQ(fast.meet(rules).count, 2 + most);
  }
}

TEST(Pair, DropletsBeyondTheLimitsComeBack) {
  CollisionRules rules = wide();
  rules.smallest_radius = 5e-3;  // both are smaller: they may still merge
  const Collision merged = Encounter(5, 0.3, 1, rules).meet(rules);
  EXPECT_FALSE(merged.skipped);
  EXPECT_EQ(merged.droplets[1].mass * merged.droplets[0].mass, 0);
  rules = wide();
  rules.largest_radius = 0.9e-3;  // both are larger: they may still break up
  EXPECT_GT(Encounter(2000, 0.6, 1, rules).meet(rules).count, 2);
}

TEST(Pair, PerturbationTurnsAndSlowsSatellites) {
  CollisionRules rules = wide();
  const Encounter m(3000, 0.02, 1, rules);
  struct Spread {
    double across = 0, along = 0;
    int satellites = 0;
  };
  const auto spread = [&](double eta) {
    rules.perturbation = eta;
    Spread s;
    for (int k = 0; k < 2000; ++k) {
      const Collision after = resolve(m.a, m.b, rules, Random(1, static_cast<std::uint64_t>(k), 3, Purpose::test));
      EXPECT_EQ(after.outcome, Outcome::reflexive);
      for (int n = 0; n < after.count; ++n) {
        const Vec3d v = after.droplets[n].velocity - m.b.velocity * 0.5;
        s.across += v.y * v.y + v.z * v.z, s.along += v.x * v.x;
      }
      s.satellites = after.count - 2;
    }
    return s;
  };
  // About a random axis, a turn by α moves v by sin²α · ⅔ + (1 − cos α)² · 2/15 of v² to the side, and v² shrinks by
  // (1 − α)⁴; pieces share what is left of the mean.
  const auto expected = [](double range) {
    Spread s;
    for (int k = 0; k < 10000; ++k) {
      const double alpha = std::min(1.0, range * (k + 0.5) / 10000), c = std::cos(alpha);
      const double aside = (1 - c * c) * 2 / 3 + (1 - c) * (1 - c) * 2 / 15, slower = std::pow(1 - alpha, 4);
      s.across += slower * aside, s.along += slower * (1 - aside);
    }
    return s;
  };
  const Spread none = spread(0);
  EXPECT_LT(none.across, 1e-24 * none.along);
  ASSERT_GT(none.satellites, 4);
  for (const double eta : {0.01, 0.03, 0.1}) {
    const Spread found = spread(eta), law = expected(eta * none.satellites);
    EXPECT_NEAR(found.across / found.along / (law.across / law.along), 1, 0.15) << eta;
    EXPECT_NEAR(found.along / none.along / (law.along / 10000), 1, 0.15) << eta;
  }
}

TEST(Pair, UnequalDensitiesMixByVolume) {
  const CollisionRules rules = wide();
  Encounter m(1500, 0.6, 1, rules);
  m.b.mass *= 0.5;
  const Collision after = m.meet(rules);
  ASSERT_EQ(after.outcome, Outcome::stretching);
  ASSERT_GT(after.count, 2);
  const auto density = [](const Droplet& d) { return d.mass / ball(d.radius); };
  EXPECT_NEAR(density(after.droplets[0]) / rules.density, 1, 1e-12);
  EXPECT_NEAR(density(after.droplets[1]) / rules.density, 0.5, 1e-12);
  EXPECT_NEAR(density(after.droplets[2]) / rules.density, 0.75, 1e-12);  // equal droplets give equal volumes
}

TEST(Pair, WhatIsNoDropletDoesNotCollide) {
  const Encounter m(1500, 0.6, 1);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (int what = 0; what < 5; ++what) {
    Droplet bad = m.b;
    if (what == 0) bad.radius = 0;
    if (what == 1) bad.radius = -1;
    if (what == 2) bad.mass = 0;
    if (what == 3) bad.velocity.y = nan;
    if (what == 4) bad.position.y = std::numeric_limits<double>::infinity();
    for (const bool first : {false, true}) {
      const Random random(1, 2, 3, Purpose::test);
      const Collision after = first ? resolve(bad, m.a, {}, random) : resolve(m.a, bad, {}, random);
      EXPECT_TRUE(after.skipped);
      EXPECT_EQ(after.count, 2);
      EXPECT_EQ(after.droplets[first ? 1 : 0].velocity, m.a.velocity);
    }
  }
}

TEST(Pair, WithoutSurfaceTensionEverythingParts) {
  CollisionRules rules;
  rules.surface_tension = 0;
  for (const double offset : {0.0, 0.2, 0.5, 0.9, 1.0}) {
    const Encounter m(100, offset, 0.8);
    const Collision after = m.meet(rules);
    EXPECT_NE(after.outcome, Outcome::coalescence) << offset;
    EXPECT_TRUE(std::isfinite(length(relative(after)))) << offset;
    EXPECT_EQ(after.surface_energy_after, 0);
  }
}

}  // namespace
}  // namespace aegir
