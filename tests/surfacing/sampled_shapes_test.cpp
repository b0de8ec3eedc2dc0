// Surfaces of known shapes from particles that are jittered as those of a simulation. Lengths in particle spacings.
#include "surfacing/sampled_shapes.h"

namespace aegir::test {
namespace {

bool middle_of_box(const Vec3d& x) { return std::abs(x.x) < 20 && std::abs(x.z) < 20 && x.y > -15; }

const Vec3d tilt = normalized(Vec3d{0.3, 1, 0.2});
double plane(const Vec3d& x) { return dot(x, tilt) - 0.37; }
double ball(const Vec3d& x) { return length(x) - 15; }
/// Half angle 40 degrees, tip up at y = 12, base at y = -12.
double cone(const Vec3d& x) {
  constexpr double angle = 0.6981317007977318;
  const double out = std::hypot(x.x, x.z), down = 12 - x.y;
  return std::max(out * std::cos(angle) - down * std::sin(angle), -12 - x.y);
}

PointSet points_of_plane() {
  return sample({-30, -30, -30}, {30, 30, 30}, [](const Vec3d& x) { return plane(x) < 0; });
}
PointSet points_of_ball() {
  return sample({-18, -18, -18}, {18, 18, 18}, [](const Vec3d& x) { return ball(x) < 0; });
}

void report(const char* what, const Deviation& d) {
  ::testing::Test::RecordProperty(what, fmt::format("mean {:+.3f} rms {:.3f} largest {:.3f} normal {:.2f} deg", d.mean,
                                                    d.rms, d.largest, d.normal));
}

// The error of a plane and of a sphere is below a quarter of the spacing, with the default filter and without.
TEST(Ellipsoids, PlaneAndSphereLieWhereTheyAre) {
  for (const bool filtered : {true, false}) {
    const SurfaceSettings s = filtered ? SurfaceSettings() : unfiltered(SurfaceMethod::ellipsoids);
    const Deviation p = compare(mesh_of(points_of_plane(), s), plane, middle_of_box);
    const Deviation b = compare(mesh_of(points_of_ball(), s), ball);
    report(filtered ? "plane" : "plane_unfiltered", p), report(filtered ? "sphere" : "sphere_unfiltered", b);
    EXPECT_LT(p.rms, 0.25);
    EXPECT_LT(b.rms, 0.25);
    EXPECT_LT(std::abs(p.mean), 0.1);
    EXPECT_LT(std::abs(b.mean), 0.1);
  }
}

// Normals deviate at most half as much as those of spheres of the same radius, before any filter.
TEST(Ellipsoids, TwiceAsSmoothAsSpheres) {
  SurfaceSettings spheres = unfiltered(SurfaceMethod::spheres);
  spheres.radius_scale = method_scale(SurfaceMethod::ellipsoids) / method_scale(SurfaceMethod::spheres);
  const SurfaceSettings ellipsoids = unfiltered(SurfaceMethod::ellipsoids);
  const double plane_ours = compare(mesh_of(points_of_plane(), ellipsoids), plane, middle_of_box).normal,
               plane_theirs = compare(mesh_of(points_of_plane(), spheres), plane, middle_of_box).normal;
  const double ball_ours = compare(mesh_of(points_of_ball(), ellipsoids), ball).normal,
               ball_theirs = compare(mesh_of(points_of_ball(), spheres), ball).normal;
  RecordProperty("degrees", fmt::format("plane {:.2f} against {:.2f}, sphere {:.2f} against {:.2f}", plane_ours,
                                        plane_theirs, ball_ours, ball_theirs));
  EXPECT_LT(2 * plane_ours, plane_theirs);
  EXPECT_LT(2 * ball_ours, ball_theirs);
}

// A cone keeps its sides to a quarter of the spacing, and its tip to two spacings.
TEST(Ellipsoids, Cone) {
  const SurfaceMesh mesh = mesh_of(sample({-24, -14, -24}, {24, 14, 24}, [](const Vec3d& x) { return cone(x) < 0; }));
  const Deviation sides =
      compare(mesh, cone, [](const Vec3d& x) { return x.y > -9 && x.y < 8 && std::hypot(x.x, x.z) > 2; });
  report("cone", sides);
  EXPECT_LT(sides.rms, 0.25);
  double top = -100;
  for (std::size_t v = 0; v < mesh.positions.size(); ++v) top = std::max(top, mesh.position(v).y);
  RecordProperty("tip", fmt::format("{:+.2f}", top - 12));
  EXPECT_NEAR(top, 12, 2);
}

/// Columns through the middle of a sheet in [0, 1] that meet no inside.
int holes(const BandGrid& grid) {
  int count = 0;
  for (double x = -25; x < 25; x += 0.25)
    for (double z = -25; z < 25; z += 0.25) {
      bool inside = false;
      for (double y = -1; y < 2 && !inside; y += 0.25) inside = nearest_value(grid, {x, y, z}) < 0;
      count += !inside;
    }
  return count;
}

// One layer of particles has no hole, where spheres of the same radius tear.
TEST(Ellipsoids, SheetOfOneLayerHasNoHole) {
  const PointSet sheet = sample({-30, 0, -30}, {30, 1, 30}, [](const Vec3d&) { return true; });
  const auto surface = make_surface(sheet, {});
  ASSERT_TRUE(surface);
  EXPECT_EQ(holes(surface->grid), 0);
  const double radius = 0.85;  // spacings
  SurfaceSettings thin = unfiltered(SurfaceMethod::ellipsoids), spheres = unfiltered(SurfaceMethod::spheres);
  thin.radius_scale = radius / (radius_per_spacing * method_scale(SurfaceMethod::ellipsoids));
  spheres.radius_scale = radius / (radius_per_spacing * method_scale(SurfaceMethod::spheres));
  const auto ours = make_surface(sheet, thin), theirs = make_surface(sheet, spheres);
  ASSERT_TRUE(ours && theirs);
  RecordProperty("holes", fmt::format("{} against {}", holes(ours->grid), holes(theirs->grid)));
  EXPECT_EQ(holes(ours->grid), 0);
  EXPECT_GT(holes(theirs->grid), 20);
}

// The inner corner of a wall and a floor has one surface and nothing in the air before it, whatever the method.
TEST(ConcaveCorner, HasNoBlobsAfterTheDefaultFilter) {
  const auto corner = [](const Vec3d& x) { return std::min(x.x, x.y); };
  const PointSet points = sample({-12, -12, -12}, {20, 20, 12}, [&](const Vec3d& x) { return corner(x) < 0; });
  for (const auto method : {SurfaceMethod::ellipsoids, SurfaceMethod::zhu_bridson, SurfaceMethod::solenthaler}) {
    SurfaceSettings s;
    s.method = method;
    const SurfaceMesh mesh = mesh_of(points, s);
    EXPECT_EQ(components(mesh), 1) << static_cast<int>(method);
    const Deviation d = compare(mesh, corner, [](const Vec3d& x) {
      return x.x > -1.5 && x.y > -1.5 && x.x < 15 && x.y < 15 && std::abs(x.z) < 8;
    });
    report(fmt::format("corner_{}", static_cast<int>(method)).c_str(), d);
    EXPECT_LT(d.largest, 1.5) << static_cast<int>(method);
  }
}

// Particles alone are spheres of the size that is asked for.
TEST(Droplets, StaySpheresOfTheirSize) {
  PointSet drops;
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 5; ++j) drops.position.emplace_back(10 * i + 0.37 * j, 10 * j, 3.3);
  auto radius = drops.add("pscale", PointAttribute::float32).as<float>();
  std::fill(radius.begin(), radius.end(), 0.62f);
  for (const double size : {1.0, 1.5}) {
    SurfaceSettings s = unfiltered(SurfaceMethod::ellipsoids);
    s.droplet_size = size, s.voxel_size = 0.06;
    const SurfaceMesh mesh = mesh_of(drops, s);
    EXPECT_EQ(components(mesh), 25);
    for (std::size_t v = 0; v < mesh.positions.size(); ++v) {
      double nearest = 1e9;
      for (const Vec3d& p : drops.position) nearest = std::min(nearest, length(mesh.position(v) - p));
      ASSERT_NEAR(nearest, 0.62 * size, 0.01);
    }
    EXPECT_NEAR(mesh.volume(), 25 * 4.18879 * std::pow(0.62 * size, 3), 0.02 * mesh.volume());
  }
}

// Drops of one particle, little more than a voxel in radius, survive the default filter and voxels.
TEST(Droplets, SurviveTheDefaultFilter) {
  PointSet drops;
  for (int i = 0; i < 100; ++i) drops.position.emplace_back(10.013 * i, 0.027 * i, 0.041 * i);
  auto radius = drops.add("pscale", PointAttribute::float32).as<float>();
  std::fill(radius.begin(), radius.end(), 0.62f);
  const SurfaceMesh filtered = mesh_of(drops), plain = mesh_of(drops, unfiltered(SurfaceMethod::ellipsoids));
  EXPECT_EQ(components(filtered), 100);
  // So few voxels draw a sphere too small, by a fifth of its radius; the filter takes little from that.
  const double size = std::cbrt(filtered.volume() / 100 / 4.18879) / 0.62;
  RecordProperty("radius", fmt::format("{:.3f}", size));
  EXPECT_GT(size, 0.75);
  EXPECT_GT(filtered.volume(), 0.85 * plain.volume());
}

// Radii may differ by more than ten times, also where small particles are around large ones.
TEST(Droplets, OfVeryDifferentSizes) {
  PointSet drops = sample({0, 0, 0}, {16, 16, 16}, [](const Vec3d& x) { return length(x - Vec3d{8, 8, 8}) < 7; });
  drops.position.insert(drops.position.end(), {{40, 0, 0}, {60, 0, 0}, {8, 8, 8}});
  std::vector<float> radii(drops.size(), static_cast<float>(radius_per_spacing));
  const std::size_t n = drops.size();
  radii[n - 3] = 6, radii[n - 2] = 0.3f, radii[n - 1] = 9;
  drops.attributes.clear();
  auto radius = drops.add("pscale", PointAttribute::float32).as<float>();
  std::copy(radii.begin(), radii.end(), radius.begin());
  SurfaceSettings s = unfiltered(SurfaceMethod::ellipsoids);
  s.voxel_size = 0.15;
  const SurfaceMesh mesh = mesh_of(drops, s);
  EXPECT_EQ(components(mesh), 3);
  double farthest[3] = {0, 0, 0};
  for (std::size_t v = 0; v < mesh.positions.size(); ++v) {
    const Vec3d p = mesh.position(v);
    const int which = p.x > 50 ? 2 : p.x > 30 ? 1 : 0;
    farthest[which] =
        std::max(farthest[which], length(p - (which == 0 ? Vec3d{8, 8, 8} : Vec3d{which == 1 ? 40.0 : 60.0, 0, 0})));
  }
  EXPECT_NEAR(farthest[1], 6, 0.02);
  EXPECT_NEAR(farthest[2], 0.3, 0.02);
  // Small ones around it are no company for the large one: it looks out of the ball as what it is.
  EXPECT_NEAR(farthest[0], 9, 0.02);
}

// The other methods are what their documents say they are.
TEST(Methods, AllFindPlaneAndSphere) {
  for (const auto method : {SurfaceMethod::spheres, SurfaceMethod::zhu_bridson, SurfaceMethod::solenthaler}) {
    SurfaceSettings s;
    s.method = method;
    const Deviation p = compare(mesh_of(points_of_plane(), s), plane, middle_of_box),
                    b = compare(mesh_of(points_of_ball(), s), ball);
    report("plane", p), report("sphere", b);
    const double bound = method == SurfaceMethod::spheres ? 0.6 : 0.25;
    EXPECT_LT(p.rms, bound) << static_cast<int>(method);
    EXPECT_LT(b.rms, bound) << static_cast<int>(method);
  }
}

}  // namespace
}  // namespace aegir::test
