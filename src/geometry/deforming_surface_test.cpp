#include "geometry/deforming_surface.h"

#include <gtest/gtest.h>

#include <numbers>

#include "base/random.h"
#include "geometry/shapes.h"
#include "geometry/sweep.h"
#include "parallel/threads.h"

namespace aegir {
namespace {

/// One number after the other.
struct Draw {
  Random random;
  std::uint32_t used = 0;
  double uniform() { return random.uniform(used++); }
};
Draw draw(std::uint64_t id) { return {Random(29, id, 0, Purpose::test)}; }
void expect_near(const Vec3d& a, const Vec3d& b, double tolerance) { EXPECT_NEAR(length(a - b), 0, tolerance); }

/// A square of side 2 around the origin; heights are set by the tests.
TriangleMesh sheet(int pieces) {
  TriangleMesh mesh;
  for (int i = 0; i <= pieces; ++i)
    for (int j = 0; j <= pieces; ++j) mesh.positions.push_back({2.0 * i / pieces - 1, 0, 2.0 * j / pieces - 1});
  for (int i = 0; i < pieces; ++i)
    for (int j = 0; j < pieces; ++j) {
      const int a = i * (pieces + 1) + j, b = a + pieces + 1;
      mesh.triangles.push_back({a, a + 1, b}), mesh.triangles.push_back({a + 1, b + 1, b});
    }
  return mesh;
}

/// Height of such a sheet above a point, exactly as its triangles have it.
double height(const TriangleMesh& mesh, int pieces, double x, double z) {
  const double u = (x + 1) * 0.5 * pieces, v = (z + 1) * 0.5 * pieces;
  const int i = std::clamp(static_cast<int>(u), 0, pieces - 1), j = std::clamp(static_cast<int>(v), 0, pieces - 1);
  const double s = u - i, t = v - j;
  const auto h = [&](int a, int b) { return mesh.positions[a * (pieces + 1) + b].y; };
  if (s + t <= 1) return h(i, j) + s * (h(i + 1, j) - h(i, j)) + t * (h(i, j + 1) - h(i, j));
  return h(i + 1, j + 1) + (1 - s) * (h(i, j + 1) - h(i + 1, j + 1)) + (1 - t) * (h(i + 1, j) - h(i + 1, j + 1));
}

Vec3d random_vector(Draw& r, double size) {
  const double x = r.uniform(), y = r.uniform(), z = r.uniform();
  return (Vec3d{x, y, z} * 2 - Vec3d(1)) * size;
}

TEST(MovingTriangle, TouchesAreWhereMotionPutsThem) {
  const MovingTriangle still{{{0, 0, 0}, {1, 0, 0}, {0, 0, 1}}, {{0, 0, 0}, {1, 0, 0}, {0, 0, 1}}};
  const auto falling = first_touch(still, {0.2, 1, 0.2}, {0.2, -1, 0.2}, 1e-9);
  ASSERT_TRUE(falling);
  EXPECT_NEAR(falling->time, 0.5, 1e-9);
  expect_near(falling->away, {0, 1, 0}, 1e-12);
  expect_near(falling->barycentric, {0.6, 0.2, 0.2}, 1e-9);
  EXPECT_FALSE(first_touch(still, {0.6, 1, 0.6}, {0.6, -1, 0.6}, 1e-9));  // beside it
  EXPECT_FALSE(first_touch(still, {0.2, 1, 0.2}, {0.2, 1e-6, 0.2}, 1e-9));
  EXPECT_TRUE(first_touch(still, {0.2, 1, 0.2}, {0.2, 1e-10, 0.2}, 1e-9));  // ends on it
  // It starts on the triangle: leaving is no touch, coming back is one.
  EXPECT_FALSE(first_touch(still, {0.2, 0, 0.2}, {0.2, -1, 0.2}, 1e-9));
  // A triangle that turns over: its corners cross the point's height at different times.
  const MovingTriangle turning{{{-1, -1, 0}, {1, -1, -1}, {1, -1, 1}}, {{-1, 1, 0}, {1, 3, -1}, {1, 3, 1}}};
  const auto caught = first_touch(turning, {0, 0, 0}, {0, 0, 0}, 1e-9);
  ASSERT_TRUE(caught);
  EXPECT_NEAR(caught->time, 1.0 / 3, 1e-8);  // -1 + 3t at the middle
}

TEST(DeformingSurface, AnswersLikeASurfaceThatStandsThere) {
  TriangleMesh mesh = Shape::create({.kind = ShapeKind::sphere, .radius = 1})->mesh(24);
  auto deforming = *DeformingSurface::create(mesh);
  std::vector<Vec3d> begin = mesh.positions, end = mesh.positions;
  for (Vec3d& p : end) p = {p.x * 1.3 + 0.2 * p.y, p.y * (1 + 0.3 * p.x), p.z + 5};
  ASSERT_TRUE(deforming->move(begin, end, 0.5));
  mesh.positions = end;
  const auto surface = *Surface::create(mesh);
  for (int i = 0; i < 4000; ++i) {
    Draw r = draw(i);
    const Vec3d x = Vec3d{0, 0, 5} + random_vector(r, 2);
    const ClosestPoint a = deforming->closest(x), b = surface->closest(x);
    EXPECT_NEAR(a.distance, b.distance, 1e-12);
    EXPECT_NEAR(deforming->signed_distance(x), surface->signed_distance(x), 1e-12);
    EXPECT_EQ(deforming->inside(x), surface->inside(x));
    const Vec3d y = Vec3d{0, 0, 5} + random_vector(r, 2);
    EXPECT_EQ(deforming->blocks(x, y), surface->ray(x, y - x, 1).has_value());
    EXPECT_EQ(deforming->closest(x, 0.1).found, b.distance <= 0.1);
  }
}

TEST(DeformingSurface, VelocityIsTheDifferenceOfPlaces) {
  const int pieces = 4;
  const TriangleMesh mesh = sheet(pieces);
  auto surface = *DeformingSurface::create(mesh);
  EXPECT_TRUE(surface->thin());
  EXPECT_FALSE(surface->moving());
  std::vector<Vec3d> end = mesh.positions;
  for (Vec3d& p : end) p.y = 0.1 * p.x + 0.3, p.z += 0.5;
  ASSERT_TRUE(surface->move(mesh.positions, end, 0.25));
  EXPECT_TRUE(surface->moving());
  const ClosestPoint c = surface->closest({0.5, 0.9, 0.25});
  const Vec3d before = surface->place(c.triangle, c.barycentric, 0);
  expect_near(surface->velocity(c.triangle, c.barycentric), Vec3d{0, 0.1 * before.x + 0.3, 0.5} / 0.25, 1e-12);
  EXPECT_DOUBLE_EQ(surface->swept_bounds().max.z, 1.5);
  EXPECT_FALSE(surface->move(mesh.positions, std::span(end).first(3), 0.25));
  end[2].x = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(surface->move(mesh.positions, end, 0.25));
}

/// Points that fly about while a sheet flaps stay on their side. The sheet's heights are random at every step: slopes
/// up to `steep`, motion up to ten times its features in one step.
void flap(int pieces, double steep, int points, int steps, double clearance) {
  const TriangleMesh rest = sheet(pieces);
  auto surface = *DeformingSurface::create(rest);
  TriangleMesh now = rest, next = rest;
  std::vector<Vec3d> x(points);
  std::vector<int> side(points);
  for (int i = 0; i < points; ++i) {
    Draw r = draw(i);
    x[i] = random_vector(r, 0.9);
    side[i] = x[i].y > 0 ? 1 : -1;
    if (std::abs(x[i].y) < clearance) x[i].y = side[i] * clearance;
  }
  int touches = 0;
  for (int s = 0; s < steps; ++s) {
    for (std::size_t v = 0; v < next.positions.size(); ++v) {
      Draw r = draw(1000000 + s * 1000 + v);
      next.positions[v].y = steep / pieces * (2 * r.uniform() - 1) + 0.5 * std::sin(1.7 * s);
    }
    ASSERT_TRUE(surface->move(now.positions, next.positions, 0.1));
    for (int i = 0; i < points; ++i) {
      Draw r = draw(2000000 + 5000ull * s + i);
      Vec3d goal = x[i] + random_vector(r, i % 3 == 0 ? 0 : i % 3 == 1 ? 0.02 : 1.5);
      goal = {std::clamp(goal.x, -0.95, 0.95), std::clamp(goal.y, -3.0, 3.0), std::clamp(goal.z, -0.95, 0.95)};
      if (const auto hit = sweep(*surface, 0, x[i], goal, clearance)) {
        ++touches;
        ASSERT_TRUE(hit->fraction >= 0 && hit->fraction <= 1);
        goal = hit->resting_point;
        if (r.uniform() < 0.5) goal += hit->normal_at_end * (4 * clearance);
      }
      if (std::abs(goal.x) > 1 || std::abs(goal.z) > 1) goal = x[i] = {0, 3.0 * side[i], 0};
      const double above = goal.y - height(next, pieces, goal.x, goal.z);
      ASSERT_GT(side[i] * above, 0) << "point " << i << " step " << s << " pieces " << pieces;
      x[i] = goal;
    }
    now = next;
  }
  EXPECT_GT(touches, points);
}

TEST(DeformingSurface, NoPointCrossesAFlappingSheet) {
  flap(1, 0.5, 300, 60, 1e-4);
  flap(6, 1, 300, 60, 1e-4);
  flap(6, 4, 300, 60, 1e-4);
  flap(24, 2, 300, 60, 1e-6);
  flap(12, 3, 4000, 60, 1e-5);
  flap(12, 12, 2000, 60, 1e-5);
}

TEST(DeformingSurface, NoPointEntersOrLeavesABlobThatChanges) {
  const TriangleMesh rest = Shape::create({.kind = ShapeKind::sphere, .radius = 1})->mesh(16);
  auto surface = *DeformingSurface::create(rest);
  const int points = 400;
  std::vector<Vec3d> x(points);
  std::vector<bool> inside(points);
  for (int i = 0; i < points; ++i) {
    Draw r = draw(i);
    x[i] = random_vector(r, 1.2);
    inside[i] = surface->inside(x[i]);
  }
  const auto shaped = [&](int s) {
    std::vector<Vec3d> p = rest.positions;
    Draw r = draw(77 + s);
    const Vec3d stretch{0.4 + 1.2 * r.uniform(), 0.4 + 1.2 * r.uniform(), 0.4 + 1.2 * r.uniform()};
    const Vec3d shift = random_vector(r, 0.3);
    const double angle = r.uniform() * 0.6, c = std::cos(angle), n = std::sin(angle);
    for (Vec3d& q : p) {
      q = multiply(q, stretch);
      q = Vec3d{c * q.x - n * q.y, n * q.x + c * q.y, q.z} + shift;
    }
    return p;
  };
  std::vector<Vec3d> now = rest.positions;
  for (int s = 0; s < 60; ++s) {
    const std::vector<Vec3d> next = shaped(s);
    ASSERT_TRUE(surface->move(now, next, 0.1));
    for (int i = 0; i < points; ++i) {
      Draw r = draw(3000000 + 1000ull * s + i);
      Vec3d goal = x[i] * 0.9 + random_vector(r, 1);
      if (const auto hit = sweep(*surface, 0, x[i], goal, 1e-5)) goal = hit->resting_point;
      ASSERT_EQ(surface->inside(goal), inside[i]) << i << " step " << s;
      x[i] = goal;
    }
    now = next;
  }
}

TEST(DeformingSurface, ASweepMayStartInTheMiddleOfTheStep) {
  const TriangleMesh mesh = sheet(3);
  auto surface = *DeformingSurface::create(mesh);
  std::vector<Vec3d> begin = mesh.positions, end = mesh.positions;
  for (Vec3d& p : begin) p.y = -1;
  for (Vec3d& p : end) p.y = 1;
  ASSERT_TRUE(surface->move(begin, end, 2));
  const auto whole = sweep(*surface, 0, {0.1, 0, 0.2}, {0.1, 0, 0.2}, 1e-4);
  ASSERT_TRUE(whole);
  EXPECT_NEAR(whole->fraction, 0.5, 1e-8);
  expect_near(whole->normal, {0, 1, 0}, 1e-9);
  expect_near(whole->surface_velocity, {0, 1, 0}, 1e-12);
  expect_near(whole->resting_point, {0.1, 1.0001, 0.2}, 1e-7);
  const auto rest = sweep(*surface, 0.25, {0.1, 0, 0.2}, {0.1, 0, 0.2}, 1e-4);  // the sheet is at -0.5
  ASSERT_TRUE(rest);
  EXPECT_NEAR(rest->fraction, 1.0 / 3, 1e-8);
  EXPECT_FALSE(sweep(*surface, 0.75, {0.1, 0, 0.2}, {0.1, 0, 0.2}, 1e-4));  // it has passed
  EXPECT_FALSE(surface->blocks({0, -1, 0}, {0, 0.9, 0}));
  EXPECT_TRUE(surface->blocks({0, -1, 0}, {0, 1.1, 0}));
}

TEST(DeformingSurface, AnswersDependOnThePresentPositionsAlone) {
  // A strip that rolls up far beyond what its first tree is good for; threads and history must not show.
  const TriangleMesh rest = sheet(40);
  std::vector<Vec3d> rolled = rest.positions, noise = rest.positions;
  for (std::size_t i = 0; i < rolled.size(); ++i) {
    const double angle = 9 * rolled[i].x;
    rolled[i] = {0.1 * (1 + rolled[i].x) * std::cos(angle), 0.1 * (1 + rolled[i].x) * std::sin(angle), rolled[i].z};
    Draw r = draw(i);
    noise[i] = random_vector(r, 1);
  }
  auto a = *DeformingSurface::create(rest), b = *DeformingSurface::create(rest);
  ASSERT_TRUE(a->move(noise, noise, 0.1));
  ThreadScope one(1), many(7);
  one.run([&] { ASSERT_TRUE(a->move(rest.positions, rolled, 0.1)); });
  many.run([&] { ASSERT_TRUE(b->move(rest.positions, rolled, 0.1)); });
  for (int i = 0; i < 2000; ++i) {
    Draw r = draw(i);
    const Vec3d x = random_vector(r, 0.4), y = random_vector(r, 0.4);
    const ClosestPoint p = a->closest(x), q = b->closest(x);
    EXPECT_EQ(p.distance, q.distance);
    EXPECT_EQ(p.triangle, q.triangle);
    const auto s = a->first_touch(x, y), t = b->first_touch(x, y);
    ASSERT_EQ(s.has_value(), t.has_value());
    if (s) {
      EXPECT_EQ(s->time, t->time);
      EXPECT_EQ(s->triangle, t->triangle);
    }
  }
}

TEST(DeformingSurface, FoldsThatCloseHoldWhatIsBetweenThem) {
  // A book: two pages at a right angle, closing in one step; what is between is squeezed along. Straight ways make the
  // page shorter on its way, to 0.7 at 45 degrees.
  TriangleMesh book;
  book.positions = {{0, 0, -1}, {0, 0, 1}, {1, 0, -1}, {1, 0, 1}, {0, 1, -1}, {0, 1, 1}};
  book.triangles = {{0, 1, 2}, {1, 3, 2}, {0, 4, 1}, {1, 4, 5}};
  auto surface = *DeformingSurface::create(book);
  for (double angle : {20.0, 3.0, 0.1}) {
    std::vector<Vec3d> end = book.positions;
    const double a = angle * std::numbers::pi / 180;
    end[4] = {std::cos(a), std::sin(a), -1}, end[5] = {std::cos(a), std::sin(a), 1};
    ASSERT_TRUE(surface->move(book.positions, end, 0.1));
    for (int i = 0; i < 300; ++i) {
      Draw r = draw(i);
      const Vec3d x{0.02 + 0.4 * r.uniform(), 0.02 + 0.4 * r.uniform(), 0.5 * r.uniform()};
      const auto hit = sweep(*surface, 0, x, x, 1e-6);
      const Vec3d y = hit ? hit->resting_point : x;
      ASSERT_GT(y.y, 0) << angle << " " << i;
      ASSERT_LT(y.y * std::cos(a), y.x * std::sin(a)) << angle << " " << i;
    }
  }
}

}  // namespace
}  // namespace aegir
