#include "geometry/surface.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/assert.h"
#include "base/random.h"
#include "geometry/shapes.h"
#include "geometry/triangle.h"

namespace aegir {
namespace {

using SurfacePointer = std::shared_ptr<const Surface>;

Random draw(std::uint64_t id) { return Random(11, id, 0, Purpose::test); }
Vec3d in_cube(const Random& r, double half) {
  return {r.uniform(0, -half, half), r.uniform(1, -half, half), r.uniform(2, -half, half)};
}
TriangleMesh mesh_of(const ShapeSettings& settings, int resolution) {
  return Shape::create(settings)->mesh(resolution);
}
TriangleMesh joined(TriangleMesh a, const TriangleMesh& b) {
  const int shift = static_cast<int>(a.positions.size());
  a.positions.insert(a.positions.end(), b.positions.begin(), b.positions.end());
  for (const Vec3i& t : b.triangles) a.triangles.push_back(t + Vec3i(shift));
  return a;
}
TriangleMesh hemisphere(int resolution) {
  TriangleMesh mesh = mesh_of({.radius = 1}, resolution);
  std::erase_if(mesh.triangles, [&](const Vec3i& t) {
    return mesh.positions[t.x].y + mesh.positions[t.y].y + mesh.positions[t.z].y < -1e-9;
  });
  return mesh;
}
double exact_winding(const TriangleMesh& mesh, const Vec3d& x) {
  double sum = 0;
  for (const Vec3i& t : mesh.triangles)
    sum += solid_angle_fraction(x, mesh.positions[t.x], mesh.positions[t.y], mesh.positions[t.z]);
  return sum;
}
double exact_distance(const TriangleMesh& mesh, const Vec3d& x) {
  double best = 1e300;
  for (const Vec3i& t : mesh.triangles)
    best =
        std::min(best, closest_on_triangle(x, mesh.positions[t.x], mesh.positions[t.y], mesh.positions[t.z]).distance2);
  return std::sqrt(best);
}

void expect_like_brute_force(const TriangleMesh& mesh, const Vec3d& center, bool solid, double precision) {
  const SurfacePointer surface = *Surface::create(mesh);
  double worst = 0;
  for (int i = 0; i < 400; ++i) {
    const Vec3d x = center + in_cube(draw(i), i % 4 == 0 ? 10 : 1.3);
    const ClosestPoint near = surface->closest(x);
    const double distance = exact_distance(mesh, x), winding = exact_winding(mesh, x);
    ASSERT_TRUE(near.found);
    EXPECT_NEAR(near.distance, distance, precision);
    EXPECT_NEAR(length(x - near.point), distance, precision);
    const Vec3i t = mesh.triangles[near.triangle];
    const Vec3d p = mesh.positions[t.x] * near.barycentric.x + mesh.positions[t.y] * near.barycentric.y +
                    mesh.positions[t.z] * near.barycentric.z;
    EXPECT_NEAR(length(p - near.point), 0, precision);
    worst = std::max(worst, std::abs(surface->winding(x) - winding));
    if (std::abs(std::abs(winding) - 0.5) > 0.02) {
      const bool inside = solid && std::abs(winding) > 0.5;
      EXPECT_EQ(surface->inside(x), inside) << i;
      EXPECT_NEAR(surface->signed_distance(x), inside ? -distance : distance, precision);
    }
    EXPECT_FALSE(surface->closest(x, 0.999 * distance - 1e-9).found);
    EXPECT_TRUE(surface->closest(x, 1.001 * distance + 1e-9).found);
  }
  EXPECT_LT(worst, 0.01);
}

/// Four at a time and one alone give the bits of closest_on_triangle, for slivers and points too.
TEST(Triangle, DistanceAloneIsThatOfTheClosestPoint) {
  using Four [[gnu::vector_size(32)]] = double;
  for (std::uint64_t id = 0; id < 4000; id += 4) {
    Vec3<Four> x, corner[3];
    double expected[4], alone[4];
    for (std::uint64_t l = 0; l < 4; ++l) {
      const Vec3d p = in_cube(draw(4 * (id + l)), 2), a = in_cube(draw(4 * (id + l) + 1), 1);
      Vec3d b = in_cube(draw(4 * (id + l) + 2), 1), c = in_cube(draw(4 * (id + l) + 3), 1);
      if (id % 5 == 1) c = a + (b - a) * 0.3;
      if (id % 5 == 2) b = c = a;
      x.x[l] = p.x, x.y[l] = p.y, x.z[l] = p.z;
      const Vec3d* const from[3] = {&a, &b, &c};
      for (int k = 0; k < 3; ++k) corner[k].x[l] = from[k]->x, corner[k].y[l] = from[k]->y, corner[k].z[l] = from[k]->z;
      expected[l] = closest_on_triangle(p, a, b, c).distance2, alone[l] = distance2_to_triangle(p, a, b, c);
    }
    const Four found = distance2_to_triangle(x, corner[0], corner[1], corner[2]);
    for (std::uint64_t l = 0; l < 4; ++l) {
      ASSERT_EQ(found[l], expected[l]);
      ASSERT_EQ(alone[l], expected[l]);
    }
  }
}

TEST(Surface, SphereLikeBruteForce) { expect_like_brute_force(mesh_of({.radius = 1}, 48), {}, true, 1e-13); }

TEST(Surface, InsideOutCubeIsSolid) {
  TriangleMesh cube = mesh_of({.kind = ShapeKind::box, .size = {1.5, 1.5, 1.5}}, 6);
  for (Vec3i& t : cube.triangles) std::swap(t.y, t.z);
  expect_like_brute_force(cube, {}, true, 1e-13);
  const SurfacePointer surface = *Surface::create(cube);
  EXPECT_NEAR(surface->winding({}), -1, 0.01);
  EXPECT_NEAR(surface->signed_distance({}), -0.75, 1e-12);
  EXPECT_EQ(surface->report().assumption, "is inside out; its inside is taken as solid");
}

TEST(Surface, OpenHemisphereIsASheet) {
  expect_like_brute_force(hemisphere(48), {}, false, 1e-13);
  const SurfacePointer thick = *Surface::create(hemisphere(48), 0.1);
  EXPECT_TRUE(thick->thin());
  EXPECT_NEAR(thick->signed_distance({0, 1, 0}), -0.05, 1e-12);
  EXPECT_TRUE(thick->inside({0, 0.97, 0}));
  EXPECT_FALSE(thick->inside({0, 0.5, 0}));
}

TEST(Surface, OverlappingSpheresAreOneSolid) {
  const TriangleMesh two =
      joined(mesh_of({.center = {-0.3, 0, 0}, .radius = 0.6}, 32), mesh_of({.center = {0.3, 0, 0}, .radius = 0.6}, 32));
  expect_like_brute_force(two, {}, true, 1e-13);
  const SurfacePointer surface = *Surface::create(two);
  EXPECT_TRUE(surface->report().self_intersecting);
  EXPECT_EQ(surface->report().assumption, "intersects itself; its overlapping parts are taken as one solid");
  EXPECT_NEAR(surface->winding({}), 2, 0.01);
}

TEST(Surface, CleanMeshesDoNotIntersectThemselves) {
  for (const ShapeKind kind :
       {ShapeKind::sphere, ShapeKind::box, ShapeKind::cylinder, ShapeKind::capsule, ShapeKind::torus, ShapeKind::disc})
    for (const int resolution : {3, 7, 40})
      EXPECT_FALSE(
          (*Surface::create(mesh_of({.kind = kind, .axis = {1, 2, 3}}, resolution)))->report().self_intersecting)
          << name(kind);
}

TEST(Surface, FarFromTheOrigin) {
  const Vec3d far{1e5, -1e5, 1e5};
  expect_like_brute_force(mesh_of({.center = far, .radius = 1}, 48), far, true, 1e-9);
}

TEST(Surface, DistanceMayBeCutOffButNotItsSign) {
  const SurfacePointer ball = *Surface::create(mesh_of({.radius = 1}, 48));
  EXPECT_EQ(ball->signed_distance({0, 3, 0}, 0.5), 0.5);
  EXPECT_EQ(ball->signed_distance({0, 0.1, 0}, 0.5), -0.5);
  EXPECT_NEAR(ball->signed_distance({0, 1.2, 0}, 0.5), 0.2, 1e-12);
}

TEST(Surface, HollowBallHasACavity) {
  TriangleMesh inner = mesh_of({.radius = 0.5}, 32);
  for (Vec3i& t : inner.triangles) std::swap(t.y, t.z);
  const SurfacePointer hollow = *Surface::create(joined(mesh_of({.radius = 1}, 32), inner));
  EXPECT_FALSE(hollow->inside({}));
  EXPECT_TRUE(hollow->inside({0.75, 0, 0}));
  EXPECT_EQ(hollow->report().assumption, "");
}

TEST(Surface, TurnedTrianglesAreRepairedBeforeInsideIsDecided) {
  TriangleMesh ball = mesh_of({.radius = 1}, 32);
  for (std::size_t i = 0; i < ball.triangles.size(); i += 3) std::swap(ball.triangles[i].y, ball.triangles[i].z);
  const SurfacePointer surface = *Surface::create(ball);
  EXPECT_TRUE(surface->inside({0.2, 0.1, 0.3}));
  EXPECT_NEAR(surface->winding({}), 1, 0.01);
  EXPECT_NE(surface->report().assumption.find("disagree"), std::string::npos);
}

TEST(Surface, SheetBesideASolidLeavesTheSolidSolid) {
  const SurfacePointer both = *Surface::create(joined(
      mesh_of({.radius = 1}, 32), mesh_of({.kind = ShapeKind::rectangle, .center = {0, 2, 0}, .size = {4, 1, 4}}, 8)));
  EXPECT_TRUE(both->inside({}));
  EXPECT_FALSE(both->inside({0, 1.9, 0}));
  EXPECT_FALSE(both->inside({1.5, 0, 0}));
}

// Every segment goes through a chosen point of the plate: inside a triangle, on an edge, or exactly a vertex.
void expect_no_leak(const SurfacePointer& plate, const TriangleMesh& mesh, double triangle_size, int segments) {
  for (int i = 0; i < segments; ++i) {
    const Random r = draw(i);
    const Vec3i t = mesh.triangles[r.bits(0) % mesh.triangles.size()];
    Vec3d weights{r.uniform(1), r.uniform(2), r.uniform(3)};
    if (i % 3 > 0) weights.x = 0;
    if (i % 3 > 1) weights.y = 0;
    weights = weights / (weights.x + weights.y + weights.z);
    // Keeps off the outer border, where a segment may rightly miss.
    const Vec3d through =
        (mesh.positions[t.x] * weights.x + mesh.positions[t.y] * weights.y + mesh.positions[t.z] * weights.z) *
        (i % 3 == 2 ? 1.0 : 1 - 1e-6);
    if (std::abs(through.x) > 0.49999 || std::abs(through.z) > 0.49999) continue;
    Vec3d d = r.direction(4);
    if (std::abs(d.y) < 1e-3) d.y = 1e-3;
    const double before = triangle_size * std::pow(10, r.uniform(6, -4, 4)),
                 after = triangle_size * std::pow(10, r.uniform(7, -4, 4));
    const Vec3d a = through - d * before, b = through + d * after;
    ASSERT_TRUE(plate->ray(a, b - a, 1)) << i;
    const auto hit = plate->ray(a, b - a, 1);
    EXPECT_NEAR(length(hit->point - through), 0, 1e-9);
    // Two segments that meet at the plate: one of them is hit, whatever rounding does to the point between.
    ASSERT_TRUE(plate->ray(a, through - a, 1) || plate->ray(through, b - through, 1)) << i;
  }
}

TEST(Surface, NothingLeaksThroughTwoTriangles) {
  const TriangleMesh plate{
      {{-0.5, 0, -0.5}, {0.5, 0, -0.5}, {0.5, 0, 0.5}, {-0.5, 0, 0.5}}, {{0, 2, 1}, {0, 3, 2}}, {}};
  expect_no_leak(*Surface::create(plate), plate, 1, 100'000);
}

TEST(Surface, NothingLeaksThroughASubdividedPlate) {
  const TriangleMesh plate = mesh_of({.kind = ShapeKind::rectangle}, 37);
  expect_no_leak(*Surface::create(plate), plate, 1.0 / 37, 100'000);
}

TEST(Surface, NothingLeaksThroughACreasedSurface) {
  TriangleMesh mesh = mesh_of({.kind = ShapeKind::sphere, .radius = 1}, 24);
  const SurfacePointer ball = *Surface::create(mesh);
  for (int i = 0; i < 50'000; ++i) {
    const Random r = draw(i);
    const Vec3i t = mesh.triangles[r.bits(0) % mesh.triangles.size()];
    const double s = i % 2 ? 1.0 : r.uniform(1);
    const Vec3d through = mesh.positions[t.x] * s + mesh.positions[t.y] * (1 - s);
    const Vec3d inner = in_cube(draw(i + 1'000'000), 0.4);
    const Vec3d outer = through + (through - inner) * std::pow(10, r.uniform(2, -6, 4));
    ASSERT_TRUE(ball->ray(inner, outer - inner, 1)) << i;
    ASSERT_TRUE(ball->ray(outer, inner - outer, 1)) << i;
  }
}

TEST(Surface, RayReportsTheFirstHitAndNothingBehindTheEnd) {
  const SurfacePointer ball = *Surface::create(mesh_of({.radius = 1}, 64));
  const auto hit = ball->ray({0, 5, 0.01}, {0, -2, 0}, 10);
  ASSERT_TRUE(hit);
  EXPECT_NEAR(hit->t, 2, 2e-3);
  EXPECT_GT(hit->normal.y, 0.99);
  EXPECT_FALSE(ball->ray({0, 5, 0.01}, {0, -2, 0}, 1.9));
  EXPECT_FALSE(ball->ray({0, 5, 0.01}, {0, 2, 0}, 1e9));
  EXPECT_TRUE(ball->ray({0, 1e9, 0.01}, {0, -1, 0}, std::numeric_limits<double>::infinity()));
  EXPECT_FALSE(ball->ray({0, 5, 0}, {0, 0, 0}, 1));
  EXPECT_FALSE(ball->ray({0, std::numeric_limits<double>::quiet_NaN(), 0}, {0, 1, 0}, 1));
}

TEST(Surface, SamplesAreUniformByArea) {
  // Triangles of very different areas, and halves within one.
  TriangleMesh mesh = mesh_of({.kind = ShapeKind::box, .size = {1, 2, 5}}, 3);
  mesh.scalars["height"].resize(mesh.positions.size());
  for (std::size_t i = 0; i < mesh.positions.size(); ++i)
    mesh.scalars["height"][i] = static_cast<float>(mesh.positions[i].y);
  const SurfacePointer surface = *Surface::create(mesh);
  EXPECT_NEAR(surface->area(), 34, 1e-12);
  constexpr int samples = 100'000;
  std::vector<double> count(mesh.triangles.size());
  double first_half = 0;
  for (int i = 0; i < samples; ++i) {
    const Random r = draw(i);
    const SurfacePoint p = surface->sample(r.uniform(0), r.uniform(1), r.uniform(2));
    ++count[p.triangle];
    EXPECT_LT(surface->closest(p.position).distance, 1e-12);
    EXPECT_NEAR(surface->attribute("height", p.triangle, p.barycentric), p.position.y, 1e-6);
    if (p.barycentric.x > p.barycentric.y) ++first_half;
  }
  double chi = 0;
  for (std::size_t i = 0; i < count.size(); ++i) {
    const Vec3i t = mesh.triangles[i];
    const Vec3d a = mesh.positions[t.x];
    const double expected =
        samples * 0.5 * length(cross(mesh.positions[t.y] - a, mesh.positions[t.z] - a)) / surface->area();
    chi += (count[i] - expected) * (count[i] - expected) / expected;
  }
  const auto bins = static_cast<double>(count.size());
  EXPECT_LT(chi, bins + 5 * std::sqrt(2 * bins));
  EXPECT_NEAR(first_half / samples, 0.5, 5 * 0.5 / std::sqrt(samples));
  EXPECT_TRUE(surface->has_attribute("height"));
  EXPECT_THROW(surface->attribute("wet", 0, {1, 0, 0}), BugFound);
}

TEST(Surface, ManyThreadsGetTheSameAnswers) {
  const SurfacePointer ball = *Surface::create(mesh_of({.radius = 1}, 48));
  const auto answers = [&] {
    std::vector<double> all;
    for (int i = 0; i < 3000; ++i) {
      const Vec3d x = in_cube(draw(i), 1.5);
      const auto hit = ball->ray(x, draw(i).direction(5), 10);
      all.push_back(ball->signed_distance(x) + (hit ? hit->t + hit->triangle : 0) + ball->closest(x).triangle);
    }
    return all;
  };
  const std::vector<double> alone = answers();
  std::vector<std::vector<double>> together(4);
  std::vector<std::thread> threads;
  for (auto& result : together) threads.emplace_back([&] { result = answers(); });
  for (auto& thread : threads) thread.join();
  for (const auto& result : together) EXPECT_EQ(result, alone);
}

TEST(Surface, BadMeshesAreRefused) {
  EXPECT_FALSE(Surface::create({}));
  EXPECT_FALSE(Surface::create({{{0, 0, 0}, {1, 0, 0}, {2, 0, 0}}, {{0, 1, 2}}, {}}));
  EXPECT_FALSE(Surface::create({{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}}, {{0, 1, 3}}, {}}));
  EXPECT_FALSE(Surface::create(mesh_of({}, 8), -1));
  EXPECT_FALSE(
      Surface::create({{{0, 0, 0}, {1, 0, 0}, {0, std::numeric_limits<double>::quiet_NaN(), 0}}, {{0, 1, 2}}, {}}));
}

}  // namespace
}  // namespace aegir
