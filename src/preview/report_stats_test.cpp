#include "preview/report_stats.h"

#include <cmath>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace aegir {
namespace {

/// A file of statistics that goes away with the test.
class StatsText : public ::testing::Test {
 protected:
  Result<RunStatistics> read(const std::string& text) {
    std::ofstream(path_, std::ios::binary) << text;
    return read_run_statistics(path_);
  }
  void TearDown() override { std::filesystem::remove(path_); }

  std::string path_ = ::testing::TempDir() + "report_stats_" +
                      ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".jsonl";
};

std::string line(int frame, double time, double dt, const std::string& objects, const std::string& more = "") {
  return fmt::format(R"({{"frame":{},"substep":0,"time":{},"dt":{},"objects":{{{}}}{},"memory_bytes":64}})", frame,
                     time, dt, objects, more) +
         "\n";
}

const std::string water = R"("water":{"particles":8,"mass":2,"volume":0.002,"momentum":[1,2,3],"kinetic_energy":5})";
const std::string drops = R"("drops":{"particles":3,"mass":1})";

TEST_F(StatsText, ColumnsBeginWhereAnObjectAppears) {
  const auto stats = read(line(1, 0, 0, water) + line(2, 0.5, 0.5, water + "," + drops) + line(3, 1, 0.5, drops));
  ASSERT_TRUE(stats);
  ASSERT_EQ(stats->lines(), 3u);
  ASSERT_EQ(stats->objects.size(), 2u);
  EXPECT_EQ(stats->objects[0].name, "water");
  EXPECT_EQ(stats->objects[0].momentum[2][1], 3);
  EXPECT_TRUE(std::isnan(stats->objects[0].particles[2]));
  EXPECT_TRUE(std::isnan(stats->objects[1].particles[0]));
  EXPECT_EQ(stats->objects[1].particles[2], 3);
  EXPECT_TRUE(std::isnan(stats->objects[1].volume[2]));
  EXPECT_EQ(stats->memory[2], 64);
}

TEST_F(StatsText, TasksAddUpPerFrameAndOverTheRun) {
  const auto tasks = [](double a, double b) {
    return fmt::format(R"(,"tasks":{{"a":{{"seconds":{},"bytes":10}},"b":{{"seconds":{},"bytes":0}}}})", a, b);
  };
  const auto stats = read(line(1, 0, 0, water, tasks(0.5, 0)) + line(2, 0.1, 0.1, water, tasks(1, 2)) +
                          line(2, 0.2, 0.1, water, tasks(3, 4)));
  ASSERT_TRUE(stats);
  ASSERT_EQ(stats->frames.size(), 2u);
  EXPECT_EQ(stats->frames[0].substeps, 0);
  EXPECT_EQ(stats->frames[1].substeps, 2);
  EXPECT_EQ(stats->frames[1].seconds, (std::vector<double>{4, 6}));
  EXPECT_EQ(stats->tasks[0].seconds, 4.5);
  EXPECT_EQ(stats->tasks[0].bytes, 30);
}

TEST_F(StatsText, SolvesOfOneNameInASubstepAddUp) {
  const std::string two =
      R"(,"solves":[{"name":"p","iterations":3,"seconds":1},{"name":"p","iterations":4,"seconds":1}])";
  const auto stats = read(line(1, 0, 0, water) + line(2, 1, 1, water, two) + line(3, 2, 1, water, two));
  ASSERT_TRUE(stats);
  ASSERT_EQ(stats->solves.size(), 1u);
  EXPECT_TRUE(std::isnan(stats->solves[0].iterations[0]));
  EXPECT_EQ(stats->solves[0].iterations[1], 7);
  EXPECT_EQ(stats->solves[0].iterations[2], 7);
}

TEST_F(StatsText, DamagedLinesAreSkippedAndCounted) {
  const std::string deep(100000, '[');
  const auto stats = read(line(1, 0, 0, water) + "{\"frame\":2\n" + "\n" + deep + "\n[1,2]\n" +
                          std::string("\x00\xff\n", 3) + R"({"frame":"x","time":1,"dt":1,"objects":{}})" + "\n" +
                          R"({"frame":1e300,"time":1,"dt":1,"objects":{}})" + "\n" + line(2, 1, 1, water) +
                          line(2, 0.5, 1, water) + line(3, 2, 1, R"("water":7,"odd":{"particles":"x"})"));
  ASSERT_TRUE(stats);
  EXPECT_EQ(stats->lines(), 3u);
  EXPECT_EQ(stats->skipped, 8);
  EXPECT_EQ(stats->first_skipped, 2);
  EXPECT_FALSE(stats->torn_end);
  EXPECT_TRUE(std::isnan(stats->objects[1].particles[2]));
}

TEST_F(StatsText, ALineThatIsBeingWrittenIsNotDamaged) {
  const auto stats = read(line(1, 0, 0, water) + R"({"frame":2,"subst)");
  ASSERT_TRUE(stats);
  EXPECT_EQ(stats->lines(), 1u);
  EXPECT_EQ(stats->skipped, 0);
  EXPECT_TRUE(stats->torn_end);
}

TEST_F(StatsText, FrameRateFromWholeFrames) {
  std::string text = line(1001, 0, 0, water);
  for (int f = 1; f <= 10; ++f) text += line(1001 + f, f / 25.0, 1 / 25.0, water);
  text += line(1012, 10 / 25.0 + 0.001, 0.001, water);  // stopped early in a frame
  const auto stats = read(text);
  ASSERT_TRUE(stats);
  EXPECT_NEAR(stats->frame_rate(24), 25, 1e-9);
  EXPECT_EQ(read(line(1, 0, 0, water))->frame_rate(24), 24);
}

TEST_F(StatsText, WhatIsNotThereOrNoFileIsAnError) {
  EXPECT_FALSE(read_run_statistics(path_ + ".nowhere"));
  EXPECT_FALSE(read_run_statistics(::testing::TempDir()));
  const auto empty = read("");
  ASSERT_TRUE(empty);
  EXPECT_EQ(empty->lines(), 0u);
}

}  // namespace
}  // namespace aegir
