#include "geometry/ray_scene.h"

#include <gtest/gtest.h>

#include <cmath>

namespace aegir {
namespace {

TEST(RayScene, FindsTheNearestTriangleOrSphereAndItsNormal) {
  RayScene scene({0, 0, 0});
  const std::vector<Vec3d> square{{-1, -1, 0}, {1, -1, 0}, {1, 1, 0}, {-1, 1, 0}};
  const std::vector<Vec3i> triangles{{0, 1, 2}, {0, 2, 3}};
  EXPECT_TRUE(scene.empty());
  EXPECT_EQ(scene.add_mesh(square, triangles), 0);
  const std::vector<Vec3d> centers{{0.5, 0.5, 3}, {0.5, 0.5, 5}};
  const std::vector<float> radius{0.5f, 0.25f};
  EXPECT_EQ(scene.add_spheres(centers, radius), 1);
  ASSERT_TRUE(scene.build());

  RaySceneHit hit;
  ASSERT_TRUE(scene.first({{0.5f, 0.5f, 10}, {0, 0, -1}}, hit));
  EXPECT_EQ(hit.thing, 1);
  EXPECT_EQ(hit.primitive, 1);
  EXPECT_NEAR(hit.t, 4.75f, 1e-4f);
  EXPECT_NEAR(hit.normal.z, 1, 1e-4f);
  ASSERT_TRUE(scene.first({{0.25f, -0.5f, 10}, {0, 0, -1}}, hit));
  EXPECT_EQ(hit.thing, 0);
  EXPECT_EQ(hit.primitive, 0);
  EXPECT_NEAR(hit.t, 10, 1e-5f);
  EXPECT_NEAR(std::abs(hit.normal.z), 1, 1e-5f);
  // The corner weights give the point back.
  const Vec3d at = square[0] * (1 - hit.u - hit.v) + square[1] * hit.u + square[2] * hit.v;
  EXPECT_LT(length(at - Vec3d(0.25, -0.5, 0)), 1e-5);

  EXPECT_FALSE(scene.first({{3, 3, 10}, {0, 0, -1}}, hit));
  EXPECT_TRUE(scene.blocked({{0.5f, 0.5f, 10}, {0, 0, -1}}));
  EXPECT_FALSE(scene.blocked({{0.5f, 0.5f, 10}, {0, 0, -1}, 0, 4.5f}));
  EXPECT_FALSE(scene.blocked({{0.5f, 0.5f, 10}, {0, 0, 1}}));
}

TEST(RayScene, PrecisionDoesNotDependOnTheDistanceFromZero) {
  const Vec3d far{1e6, 2e6, -3e6};
  RayScene scene(far);
  const std::vector<Vec3d> corners{far + Vec3d(-1, -1, 0.125), far + Vec3d(1, -1, 0.125), far + Vec3d(0, 1, 0.125)};
  const std::vector<Vec3i> triangles{{0, 1, 2}};
  scene.add_mesh(corners, triangles);
  ASSERT_TRUE(scene.build());
  RaySceneHit hit;
  ASSERT_TRUE(scene.first({{0, 0, 1}, {0, 0, -1}}, hit));
  EXPECT_NEAR(hit.t, 0.875f, 1e-6f);
}

TEST(RayScene, NothingIsNeverHit) {
  RayScene scene({0, 0, 0});
  ASSERT_TRUE(scene.build());
  RaySceneHit hit;
  EXPECT_FALSE(scene.first({{0, 0, 1}, {0, 0, -1}}, hit));
  EXPECT_FALSE(scene.blocked({{0, 0, 1}, {0, 0, -1}}));
}

}  // namespace
}  // namespace aegir
