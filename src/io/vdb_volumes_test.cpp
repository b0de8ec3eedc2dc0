#include "io/vdb_volumes.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <limits>
#include <thread>

#include <openvdb/openvdb.h>
#include <openvdb/tools/LevelSetSphere.h>

#include "base/random.h"
#include "io/info.h"
#include "io/test_support.h"
#include "io/vdb.h"

namespace aegir {
namespace {

constexpr double voxel = 0.125;

/// Eight buckets around the origin whose samples hold f at their own places.
VolumeGrid filled(const char* name, VolumeGrid::Kind kind, VolumeGrid::Location location,
                  const std::function<Vec3d(const Vec3d&)>& f) {
  VolumeGrid grid;
  grid.name = name, grid.kind = kind, grid.location = location, grid.voxel_size = voxel;
  for (int b = 0; b < 8; ++b) grid.buckets.push_back({(b >> 2) - 1, (b >> 1 & 1) - 1, (b & 1) - 1});
  grid.values.resize(8 * 512 * static_cast<std::size_t>(grid.components()));
  for (std::size_t b = 0; b < 8; ++b)
    for (int o = 0; o < 512; ++o)
      for (int c = 0; c < grid.components(); ++c) {
        const Vec3i k = grid.buckets[b];
        Vec3d at(k.x * 8 + (o >> 6), k.y * 8 + (o >> 3 & 7), k.z * 8 + (o & 7));
        if (location != VolumeGrid::node) at += Vec3d(0.5);
        if (location == VolumeGrid::face) at[c] -= 0.5;
        grid.plane(b, c)[static_cast<std::size_t>(o)] = static_cast<float>(f(at * voxel)[c]);
      }
  return grid;
}

/// Interpolation is exact for this one, so that a sample in the wrong place is seen.
Vec3d linear(const Vec3d& p) { return {1 + 2 * p.x - 3 * p.y + 0.5 * p.z, -2 + p.x + p.y - p.z, 0.25 - p.x + 4 * p.z}; }

Vec3d somewhere(std::uint64_t i, double reach = 0.85) {
  const Random r(5, i, 0, Purpose::test);
  return {r.uniform(0, -reach, reach), r.uniform(1, -reach, reach), r.uniform(2, -reach, reach)};
}

TEST(VolumeField, SamplesOfEveryPlaceLieWhereTheySay) {
  TestFolder folder;
  for (const auto location : {VolumeGrid::cell, VolumeGrid::face, VolumeGrid::node}) {
    SCOPED_TRACE(location);
    const VolumeGrid vectors = filled("vel", VolumeGrid::vector, location, linear);
    ASSERT_TRUE(write_volumes(folder / "a.vdb", {vectors}));
    const auto read = VolumeField::read(folder / "a.vdb", "vel");
    ASSERT_TRUE(read) << read.error().text();
    const auto created = VolumeField::create(vectors);
    ASSERT_TRUE(created) << created.error().text();
    for (const auto& field : {*read, *created}) {
      EXPECT_TRUE(field->is_vector());
      EXPECT_EQ(field->voxel_size(), voxel);
      for (std::uint64_t i = 0; i < 500; ++i) {
        const Vec3d p = somewhere(i);
        ASSERT_TRUE(field->bounds().contains(p));
        EXPECT_NEAR(length(Vec3d(field->vector(p)) - linear(p)), 0, 1e-5);
      }
      for (const Vec3d& far : {Vec3d(50.0), Vec3d(1e300), Vec3d(std::numeric_limits<double>::quiet_NaN())})
        EXPECT_EQ(field->vector(far), Vec3f());
    }
  }
  const VolumeGrid nodes = filled("mask", VolumeGrid::scalar, VolumeGrid::node, linear);
  ASSERT_TRUE(write_volumes(folder / "b.vdb", {nodes}));
  const auto mask = VolumeField::read(folder / "b.vdb", "");
  ASSERT_TRUE(mask) << mask.error().text();
  for (std::uint64_t i = 0; i < 500; ++i) EXPECT_NEAR((*mask)->value(somewhere(i)), linear(somewhere(i)).x, 1e-5);
}

TEST(VolumeField, ManyThreadsReadTheSame) {
  const auto field = VolumeField::create(filled("vel", VolumeGrid::vector, VolumeGrid::face, linear));
  ASSERT_TRUE(field);
  std::vector<Vec3d> places;
  for (std::uint64_t i = 0; i < 5000; ++i) places.push_back(somewhere(i));
  std::vector<std::vector<Vec3f>> found(4, std::vector<Vec3f>(places.size()));
  std::vector<std::thread> threads;
  for (auto& out : found) threads.emplace_back([&] { (*field)->vectors(places, out); });
  for (auto& t : threads) t.join();
  for (const auto& out : found) EXPECT_EQ(out, found[0]);
  EXPECT_EQ((*field)->vector(places[17]), found[0][17]);
}

/// A file as another program would write it: no metadata of ours, no translation.
void write_foreign(const std::string& path, const openvdb::GridPtrVec& grids) {
  openvdb::initialize();
  openvdb::io::File file(path);
  file.write(grids);
}

TEST(VolumeField, LevelSetOfAnotherProgramHasAnInside) {
  TestFolder folder;
  openvdb::initialize();
  auto sphere = openvdb::tools::createLevelSetSphere<openvdb::FloatGrid>(100.f, {300, 0, 0}, 2.f, 3.f);
  sphere->setName("surface");
  sphere->setSaveFloatAsHalf(true);
  write_foreign(folder / "a.vdb", {sphere});
  // Centimetres and z up: the centre (300, 0, 0) cm.
  const auto field = VolumeField::read(folder / "a.vdb", "phi", {.up = VolumeImport::z, .metres_per_unit = 0.01});
  ASSERT_TRUE(field) << field.error().text();
  EXPECT_TRUE((*field)->is_level_set());
  EXPECT_EQ((*field)->name(), "surface");
  EXPECT_NEAR((*field)->voxel_size(), 0.02, 1e-12);
  EXPECT_NEAR((*field)->value({3, 0, 0}), -0.06, 1e-6);  // deep inside: the band's half width
  EXPECT_NEAR((*field)->value({3, 9, 0}), 0.06, 1e-6);
  for (const Vec3d& direction : {Vec3d{1, 0, 0}, Vec3d{0, 1, 0}, Vec3d{0, 0, -1}})
    EXPECT_NEAR((*field)->value(Vec3d{3, 0, 0} + direction * 1.03), 0.03, 1e-3);
  EXPECT_NEAR((*field)->bounds().center().x, 3, 0.2);
  EXPECT_GE((*field)->bounds().size().y, 2.1);
}

TEST(VolumeField, ZUpTurnsPlacesAndVectors) {
  TestFolder folder;
  ASSERT_TRUE(write_volumes(folder / "a.vdb", {filled("velocity", VolumeGrid::vector, VolumeGrid::face, linear)}));
  const auto field = VolumeField::read(folder / "a.vdb", "vel", {.up = VolumeImport::z, .metres_per_unit = 2});
  ASSERT_TRUE(field) << field.error().text();
  for (std::uint64_t i = 0; i < 100; ++i) {
    const Vec3d p = somewhere(i), v = linear(p) * 2.0;  // in the file
    EXPECT_NEAR(length(Vec3d((*field)->vector(Vec3d{p.x, p.z, -p.y} * 2.0)) - Vec3d{v.x, v.z, -v.y}), 0, 1e-4);
  }
}

TEST(VolumeField, ThreeScalarsMakeAVectorAndTilesStayTiles) {
  TestFolder folder;
  openvdb::initialize();
  openvdb::GridPtrVec grids;
  for (int c = 0; c < 3; ++c) {
    auto grid = openvdb::FloatGrid::create(0);
    grid->setName(std::string("vel.") + "xyz"[c]);
    // A constant region of 512³ voxels is one value, and each component may have its own transform.
    grid->tree().addTile(2, openvdb::Coord(0, 0, 0), static_cast<float>(c + 1), true);
    auto transform = openvdb::math::Transform::createLinearTransform(0.5);
    openvdb::Vec3d shift(0.25);
    shift[c] = 0;
    transform->postTranslate(shift);
    grid->setTransform(transform);
    grids.push_back(grid);
  }
  write_foreign(folder / "a.vdb", grids);
  const auto field = VolumeField::read(folder / "a.vdb", "velocity");
  ASSERT_TRUE(field) << field.error().text();
  EXPECT_EQ((*field)->name(), "vel");
  EXPECT_EQ((*field)->vector({20, 20, 20}), (Vec3f{1, 2, 3}));
  EXPECT_EQ((*field)->vector({-20, 20, 20}), Vec3f());
}

TEST(VolumeField, MistakesAreNamed) {
  TestFolder folder;
  ASSERT_TRUE(write_volumes(folder / "a.vdb", {filled("vel", VolumeGrid::vector, VolumeGrid::face, linear),
                                               filled("pressure", VolumeGrid::scalar, VolumeGrid::cell, linear)}));
  for (const char* name : {"density", ""}) {
    const auto none = VolumeField::read(folder / "a.vdb", name);
    ASSERT_FALSE(none);
    EXPECT_NE(none.error().message.find("'vel', 'pressure'"), std::string::npos) << none.error().message;
    EXPECT_FALSE(read_volume(folder / "a.vdb", name));
  }
  EXPECT_FALSE(VolumeField::read(folder / "none.vdb", "vel"));
  EXPECT_FALSE(VolumeField::read(folder / "a.vdb", "vel", {.metres_per_unit = 0}));
  const auto velocity = read_volume(folder / "a.vdb", "velocity");
  ASSERT_TRUE(velocity) << velocity.error().text();
  EXPECT_EQ(velocity->name, "vel");
  EXPECT_EQ(velocity->location, VolumeGrid::face);

  openvdb::initialize();
  auto turned = openvdb::FloatGrid::create(0);
  turned->setName("density");
  turned->transform().preRotate(0.3, openvdb::math::Y_AXIS);
  write_foreign(folder / "b.vdb", {turned});
  const auto refused = VolumeField::read(folder / "b.vdb", "density");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("rotated"), std::string::npos) << refused.error().message;
}

TEST(VdbVolumes, LevelSetsWithAllTheirBucketsNeedNoGuess) {
  TestFolder folder;
  VolumeGrid grid;
  grid.name = "surface", grid.kind = VolumeGrid::level_set, grid.voxel_size = 1, grid.background = 4;
  // Liquid to the last voxel of a bucket, with nothing after it; and a bucket that is all inside.
  grid.buckets = {{0, 0, 0}, {0, 0, 5}};
  grid.values.assign(1024, -2.f);
  std::fill_n(grid.values.begin() + 512, 512, -4.f);
  grid.active.assign(16, 0);
  std::fill_n(grid.active.begin(), 8, ~std::uint64_t{0});
  ASSERT_TRUE(write_volumes(folder / "a.vdb", {grid}, {}, {.fill_inside = false}));
  const auto field = VolumeField::read(folder / "a.vdb", "surface");
  ASSERT_TRUE(field) << field.error().text();
  EXPECT_FLOAT_EQ((*field)->value({4, 4, 4}), -2);
  EXPECT_FLOAT_EQ((*field)->value({4, 4, 20}), 4);
  EXPECT_FLOAT_EQ((*field)->value({4, 4, 44}), -4);
  EXPECT_TRUE((*field)->bounds().contains({4, 4, 44}));
  const auto info = inspect_file(folder / "a.vdb");
  ASSERT_TRUE(info) << info.error().text();
  ASSERT_EQ(info->grids.size(), 1u);
  EXPECT_EQ(info->grids[0].active_voxels, 512u);
  EXPECT_EQ(info->grids[0].grid_class, "level set");
}

TEST(VdbVolumes, VdbPrintReadsThem) {
  if (std::system("command -v vdb_print > /dev/null 2>&1") != 0) GTEST_SKIP() << "vdb_print is not installed";
  TestFolder folder;
  ASSERT_TRUE(write_volumes(folder / "a.vdb",
                            {filled("vel", VolumeGrid::vector, VolumeGrid::face, linear),
                             filled("pressure", VolumeGrid::scalar, VolumeGrid::cell, linear)},
                            {{"frame", "1001"}}, {.half = true, .compression = VdbOptions::zip}));
  const std::string out = folder / "out.txt";
  ASSERT_EQ(std::system(("vdb_print -l " + (folder / "a.vdb") + " > " + out + " 2>&1").c_str()), 0) << bytes_of(out);
  const std::string text = bytes_of(out);
  for (const char* word : {"vel", "pressure", "staggered", "1001"})
    EXPECT_NE(text.find(word), std::string::npos) << text;
}

}  // namespace
}  // namespace aegir
