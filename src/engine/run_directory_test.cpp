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

TEST(RunDirectory, OnlyOwnLeftoversAreRemoved) {
  test::TestFolder folder;
  const std::vector<std::string> ours = {
      "home/.run.json.tmp-7-0",
      "home/.stats.jsonl.tmp-7-1",
      "home/drops/.drops.points.0004.vdb.tmp-7-2",
      "home/bulk/water/.water.volumes.-0012.vdb.tmp-7-3",
      "home/bulk/water/.water.mesh.1001.ply.tmp-7-4",
      "home/checkpoints/.1003.tmp/piece.0.h5",
      "home/checkpoints/.1003.2.tmp/index.json",
      "home/checkpoints/1002/.index.json.tmp-7-5",
  };
  const std::vector<std::string> others = {
      "home/.thesis.odt.tmp-7-0",  // somebody's editor
      "home/.cache.tmp/precious",  // folders of others, here and below
      "home/.1003.tmp/precious",
      "home/projects/.1003.tmp/precious",
      "home/projects/checkpoints/.1003.tmp/precious",
      "home/projects/.run.json.tmp-7-0",
      "home/projects/.drops.points.0004.vdb.tmp-7-0",  // no Object's folder
      "home/.config/drops/.drops.points.0004.vdb.tmp-7-0",
      "home/checkpoints/.network.tmp/precious",
      "home/checkpoints/1002/.notes.tmp-7-0",
      "home/drops/.drops.points.x.vdb.tmp-7-0",
      "home/drops/.drops.points.0004.vdb.tmp-",
      "home/runs/other/run.json",  // a run that may be at work
      "home/runs/other/drops/.drops.points.0004.vdb.tmp-8-0",
  };
  for (const std::string& name : ours) folder.write(name, "x");
  for (const std::string& name : others) folder.write(name, "x");
  RunDirectory(folder / "home").remove_leftovers();
  for (const std::string& name : ours) EXPECT_FALSE(std::filesystem::exists(folder / name)) << name;
  for (const std::string& name : others) EXPECT_TRUE(std::filesystem::exists(folder / name)) << name;
  EXPECT_FALSE(std::filesystem::exists(folder / "home/checkpoints/.1003.tmp"));
}

TEST(RunDirectory, FramesOfAnotherRunBelowAreNotTouched) {
  test::TestFolder folder;
  folder.write("home/drops/drops.points.0004.vdb", "x");
  folder.write("home/runs/other/run.json", "{}");
  folder.write("home/runs/other/drops/drops.points.0004.vdb", "x");
  const RunDirectory directory(folder / "home");
  ASSERT_EQ(directory.frames().size(), 1u);
  directory.remove_frames_after(3);
  EXPECT_FALSE(std::filesystem::exists(folder / "home/drops/drops.points.0004.vdb"));
  EXPECT_TRUE(std::filesystem::exists(folder / "home/runs/other/drops/drops.points.0004.vdb"));
}

TEST(RunDirectory, DamagedCheckpointsAreKeptUnderOtherNames) {
  test::TestFolder folder;
  const RunDirectory directory(folder / "out");
  for (const char* kept : {"0003.damaged", "0003.damaged.2", "0003.damaged.3"}) {
    folder.write("out/checkpoints/0003/piece.0.h5", kept);
    const auto aside = directory.set_aside({3, 0});
    ASSERT_TRUE(aside) << aside.error().text();
    EXPECT_EQ(*aside, folder / "out/checkpoints/" + kept);
    EXPECT_EQ(test::read_text(*aside + "/piece.0.h5"), kept);
    EXPECT_TRUE(directory.checkpoints().empty());
  }
  EXPECT_EQ(test::read_text(folder / "out/checkpoints/0003.damaged/piece.0.h5"), "0003.damaged");
  EXPECT_FALSE(directory.set_aside({3, 0}));
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
