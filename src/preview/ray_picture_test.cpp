#include "preview/ray_picture.h"

#include <gtest/gtest.h>

#include <limits>

#include "geometry/shapes.h"
#include "io/vdb_volumes.h"
#include "parallel/threads.h"

namespace aegir {
namespace {

TriangleMesh ball(const Vec3d& center, double radius) {
  return Shape::create({.kind = ShapeKind::sphere, .center = center, .radius = radius})->mesh(48);
}

/// A box of smoke of constant density.
std::shared_ptr<const VolumeField> smoke(float density) {
  VolumeGrid grid;
  grid.name = "density", grid.voxel_size = 0.05;
  for (int i = -1; i < 1; ++i)
    for (int j = 0; j < 2; ++j)
      for (int k = -1; k < 1; ++k) grid.buckets.push_back({i, j, k});
  grid.values.assign(512 * grid.buckets.size(), density);
  auto field = VolumeField::create(grid);
  EXPECT_TRUE(field);
  return *field;
}

ViewSettings small_view() {
  ViewSettings view;
  view.width = 120, view.height = 68;
  view.bounds = {{-1, 0, -1}, {1, 1, 1}};
  view.low = 0, view.high = 1;
  return view;
}

ShownScene everything() {
  ShownScene scene;
  scene.surfaces.push_back({ball({0.2, 0.35, 0.1}, 0.3), SurfaceLook::water, {}});
  scene.surfaces.push_back({ball({-0.5, 0.25, 0.3}, 0.25), SurfaceLook::matte, {}});
  scene.solids.push_back(
      Shape::create({.kind = ShapeKind::box, .center = {0.4, 0.2, -0.6}, .size = {0.4, 0.4, 0.4}})->mesh(4));
  scene.positions = {{0.7, 0.1, 0.6}, {-0.2, 0.8, 0.2}};
  scene.radius = {0.08f, 0.05f};
  scene.value = {0.2f, 0.9f};
  scene.fog = {smoke(1)};
  return scene;
}

Image rendered(const ShownScene& scene, const ViewSettings& view) {
  Result<Image> image = render_scene(scene, view);
  EXPECT_TRUE(image);
  return image ? *image : Image();
}

Vec3d mean(const Image& image, int x0, int y0, int x1, int y1) {
  Vec3d sum;
  for (int y = y0; y < y1; ++y)
    for (int x = x0; x < x1; ++x) {
      const Color& c = image.at(x, y);
      sum += Vec3d(c[0], c[1], c[2]);
    }
  return sum / ((x1 - x0) * (y1 - y0));
}

TEST(RayPicture, IsTheSameOnAnyNumberOfThreads) {
  ShownScene scene = everything();
  scene.grain = {Vec3f(-1.0f), {0.4f, 0.25f, 0.13f}};
  ViewSettings view = small_view();
  view.outline = view.bounds;
  view.glass.push_back(Shape::create({.kind = ShapeKind::box, .center = {0, 0.5, 0}, .size = {2, 1, 2}})->mesh(2));
  Image first;
  for (const int threads : {1, 2, 7}) {
    ThreadScope scope(threads);
    Image image;
    scope.run([&] { image = rendered(scene, view); });
    if (threads == 1) first = image;
    EXPECT_EQ(image.pixels(), first.pixels()) << threads;
  }
}

TEST(RayPicture, DeepWaterIsBluerThanShallowWater) {
  // A slab that fills the lower part of the picture, seen from above.
  const auto slab = [](double depth) {
    ShownScene scene;
    scene.surfaces.push_back(
        {Shape::create({.kind = ShapeKind::box, .center = {0, depth / 2, 0}, .size = {2, depth, 2}})->mesh(8),
         SurfaceLook::water,
         {}});
    ViewSettings view = small_view();
    view.camera = Camera{{0, 6, 0.5}, {0, 0, 0}, 0.2};
    const Vec3d c = mean(rendered(scene, view), 50, 24, 70, 44);
    return c.x / c.z;
  };
  const double dry = slab(0.002), shallow = slab(0.2), deep = slab(0.8);
  EXPECT_GT(dry, 0.9);
  EXPECT_LT(shallow, 0.93 * dry);
  EXPECT_LT(deep, 0.8 * shallow);
}

TEST(RayPicture, ABallOfWaterTurnsTheWorldAround) {
  // An even wall behind, on the left only, sky and floor on the right: through a ball of water the wall is on the
  // right.
  ShownScene scene;
  ViewSettings view = small_view();
  view.bounds = {{-3, 0, -3}, {3, 6, 3}};
  view.camera = Camera{{0, 3, 12}, {0, 3, 0}, 0.25};
  scene.solids.push_back(
      Shape::create({.kind = ShapeKind::box, .center = {-10, 3, -6}, .size = {20, 20, 0.1}})->mesh(2));
  const auto unevenness = [](const Image& i, int x) {
    return std::abs(mean(i, x - 3, 22, x + 3, 28).y - mean(i, x - 3, 42, x + 3, 48).y);
  };
  const Image empty = rendered(scene, view);
  EXPECT_LT(unevenness(empty, 52), 0.5 * unevenness(empty, 68));
  scene.surfaces.push_back({ball({0, 3, 0}, 1), SurfaceLook::water, {}});
  const Image image = rendered(scene, view);
  EXPECT_LT(unevenness(image, 68), 0.5 * unevenness(image, 52));
}

TEST(RayPicture, MatteThingsAreBrighterTowardsTheSunAndCastShadows) {
  ShownScene scene;
  scene.surfaces.push_back({ball({0, 0.5, 0}, 0.4), SurfaceLook::matte, {}});
  ViewSettings view = small_view();
  view.camera = Camera{{0, 0.5, 5}, {0, 0.5, 0}, 0.25};
  const Image image = rendered(scene, view);
  // The sun stands high on the left.
  EXPECT_GT(mean(image, 50, 20, 56, 26).x, 1.3 * mean(image, 64, 42, 70, 48).x);
}

TEST(RayPicture, SmokeHidesWhatIsBehindItAndNoSmokeChangesNothing) {
  ShownScene scene;
  scene.solids.push_back(ball({0, 0.4, -0.8}, 0.2));
  ViewSettings view = small_view();
  const Image clear = rendered(scene, view);
  scene.fog = {smoke(0)};
  EXPECT_EQ(rendered(scene, view).pixels(), clear.pixels());
  scene.fog = {smoke(1)};
  const Image thick = rendered(scene, view);
  scene.solids.clear();
  const Image without = rendered(scene, view);
  double change = 0, left = 0;
  for (int y = 24; y < 44; ++y)
    for (int x = 50; x < 70; ++x) {
      change += std::abs(int(clear.at(x, y)[1]) - int(thick.at(x, y)[1]));
      left += std::abs(int(without.at(x, y)[1]) - int(thick.at(x, y)[1]));
    }
  EXPECT_GT(change, 400 * 10);
  EXPECT_LT(left, 0.2 * change);
}

TEST(RayPicture, WhatIsNoNumberIsLeftOut) {
  ShownScene scene = everything();
  const ViewSettings view = small_view();
  const Image clean = rendered(scene, view);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  TriangleMesh& mesh = scene.surfaces[0].mesh;
  mesh.positions.push_back({nan, 0, 0});
  mesh.triangles.push_back({0, 1, static_cast<int>(mesh.positions.size()) - 1});
  scene.positions.push_back({0, nan, 0});
  scene.radius.push_back(0.1f);
  scene.value.push_back(0.5f);
  EXPECT_EQ(rendered(scene, view).pixels(), clean.pixels());
  EXPECT_FALSE(rendered({}, view).empty());
}

TEST(RayPicture, GrainsAreDullAndShadedByThoseAroundThem) {
  ViewSettings view = small_view();
  view.camera = Camera{{0, 4, 0.01}, {0, 0, 0}, 0.5};
  view.show_ground = false;
  ShownScene scene;
  scene.positions = {{0, 0, 0}};
  scene.radius = {0.25f};
  scene.grain = {{0.4f, 0.25f, 0.13f}};
  const Vec3d alone = mean(rendered(scene, view), 57, 31, 63, 37);
  EXPECT_GT(alone.x, alone.y);
  EXPECT_GT(alone.y, alone.z);
  for (int i = 0; i < 10; ++i) {  // a pit
    const double angle = 2 * 3.14159265358979 * i / 10;
    for (const double y : {0.1, 0.5, 0.9}) {
      scene.positions.push_back({0.5 * std::cos(angle), y, 0.5 * std::sin(angle)});
      scene.grain.push_back({0.4f, 0.25f, 0.13f});
    }
  }
  const Vec3d inside = mean(rendered(scene, view), 57, 31, 63, 37);
  EXPECT_LT(inside.x, 0.8 * alone.x);
  // What is no grain keeps the colour of its value, or of drops.
  scene.positions.resize(1);
  scene.grain = {Vec3f(-1.0f)};
  const Vec3d drop = mean(rendered(scene, view), 57, 31, 63, 37);
  EXPECT_GT(drop.z, alone.z + 40);
}

TEST(RayPicture, SandsSurfaceHasTheColoursOfItsGrains) {
  ViewSettings view = small_view();
  ShownScene scene;
  scene.surfaces.push_back({ball({0, 0.5, 0}, 0.5), SurfaceLook::matte});
  scene.surfaces[0].grain.assign(scene.surfaces[0].mesh.positions.size(), {0.4f, 0.05f, 0.02f});
  const Vec3d red = mean(rendered(scene, view), 55, 29, 65, 39);
  EXPECT_GT(red.x, 1.5 * red.y);
  scene.surfaces[0].value.assign(scene.surfaces[0].mesh.positions.size(), 0.0f);  // would be blue
  const Vec3d still = mean(rendered(scene, view), 55, 29, 65, 39);
  EXPECT_LT(length(still - red), 1e-9);
}

}  // namespace
}  // namespace aegir
