// Laws of emission and age: rates, uniformity, identity, lifespans; and how the pipeline scopes and keys settings.
#include <cmath>
#include <set>

#include "laws/laboratory.h"

namespace aegir::test {
namespace {

TEST(Emission, RateIsMetToTheParticleForAnySubstep) {
  for (int substeps : {1, 5}) {
    Laboratory lab(timeline(24, substeps),
                   "  - particles: dust\n  - emitter: hose\n    shape: {kind: disc, radius: 0.1}\n    rate: 1234.5\n   "
                   " velocity: [0, 1, 0]\n");
    ASSERT_TRUE(lab.ok());
    while (!lab.simulation().finished()) {
      lab.step();
      EXPECT_LE(std::abs(static_cast<double>(lab.audit().particles) - 1234.5 * lab.time()), 1.0) << lab.time();
    }
    const auto all = lab.particles();
    std::int64_t expected = 0;
    for (const auto& [id, p] : all) EXPECT_EQ(id, expected++);
  }
}

TEST(Emission, KeyframedRateIsIntegrated) {
  Laboratory lab(
      timeline(24, 4),
      "  - particles: dust\n  - emitter: hose\n    shape: {kind: sphere}\n    rate: {keys: {1: 0, 25: 2400}}\n");
  ASSERT_TRUE(lab.ok());
  lab.run();
  // ∫ 2400 t dt = 1200; the rate is taken at the begin of each of 96 substeps, 12.5 short.
  EXPECT_NEAR(static_cast<double>(lab.audit().particles), 1200, 14);
}

TEST(Emission, StreamHasNoGapsBetweenSubsteps) {
  // 4000 particles/s at 2 m/s: one every 0.5 mm, whatever the substep.
  for (int substeps : {1, 3}) {
    Laboratory lab(timeline(12, substeps),
                   "  - particles: dust\n  - emitter: hose\n    shape: {kind: sphere, radius: 1e-9}\n    rate: 4000\n  "
                   "  velocity: [2 m/s, 0, 0]\n");
    ASSERT_TRUE(lab.ok());
    lab.run();
    std::set<double> xs;
    for (const auto& [id, p] : lab.particles()) xs.insert(p.x.x);
    double widest = 0, before = *xs.begin();
    for (double x : xs) widest = std::max(widest, x - before), before = x;
    EXPECT_NEAR(widest, 0.0005, 2e-5) << substeps;
    for (const auto& [id, p] : lab.particles()) EXPECT_NEAR(p.age * 2, p.x.x, 2e-5);
  }
}

TEST(Emission, FillsAVolumeUniformly) {
  Laboratory lab(
      timeline(1, 1),
      "  - particles: dust\n  - emitter: cloud\n    shape: {kind: box, size: [4, 2, 1]}\n    count: 80000\n");
  ASSERT_TRUE(lab.ok());
  int octant[8] = {};
  for (const auto& [id, p] : lab.particles()) ++octant[(p.x.x > 0) * 4 + (p.x.y > 0) * 2 + (p.x.z > 0)];
  for (int n : octant) EXPECT_NEAR(n, 10000, 5 * std::sqrt(10000.0));
}

TEST(Emission, MassFollowsRadiusAndDensity) {
  Laboratory lab(timeline(1, 1),
                 "  - particles: dust\n  - emitter: cloud\n    shape: {kind: box}\n    count: 1000\n    radius: [1 mm, "
                 "3 mm]\n    density: 500 kg/m^3\n");
  ASSERT_TRUE(lab.ok());
  double mass = 0;
  for (const auto& [id, p] : lab.particles()) {
    EXPECT_GE(p.radius, 0.000999);
    EXPECT_LE(p.radius, 0.003001);
    EXPECT_NEAR(p.mass, 500 * 4.18879020478639 * std::pow(p.radius, 3), 1e-6 * p.mass);
    mass += p.mass;
  }
  EXPECT_NEAR(lab.audit().mass, mass, 1e-9 * mass);
}

TEST(Lifespan, RemovesAtTheAgeAndKeepsTheRest) {
  Laboratory lab(timeline(48, 2),
                 "  - particles: dust\n  - emitter: hose\n    shape: {kind: sphere}\n    rate: 1000\n  - lifespan: "
                 "short\n    span: 0.5 s\n");
  ASSERT_TRUE(lab.ok());
  lab.run();
  EXPECT_NEAR(static_cast<double>(lab.audit().particles), 500, 2);
  for (const auto& [id, p] : lab.particles()) EXPECT_LT(p.age, 0.5);
}

TEST(Scope, ABehaviorActsOnItsGroupAndBelowOnly) {
  const std::string emitter = "shape: {kind: sphere, radius: 1e-9}, count: 1";
  Laboratory lab(timeline(24, 1),
                 "  - group: a\n    behaviors:\n      - gravity: here\n      - particles: one\n      - {emitter: e, " +
                     emitter +
                     "}\n      - group: deep\n        behaviors:\n          - particles: two\n  - group: b\n    "
                     "behaviors:\n      - particles: three\n      - {emitter: f, " +
                     emitter + "}\n");
  ASSERT_TRUE(lab.ok());
  lab.run();
  EXPECT_LT(lab.particles("a/one").begin()->second.v.y, -9);
  EXPECT_LT(lab.particles("a/deep/two").begin()->second.v.y, -9);
  EXPECT_EQ(lab.particles("b/three").begin()->second.v.y, 0);
}

TEST(Scope, OverridesGiveOneObjectAnotherValue) {
  Laboratory lab(timeline(24, 1),
                 "  - gravity: g\n    overrides: {two: {acceleration: [0, 1, 0]}}\n  - particles: one\n  - particles: "
                 "two\n  - emitter: e\n    shape: {kind: sphere, radius: 1e-9}\n    count: 1\n");
  ASSERT_TRUE(lab.ok());
  lab.run();
  EXPECT_NEAR(lab.particles("one").begin()->second.v.y, -9.80665, 1e-4);
  EXPECT_NEAR(lab.particles("two").begin()->second.v.y, 1, 1e-5);
}

TEST(Scope, OrderInTheFileNeverMatters) {
  const std::string a = "  - particles: dust\n", b = "  - emitter: e\n    shape: {kind: box}\n    count: 100\n",
                    c = "  - gravity: g\n", d = "  - wind_drag: w\n    velocity: [1, 0, 0]\n";
  Laboratory first(timeline(12, 2), a + b + c + d), second(timeline(12, 2), d + c + b + a);
  first.run(), second.run();
  const auto x = first.particles(), y = second.particles();
  ASSERT_EQ(x.size(), y.size());
  for (const auto& [id, p] : x) EXPECT_EQ(p.x, y.at(id).x);
}

TEST(Scope, BehaviorsWithoutObjectsSwitchThemselvesOff) {
  Laboratory lab(timeline(1, 1),
                 "  - gravity: lonely\n  - group: g\n    enabled: false\n    behaviors:\n      - particles: never\n");
  ASSERT_TRUE(lab.ok());
  int off = 0;
  for (const BehaviorSummary& b : lab.simulation().behaviors()) off += !b.off.empty();
  EXPECT_EQ(off, 2);
}

TEST(Keyframes, GravityTurnsOffAtItsKey) {
  Laboratory lab(timeline(48, 1),
                 one_particle({0, 0, 0}, {0, 0, 0}) +
                     "  - gravity: g\n    acceleration: {keys: {1: [0, -1, 0], 25: [0, 0, 0]}, interpolation: step}\n");
  ASSERT_TRUE(lab.ok());
  lab.run();
  EXPECT_NEAR(lab.only().v.y, -1, 1e-5);
}

TEST(Substeps, FollowTheSpeedInCellsWithinTheirLimits) {
  // 0.1 m cells, CFL 1: 9.6 m/s needs 4 substeps, 96 m/s would need 40 and gets the maximum.
  for (const auto& [speed, expected] : {std::pair{9.6, 4}, {96.0, 6}, {0.1, 2}}) {
    Laboratory lab("{fps: 24, frames: [1, 2], substeps: {cfl: 1, min: 2, max: 6}}",
                   one_particle({0, 0, 0}, {speed * 0.9999, 0, 0}));
    ASSERT_TRUE(lab.ok());
    int steps = 0;
    while (!lab.simulation().finished()) lab.step(), ++steps;
    EXPECT_EQ(steps, expected) << speed;
    EXPECT_EQ(lab.time(), 1.0 / 24);
  }
}

}  // namespace
}  // namespace aegir::test
