#include "engine/run_directory.h"

#include <gtest/gtest.h>

#include "engine/test_support.h"

namespace aegir {
namespace {

TEST(RunMoment, TextComesBack) {
  for (const RunMoment m : {RunMoment{1043, 0}, RunMoment{1043, 2}, RunMoment{7, 0}, RunMoment{-12, 3}})
    EXPECT_EQ(RunMoment::parse(m.text()), m) << m.text();
  EXPECT_EQ((RunMoment{7, 0}.text()), "0007");
  EXPECT_LT((RunMoment{5, 3}), (RunMoment{6, 0}));
  for (const char* bad : {"", "x", "1043.", "1043.x", "1043.-1", ".1043.tmp", "7", "1043.0"})
    EXPECT_FALSE(RunMoment::parse(bad)) << bad;
}

TEST(RunDirectory, FindsFramesAndCheckpoints) {
  test::TestFolder folder;
  for (const char* name :
       {"out/bulk/water/water.points.1002.vdb", "out/bulk/water/water.points.1001.vdb",
        "out/drops/drops.points.-0012.vdb", "out/drops/drops.mesh.0003.ply", "out/drops/drops.points.x.vdb",
        "out/drops/notes.txt", "out/drops/.drops.points.0004.vdb.tmp-1-0"})
    folder.write(name, "x");
  folder.write("out/checkpoints/1002/index.json", "{}");
  folder.write("out/checkpoints/1002.1/index.json", "{}");
  folder.write("out/checkpoints/.1003.tmp/piece.0.h5", "");
  const RunDirectory directory(folder / "out");
  const auto frames = directory.frames();
  ASSERT_EQ(frames.size(), 4u);
  EXPECT_EQ(frames[0].object, "bulk/water");
  EXPECT_EQ(frames[0].frame, 1001);
  EXPECT_EQ(frames[2].kind, "mesh");
  EXPECT_EQ(frames[3].frame, -12);
  EXPECT_EQ(directory.checkpoints(), (std::vector<RunMoment>{{1002, 0}, {1002, 1}}));

  directory.remove_leftovers();
  EXPECT_FALSE(std::filesystem::exists(folder / "out/checkpoints/.1003.tmp"));
  EXPECT_FALSE(std::filesystem::exists(folder / "out/drops/.drops.points.0004.vdb.tmp-1-0"));
  EXPECT_TRUE(std::filesystem::exists(folder / "out/drops/notes.txt"));

  directory.remove_frames_after(1001);
  EXPECT_EQ(directory.frames().size(), 3u);
  directory.remove_checkpoint({1002, 0});
  EXPECT_EQ(directory.checkpoints().size(), 1u);
}

TEST(RunDirectory, WhatStandsInTheWayIsAUsageError) {
  test::TestFolder folder;
  folder.write("file", "x");
  const Status status = RunDirectory(folder / "file/out").create();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, Failure::usage);
}

}  // namespace
}  // namespace aegir
