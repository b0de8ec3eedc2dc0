#include "io/vdb.h"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>

#include <gtest/gtest.h>

#include "base/random.h"
#include "io/test_support.h"

namespace aegir {
namespace {

/// Points in a box around `center` with every type of attribute; order is a function of the seed.
PointSet sample_points(std::size_t count, Vec3d center = {}, double size = 1) {
  PointSet points;
  points.position.resize(count);
  auto v = points.add("v", PointAttribute::vec3f).as<Vec3f>();
  auto radius = points.add("pscale", PointAttribute::float32).as<float>();
  auto id = points.add("id", PointAttribute::int64).as<std::int64_t>();
  auto kind = points.add("kind", PointAttribute::int32).as<std::int32_t>();
  auto age = points.add("age", PointAttribute::float64).as<double>();
  for (std::size_t i = 0; i < count; ++i) {
    const Random r(1, i, 0, Purpose::test);
    points.position[i] =
        center + Vec3d{r.uniform(0, -size, size), r.uniform(1, -size, size), r.uniform(2, -size, size)};
    v[i] = Vec3f(r.direction(3));
    radius[i] = 0.25f;
    id[i] = static_cast<std::int64_t>(i) + (std::int64_t{1} << 40);
    kind[i] = static_cast<std::int32_t>(i % 7) - 3;
    age[i] = r.uniform(5);
  }
  return points;
}

std::map<std::int64_t, std::size_t> by_id(const PointSet& points) {
  std::map<std::int64_t, std::size_t> index;
  const auto id = points.find("id")->as<std::int64_t>();
  for (std::size_t i = 0; i < id.size(); ++i) index[id[i]] = i;
  return index;
}

/// Largest distance in voxels between the points of the same id; -1 when the ids differ.
double position_error(const PointSet& a, const PointSet& b, double voxel_size) {
  const auto ia = by_id(a), ib = by_id(b);
  if (ia.size() != a.size() || ib.size() != b.size() || a.size() != b.size()) return -1;
  double worst = 0;
  for (const auto& [id, i] : ia) {
    if (!ib.contains(id)) return -1;
    const Vec3d d = (a.position[i] - b.position[ib.at(id)]) / voxel_size;
    worst = std::max({worst, std::abs(d.x), std::abs(d.y), std::abs(d.z)});
  }
  return worst;
}

template <class T>
void expect_same_values(const PointSet& a, const PointSet& b, const char* name) {
  const auto ia = by_id(a), ib = by_id(b);
  ASSERT_NE(b.find(name), nullptr) << name;
  const auto va = a.find(name)->as<T>();
  const auto vb = b.find(name)->as<T>();
  for (const auto& [id, i] : ia) ASSERT_TRUE(va[i] == vb[ib.at(id)]) << name << " of " << id;
}

TEST(VdbPoints, RoundTripsEveryAttribute) {
  TestFolder folder;
  const PointSet points = sample_points(20000);
  const double voxel = 0.03;
  const Status s = write_points(folder / "a.vdb", points, voxel, {{"frame", "12"}});
  ASSERT_TRUE(s) << s.error().text();
  EXPECT_EQ(folder.names(), std::vector<std::string>{"a.vdb"});
  const auto back = read_points(folder / "a.vdb");
  ASSERT_TRUE(back) << back.error().text();
  const double error = position_error(points, *back, voxel);
  EXPECT_GE(error, 0);
  EXPECT_LT(error, 1e-6);
  expect_same_values<Vec3f>(points, *back, "v");
  expect_same_values<float>(points, *back, "pscale");
  expect_same_values<std::int32_t>(points, *back, "kind");
  expect_same_values<double>(points, *back, "age");
  ASSERT_EQ(back->attributes.size(), points.attributes.size());
  for (std::size_t a = 0; a < points.attributes.size(); ++a)
    EXPECT_EQ(back->attributes[a].name, points.attributes[a].name);
}

TEST(VdbPoints, FarFromTheOriginAndOnCellCorners) {
  TestFolder folder;
  const double voxel = 0.5;
  PointSet points = sample_points(1000, {1e6, -1e6, 3e5}, 2);
  points.position[0] = {0, 0, 0};
  points.position[1] = {-8 * voxel, 8 * voxel, -voxel};
  points.position[2] = {-1e-17, 1e-17, 0};
  ASSERT_TRUE(write_points(folder / "a.vdb", points, voxel));
  const auto back = read_points(folder / "a.vdb");
  ASSERT_TRUE(back);
  EXPECT_LT(position_error(points, *back, voxel), 1e-6);
  EXPECT_GE(position_error(points, *back, voxel), 0);
}

TEST(VdbPoints, CodecsAndCompressionKeepTheirPromise) {
  TestFolder folder;
  const PointSet points = sample_points(3000);
  for (auto compression : {VdbOptions::blosc, VdbOptions::zip, VdbOptions::none}) {
    ASSERT_TRUE(write_points(folder / "a.vdb", points, 0.1, {}, {.compression = compression}));
    const auto back = read_points(folder / "a.vdb");
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_LT(position_error(points, *back, 0.1), 1e-6);
  }
  ASSERT_TRUE(write_points(folder / "b.vdb", points, 0.1, {}, {.half = true, .position = VdbOptions::fixed16}));
  const auto coarse = read_points(folder / "b.vdb");
  ASSERT_TRUE(coarse) << coarse.error().text();
  EXPECT_LT(position_error(points, *coarse, 0.1), 1.001 / 65535);
  const auto ia = by_id(points), ib = by_id(*coarse);
  const auto va = points.find("v")->as<Vec3f>();
  const auto vb = coarse->find("v")->as<Vec3f>();
  for (const auto& [id, i] : ia) EXPECT_LT(length(va[i] - vb[ib.at(id)]), 2e-3f);
  ASSERT_TRUE(write_points(folder / "c.vdb", points, 0.1, {}, {.position = VdbOptions::fixed8}));
  EXPECT_LT(position_error(points, *read_points(folder / "c.vdb"), 0.1), 1.001 / 255);
  EXPECT_LT(bytes_of(folder / "b.vdb").size(), bytes_of(folder / "a.vdb").size());
}

TEST(VdbPoints, NoPoints) {
  TestFolder folder;
  ASSERT_TRUE(write_points(folder / "a.vdb", PointSet{}, 0.1));
  const auto back = read_points(folder / "a.vdb");
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(back->size(), 0u);
}

TEST(VdbPoints, NonFiniteAndUnreachablePositionsAreRefused) {
  TestFolder folder;
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity(), 1e300, -1e12}) {
    PointSet points = sample_points(10);
    points.position[7].y = bad;
    const Status s = write_points(folder / "a.vdb", points, 0.1);
    ASSERT_FALSE(s);
    EXPECT_EQ(s.error().kind, Failure::simulation);
    EXPECT_NE(s.error().message.find("point 7"), std::string::npos) << s.error().message;
  }
  EXPECT_TRUE(folder.names().empty());
}

TEST(VdbPoints, FailedWritesLeaveNothing) {
  TestFolder folder;
  const PointSet points = sample_points(20000);
  for (const std::size_t limit : {std::size_t{10}, std::size_t{1000}, std::size_t{100000}, std::size_t{400000}}) {
    const FileSizeLimit limited(limit);
    const Status s = write_points(folder / "a.vdb", points, 0.05);
    ASSERT_FALSE(s) << limit;
    EXPECT_EQ(s.error().kind, Failure::io);
    EXPECT_NE(s.error().message.find("File too large"), std::string::npos) << s.error().message;
    EXPECT_NE(s.error().message.find(folder / "a.vdb"), std::string::npos) << s.error().message;
    EXPECT_TRUE(folder.names().empty());
  }
  EXPECT_FALSE(write_points(folder / "missing/a.vdb", points, 0.05));
  EXPECT_TRUE(write_points(folder / "a.vdb", points, 0.05));
}

TEST(VdbPoints, CutAndBrokenFilesAreErrors) {
  TestFolder folder;
  ASSERT_TRUE(write_points(folder / "a.vdb", sample_points(2000), 0.2));
  const std::string whole = bytes_of(folder / "a.vdb");
  for (std::size_t k = 0; k < 60; ++k) {
    write_bytes(folder / "b.vdb", whole.substr(0, whole.size() * k / 60));
    const auto back = read_points(folder / "b.vdb");
    ASSERT_FALSE(back) << "cut at " << k;
    EXPECT_NE(back.error().message.find(folder / "b.vdb"), std::string::npos);
  }
  EXPECT_FALSE(read_points(folder / "none.vdb"));
  EXPECT_FALSE(read_points(folder.path()));
  write_bytes(folder / "c.vdb", std::string(5000, '\x7f'));
  EXPECT_FALSE(read_points(folder / "c.vdb"));
}

/// The file with one bit flipped, a different one for every k.
std::string with_flipped_bit(const std::string& whole, std::uint32_t k) {
  const Random r(7, k, 0, Purpose::test);
  std::string broken = whole;
  const std::size_t at = r.bits(0) % broken.size();
  broken[at] = static_cast<char>(broken[at] ^ (1u << (r.bits(1) % 8)));
  return broken;
}

TEST(VdbPoints, EveryFlippedBitIsFound) {
  TestFolder folder;
  ASSERT_TRUE(write_points(folder / "a.vdb", sample_points(500), 0.4));
  const std::string whole = bytes_of(folder / "a.vdb");
  for (std::uint32_t k = 0; k < 300; ++k) {
    write_bytes(folder / "b.vdb", with_flipped_bit(whole, k));
    EXPECT_FALSE(read_points(folder / "b.vdb")) << k;
  }
}

TEST(VdbPoints, FilesOfOthersHaveNoSealAndMayBeCut) {
  TestFolder folder;
  const PointSet points = sample_points(2000);
  ASSERT_TRUE(write_points(folder / "a.vdb", points, 0.2));
  std::string whole = bytes_of(folder / "a.vdb");
  for (const std::string part : {"aegir_checksum", "AegirSum"}) {
    ASSERT_NE(whole.find(part), std::string::npos);
    whole.replace(whole.find(part), 5, "other");
  }
  write_bytes(folder / "b.vdb", whole);
  const auto back = read_points(folder / "b.vdb");
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_LT(position_error(points, *back, 0.2), 1e-6);
  const LibraryLeaksIgnored ignored;
  for (std::size_t k = 0; k < 100; ++k) {
    write_bytes(folder / "c.vdb", whole.substr(0, whole.size() * k / 100));
    EXPECT_FALSE(read_points(folder / "c.vdb")) << k;
  }
}

TEST(VdbPoints, VdbPrintReadsThem) {
  if (std::system("command -v vdb_print > /dev/null 2>&1") != 0) GTEST_SKIP() << "vdb_print is not installed";
  TestFolder folder;
  ASSERT_TRUE(write_points(folder / "a.vdb", sample_points(1234), 0.1, {{"frame", "1001"}}));
  const std::string out = folder / "out.txt";
  ASSERT_EQ(std::system(("vdb_print -l " + (folder / "a.vdb") + " > " + out + " 2>&1").c_str()), 0) << bytes_of(out);
  const std::string text = bytes_of(out);
  EXPECT_NE(text.find("points"), std::string::npos) << text;
  EXPECT_NE(text.find("1001"), std::string::npos) << text;
}

VolumeGrid sample_volume(VolumeGrid::Kind kind, VolumeGrid::Location location, const char* name) {
  VolumeGrid grid;
  grid.name = name;
  grid.kind = kind;
  grid.location = location;
  grid.voxel_size = 0.25;
  grid.background = kind == VolumeGrid::level_set ? 0.75f : 0;
  grid.buckets = {{0, 0, 0}, {-1, 2, 5}, {100, -100, 3}};
  grid.values.resize(3 * 512 * static_cast<std::size_t>(grid.components()));
  for (std::size_t i = 0; i < grid.values.size(); ++i)
    grid.values[i] = static_cast<float>(Random(3, i, 0, Purpose::test).uniform(0, -0.7, 0.7));
  return grid;
}

const VolumeGrid* named(const std::vector<VolumeGrid>& grids, const std::string& name) {
  for (const auto& g : grids)
    if (g.name == name) return &g;
  return nullptr;
}

/// Compares active values bucket by bucket, whatever their order.
void expect_same_volume(const VolumeGrid& a, const VolumeGrid& b, float tolerance) {
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.location, b.location);
  EXPECT_DOUBLE_EQ(a.voxel_size, b.voxel_size);
  EXPECT_NEAR(length(a.origin - b.origin), 0, 1e-12);
  EXPECT_EQ(a.background, b.background);
  ASSERT_EQ(a.buckets.size(), b.buckets.size());
  for (std::size_t i = 0; i < a.buckets.size(); ++i) {
    const auto j =
        static_cast<std::size_t>(std::find(b.buckets.begin(), b.buckets.end(), a.buckets[i]) - b.buckets.begin());
    ASSERT_LT(j, b.buckets.size());
    for (std::size_t o = 0; o < 512; ++o) {
      ASSERT_EQ(a.is_active(i, o), b.is_active(j, o));
      for (int c = 0; c < a.components() && a.is_active(i, o); ++c)
        ASSERT_NEAR(a.plane(i, c)[o], b.plane(j, c)[o], tolerance);
    }
  }
}

TEST(VdbVolumes, RoundTripOfEveryKindAndPlace) {
  TestFolder folder;
  std::vector<VolumeGrid> grids = {sample_volume(VolumeGrid::level_set, VolumeGrid::cell, "surface"),
                                   sample_volume(VolumeGrid::vector, VolumeGrid::face, "vel"),
                                   sample_volume(VolumeGrid::scalar, VolumeGrid::cell, "pressure"),
                                   sample_volume(VolumeGrid::scalar, VolumeGrid::node, "node"),
                                   sample_volume(VolumeGrid::vector, VolumeGrid::cell, "force")};
  grids[2].active.assign(3 * 8, 0x0123456789abcdefull);
  grids[4].origin = {1, 2, 3};
  const Status s = write_volumes(folder / "a.vdb", grids);
  ASSERT_TRUE(s) << s.error().text();
  const auto back = read_volumes(folder / "a.vdb");
  ASSERT_TRUE(back) << back.error().text();
  ASSERT_EQ(back->size(), grids.size());
  for (const auto& g : grids) {
    SCOPED_TRACE(g.name);
    ASSERT_NE(named(*back, g.name), nullptr);
    expect_same_volume(g, *named(*back, g.name), 0);
  }
}

TEST(VdbVolumes, BlenderNamesAndHalf) {
  TestFolder folder;
  const std::vector<VolumeGrid> grids = {sample_volume(VolumeGrid::level_set, VolumeGrid::cell, "surface"),
                                         sample_volume(VolumeGrid::vector, VolumeGrid::face, "vel")};
  ASSERT_TRUE(write_volumes(folder / "a.vdb", grids, {},
                            {.half = true, .compression = VdbOptions::zip, .naming = VdbOptions::blender}));
  const auto back = read_volumes(folder / "a.vdb");
  ASSERT_TRUE(back) << back.error().text();
  ASSERT_NE(named(*back, "phi"), nullptr);
  ASSERT_NE(named(*back, "velocity"), nullptr);
  expect_same_volume(grids[0], *named(*back, "phi"), 1e-3f);
  expect_same_volume(grids[1], *named(*back, "velocity"), 1e-3f);
}

TEST(VdbVolumes, FailuresAndBrokenFiles) {
  TestFolder folder;
  const std::vector<VolumeGrid> grids = {sample_volume(VolumeGrid::vector, VolumeGrid::face, "vel")};
  {
    const FileSizeLimit limited(3000);
    const Status s = write_volumes(folder / "a.vdb", grids);
    ASSERT_FALSE(s);
    EXPECT_NE(s.error().message.find("File too large"), std::string::npos) << s.error().message;
  }
  EXPECT_TRUE(folder.names().empty());
  ASSERT_TRUE(write_volumes(folder / "a.vdb", grids));
  const std::string whole = bytes_of(folder / "a.vdb");
  for (std::size_t k = 0; k < 30; ++k) {
    write_bytes(folder / "b.vdb", whole.substr(0, whole.size() * k / 30));
    EXPECT_FALSE(read_volumes(folder / "b.vdb")) << k;
  }
  EXPECT_FALSE(read_points(folder / "a.vdb"));  // no points grid
}

TEST(VdbVolumes, EveryFlippedBitIsFound) {
  TestFolder folder;
  ASSERT_TRUE(write_volumes(folder / "a.vdb", {sample_volume(VolumeGrid::level_set, VolumeGrid::cell, "surface")}));
  const std::string whole = bytes_of(folder / "a.vdb");
  for (std::uint32_t k = 0; k < 300; ++k) {
    write_bytes(folder / "b.vdb", with_flipped_bit(whole, k));
    EXPECT_FALSE(read_volumes(folder / "b.vdb")) << k;
  }
}

}  // namespace
}  // namespace aegir
