// Solids thinner than a cell hold liquid back, at rest and moving; particles end up outside all solids.
#include "liquid/deforming_ball.h"
#include "liquid/liquid_laboratory.h"
#include "phenomena/common/collider.h"

namespace aegir::test {
namespace {

constexpr double g = 9.80665;
constexpr double pi = 3.14159265358979;

/// A plate a tenth of a cell thick, between two faces, holds ten or more cells of head for five seconds.
void hold_back(double jitter) {
  for (const int cells : {16, 32}) {
    const double dx = 1.0 / cells, x = 0.75 + 0.37 * dx, low = 0.25, head = 0.625;
    LiquidLaboratory lab(
        "{fps: 24, frames: [0, 120], substeps: {cfl: 2, max: 20}}",
        fmt::format("  - gravity: earth\n  - domain: tank\n    box: {{min: [0, 0, 0], max: [1.5, 1.25, 0.5]}}\n"
                    "  - collider: plate\n    shape: {{kind: box, center: [{}, 0.5, 0.25], size: [{}, 3, 2]}}\n"
                    "  - hybrid: water\n    voxel_size: {}\n    jitter: {}\n    fill: {{shape: {{kind: box, center: "
                    "[{}, {}, 0.25], "
                    "size: [{}, {}, 0.5]}}}}\n"
                    "  - source: still\n    shape: {{kind: box, center: [{}, {}, 0.25], size: [{}, {}, 0.5]}}\n"
                    "  - pressure: p\n",
                    x, 0.1 * dx, dx, jitter, x / 2, (low + head) / 2, x, low + head, (x + 1.5) / 2, low / 2, 1.5 - x,
                    low));
    ASSERT_TRUE(lab.ok());
    const auto first = lab.particles("water");
    double fastest = 0, early = 0;
    while (lab.ok() && !lab.simulation().finished()) {
      lab.step();
      const double behind = lab.speed([&](const Vec3d& centre) { return centre.x > x + dx; }).max;
      fastest = std::max(fastest, behind);
      if (lab.time() < 1) early = fastest;
    }
    const auto last = lab.particles("water");
    int crossed = 0;
    for (const auto& [id, p] : first) {
      const auto now = last.find(id);
      ASSERT_NE(now, last.end());
      crossed += (p.x.x < x) != (now->second.x.x < x);
    }
    const double scale = std::sqrt(2 * g * head);
    std::printf(
        "%d cells per metre, jitter %.1f, %zu particles: %d crossed; speed behind the plate %.2e (first second %.2e)\n",
        cells, jitter, first.size(), crossed, fastest / scale, early / scale);
    EXPECT_EQ(crossed, 0);
    EXPECT_LT(fastest, 1e-2 * scale);
  }
}

TEST(ThinPlate, HoldsTheWaterBehindItStill) { hold_back(0); }
TEST(ThinPlate, HoldsJitteredParticlesStill) { hold_back(0.5); }

/// A sheet, or a box a tenth of a cell thick, that turns in a tank once a second: seen from it, nobody changes sides
/// but around its edges.
void turn_paddle(int cells, const std::string& shape) {
  const double dx = 1.0 / cells, half_length = 0.3, half_width = 0.2;
  const Vec3d axle{0.5, 0.45, 0.25};
  LiquidLaboratory lab(
      "{fps: 24, frames: [0, 36], substeps: {cfl: 2, max: 50}}",
      fmt::format("  - gravity: earth\n  - domain: tank\n    box: {{min: [0, 0, 0], max: [1, 1.5, 0.5]}}\n"
                  "  - collider: paddle\n    shape: {{{}}}\n    translate: [0.5, 0.45, 0.25]\n    rotate: {{keys: {{0: "
                  "[0, 0, 0], 48: [0, 0, 720 deg]}}, interpolation: linear}}\n"
                  "  - hybrid: water\n    voxel_size: {}\n    fill: {{below: 0.6}}\n  - pressure: p\n",
                  shape, dx));
  ASSERT_TRUE(lab.ok());
  // In the paddle's frame: x across it, y along its radius, z along the axle.
  const auto seen = [&](const Vec3d& p, double time) {
    const double a = -2 * pi * time, c = std::cos(a), s = std::sin(a);
    const Vec3d d = p - axle;
    return Vec3d{c * d.x - s * d.y, s * d.x + c * d.y, d.z};
  };
  auto before = lab.particles("water");
  double begin = lab.time();
  std::int64_t crossed = 0, around = 0;
  int steps = 0;
  while (lab.ok() && !lab.simulation().finished()) {
    lab.step(), ++steps;
    auto after = lab.particles("water");
    for (const auto& [id, p] : after) {
      const auto old = before.find(id);
      if (old == before.end()) continue;
      const Vec3d a = seen(old->second.x, begin), b = seen(p.x, lab.time());
      if ((a.y < 0) == (b.y < 0)) continue;
      const Vec3d at = a + (b - a) * (a.y / (a.y - b.y));
      const bool inside = std::abs(at.x) < half_length - 0.5 * dx && std::abs(at.z) < half_width - 0.5 * dx;
      (inside ? crossed : around) += 1;
    }
    before = std::move(after), begin = lab.time();
  }
  std::printf("%d cells per metre, %s: %d steps, %zu particles, %lld crossed, %lld went around\n", cells, shape.c_str(),
              steps, before.size(), static_cast<long long>(crossed), static_cast<long long>(around));
  EXPECT_EQ(crossed, 0);
  EXPECT_GT(around, 100);
}

TEST(ThinPaddle, NobodyPassesATurningSheet) {
  for (const int cells : {16, 24}) turn_paddle(cells, "kind: rectangle, size: [0.6, 0, 0.4]");
}
TEST(ThinPaddle, NobodyPassesATurningThinBox) {
  for (const int cells : {16, 24}) turn_paddle(cells, fmt::format("kind: box, size: [0.6, {}, 0.4]", 0.1 / cells));
}

/// A ball that plunges into a pool and comes out again leaves no particle inside itself.
TEST(PlungingBall, NobodyRestsInside) {
  for (const int cells : {16, 32}) {
    const double radius = 0.2;
    LiquidLaboratory lab(
        "{fps: 24, frames: [0, 24], substeps: {cfl: 2, max: 50}}",
        fmt::format("  - gravity: earth\n  - domain: tank\n    box: {{min: [0, 0, 0], max: [1, 1.5, 1]}}\n"
                    "  - collider: ball\n    shape: {{kind: sphere, radius: {}}}\n    translate: {{keys: {{0: [0.5, 1, "
                    "0.5], 12: [0.55, 0.25, 0.47], 24: [0.5, 0.8, 0.5]}}, interpolation: linear}}\n"
                    "  - hybrid: water\n    voxel_size: {}\n    fill: {{below: 0.5}}\n  - pressure: p\n",
                    radius, 1.0 / cells));
    ASSERT_TRUE(lab.ok());
    double deepest = 0;
    std::size_t count = 0;
    while (lab.ok() && !lab.simulation().finished()) {
      lab.step();
      const double t = lab.time();
      const Vec3d low{0.55, 0.25, 0.47}, high = t < 0.5 ? Vec3d{0.5, 1, 0.5} : Vec3d{0.5, 0.8, 0.5};
      const Vec3d centre = high + (low - high) * (t < 0.5 ? t / 0.5 : (1 - t) / 0.5);
      const auto all = lab.particles("water");
      count = all.size();
      for (const auto& [id, p] : all) deepest = std::max(deepest, radius - length(p.x - centre));
    }
    std::printf("%d cells per metre, %zu particles: deepest %.1e m inside the ball\n", cells, count, deepest);
    EXPECT_LT(deepest, 1e-6);
    EXPECT_EQ(count, static_cast<std::size_t>(lab.audit().particles));
  }
}

/// Most particles are told by the grid that no solid is near: it changes nothing.
TEST(Colliding, IsTheSameForThoseThatAreNotAsked) {
  const auto run = [](bool all) {
    LiquidLaboratory lab(
        "{fps: 24, frames: [0, 12], substeps: {cfl: 4, max: 50}}",
        "  - gravity: earth\n  - domain: tank\n    box: {min: [0, 0, 0], max: [1, 1.5, 0.5]}\n"
        "  - collider: paddle\n    shape: {kind: rectangle, size: [0.6, 0, 0.4]}\n    translate: [0.5, 0.45, 0.25]\n   "
        " "
        "rotate: {keys: {0: [0, 0, 0], 24: [0, 0, 720 deg]}, interpolation: linear}\n"
        "  - collider: ball\n    shape: {kind: sphere, radius: 0.1}\n    translate: {keys: {0: [0.15, 1.2, 0.25], 12: "
        "[0.2, 0.2, 0.25]}, interpolation: linear}\n"
        "  - collider: slope\n    shape: {kind: plane, center: [0.9, 0, 0], axis: [-1, 0.5, 0]}\n"
        "  - hybrid: water\n    voxel_size: 0.04\n    fill: {below: 0.6}\n  - pressure: p\n");
    if (!lab.ok()) return std::map<std::int64_t, Particle>();
    lab.water().ask_about_all = all;
    lab.run();
    return lab.particles("water");
  };
  const auto all = run(true), some = run(false);
  ASSERT_EQ(all.size(), some.size());
  ASSERT_GT(all.size(), 1000u);
  for (const auto& [id, p] : all) {
    const Particle& q = some.at(id);
    ASSERT_TRUE(p.x == q.x && p.v == q.v) << id;
  }
}

/// Near a mesh that deforms, the grid tells most particles that it does not touch them: it changes nothing. And nobody
/// ends up inside.
TEST(WobblingMesh, IsTheSameForThoseThatAreNotAskedAndHasNobodyInside) {
  const DeformingBall ball({0.5, 0.35, 0.25}, 13, [](double frame, const Vec3d& d) {
    return 0.15 + 0.03 * std::sin(0.8 * frame + 3 * d.y + 2 * d.x);
  });
  const auto run = [&](bool all, double& deepest) {
    LiquidLaboratory lab("{fps: 24, frames: [0, 12], substeps: {cfl: 2, max: 50}}",
                         "  - gravity: earth\n  - domain: tank\n    box: {min: [0, 0, 0], max: [1, 1, 0.5]}\n"
                         "  - collider: ball\n    input: ball\n"
                         "  - hybrid: water\n    voxel_size: 0.03125\n    fill: {below: 0.6}\n  - pressure: p\n",
                         ball.inputs());
    if (!lab.ok()) return std::map<std::int64_t, Particle>();
    lab.water().ask_about_all = all;
    const auto& solid = dynamic_cast<const Collider&>(*lab.simulation().find("ball"));
    while (lab.ok() && !lab.simulation().finished()) {
      lab.step();
      for (const auto& [id, p] : lab.particles("water")) deepest = std::max(deepest, -solid.distance(p.x, 0.1));
    }
    return lab.particles("water");
  };
  double deepest = 0;
  const auto all = run(true, deepest), some = run(false, deepest);
  ASSERT_EQ(all.size(), some.size());
  ASSERT_GT(all.size(), 10000u);
  for (const auto& [id, p] : all) {
    const Particle& q = some.at(id);
    ASSERT_TRUE(p.x == q.x && p.v == q.v) << id;
  }
  std::printf("%zu particles: deepest %.1e m inside the mesh\n", all.size(), deepest);
  EXPECT_LT(deepest, 1e-6);
}

}  // namespace
}  // namespace aegir::test
