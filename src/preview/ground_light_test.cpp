#include "preview/ground_light.h"

#include <gtest/gtest.h>

#include <cmath>

#include "geometry/shapes.h"

namespace aegir {
namespace {

TEST(WaterOptics, FresnelAtNormalIncidenceAndAtTheCriticalAngle) {
  const float n = WaterOptics::index, straight = ((n - 1) / (n + 1)) * ((n - 1) / (n + 1));
  EXPECT_NEAR(fresnel(1, 1 / n), straight, 1e-6f);
  EXPECT_NEAR(fresnel(1, n), straight, 1e-6f);
  EXPECT_GT(fresnel(0.01f, 1 / n), 0.9f);  // grazing
  const float critical = std::asin(1 / n);
  EXPECT_EQ(fresnel(std::cos(critical + 0.01f), n), 1);
  EXPECT_LT(fresnel(std::cos(critical - 0.05f), n), 0.5f);
}

TEST(WaterOptics, RefractionFollowsSnellAndEndsAtTheCriticalAngle) {
  const float n = WaterOptics::index;
  for (const float angle : {0.0f, 0.3f, 0.8f, 1.3f}) {
    Vec3f bent;
    ASSERT_TRUE(refract({std::sin(angle), -std::cos(angle), 0}, {0, 1, 0}, 1 / n, bent));
    EXPECT_NEAR(bent.x, std::sin(angle) / n, 1e-5f);
    EXPECT_NEAR(length(bent), 1, 1e-5f);
    EXPECT_LT(bent.y, 0);
  }
  Vec3f bent;
  const float beyond = std::asin(1 / n) + 0.01f;
  EXPECT_FALSE(refract({std::sin(beyond), -std::cos(beyond), 0}, {0, 1, 0}, n, bent));
}

TEST(WaterOptics, AbsorptionMultipliesAlongTheWay) {
  const WaterOptics water = scaled_water(2);
  const Vec3f once = water.left_after(0.7f), twice = water.left_after(1.4f);
  EXPECT_LT(length(multiply(once, once) - twice), 1e-5f);
  EXPECT_LT(once.x, once.z);  // red goes first
}

struct Floor {
  ShownScene shown;
  ViewSettings settings;
  Environment around;
  WaterOptics water;

  explicit Floor(const Box& box)
      : around(View::perspective(fit_camera(box, 1.5, {}), 60, 40), box, box.min.y, true), water(scaled_water(1)) {
    settings.bounds = box;
  }
  GroundLight light(const TracedScene& scene) const { return {scene, around, water, settings.bounds}; }
};

/// Corners are not shared between sides, so that normals are those of the sides.
TriangleMesh box_mesh(const Box& box) {
  constexpr int sides[6][4] = {{0, 2, 3, 1}, {4, 5, 7, 6}, {0, 1, 5, 4}, {2, 6, 7, 3}, {0, 4, 6, 2}, {1, 3, 7, 5}};
  TriangleMesh mesh;
  for (const auto& side : sides) {
    const int first = static_cast<int>(mesh.positions.size());
    for (const int i : side)
      mesh.positions.push_back(
          {i & 1 ? box.max.x : box.min.x, i & 2 ? box.max.y : box.min.y, i & 4 ? box.max.z : box.min.z});
    mesh.triangles.push_back({first, first + 1, first + 2});
    mesh.triangles.push_back({first, first + 2, first + 3});
  }
  EXPECT_GT(mesh.signed_volume(), 0);
  return mesh;
}

TEST(GroundLight, AnEmptySceneIsFullyLit) {
  const Floor floor({{-1, 0, -1}, {1, 1, 1}});
  const auto scene = TracedScene::create(floor.shown, floor.settings, floor.around.origin());
  ASSERT_TRUE(scene);
  const GroundLight light = floor.light(*scene);
  EXPECT_NEAR(light.sun(0, 0).y, 1, 1e-5f);
  EXPECT_NEAR(light.sky(0.3f, 0.1f), 1, 1e-5f);
  EXPECT_NEAR(light.sun(100, 100).y, 1, 0);
}

TEST(GroundLight, ASlabOfWaterTakesFresnelAndBeerLambert) {
  Floor floor({{-1, 0, -1}, {1, 1, 1}});
  floor.shown.surfaces.push_back({box_mesh({{-4, 0.1, -4}, {4, 0.4, 4}}), SurfaceLook::water, {}});
  const auto scene = TracedScene::create(floor.shown, floor.settings, floor.around.origin());
  ASSERT_TRUE(scene);
  const GroundLight light = floor.light(*scene);
  // The slab hangs above the floor: two surfaces, and the way inside is longer than the slab is thick.
  const float n = WaterOptics::index, cosine = floor.around.toward_sun().y;
  const float inside = std::sqrt(1 - (1 - cosine * cosine) / (n * n));
  const float through = (1 - fresnel(cosine, 1 / n)) * (1 - fresnel(inside, n));
  const Vec3f expected = floor.water.left_after(0.3f / inside) * through;
  Vec3f sum;
  for (int i = -10; i <= 10; ++i)
    for (int j = -10; j <= 10; ++j) {
      const Vec3f found = light.sun(0.02f * static_cast<float>(i), 0.02f * static_cast<float>(j));
      EXPECT_NEAR(found.y, expected.y, 0.06f * expected.y);  // little grain
      sum += found;
    }
  for (int k = 0; k < 3; ++k) EXPECT_NEAR(sum[k] / 441, expected[k], 0.005f * expected[k]) << k;
}

TEST(GroundLight, ABallOfWaterFocusesAndASolidOneShades) {
  for (const bool solid : {false, true}) {
    Floor floor({{-1, 0, -1}, {1, 1, 1}});
    const Vec3d center{0, 0.35, 0};
    const TriangleMesh ball = Shape::create({.kind = ShapeKind::sphere, .center = center, .radius = 0.3})->mesh(96);
    if (solid)
      floor.shown.solids.push_back(ball);
    else
      floor.shown.surfaces.push_back({ball, SurfaceLook::water, {}});
    const auto scene = TracedScene::create(floor.shown, floor.settings, floor.around.origin());
    ASSERT_TRUE(scene);
    const GroundLight light = floor.light(*scene);
    // Where the ray through the middle meets the floor.
    const Vec3f sun = floor.around.toward_sun(), from = Vec3f(center - floor.around.origin());
    const float t = (from.y - floor.around.floor()) / sun.y;
    const float middle = light.sun(from.x - sun.x * t, from.z - sun.z * t).y;
    if (solid)
      EXPECT_LT(middle, 0.02f);
    else
      EXPECT_GT(middle, 1.3f);
    EXPECT_LT(light.sky(from.x, from.z), 0.95f);
  }
}

}  // namespace
}  // namespace aegir
