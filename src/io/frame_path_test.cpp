#include "io/frame_path.h"

#include <climits>

#include <gtest/gtest.h>

#include "io/test_support.h"

namespace aegir {
namespace {

TEST(FramePath, Text) {
  EXPECT_EQ(frame_text(7), "0007");
  EXPECT_EQ(frame_text(-12), "-0012");
  EXPECT_EQ(frame_text(1001), "1001");
  EXPECT_EQ(frame_text(123456), "123456");
  EXPECT_EQ(frame_text(INT_MIN), "-2147483648");
}

TEST(FramePath, EveryPatternSpelling) {
  EXPECT_EQ(FramePattern("geo/a.$F4.ply").path(12), "geo/a.0012.ply");
  EXPECT_EQ(FramePattern("geo/a.$F.ply").path(12), "geo/a.12.ply");
  EXPECT_EQ(FramePattern("geo/a.%04d.ply").path(-12), "geo/a.-0012.ply");
  EXPECT_EQ(FramePattern("a.%d.ply").path(3), "a.3.ply");
  EXPECT_EQ(FramePattern("a.######.ply").path(3), "a.000003.ply");
  EXPECT_EQ(FramePattern("a.{frame}.ply").path(3), "a.0003.ply");
  EXPECT_EQ(FramePattern("####").path(3), "0003");
  EXPECT_FALSE(FramePattern("geo/a.ply").animated());
  EXPECT_EQ(FramePattern("geo/a.ply").path(3), "geo/a.ply");
  EXPECT_EQ(FramePattern("100%.ply").path(3), "100%.ply");
  EXPECT_EQ(FramePattern("%99999999999d.ply").path(3), "%99999999999d.ply");
  EXPECT_FALSE(FramePattern("").animated());
}

TEST(FramePath, FrameOfIsTheInverse) {
  const FramePattern pattern("geo/a.$F4.ply");
  for (int frame : {-12, 0, 7, 1001, 99999}) {
    const std::string name = pattern.path(frame).substr(4);
    ASSERT_TRUE(pattern.frame_of(name)) << name;
    EXPECT_EQ(*pattern.frame_of(name), frame);
  }
  for (const char* wrong : {"a.12.ply", "a.00012.ply", "a.ply", "a..ply", "b.0012.ply", "a.0012.obj", "a.-0000.ply",
                            "a.99999999999999.ply", "a.+012.ply"})
    EXPECT_FALSE(pattern.frame_of(wrong)) << wrong;
}

TEST(FramePath, ListsExisting) {
  TestFolder folder;
  for (const char* name : {"a.0010.ply", "a.-0002.ply", "a.0009.ply", "a.9.ply", ".a.0011.ply.tmp-1"})
    write_bytes(folder / name, "x");
  const auto frames = FramePattern(folder / "a.####.ply").existing();
  ASSERT_TRUE(frames);
  EXPECT_EQ(*frames, (std::vector<int>{-2, 9, 10}));
  EXPECT_FALSE(FramePattern(folder / "none/a.####.ply").existing());
}

TEST(FramePath, CacheNamesAndListing) {
  EXPECT_EQ(cache_path("out", "water", CacheKind::points, 1001), "out/water/water.points.1001.vdb");
  EXPECT_EQ(cache_path("out", "water", CacheKind::volumes, -12), "out/water/water.volumes.-0012.vdb");
  EXPECT_EQ(cache_path("out", "bulk/water", CacheKind::mesh, 1), "out/bulk/water/water.mesh.0001.ply");
  TestFolder folder;
  const auto none = existing_frames(folder.path(), "w#", CacheKind::points);
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->empty());
  std::filesystem::create_directories(folder / "w#");
  for (int frame : {3, 1, 2}) write_bytes(cache_path(folder.path(), "w#", CacheKind::points, frame), "x");
  write_bytes(cache_path(folder.path(), "w#", CacheKind::mesh, 9), "x");
  const auto frames = existing_frames(folder.path(), "w#", CacheKind::points);
  ASSERT_TRUE(frames);
  EXPECT_EQ(*frames, (std::vector<int>{1, 2, 3}));
}

}  // namespace
}  // namespace aegir
