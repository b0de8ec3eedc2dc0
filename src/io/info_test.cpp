#include "io/info.h"

#include <gtest/gtest.h>

#include "io/mesh.h"
#include "io/piece_file.h"
#include "io/test_support.h"
#include "io/vdb.h"

namespace aegir {
namespace {

TEST(Info, Points) {
  TestFolder folder;
  PointSet points;
  points.position = {{0.5, 0.5, 0.5}, {-3, 4, 5}};
  points.add("v", PointAttribute::vec3f).as<Vec3f>()[1] = {-1, 2, 3};
  points.add("id", PointAttribute::int64).as<std::int64_t>()[0] = 42;
  ASSERT_TRUE(write_points(folder / "a.vdb", points, 0.25, {{"frame", "7"}}));
  const auto info = inspect_file(folder / "a.vdb");
  ASSERT_TRUE(info) << info.error().text();
  EXPECT_EQ(info->kind, FileInfo::vdb);
  EXPECT_EQ(info->metadata.at("frame"), "7");
  ASSERT_EQ(info->grids.size(), 1u);
  const GridInfo& grid = info->grids[0];
  EXPECT_EQ(grid.name, "points");
  EXPECT_EQ(grid.type, "points");
  EXPECT_EQ(grid.points, 2u);
  EXPECT_DOUBLE_EQ(grid.voxel_size.x, 0.25);
  EXPECT_NEAR(length(grid.bounds.min - Vec3d{-3, 0.5, 0.5}), 0, 1e-6);
  EXPECT_NEAR(length(grid.bounds.max - Vec3d{0.5, 4, 5}), 0, 1e-6);
  ASSERT_EQ(grid.attributes.size(), 3u);  // P, id, v
  EXPECT_EQ(grid.attributes[1].name, "id");
  EXPECT_EQ(grid.attributes[1].maximum[0], 42);
  EXPECT_EQ(grid.attributes[2].minimum[0], -1);
  EXPECT_EQ(grid.attributes[2].maximum[2], 3);
}

TEST(Info, Volumes) {
  TestFolder folder;
  VolumeGrid grid;
  grid.name = "surface";
  grid.kind = VolumeGrid::level_set;
  grid.background = 3;
  grid.voxel_size = 0.5;
  grid.buckets = {{1, 0, 0}};
  grid.values.assign(512, -1);
  grid.values[0] = 2;
  ASSERT_TRUE(write_volumes(folder / "a.vdb", {grid}));
  const auto info = inspect_file(folder / "a.vdb");
  ASSERT_TRUE(info) << info.error().text();
  ASSERT_EQ(info->grids.size(), 1u);
  EXPECT_EQ(info->grids[0].grid_class, "level set");
  EXPECT_EQ(info->grids[0].active_voxels, 512u);
  EXPECT_EQ(info->grids[0].attributes[0].minimum[0], -1);
  EXPECT_EQ(info->grids[0].attributes[0].maximum[0], 2);
  EXPECT_NEAR(length(info->grids[0].bounds.min - Vec3d{4, 0, 0}), 0, 1e-9);
  EXPECT_NEAR(length(info->grids[0].bounds.max - Vec3d{8, 4, 4}), 0, 1e-9);
}

TEST(Info, MeshPieceAndOthers) {
  TestFolder folder;
  TriangleMesh mesh;
  mesh.positions = {{0, 0, 0}, {1, 0, 0}, {0, 2, 0}};
  mesh.triangles = {{0, 1, 2}};
  mesh.scalars["wet"] = {1, -2, 3};
  ASSERT_TRUE(write_ply(folder / "a.ply", mesh));
  const auto ply = inspect_file(folder / "a.ply");
  ASSERT_TRUE(ply) << ply.error().text();
  EXPECT_EQ(ply->kind, FileInfo::mesh);
  EXPECT_EQ(ply->grids[0].points, 3u);
  EXPECT_EQ(ply->grids[0].active_voxels, 1u);
  EXPECT_EQ(ply->grids[0].attributes[0].minimum[0], -2);

  auto writer = PieceWriter::create(folder / "a.h5");
  ASSERT_TRUE(writer);
  const double values[6] = {};
  ASSERT_TRUE(writer->array("water/P", values, PieceType::f64, 2, 3));
  ASSERT_TRUE(writer->close());
  const auto piece = inspect_file(folder / "a.h5");
  ASSERT_TRUE(piece) << piece.error().text();
  EXPECT_EQ(piece->kind, FileInfo::piece);
  EXPECT_EQ(piece->grids[0].name, "water/P");
  EXPECT_EQ(piece->grids[0].points, 2u);
  EXPECT_EQ(piece->grids[0].active_voxels, 3u);

  write_bytes(folder / "a.txt", "hello");
  const auto other = inspect_file(folder / "a.txt");
  ASSERT_TRUE(other);
  EXPECT_EQ(other->kind, FileInfo::other);
  EXPECT_EQ(other->bytes, 5u);
  EXPECT_FALSE(inspect_file(folder / "none"));
  write_bytes(folder / "b.vdb", bytes_of(folder / "a.txt") + " BDV");
  EXPECT_TRUE(inspect_file(folder / "b.vdb"));
}

}  // namespace
}  // namespace aegir
