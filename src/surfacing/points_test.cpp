// Points of files, and points between frames.
#include <unistd.h>

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "base/random.h"
#include "io/vdb.h"
#include "surfacing/points_file.h"
#include "surfacing/subframe.h"

namespace aegir {
namespace {

namespace fs = std::filesystem;

/// An empty folder that goes away.
struct Folder {
  fs::path path = fs::temp_directory_path() / fmt::format("aegir_points_{}", ::getpid());
  Folder() { fs::remove_all(path), fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  std::string operator/(const std::string& name) const { return (path / name).string(); }
};

PointSet thrown(double seconds, std::int64_t first, std::int64_t last) {
  PointSet points;
  for (std::int64_t id = first; id < last; ++id) {
    const Random r(1, static_cast<std::uint64_t>(id), 0, Purpose::test);
    const Vec3d x{r.uniform(0), r.uniform(1), r.uniform(2)},
        v{r.uniform(3, -1, 1), r.uniform(4, -1, 1), r.uniform(5, -1, 1)};
    points.position.push_back(x + v * seconds + Vec3d{0, -9.81, 0} * (0.5 * seconds * seconds));
  }
  points.add("id", PointAttribute::int64), points.add("v", PointAttribute::vec3f),
      points.add("pscale", PointAttribute::float32);
  for (std::int64_t id = first; id < last; ++id) {
    const auto i = static_cast<std::size_t>(id - first);
    const Random r(1, static_cast<std::uint64_t>(id), 0, Purpose::test);
    points.find("id")->as<std::int64_t>()[i] = id;
    points.find("v")->as<Vec3f>()[i] =
        Vec3f(Vec3d{r.uniform(3, -1, 1), r.uniform(4, -1, 1) - 9.81 * seconds, r.uniform(5, -1, 1)});
    points.find("pscale")->as<float>()[i] = 0.5f;
  }
  return points;
}

TEST(Subframe, ThrownParticlesFollowTheirParabola) {
  const double frame = 1.0 / 24;
  const PointSet a = thrown(0, 0, 50), b = thrown(frame, 0, 50);
  for (const double share : {0.0, 0.25, 0.6, 1.0}) {
    const auto between = between_frames(a, b, {share, frame});
    ASSERT_TRUE(between);
    const PointSet exact = thrown(share * frame, 0, 50);
    for (std::size_t i = 0; i < 50; ++i) {
      EXPECT_LT(length(between->position[i] - exact.position[i]), 1e-7);
      EXPECT_LT(length(Vec3d(between->find("v")->as<Vec3f>()[i] - exact.find("v")->as<Vec3f>()[i])), 1e-5);
    }
  }
}

TEST(Subframe, BornAndDyingParticlesFlyOnAndFade) {
  const double frame = 1.0 / 24;
  const PointSet a = thrown(0, 0, 10), b = thrown(frame, 5, 15);
  const auto between = between_frames(a, b, {0.25, frame});
  ASSERT_TRUE(between);
  ASSERT_EQ(between->size(), 15u);
  const auto radius = between->find("pscale")->as<float>();
  const auto id = between->find("id")->as<std::int64_t>();
  for (std::size_t i = 0; i < 15; ++i) {
    EXPECT_EQ(id[i], static_cast<std::int64_t>(i));
    EXPECT_FLOAT_EQ(radius[i], i < 5 ? 0.375f : i < 10 ? 0.5f : 0.125f);
  }
  const Vec3d flown = a.position[2] + Vec3d(a.find("v")->as<Vec3f>()[2]) * (0.25 * frame);
  EXPECT_LT(length(between->position[2] - flown), 1e-9);
  const Vec3d came = b.position[7] - Vec3d(b.find("v")->as<Vec3f>()[7]) * (0.75 * frame);
  EXPECT_LT(length(between->position[12] - came), 1e-9);
}

TEST(Subframe, SaysWhatIdsItNeeds) {
  PointSet a = thrown(0, 0, 10), b = thrown(0.1, 0, 10);
  a.find("id")->as<std::int64_t>()[3] = 4;
  EXPECT_NE(between_frames(a, b, {0.5, 0.1}).error().message.find("two particles have the id 4"), std::string::npos);
  a.attributes.clear();
  EXPECT_NE(between_frames(a, b, {0.5, 0.1}).error().message.find("no 'id'"), std::string::npos);
}

TEST(PointsFile, ReadsPlyOfOtherPrograms) {
  const Folder folder;
  std::ofstream(folder / "spray.0007.ply")
      << "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n"
         "property float vx\nproperty float vy\nproperty float vz\nproperty float radius\nproperty int id\n"
         "property uchar red\nproperty uchar green\nproperty uchar blue\nend_header\n"
         "1 2 3 4 5 6 0.5 11 255 0 0\nnan 0 0 0 0 0 0.5 12 0 0 0\n7 8 9 0 0 0 0.25 13 0 0 1\n";
  const auto points = read_point_file(folder / "spray.0007.ply");
  ASSERT_TRUE(points) << points.error().text();
  ASSERT_EQ(points->size(), 3u);
  EXPECT_EQ(points->find("v")->as<Vec3f>()[0], (Vec3f{4, 5, 6}));
  EXPECT_EQ(points->find("pscale")->as<float>()[2], 0.25f);
  EXPECT_EQ(points->find("id")->as<std::int64_t>()[1], 12);
  EXPECT_EQ(points->find("Cd")->as<Vec3f>()[0].x, 255);
  EXPECT_TRUE(std::isnan(points->position[1].x));
}

TEST(PointsFile, ReadsPackedVdbPoints) {
  const Folder folder;
  PointSet points = thrown(0, 0, 200);
  // As other programs write them: positions in 16 bits, velocities in half precision, ids of 32 bits.
  points.add("number", PointAttribute::int32).as<std::int32_t>()[7] = 70;
  ASSERT_TRUE(write_points(folder / "packed.vdb", points, 0.1, {}, {.half = true, .position = VdbOptions::fixed16}));
  const auto read = read_point_file(folder / "packed.vdb");
  ASSERT_TRUE(read) << read.error().text();
  ASSERT_EQ(read->size(), 200u);
  for (std::size_t i = 0; i < 200; ++i) {
    const auto id = static_cast<std::size_t>(read->find("id")->as<std::int64_t>()[i]);
    EXPECT_LT(length(read->position[i] - points.position[id]), 1e-5);
    EXPECT_NEAR(read->find("v")->as<Vec3f>()[i].x, points.find("v")->as<Vec3f>()[id].x, 1e-3f);
  }
}

TEST(PointsFile, FindsSequences) {
  const Folder folder;
  for (const char* name : {"a.0001.vdb", "a.0002.vdb", "a.0010.vdb", "b.-0003.ply", "b.0002.ply", "single.vdb"})
    std::ofstream(folder / name) << "x";
  const auto found =
      find_point_files({folder / "a.$F4.vdb", folder / "b.-0003.ply", folder / "b.0002.ply", folder / "single.vdb"});
  ASSERT_TRUE(found) << found.error().text();
  ASSERT_EQ(found->size(), 3u);
  EXPECT_EQ((*found)[0].files.size(), 3u);
  EXPECT_TRUE((*found)[0].files.contains(10));
  EXPECT_TRUE((*found)[1].files.contains(-3) && (*found)[1].files.contains(2));
  EXPECT_FALSE(find_point_files({folder / "c.####.vdb"}));
  EXPECT_FALSE(find_point_files({folder / "nothing.vdb"}));
}

TEST(PointsFile, AppendsWhatFitsTogether) {
  PointSet a = thrown(0, 0, 3), b = thrown(0, 3, 5);
  b.add("age", PointAttribute::float32).as<float>()[1] = 7;
  b.find("v")->type = PointAttribute::float32;
  b.find("v")->data.resize(8);
  append_points(a, b);
  ASSERT_EQ(a.size(), 5u);
  EXPECT_EQ(a.find("v"), nullptr) << "its types differ";
  EXPECT_EQ(a.find("age")->as<float>()[4], 7);
  EXPECT_EQ(a.find("age")->as<float>()[0], 0);
  EXPECT_EQ(a.find("id")->as<std::int64_t>()[4], 4);
}

}  // namespace
}  // namespace aegir
