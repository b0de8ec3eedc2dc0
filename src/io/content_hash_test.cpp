#include "io/content_hash.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/random.h"
#include "io/mesh.h"
#include "io/test_support.h"
#include "io/vdb.h"

namespace aegir {
namespace {

PointSet sample(std::size_t count, bool reversed) {
  PointSet points;
  points.position.resize(count);
  auto v = points.add("v", PointAttribute::vec3f).as<Vec3f>();
  auto id = points.add("id", PointAttribute::int64).as<std::int64_t>();
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t i = reversed ? count - 1 - k : k;
    const Random r(5, i, 0, Purpose::test);
    points.position[k] = {r.uniform(0), r.uniform(1), r.uniform(2)};
    v[k] = Vec3f(r.direction(3));
    id[k] = static_cast<std::int64_t>(i);
  }
  return points;
}

std::string hash_of(const PointSet& points, double voxel = 0.1, const Metadata& metadata = {},
                    const VdbOptions& options = {}) {
  TestFolder folder;
  EXPECT_TRUE(write_points(folder / "a.vdb", points, voxel, metadata, options));
  const auto hash = content_hash(folder / "a.vdb");
  EXPECT_TRUE(hash) << hash.error().text();
  return hash ? *hash : "";
}

TEST(ContentHash, SameForOrderCompressionAndMetadata) {
  const std::string hash = hash_of(sample(5000, false));
  EXPECT_EQ(hash.size(), 32u);
  EXPECT_EQ(hash.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(hash_of(sample(5000, true)), hash);
  EXPECT_EQ(hash_of(sample(5000, false), 0.1, {{"when", "today"}}, {.compression = VdbOptions::zip}), hash);
  EXPECT_EQ(hash_of(sample(5000, true), 0.1, {}, {.compression = VdbOptions::none}), hash);
  auto swapped = sample(5000, false);
  std::swap(swapped.attributes[0], swapped.attributes[1]);
  EXPECT_EQ(hash_of(swapped), hash);
}

TEST(ContentHash, SeesEveryChange) {
  const PointSet points = sample(5000, false);
  const std::string hash = hash_of(points);
  auto changed = points;
  changed.find("v")->as<Vec3f>()[77].y += 1e-6f;
  EXPECT_NE(hash_of(changed), hash);
  changed = points;
  changed.find("id")->as<std::int64_t>()[3] = 99999;
  EXPECT_NE(hash_of(changed), hash);
  changed = points;
  changed.position[3].x += 1e-5;
  EXPECT_NE(hash_of(changed), hash);
  changed = points;
  changed.attributes[0].name = "w";
  EXPECT_NE(hash_of(changed), hash);
  changed = points;
  std::swap(changed.find("id")->as<std::int64_t>()[3], changed.find("id")->as<std::int64_t>()[4]);
  EXPECT_NE(hash_of(changed), hash);
  EXPECT_NE(hash_of(points, 0.05), hash);
  EXPECT_NE(hash_of(sample(4999, false)), hash);
}

std::string hash_of(const std::vector<VolumeGrid>& grids, const VdbOptions& options = {}) {
  TestFolder folder;
  EXPECT_TRUE(write_volumes(folder / "a.vdb", grids, {}, options));
  const auto hash = content_hash(folder / "a.vdb");
  EXPECT_TRUE(hash) << hash.error().text();
  return hash ? *hash : "";
}

TEST(ContentHash, Volumes) {
  VolumeGrid grid;
  grid.name = "density";
  grid.voxel_size = 0.5;
  grid.buckets = {{0, 0, 0}, {3, 4, 5}};
  grid.values.assign(2 * 512, 1);
  grid.values[5] = 2;
  VolumeGrid other = grid;
  other.name = "fuel";
  const std::string hash = hash_of({grid, other});
  EXPECT_EQ(hash_of({other, grid}), hash);
  EXPECT_EQ(hash_of({grid, other}, {.compression = VdbOptions::none}), hash);
  std::swap(grid.buckets[0], grid.buckets[1]);
  std::swap_ranges(grid.values.begin(), grid.values.begin() + 512, grid.values.begin() + 512);
  EXPECT_EQ(hash_of({grid, other}), hash);
  VolumeGrid changed = grid;
  changed.values[7] = 1.0001f;
  EXPECT_NE(hash_of({changed, other}), hash);
  changed = grid;
  changed.active.assign(16, ~std::uint64_t{0});
  changed.active[3] = 5;
  EXPECT_NE(hash_of({changed, other}), hash);
  changed = grid;
  changed.location = VolumeGrid::node;
  EXPECT_NE(hash_of({changed, other}), hash);
  EXPECT_NE(hash_of({grid}), hash);
}

TEST(ContentHash, PlyByContentOtherFilesByBytes) {
  TestFolder folder;
  TriangleMesh mesh;
  mesh.positions = {{0, 0, 0}, {1, 0, 0}, {0, 0.5, 0}};
  mesh.triangles = {{0, 1, 2}};
  ASSERT_TRUE(write_ply(folder / "a.ply", mesh));
  write_bytes(folder / "b.ply",
              "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n"
              "element face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 .5 0\n3 0 1 2\n");
  EXPECT_EQ(*content_hash(folder / "a.ply"), *content_hash(folder / "b.ply"));
  mesh.positions[2].z = 1;
  ASSERT_TRUE(write_ply(folder / "c.ply", mesh));
  EXPECT_NE(*content_hash(folder / "a.ply"), *content_hash(folder / "c.ply"));
  write_bytes(folder / "d.txt", "hello");
  write_bytes(folder / "e.txt", "hellp");
  write_bytes(folder / "f.txt", "");
  EXPECT_NE(*content_hash(folder / "d.txt"), *content_hash(folder / "e.txt"));
  EXPECT_EQ(content_hash(folder / "f.txt")->size(), 32u);
  EXPECT_FALSE(content_hash(folder / "none"));
  EXPECT_FALSE(content_hash(folder.path()));
}

}  // namespace
}  // namespace aegir
