#include "geometry/sweep.h"

#include <gtest/gtest.h>

#include <numbers>

#include "base/random.h"

namespace aegir {
namespace {

Random draw(std::uint64_t id) { return Random(13, id, 0, Purpose::test); }
void expect_near(const Vec3d& a, const Vec3d& b, double tolerance) { EXPECT_NEAR(length(a - b), 0, tolerance); }
Shape plate_shape() { return *Shape::create({.kind = ShapeKind::rectangle, .size = {2, 1, 2}}); }
std::shared_ptr<const Surface> plate_surface() { return *Surface::create(plate_shape().mesh(5)); }

TEST(Sweep, RestingPlateStopsAFastPoint) {
  const auto surface = plate_surface();
  const Shape shape = plate_shape();
  const Vec3d x0{0.3, 1, 0.2}, x1{0.3, -999, 0.2};
  for (const auto& hit : {sweep(*surface, Motion(), x0, x1, 0, 0.1), sweep(shape, Motion(), x0, x1, 0, 0.1)}) {
    ASSERT_TRUE(hit);
    EXPECT_NEAR(hit->fraction, 1e-3, 1e-12);
    expect_near(hit->point, {0.3, 0, 0.2}, 1e-12);
    expect_near(hit->normal, {0, 1, 0}, 1e-12);
    expect_near(hit->surface_velocity, {}, 0);
    EXPECT_GT(hit->resting_point.y, 0);
    EXPECT_LT(hit->resting_point.y, 1e-9);
  }
  const auto from_below = sweep(*surface, Motion(), x1, x0, 0, 0.1);
  ASSERT_TRUE(from_below);
  expect_near(from_below->normal, {0, -1, 0}, 1e-12);
  EXPECT_LT(from_below->resting_point.y, 0);
}

TEST(Sweep, MovingPlateCatchesARestingPoint) {
  const Motion rising = *Motion::create({{0, {0, -1, 0}, {}, 1}, {1, {0, 3, 0}, {}, 1}});
  const Vec3d x{0.1, 0, 0.1};
  for (const auto& hit : {sweep(*plate_surface(), rising, x, x, 0, 1), sweep(plate_shape(), rising, x, x, 0, 1)}) {
    ASSERT_TRUE(hit);
    EXPECT_NEAR(hit->fraction, 0.25, 1e-12);
    expect_near(hit->point, x, 1e-12);
    expect_near(hit->normal, {0, 1, 0}, 1e-12);
    expect_near(hit->surface_velocity, {0, 4, 0}, 1e-12);
    expect_near(hit->resting_point, {0.1, 3, 0.1}, 1e-9);
    EXPECT_GT(hit->resting_point.y, 3);
  }
}

TEST(Sweep, PointMovingWithThePlateIsLeftAlone) {
  const Motion rising = *Motion::create({{0, {0, -1, 0}, {}, 1}, {1, {0, 3, 0}, {}, 1}});
  EXPECT_FALSE(sweep(*plate_surface(), rising, {0, -0.9, 0}, {0, 3.1, 0}, 0, 1));
  EXPECT_FALSE(sweep(plate_shape(), rising, {0, -0.9, 0}, {0, 3.1, 0}, 0, 1));
}

TEST(Sweep, PlateThatGoesAndComesBackInOneStepIsNotMissed) {
  const Motion flap = *Motion::create({{0, {0, -1, 0}, {}, 1}, {0.5, {0, 1, 0}, {}, 1}, {1, {0, -1, 0}, {}, 1}});
  const auto hit = sweep(*plate_surface(), flap, {0, 0, 0}, {0, 0, 0}, 0, 1);
  ASSERT_TRUE(hit);
  EXPECT_NEAR(hit->fraction, 0.25, 1e-12);
  EXPECT_GT(hit->resting_point.y, -1);
}

TEST(Sweep, RotatingPaddleHitsARestingPoint) {
  // A paddle in the x-y plane turns about y: half a turn in one step sweeps both half spaces.
  const Shape paddle = *Shape::create({.kind = ShapeKind::rectangle, .size = {2, 1, 2}, .axis = {0, 0, 1}});
  const Motion spin = *Motion::create({{0, {}, {}, 1}, {1, {}, {0, 170, 0}, 1}});
  const auto surface = *Surface::create(paddle.mesh(6));
  for (const double degrees : {10.0, 45.0, 90.0, 120.0, 160.0}) {
    const double angle = degrees * std::numbers::pi / 180, r = 0.8, omega = 170 * std::numbers::pi / 180;
    const Vec3d x{r * std::cos(angle), 0.2, -r * std::sin(angle)};
    for (const auto& hit : {sweep(*surface, spin, x, x, 0, 1), sweep(paddle, spin, x, x, 0, 1)}) {
      ASSERT_TRUE(hit) << degrees;
      EXPECT_NEAR(hit->fraction, degrees / 170, 1e-3);
      expect_near(hit->point, x, 1e-3);
      const Vec3d tangent{-std::sin(angle), 0, -std::cos(angle)};
      expect_near(hit->surface_velocity, tangent * (omega * r), 0.08);
      EXPECT_GT(dot(hit->normal, tangent), 0.99);  // the point is pushed ahead
    }
  }
  EXPECT_FALSE(sweep(*surface, spin, {0.8, 2, -0.1}, {0.8, 2, -0.1}, 0, 1));
}

TEST(Sweep, PassingBetweenTheBladesIsAllowed) {
  const Shape paddle =
      *Shape::create({.kind = ShapeKind::rectangle, .center = {1, 0, 0}, .size = {1, 1, 1}, .axis = {0, 0, 1}});
  const Motion spin = *Motion::create({{0, {}, {}, 1}, {1, {}, {0, 90, 0}, 1}});
  // The blade comes from +x and turns to -z; a point that leaves the quadrant early is not met.
  EXPECT_FALSE(sweep(paddle, spin, {0.3, 0, -1}, {-3, 0, -1}, 0, 1));
  EXPECT_TRUE(sweep(paddle, spin, {0.3, 0, -1}, {0.3, 0, -0.9}, 0, 1));
}

// A point in a moving, turning, growing closed box makes thousands of wild steps; it stays inside if it always goes on
// from the resting point, also when positions are stored in single precision.
template <class Body>
void expect_prisoner(const Body& body, const Motion& motion, bool single) {
  const auto stored = [&](const Vec3d& x) { return single ? Vec3d(Vec3f(x)) : x; };
  const double clearance = single ? 1e-5 : 0;
  Vec3d x = stored(motion.at(0).apply({0.1, 0.2, -0.1}));
  int hits = 0;
  for (int i = 0; i < 5000; ++i) {
    const double t0 = i * 1e-3, t1 = (i + 1) * 1e-3;
    const Vec3d target = stored(x + draw(i).direction(0) * std::pow(10, draw(i).uniform(3, -3, 3)));
    const auto hit = sweep(body, motion, x, target, t0, t1, clearance);
    hits += hit.has_value();
    x = hit ? stored(hit->resting_point) : target;
    ASSERT_LT(body.signed_distance(motion.at(t1).apply_inverse(x)), 0) << i;
  }
  EXPECT_GT(hits, 1000);
}

struct ShapeBody : Shape {
  double signed_distance(const Vec3d& x) const { return distance(x); }
};

TEST(Sweep, PrisonerStaysInside) {
  const Motion wild = *Motion::create({{0, {}, {0, 0, 0}, 1},
                                       {1, {3, 0, 1}, {0, 0, 900}, 2},
                                       {3, {-2, 5, 0}, {20, 70, -30}, 0.5},
                                       {5, {0, 0, 0}, {200, 10, 0}, 1}},
                                      MotionInterpolation::smooth);
  for (const ShapeKind kind : {ShapeKind::box, ShapeKind::sphere, ShapeKind::cylinder, ShapeKind::capsule}) {
    const Shape shape = *Shape::create({.kind = kind, .axis = {0.2, 1, 0.1}});
    const auto surface = *Surface::create(shape.mesh(8));
    for (const bool single : {false, true}) {
      expect_prisoner(*surface, wild, single);
      expect_prisoner(ShapeBody{shape}, wild, single);
    }
  }
}

TEST(Sweep, PrisonerOfATorusStaysInside) {
  const Shape torus =
      *Shape::create({.kind = ShapeKind::torus, .center = {-0.4, 0.2, -0.1}, .radius = 0.5, .minor_radius = 0.2});
  const Motion spin = *Motion::create({{0, {}, {}, 1}, {5, {1, 0, 0}, {0, 0, 700}, 1}});
  expect_prisoner(ShapeBody{torus}, spin, false);
  expect_prisoner(ShapeBody{torus}, spin, true);
}

TEST(Sweep, SharpCornerDoesNotSqueezeAPointOut) {
  // A wedge of one degree, open to +x: pushed towards its tip again and again.
  const double h = std::tan(std::numbers::pi / 360);
  TriangleMesh wedge{{{0, 0, -1}, {1, h, -1}, {1, h, 1}, {0, 0, 1}, {1, -h, -1}, {1, -h, 1}},
                     {{0, 2, 1}, {0, 3, 2}, {0, 4, 5}, {0, 5, 3}},
                     {}};
  const auto surface = *Surface::create(wedge);
  Vec3d x{0.9, 0, 0};
  for (int i = 0; i < 2000; ++i) {
    const Random r = draw(i);
    const Vec3d target = x + Vec3d{-r.uniform(0), r.uniform(1, -1, 1), 0.1 * r.uniform(2, -1, 1)};
    const auto hit = sweep(*surface, Motion(), x, target, 0, 1, 1e-6);
    x = hit ? hit->resting_point : target;
    ASSERT_GT(x.x, 0) << i;
    ASSERT_LT(std::abs(x.y), h * x.x) << i;
    if (std::abs(x.z) > 0.8) x.z = 0;
  }
}

TEST(Sweep, JumpsOfAStepMotionSweepNothing) {
  const Motion jump = *Motion::create({{0, {0, -1, 0}, {}, 1}, {1, {0, 1, 0}, {}, 1}}, MotionInterpolation::step);
  EXPECT_FALSE(sweep(*plate_surface(), jump, {0, 0, 0}, {0, 0, 0}, 0.5, 1.5));
  EXPECT_TRUE(sweep(*plate_surface(), jump, {0, 0, 0}, {0, -2, 0}, 0.5, 0.9));
  EXPECT_TRUE(sweep(*plate_surface(), jump, {0, 0, 0}, {0, 2, 0}, 1.0, 1.5));
}

TEST(Sweep, FarAwayAndScaled) {
  const Motion far = *Motion::create({{0, {1e5, 1e5, -1e5}, {}, 10}, {1, {1e5, 1e5 + 1, -1e5}, {}, 10}});
  const auto hit = sweep(*plate_surface(), far, {1e5 + 9, 1e5 + 5, -1e5}, {1e5 + 9, 1e5 - 5, -1e5}, 0, 1);
  ASSERT_TRUE(hit);
  EXPECT_NEAR(hit->fraction, 5.0 / 11, 1e-9);
  expect_near(hit->surface_velocity, {0, 1, 0}, 1e-8);
  EXPECT_GT(hit->resting_point.y, 1e5 + 1);
}

}  // namespace
}  // namespace aegir
