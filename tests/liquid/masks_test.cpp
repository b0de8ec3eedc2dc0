// Masks of forces against formulas: shape with falloff, volume, attribute, keyframes, and their product.
#include <unistd.h>

#include <filesystem>

#include "io/vdb.h"
#include "liquid/liquid_laboratory.h"

namespace aegir::test {
namespace {

constexpr double g = 9.80665, dt = 0.01;

/// Many particles at rest, given one substep of gravity; the change of velocity over what it is without a mask.
template <class Mask>
void expect_mask(const std::string& settings, Mask&& mask, double tolerance = 1e-5) {
  Laboratory lab(
      "{fps: 100, frames: [0, 1], substeps: 1}",
      "  - particles: dust\n    voxel_size: 0.5\n  - emitter: e\n    shape: {kind: box, center: [0, 0, 0], size: [3, "
      "3, 3]}\n    count: 2000\n  - gravity: g\n" +
          settings);
  ASSERT_TRUE(lab.ok());
  const auto before = lab.particles();
  lab.run();
  int some = 0;
  for (const auto& [id, p] : lab.particles()) {
    const double wanted = mask(before.at(id).x);
    EXPECT_NEAR(p.v.y, -g * dt * wanted, g * dt * tolerance);
    some += wanted > 0 && wanted < 1;
  }
  printf("%d of %zu particles are on the mask's slope\n", some, before.size());
}

TEST(Masks, ShapeWithFalloff) {
  expect_mask("    mask_shape: {kind: sphere, center: [0.2, 0, 0], radius: 0.5}\n    mask_falloff: 0.4\n",
              [](const Vec3d& x) {
                return std::clamp(1 - (length(x - Vec3d{0.2, 0, 0}) - 0.5) / 0.4, 0.0, 1.0);
              });
  expect_mask("    mask_shape: {kind: box, center: [0.5, 0, 0], size: [1, 10, 10]}\n",
              [](const Vec3d& x) { return x.x >= 0 && x.x <= 1 ? 1.0 : 0.0; });
}

TEST(Masks, Constant) {
  expect_mask("    mask: 0.25\n", [](const Vec3d&) { return 0.25; });
}

TEST(Masks, ProductWithAVolume) {
  // A ramp along y: linear between samples, so the formula is exact.
  VolumeGrid grid;
  grid.name = "ramp", grid.kind = VolumeGrid::scalar, grid.voxel_size = 0.5;
  for (int i = -1; i < 1; ++i)
    for (int j = -1; j < 1; ++j)
      for (int k = -1; k < 1; ++k) grid.buckets.push_back({i, j, k});
  grid.values.resize(grid.buckets.size() * 512);
  for (std::size_t b = 0; b < grid.buckets.size(); ++b)
    for (int c = 0; c < 512; ++c)
      grid.plane(b, 0)[static_cast<std::size_t>(c)] =
          static_cast<float>(0.5 + 0.2 * (grid.buckets[b].y * 8 + (c >> 3 & 7) + 0.5) * 0.5);
  const std::string file = std::filesystem::temp_directory_path() / fmt::format("aegir_mask_{}.vdb", ::getpid());
  ASSERT_TRUE(write_volumes(file, {grid}));
  expect_mask(fmt::format("    mask_file: {}\n    mask_volume: ramp\n", file),
              [](const Vec3d& x) { return 0.5 + 0.2 * x.y; });
  expect_mask(fmt::format("    mask: 0.5\n    mask_file: {}\n    mask_shape: {{kind: plane, center: [0, 0.3, 0]}}\n    "
                          "mask_falloff: 1\n",
                          file),
              [](const Vec3d& x) { return 0.5 * (0.5 + 0.2 * x.y) * std::clamp(1 - (x.y - 0.3), 0.0, 1.0); });
  std::filesystem::remove(file);
}

TEST(Masks, AttributeOfParticles) {
  Laboratory lab(
      "{fps: 100, frames: [0, 1], substeps: 1}",
      "  - particles: dust\n    voxel_size: 0.5\n  - emitter: e\n    shape: {kind: sphere, center: [0, 0, 0], radius: "
      "1}\n    count: 100\n    radius: [30 cm, 30 cm]\n  - gravity: g\n    mask: {attribute: pscale, remap: [1, 0]}\n");
  lab.run();
  for (const auto& [id, p] : lab.particles()) EXPECT_NEAR(p.v.y, -g * dt * 0.7, 1e-6);
}

TEST(Masks, KeyframesScaleThePotential) {
  Laboratory lab(
      "{fps: 100, frames: [0, 4], substeps: 1}",
      one_particle({0, 2, 0}, {0, 0, 0}) + "  - gravity: g\n    mask: {keys: {0: 1, 2: 0}, interpolation: step}\n");
  lab.run();
  EXPECT_NEAR(lab.only().v.y, -g * 2 * dt, 1e-6);
  EXPECT_EQ(lab.audit().potential_energy, 0);
}

TEST(Masks, AttributeOfALiquidIsKnownOnFaces) {
  // Three blocks that do not touch, and fall at their own share of g.
  const auto block = [](double x, double wet) {
    return fmt::format(
        "  - source: s{}\n    shape: {{kind: box, center: [{}, 1, 0], size: [0.4, 0.4, 0.4]}}\n    attributes: "
        "{{wet: {}}}\n",
        static_cast<int>(x), x, wet);
  };
  LiquidLaboratory lab(
      "{fps: 24, frames: [0, 6], substeps: 4}",
      "  - gravity: g\n    mask: {attribute: wet}\n  - hybrid: water\n    voxel_size: 0.1\n    attributes: {wet: "
      "1}\n  - pressure: p\n" +
          block(0, 1) + block(2, 0.25) + block(4, 0));
  lab.run();
  double sum[3] = {}, count[3] = {};
  for (const auto& [id, p] : lab.particles("water")) {
    const int which = static_cast<int>(std::lround(p.x.x / 2));
    sum[which] += p.v.y, count[which] += 1;
  }
  const double time = 0.25;
  EXPECT_NEAR(sum[0] / count[0], -g * time, 0.01 * g * time);
  EXPECT_NEAR(sum[1] / count[1], -g * time * 0.25, 0.01 * g * time);
  EXPECT_NEAR(sum[2] / count[2], 0, 0.001 * g * time);
}

TEST(Masks, DerivedChannelIsWorkedOutForAForce) {
  // A pull that is proportional to the depth, in metres, and upwards since the distance is negative inside.
  LiquidLaboratory lab(
      "{fps: 100, frames: [0, 1], substeps: 1}",
      "  - gravity: g\n    mask: {attribute: surface_distance}\n  - hybrid: water\n    voxel_size: 0.05\n    fill: "
      "{shape: {kind: box, center: [0, 0, 0], size: [1.2, 1.2, 1.2]}}\n");
  EXPECT_TRUE(lab.water().particles()->has("surface_distance"));
  lab.run();
  int compared = 0;
  double worst = 0;
  for (const auto& [id, p] : lab.particles("water")) {
    const double depth = 0.6 - p.x.y;
    if (std::abs(p.x.x) > 0.3 || std::abs(p.x.z) > 0.3 || depth > 0.12) continue;
    worst = std::max(worst, std::abs(p.v.y / (g * dt) - depth)), ++compared;
  }
  printf("a pull by depth: %d particles, greatest error %.2g cells\n", compared, worst / 0.05);
  EXPECT_GT(compared, 1000);
  EXPECT_LT(worst, 0.5 * 0.05);
}

TEST(Masks, DragUnderAMaskIsDampedByItsShare) {
  // Stiff drag: half of it is half of the damping too, not half of what whole drag would leave.
  const auto speed = [](const std::string& more) {
    Laboratory lab(
        "{fps: 24, frames: [0, 2], substeps: 1}",
        one_particle({0, 0, 0}, {3, 0, 0}) + "  - air_drag: a\n    law: stokes\n    air_viscosity: 20\n" + more);
    lab.run();
    return lab.only().v.x;
  };
  const double whole = speed(""), half = speed("    scale: 0.5\n"), masked = speed("    mask: 0.5\n");
  EXPECT_NEAR(masked, half, 1e-6 * std::abs(half));
  EXPECT_GT(std::abs(half - whole), 0.01 * std::abs(whole));
}

TEST(Masks, MistakesAreNamed) {
  Laboratory lab("{fps: 24, frames: [0, 1]}",
                 one_particle({0, 0, 0}, {0, 0, 0}) + "  - gravity: g\n    mask: {attribute: wett}\n");
  ASSERT_EQ(lab.messages().warnings.size(), 1u);
  EXPECT_NE(lab.messages().warnings[0].text().find("'dust' has no attribute 'wett'"), std::string::npos);
}

}  // namespace
}  // namespace aegir::test
