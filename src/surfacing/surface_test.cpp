// Bands, distances, meshes and filters.
#include <unistd.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>

#include "base/random.h"
#include "io/vdb.h"
#include "parallel/threads.h"
#include "surfacing/filters.h"
#include "surfacing/make_surface.h"
#include "surfacing/redistance.h"
#include "surfacing/surface_attributes.h"
#include "surfacing/surface_mesh.h"

namespace aegir {
namespace {

/// A field on 4×4×4 buckets around the origin, voxels of 0.1 m; f gets positions in voxels.
template <class F>
BandGrid field(const F& f, int half = 2) {
  std::vector<Vec3i> keys;
  for (int i = -half; i < half; ++i)
    for (int j = -half; j < half; ++j)
      for (int k = -half; k < half; ++k) keys.push_back({i, j, k});
  BandGrid grid(0.1, 3, keys, {}, false);
  for (std::size_t s = 0; s < grid.size(); ++s)
    for (int v = 0; v < 512; ++v)
      grid.bucket(s)[v] = static_cast<float>(
          std::clamp(f(Vec3d(grid.keys()[s] * 8 + Vec3i{v >> 6, v >> 3 & 7, v & 7}) + Vec3d(0.5)), -3.0, 3.0));
  return grid;
}

/// Calls f(position in voxels, value) for every voxel in the band.
template <class F>
void for_each_in_band(const BandGrid& grid, const F& f) {
  for (std::size_t s = 0; s < grid.size(); ++s)
    for (int v = 0; v < 512; ++v)
      if (std::abs(grid.bucket(s)[v]) < grid.band())
        f(Vec3d(grid.keys()[s] * 8 + Vec3i{v >> 6, v >> 3 & 7, v & 7}) + Vec3d(0.5), grid.bucket(s)[v]);
}

double ball(const Vec3d& x) { return length(x - Vec3d{0.3, -0.2, 0.1}) - 9; }

TEST(Redistance, PlanesAreExact) {
  const Vec3d n = normalized(Vec3d{2, -1, 3});
  const BandGrid grid = redistance(field([&](const Vec3d& x) { return 0.3 * dot(x, n); }));
  double worst = 0, beside = 0;
  for_each_in_band(grid, [&](const Vec3d& x, float v) {
    // Where the buckets of the field end there is no plane any more.
    if (std::max({std::abs(x.x), std::abs(x.y), std::abs(x.z)}) > 11) return;
    worst = std::max(worst, std::abs(v - dot(x, n)));
    if (std::abs(dot(x, n)) < 0.5) beside = std::max(beside, std::abs(v - dot(x, n)));
  });
  EXPECT_LT(beside, 1e-4);
  EXPECT_LT(worst, 0.3) << "first order away from the level";
}

TEST(Redistance, AnyFieldWithTheSameLevelGivesTheSameDistances) {
  const BandGrid a = redistance(field(ball)),
                 b = redistance(field([](const Vec3d&x) { return 0.2 * (std::pow(ball(x) + 9, 2) / 9 - 9); }));
  double worst_a = 0, difference = 0;
  std::map<std::array<double, 3>, float> known;
  for_each_in_band(a, [&](const Vec3d& x, float v) {
    worst_a = std::max(worst_a, std::abs(v - ball(x)));
    known[{x.x, x.y, x.z}] = v;
  });
  for_each_in_band(b, [&](const Vec3d& x, float v) {
    if (const auto found = known.find({x.x, x.y, x.z}); found != known.end())
      difference = std::max<double>(difference, std::abs(found->second - v));
  });
  EXPECT_LT(worst_a, 0.35);
  EXPECT_LT(difference, 0.2);
  EXPECT_GT(known.size(), 4000u);
}

TEST(Redistance, KnowsInsideFromOutside) {
  const BandGrid grid = redistance(field([](const Vec3d& x) { return length(x) - 28; }, 4));
  EXPECT_EQ(grid.find({0, 0, 0}), BandGrid::inside);
  EXPECT_GE(grid.find({3, 0, 0}), 0);
  EXPECT_EQ(grid.find({3, 3, 3}), BandGrid::outside);
}

TEST(Mesh, OfAnyFieldIsClosedAndEveryEdgeHasTwoTriangles) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    // White noise meets every case of the table.
    BandGrid grid = field([&](const Vec3d& x) {
      if (std::max({std::abs(x.x), std::abs(x.y), std::abs(x.z)}) > 14) return 1.0;
      const auto id = static_cast<std::uint64_t>((x.x + 100) * 1e6 + (x.y + 100) * 1e3 + x.z + 100);
      return Random(seed, id, 0, Purpose::test).uniform(0, -1, 1);
    });
    const SurfaceMesh mesh = mesh_surface(grid);
    const EdgeCount edges = count_edges(mesh);
    EXPECT_EQ(edges.open, 0);
    EXPECT_EQ(edges.non_manifold, 0);
    EXPECT_GT(mesh.triangles.size(), 10000u);
    EXPECT_GT(mesh.volume(), 0);
  }
}

TEST(Mesh, SphereHasItsVolumeAndArea) {
  // Polyhedra inscribed in a sphere of nine voxels lack about a hundredth; redistancing adds little to that.
  const SurfaceMesh exact = mesh_surface(field(ball)), mesh = mesh_surface(redistance(field(ball)));
  EXPECT_NEAR(exact.volume(), 4.18879 * 0.729, 0.01 * 3.0536);
  EXPECT_NEAR(exact.area(), 12.56637 * 0.81, 0.01 * 10.179);
  EXPECT_NEAR(mesh.volume(), exact.volume(), 0.005 * exact.volume());
}

TEST(Mesh, AdaptiveHasFewerTriangles) {
  const BandGrid grid = redistance(field([](const Vec3d& x) {
    return std::max({std::abs(x.x), std::abs(x.y), std::abs(x.z)}) - 9.3;
  }));
  const SurfaceMesh even = mesh_surface(grid);
  const auto coarse = mesh_adaptively(grid, 0.5);
  ASSERT_TRUE(coarse);
  EXPECT_LT(coarse->triangles.size() * 2, even.triangles.size());
  EXPECT_NEAR(coarse->volume(), even.volume(), 0.1 * even.volume());
}

double mean_value(const BandGrid& grid, const std::function<double(const Vec3d&)>& f) {
  double sum = 0, count = 0;
  for_each_in_band(grid, [&](const Vec3d& x, float v) {
    if (std::abs(v) < 1) sum += v - f(x), ++count;
  });
  return sum / count;
}

SurfaceFilter filter(FilterKind kind, int iterations = 1) {
  SurfaceFilter f;
  f.kind = kind, f.iterations = iterations;
  return f;
}

TEST(Filters, DilateAndErodeMoveTheSurface) {
  for (const FilterKind kind : {FilterKind::dilate, FilterKind::erode}) {
    BandGrid grid = redistance(field(ball));
    SurfaceFilter f = filter(kind);
    f.distance = 2.6;
    ASSERT_TRUE(apply_filter(grid, f, {}));
    const double sign = kind == FilterKind::dilate ? -1 : 1;
    EXPECT_NEAR(mean_value(grid, ball), 2.6 * sign, 0.2);  // first order: a tenth per voxel at most
  }
}

TEST(Filters, CurvatureShrinksASphereAtItsRate) {
  BandGrid grid = redistance(field(ball));
  ASSERT_TRUE(apply_filter(grid, filter(FilterKind::mean_curvature, 12), {}));
  // dR/dt = -2/R, t = 12/6: R = √(81 - 8)
  EXPECT_NEAR(mean_value(grid, ball), 9 - std::sqrt(81.0 - 8), 0.1);
}

TEST(Filters, FlattenRipplesAndKeepPlanes) {
  const auto ripple = [](const Vec3d& x) { return x.y - 0.8 * std::sin(1.5 * x.x) * std::sin(1.5 * x.z); };
  const auto roughness = [](const BandGrid& grid) {
    double sum = 0, count = 0;
    const SurfaceMesh mesh = mesh_surface(grid);
    for (std::size_t v = 0; v < mesh.positions.size(); ++v) {
      const Vec3d p = mesh.position(v) / 0.1;
      if (std::abs(p.x) < 10 && std::abs(p.z) < 10 && std::abs(p.y) < 3) sum += p.y * p.y, ++count;
    }
    return std::sqrt(sum / count);
  };
  const double before = roughness(redistance(field(ripple)));
  for (const FilterKind kind :
       {FilterKind::mean, FilterKind::gaussian, FilterKind::median, FilterKind::mean_curvature}) {
    BandGrid rough = redistance(field(ripple)), flat = redistance(field([](const Vec3d&x) { return x.y - 0.3; }));
    ASSERT_TRUE(apply_filter(rough, filter(kind, 3), {}));
    ASSERT_TRUE(apply_filter(flat, filter(kind, 3), {}));
    EXPECT_LT(roughness(rough), 0.75 * before) << static_cast<int>(kind);
    EXPECT_NEAR(roughness(flat), 0.3, 0.01) << static_cast<int>(kind);
  }
}

TEST(Filters, NeverRaiseKeepsThinSheets) {
  const auto sheet = [](const Vec3d& x) { return std::abs(x.y - 0.4) - 0.7; };
  BandGrid kept = redistance(field(sheet)), lost = redistance(field(sheet));
  SurfaceFilter f = filter(FilterKind::mean, 4);
  ASSERT_TRUE(apply_filter(lost, f, {}));
  f.never_raise = true;
  ASSERT_TRUE(apply_filter(kept, f, {}));
  const auto inner = [](const BandGrid& grid) {
    int count = 0;
    for_each_in_band(grid,
                     [&](const Vec3d& x, float v) { count += std::abs(x.x) < 10 && std::abs(x.z) < 10 && v < 0; });
    return count;
  };
  const int before = inner(redistance(field(sheet)));
  EXPECT_GE(inner(kept), before);
  EXPECT_LT(inner(lost), before / 2);
}

/// A ball of particles with a velocity and a number each.
PointSet ball_of_points() {
  PointSet points;
  std::uint64_t n = 0;
  for (int i = -8; i < 8; ++i)
    for (int j = -8; j < 8; ++j)
      for (int k = -8; k < 8; ++k) {
        const Random r(9, ++n, 0, Purpose::test);
        const Vec3d x = Vec3d(Vec3i{i, j, k}) + Vec3d{r.uniform(0), r.uniform(1), r.uniform(2)};
        if (length(x) < 7) points.position.push_back(x);
      }
  auto radius = points.add("pscale", PointAttribute::float32).as<float>();
  auto number = points.add("age", PointAttribute::float32).as<float>();
  auto v = points.add("v", PointAttribute::vec3f).as<Vec3f>();
  radius = points.find("pscale")->as<float>(), number = points.find("age")->as<float>();
  for (std::size_t i = 0; i < points.size(); ++i) {
    radius[i] = 0.62f * (1 + 0.2f * static_cast<float>(std::sin(points.position[i].x)));
    number[i] = static_cast<float>(i);
    v[i] = Vec3f(Vec3d{points.position[i].y, -points.position[i].x, 1});
  }
  return points;
}

TEST(Attributes, AreThoseOfTheNearestParticle) {
  const PointSet points = ball_of_points();
  SurfaceSettings s;
  s.method = SurfaceMethod::spheres, s.attributes = {"age"};
  s.filters.emplace();
  const auto surface = make_surface(points, s);
  ASSERT_TRUE(surface);
  const auto volume = attribute_volume(surface->grid, points, "age", "age");
  const auto velocity = attribute_volume(surface->grid, points, "v", "vel");
  ASSERT_TRUE(volume && velocity);
  const auto radius = points.find("pscale")->as<float>();
  int checked = 0;
  for (std::size_t b = 0; b < volume->buckets.size(); ++b)
    for (std::size_t k = 0; k < 512; k += 7) {
      // Inside the band but on both sides of the surface, where shapes were stamped.
      if (!volume->is_active(b, k) || std::abs(surface->grid.bucket(b)[k]) > 1) continue;
      const int o = static_cast<int>(k);
      const Vec3d x =
          (Vec3d(volume->buckets[b] * 8 + Vec3i{o >> 6, o >> 3 & 7, o & 7}) + Vec3d(0.5)) * volume->voxel_size;
      double least = 1e9, owner = 1e9;
      const auto given = static_cast<std::size_t>(volume->plane(b)[k]);
      for (std::size_t i = 0; i < points.size(); ++i) {
        const double d = length(points.position[i] - x) - radius[i] * method_scale(s.method);
        least = std::min(least, d);
        if (i == given) owner = d;
      }
      ASSERT_NEAR(owner, least, 1e-5);
      for (int c = 0; c < 3; ++c) ASSERT_EQ(velocity->plane(b, c)[k], points.find("v")->as<Vec3f>()[given][c]);
      ++checked;
    }
  EXPECT_GT(checked, 300);
}

TEST(Attributes, OnVerticesFollowTheFlow) {
  const PointSet points = ball_of_points();
  const auto surface = make_surface(points, {});
  ASSERT_TRUE(surface);
  const SurfaceMesh mesh = mesh_surface(surface->grid);
  const auto vx = attribute_at_vertices(mesh, *points.find("v"), 0);
  double sum = 0;
  for (std::size_t v = 0; v < vx.size(); ++v) {
    ASSERT_GE(mesh.owner[v], 0);
    sum += std::pow(vx[v] - mesh.position(v).y, 2);
  }
  // The field changes by one per spacing: the owner is about one spacing away.
  EXPECT_LT(std::sqrt(sum / static_cast<double>(vx.size())), 1.0);
}

/// How far the surface of a ball of particles reaches along ± x after a dilation by two voxels under a mask.
std::pair<double, double> reach_along_x(const PointSet& points, const FilterMask& mask) {
  SurfaceSettings s;
  SurfaceFilter f = filter(FilterKind::dilate);
  f.distance = 2, f.mask = mask;
  s.filters = {f};
  const auto surface = make_surface(points, s);
  EXPECT_TRUE(surface) << surface.error().text();
  std::pair<double, double> reach{0, 0};
  if (!surface) return reach;
  const SurfaceMesh mesh = mesh_surface(surface->grid);
  for (std::size_t v = 0; v < mesh.positions.size(); ++v) {
    const Vec3d p = mesh.position(v);
    if (std::hypot(p.y, p.z) > 2) continue;
    reach = {std::min(reach.first, p.x), std::max(reach.second, p.x)};
  }
  return reach;
}

TEST(Filters, MasksByAttributeAndVolume) {
  PointSet points = ball_of_points();
  auto age = points.find("age")->as<float>();
  for (std::size_t i = 0; i < points.size(); ++i) age[i] = points.position[i].x > 0 ? 2.0f : 1.0f;
  FilterMask mask;
  mask.attribute = "age", mask.none = 1, mask.full = 2;
  FilterMask nowhere = mask;
  nowhere.none = 5, nowhere.full = 6;
  const auto before = reach_along_x(points, nowhere), after = reach_along_x(points, mask);
  EXPECT_NEAR(after.first, before.first, 0.02);
  EXPECT_NEAR(after.second - before.second, 1.0, 0.2) << "two voxels of half a spacing";

  // A level set that covers x < 0: 1 inside, 0 outside.
  const std::string path =
      (std::filesystem::temp_directory_path() / fmt::format("aegir_mask_{}.vdb", ::getpid())).string();
  BandGrid half(1, 3, {}, {}, false);
  std::vector<Vec3i> keys;
  for (int i = -2; i < 2; ++i)
    for (int j = -2; j < 2; ++j)
      for (int k = -2; k < 2; ++k) keys.push_back({i, j, k});
  half = BandGrid(1, 3, keys, {}, false);
  for (std::size_t b = 0; b < half.size(); ++b)
    for (int v = 0; v < 512; ++v)
      half.bucket(b)[v] = std::clamp(static_cast<float>(half.keys()[b].x * 8 + (v >> 6)) + 0.5f, -3.0f, 3.0f);
  VdbOptions options;
  options.fill_inside = false;
  ASSERT_TRUE(write_volumes(path, {level_set_of(half)}, {}, options));
  FilterMask volume;
  volume.volume = path;
  const auto left = reach_along_x(points, volume);
  std::filesystem::remove(path);
  EXPECT_NEAR(before.first - left.first, 1.0, 0.2);
  EXPECT_NEAR(left.second, before.second, 0.02);
}

TEST(Surface, HasTheSameBitsForAnyThreads) {
  const PointSet points = ball_of_points();
  for (const auto method :
       {SurfaceMethod::ellipsoids, SurfaceMethod::spheres, SurfaceMethod::zhu_bridson, SurfaceMethod::solenthaler}) {
    SurfaceSettings s;
    s.method = method;
    ParticleSurface first;
    SurfaceMesh first_mesh;
    for (const int threads : {1, 2, 7}) {
      ThreadScope scope(threads);
      scope.run([&] {
        auto made = make_surface(points, s);
        ASSERT_TRUE(made);
        const SurfaceMesh mesh = mesh_surface(made->grid);
        if (threads == 1) return first = std::move(*made), first_mesh = mesh, void();
        ASSERT_EQ(made->grid.keys(), first.grid.keys());
        EXPECT_EQ(std::memcmp(made->grid.values(), first.grid.values(), first.grid.size() * 2048), 0);
        EXPECT_EQ(std::memcmp(made->grid.owners(0), first.grid.owners(0), first.grid.size() * 2048), 0);
        EXPECT_EQ(mesh.triangles, first_mesh.triangles);
        EXPECT_EQ(mesh.positions, first_mesh.positions);
      });
    }
  }
}

TEST(Surface, ReportsWhatItLeavesOut) {
  PointSet points = ball_of_points();
  auto radius = points.find("pscale")->as<float>();
  points.position[3].y = std::nan("");
  points.position[4].x = INFINITY;
  radius[10] = 0, radius[11] = -1, radius[12] = NAN;
  const auto surface = make_surface(points, {});
  ASSERT_TRUE(surface);
  EXPECT_EQ(surface->report.not_finite, 3);
  EXPECT_EQ(surface->report.without_radius, 2);
  EXPECT_EQ(surface->report.remarks().size(), 2u);
  radius[20] = 1e6f;
  const auto huge = make_surface(points, {});
  ASSERT_FALSE(huge);
  EXPECT_NE(huge.error().message.find("1e+06 m"), std::string::npos) << huge.error().message;
}

TEST(Surface, GuessesRadiiFromTheSpacing) {
  PointSet points = ball_of_points();
  const double volume = mesh_surface(make_surface(points, {})->grid).volume();
  points.attributes.clear();
  const auto surface = make_surface(points, {});
  ASSERT_TRUE(surface);
  EXPECT_NEAR(surface->report.guessed_radius, 0.62, 0.12);
  EXPECT_NEAR(mesh_surface(surface->grid).volume(), volume, 0.1 * volume);
  EXPECT_EQ(make_surface(PointSet(), {})->report.remarks().size(), 2u);
}

}  // namespace
}  // namespace aegir
