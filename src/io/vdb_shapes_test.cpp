#include "io/vdb_shapes.h"

#include <gtest/gtest.h>

#include <numbers>

#include "io/test_support.h"
#include "io/vdb.h"

namespace aegir {
namespace {

/// Buckets around the origin with values f(position) of `parts` components.
template <class F>
VolumeGrid cube(const std::string& name, VolumeGrid::Kind kind, const F& f) {
  VolumeGrid grid;
  grid.name = name, grid.kind = kind, grid.voxel_size = 0.05,
  grid.background = kind == VolumeGrid::level_set ? 0.15f : 0;
  for (int i = -2; i < 2; ++i)
    for (int j = -2; j < 2; ++j)
      for (int k = -2; k < 2; ++k) grid.buckets.push_back({i, j, k});
  for (const Vec3i& b : grid.buckets)
    for (int part = 0; part < grid.components(); ++part)
      for (int i = 0; i < 8; ++i)
        for (int j = 0; j < 8; ++j)
          for (int k = 0; k < 8; ++k)
            grid.values.push_back(f(Vec3d(8 * b.x + i + 0.5, 8 * b.y + j + 0.5, 8 * b.z + k + 0.5) * 0.05, part));
  return grid;
}

TEST(VdbShapes, ALevelSetBecomesAnOutwardMeshWithItsVelocities) {
  const TestFolder folder;
  const std::string path = folder.path() + "/ball.vdb";
  const double radius = 0.5;
  const VolumeGrid ball = cube("surface", VolumeGrid::level_set, [&](const Vec3d& p, int) {
    return static_cast<float>(std::clamp(length(p) - radius, -0.15, 0.15));
  });
  const VolumeGrid velocity = cube("vel", VolumeGrid::vector, [](const Vec3d& p, int part) {
    return static_cast<float>(part == 0 ? 2 * p.x : part == 1 ? 3 : 0);
  });
  const VolumeGrid heat = cube("heat", VolumeGrid::scalar, [](const Vec3d& p, int) { return static_cast<float>(p.y); });
  ASSERT_TRUE(write_volumes(path, {ball, velocity, heat}));
  const auto shapes = read_vdb_shapes(path);
  ASSERT_TRUE(shapes) << shapes.error().message;
  ASSERT_EQ(shapes->surfaces.size(), 1u);
  const TriangleMesh& mesh = shapes->surfaces[0];
  const double volume = 4.0 / 3 * std::numbers::pi * radius * radius * radius;
  EXPECT_NEAR(mesh.signed_volume(), volume, 0.02 * volume);
  EXPECT_TRUE(inspect(mesh).closed);
  for (std::size_t i = 0; i < mesh.positions.size(); i += 17) {
    EXPECT_NEAR(length(mesh.positions[i]), radius, 0.01);
    EXPECT_NEAR(mesh.scalars.at("vx")[i], 2 * mesh.positions[i].x, 1e-3);
    EXPECT_NEAR(mesh.scalars.at("vy")[i], 3, 1e-3);
    EXPECT_NEAR(mesh.scalars.at("heat")[i], mesh.positions[i].y, 1e-3);
  }
  EXPECT_EQ(shapes->densities, std::vector<std::string>{"heat"});
  EXPECT_EQ(shapes->vectors, std::vector<std::string>{"vel"});
  EXPECT_FALSE(shapes->has_points);
  const auto listed = read_vdb_shapes(path, false);
  ASSERT_TRUE(listed);
  EXPECT_EQ(listed->surfaces.size(), 1u);
  EXPECT_TRUE(listed->surfaces[0].triangles.empty());
}

TEST(VdbShapes, PointsAreNoticedAndDamageIsAnError) {
  const TestFolder folder;
  const std::string path = folder.path() + "/points.vdb";
  PointSet points;
  points.position = {{0, 0, 0}, {1, 1, 1}};
  ASSERT_TRUE(write_points(path, points, 0.1));
  const auto shapes = read_vdb_shapes(path);
  ASSERT_TRUE(shapes);
  EXPECT_TRUE(shapes->has_points);
  EXPECT_TRUE(shapes->surfaces.empty());
  EXPECT_FALSE(read_vdb_shapes(folder.path() + "/nowhere.vdb"));
}

}  // namespace
}  // namespace aegir
