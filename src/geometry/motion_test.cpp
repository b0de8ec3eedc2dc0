#include "geometry/motion.h"

#include <gtest/gtest.h>

#include <limits>
#include <numbers>

#include "base/random.h"

namespace aegir {
namespace {

void expect_near(const Vec3d& a, const Vec3d& b, double tolerance) { EXPECT_NEAR(length(a - b), 0, tolerance); }

TEST(Motion, RestsByDefault) {
  EXPECT_TRUE(Motion().is_static());
  expect_near(Motion().at(3).apply({1, 2, 3}), {1, 2, 3}, 0);
  expect_near(Motion(Pose{.translation = {0, 1, 0}}).at(3).apply({1, 2, 3}), {1, 3, 3}, 0);
}

TEST(Motion, EulerAnglesTurnFirstAboutXThenYThenZ) {
  const Motion m = *Motion::create({{0, {}, {90, 90, 0}, 1}});
  expect_near(m.at(0).apply({0, 1, 0}), {1, 0, 0}, 1e-15);  // x: y to z; y: z to x
  const Motion n = *Motion::create({{0, {}, {0, 90, 90}, 1}});
  expect_near(n.at(0).apply({0, 0, 1}), {0, 1, 0}, 1e-15);  // y: z to x; z: x to y
}

TEST(Motion, PoseAndItsInverse) {
  const Motion m = *Motion::create({{0, {1, 2, 3}, {10, 20, 30}, 2}});
  const Pose pose = m.at(0);
  const Vec3d p{0.3, -0.4, 0.5};
  expect_near(pose.apply_inverse(pose.apply(p)), p, 1e-15);
  expect_near(pose.direction_inverse(pose.direction(p)), p, 1e-15);
  EXPECT_NEAR(length(pose.direction(p)), length(p), 1e-15);
  EXPECT_TRUE(m.is_static());
}

TEST(Motion, HoldsOutsideAndInterpolatesBetweenKeys) {
  const std::vector<MotionKey> keys{{1, {0, 0, 0}, {}, 1}, {3, {4, 0, 0}, {}, 3}};
  const Motion linear = *Motion::create(keys), smooth = *Motion::create(keys, MotionInterpolation::smooth),
               step = *Motion::create(keys, MotionInterpolation::step);
  for (const Motion* m : {&linear, &smooth, &step}) {
    EXPECT_EQ(m->at(0).translation.x, 0);
    EXPECT_EQ(m->at(3).translation.x, 4);
    EXPECT_EQ(m->at(9).scale, 3);
    EXPECT_FALSE(m->is_static());
  }
  EXPECT_DOUBLE_EQ(linear.at(1.5).translation.x, 1);
  EXPECT_DOUBLE_EQ(linear.at(1.5).scale, 1.5);
  EXPECT_DOUBLE_EQ(smooth.at(1.5).translation.x, 4 * (3 * 0.0625 - 2 * 0.015625));
  EXPECT_DOUBLE_EQ(step.at(2.99).translation.x, 0);
}

TEST(Motion, FullTurnsAboutOneAxisCount) {
  const Motion m = *Motion::create({{0, {}, {0, 0, 0}, 1}, {4, {}, {0, 720, 0}, 1}});
  EXPECT_FALSE(m.is_static());
  expect_near(m.at(0.5).apply({1, 0, 0}), {0, 0, -1}, 1e-14);
  expect_near(m.at(1).apply({1, 0, 0}), {-1, 0, 0}, 1e-14);
}

TEST(Motion, SeveralAnglesTurnTheShortestWayAtConstantRate) {
  const Motion m = *Motion::create({{0, {}, {10, -30, 50}, 1}, {1, {}, {80, 60, -70}, 1}});
  const auto angle = [&](double a, double b) {
    const Mat3d r = m.at(b).rotation * transpose(m.at(a).rotation);
    return std::acos(std::clamp((r(0, 0) + r(1, 1) + r(2, 2) - 1) / 2, -1.0, 1.0));
  };
  EXPECT_NEAR(angle(0, 1), 10 * angle(0.3, 0.4), 1e-9);
  EXPECT_NEAR(angle(0, 0.999999), angle(0, 1), 1e-4);
  EXPECT_NEAR(determinant(m.at(0.5).rotation), 1, 1e-14);
}

TEST(Motion, VelocityOfLinearMotionIsExactAndOfRotationIsOmegaCrossR) {
  const Motion slide = *Motion::create({{0, {}, {}, 1}, {2, {6, 0, 0}, {}, 1}});
  expect_near(slide.velocity({9, 9, 9}, 0.5, 0.6), {3, 0, 0}, 1e-13);
  expect_near(slide.velocity({9, 9, 9}, 0.5, 0.5), {3, 0, 0}, 1e-9);
  const Motion spin = *Motion::create({{0, {}, {}, 1}, {1, {}, {0, 0, 90}, 1}});
  const double omega = std::numbers::pi / 2;
  expect_near(spin.velocity({2, 0, 0}, 0.5, 0.5), {0, 2 * omega, 0}, 1e-4);
  const Motion jump = *Motion::create({{0, {}, {}, 1}, {2, {6, 0, 0}, {}, 1}}, MotionInterpolation::step);
  expect_near(jump.velocity({0, 0, 0}, 1.9, 2.1), {}, 0);
}

TEST(Motion, PiecesJoinAndTurnLittle) {
  for (const MotionInterpolation interpolation : {MotionInterpolation::linear, MotionInterpolation::smooth}) {
    const Motion m = *Motion::create(
        {{0, {}, {0, 0, 0}, 1}, {1, {1, 0, 0}, {0, 200, 0}, 1}, {2, {0, 0, 0}, {40, 100, 3}, 1}}, interpolation);
    const auto pieces = m.pieces(-0.5, 2.5);
    EXPECT_EQ(pieces.front().t0, -0.5);
    EXPECT_EQ(pieces.back().t1, 2.5);
    bool key = false;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      if (i > 0) {
        EXPECT_EQ(pieces[i].t0, pieces[i - 1].t1);
      }
      if (i > 0) {
        EXPECT_EQ(pieces[i].begin.translation, pieces[i - 1].end.translation);
      }
      key |= pieces[i].t0 == 1;
      const Mat3d r = pieces[i].end.rotation * transpose(pieces[i].begin.rotation);
      EXPECT_LT(std::acos(std::clamp((r(0, 0) + r(1, 1) + r(2, 2) - 1) / 2, -1.0, 1.0)),
                3.001 * std::numbers::pi / 180);
    }
    EXPECT_TRUE(key);
    EXPECT_GT(pieces.size(), 100u);
  }
  EXPECT_EQ(Motion().pieces(0, 1).size(), 1u);
  EXPECT_EQ(Motion::create({{0, {}, {}, 1}, {1, {1, 0, 0}, {}, 1}})->pieces(0.2, 0.3).size(), 1u);
  EXPECT_EQ(Motion::create({{0, {}, {}, 1}, {1, {1, 0, 0}, {}, 1}})->pieces(0.2, 0.2).size(), 1u);
}

TEST(Motion, WrongKeysAreRefused) {
  EXPECT_FALSE(Motion::create({{1, {}, {}, 1}, {1, {}, {}, 1}}));
  EXPECT_FALSE(Motion::create({{0, {}, {}, 0}}));
  EXPECT_FALSE(Motion::create({{0, {}, {1e10, 0, 0}, 1}}));
  EXPECT_FALSE(Motion::create({{0, {std::numeric_limits<double>::infinity(), 0, 0}, {}, 1}}));
  EXPECT_TRUE(Motion::create({}));
}

}  // namespace
}  // namespace aegir
