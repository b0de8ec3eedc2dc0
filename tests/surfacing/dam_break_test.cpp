// The surface of a dam break: volume at rest and in the splash, area from sub-frame to sub-frame.
#include "liquid/liquid_laboratory.h"
#include "surfacing/object_points.h"
#include "surfacing/sampled_shapes.h"
#include "surfacing/subframe.h"

namespace aegir::test {
namespace {

constexpr const char* dam =
    "  - gravity: earth\n"
    "  - domain: box\n    box: {min: [0, 0, 0], max: [2, 1, 1]}\n"
    "    limits: {sides: wall, bottom: wall, top: wall}\n"
    "  - hybrid: water\n    voxel_size: 0.0333\n"
    "    fill: {shape: {kind: box, center: [0.4, 0.375, 0.5], size: [0.8, 0.75, 1]}}\n"
    "  - pressure: incompressible\n";

PointSet points_of(LiquidLaboratory& lab) { return aegir::points_of({&lab.water()}, {"v", "pscale", "id"}).points; }

double particle_volume(const PointSet& points) {
  double sum = 0;
  for (const float r : points.find("pscale")->as<float>())
    sum += 4.18879020478639 * std::pow(static_cast<double>(r), 3);
  return sum;
}

/// Enclosed over particle volume, less one.
double excess(const PointSet& points) { return mesh_of(points).volume() / particle_volume(points) - 1; }

// Within 3 % at rest, within 10 % in every frame of the splash, the splashiest included.
TEST(DamBreakSurface, EnclosesTheVolumeOfItsParticles) {
  LiquidLaboratory lab("{fps: 24, frames: [0, 36], substeps: {cfl: 3, max: 64}}", dam);
  ASSERT_TRUE(lab.ok());
  const double rest = excess(points_of(lab));
  RecordProperty("rest", fmt::format("{:+.2f} %", 100 * rest));
  EXPECT_LT(std::abs(rest), 0.03);
  double worst = 0, worst_area = 0;
  std::string all;
  while (lab.ok() && !lab.simulation().finished()) {
    lab.step();
    if (!lab.simulation().at_frame_end() || lab.simulation().frame() % 4 != 0) continue;
    const PointSet points = points_of(lab);
    const SurfaceMesh mesh = mesh_of(points);
    const double e = mesh.volume() / particle_volume(points) - 1;
    worst = std::max(worst, std::abs(e)), worst_area = std::max(worst_area, mesh.area());
    all += fmt::format("{}: {:+.2f} % ", lab.simulation().frame(), 100 * e);
    EXPECT_LT(std::abs(e), 0.1) << "frame " << lab.simulation().frame();
    const EdgeCount edges = count_edges(mesh);
    EXPECT_EQ(edges.open + edges.non_manifold, 0);
  }
  RecordProperty("frames", all);
  RecordProperty("area", fmt::format("{:.2f} m2 at most", worst_area));
}

// Eight sub-frames of a frame in which the column falls: neighbours differ by less than 2 % in area.
TEST(DamBreakSurface, AreaDoesNotJumpBetweenSubFrames) {
  LiquidLaboratory lab("{fps: 24, frames: [0, 10], substeps: {cfl: 3, max: 64}}", dam);
  PointSet before = points_of(lab);
  double worst = 0;
  for (int frame = 1; frame <= 10; ++frame) {
    while (lab.ok() && lab.simulation().frame() < frame) lab.step();
    PointSet after = points_of(lab);
    if (frame == 4 || frame == 10) {
      double last = 0;
      for (int k = 0; k <= 8; ++k) {
        const auto points = between_frames(before, after, {k / 8.0, 1.0 / 24});
        ASSERT_TRUE(points);
        const double area = mesh_of(*points).area();
        if (k > 0) worst = std::max(worst, std::abs(area / last - 1));
        last = area;
      }
    }
    before = std::move(after);
  }
  RecordProperty("worst", fmt::format("{:.2f} %", 100 * worst));
  EXPECT_LT(worst, 0.02);
}

// Turned and moved points have the same surface within half a voxel.
TEST(Surface, OfTurnedPointsIsTheTurnedSurface) {
  const auto blob = [](const Vec3d& x) {
    return std::min(length(x) - 9, std::max(std::abs(x.y) - 2.5, std::hypot(x.x, x.z) - 14)) < 0;
  };
  const PointSet points = sample({-16, -16, -16}, {16, 16, 16}, blob);
  const double c = std::cos(0.6), s = std::sin(0.6);
  const auto turn = [&](const Vec3d& x) {
    return Vec3d{c * x.x - s * x.y, s * x.x + c * x.y, x.z} + Vec3d{100.3, -50.1, 7.7};
  };
  PointSet turned = points;
  for (Vec3d& x : turned.position) x = turn(x);
  const auto a = make_surface(points, {}), b = make_surface(turned, {});
  ASSERT_TRUE(a && b);
  const SurfaceMesh mesh = mesh_surface(a->grid);
  double sum = 0, worst = 0;
  for (std::size_t v = 0; v < mesh.positions.size(); ++v) {
    // Trilinear between the samples of the other, in voxels.
    const Vec3d q = turn(mesh.position(v)) / b->grid.voxel() - Vec3d(0.5);
    const Vec3d low{std::floor(q.x), std::floor(q.y), std::floor(q.z)}, f = q - low;
    double value = 0;
    for (int corner = 0; corner < 8; ++corner) {
      const Vec3d at = low + Vec3d(corner >> 2, corner >> 1 & 1, corner & 1) + Vec3d(0.5);
      const double w = (corner & 4 ? f.x : 1 - f.x) * (corner & 2 ? f.y : 1 - f.y) * (corner & 1 ? f.z : 1 - f.z);
      value += w * nearest_value(b->grid, at * b->grid.voxel());
    }
    sum += value * value, worst = std::max(worst, std::abs(value));
  }
  const double rms = std::sqrt(sum / static_cast<double>(mesh.positions.size()));
  RecordProperty("voxels", fmt::format("rms {:.3f}, largest {:.3f}", rms, worst));
  EXPECT_LT(rms, 0.1);
  EXPECT_LT(worst, 0.5);
}

}  // namespace
}  // namespace aegir::test
