#include "engine/stats.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "engine/test_support.h"

namespace aegir {
namespace {

StepReport report(int frame, int substep) {
  StepReport r;
  r.frame = frame;
  r.substep = substep;
  r.time = 1.0 / 3;
  r.dt = 0.1;
  ObjectAudit audit;
  audit.particles = 7;
  audit.mass = 1e-300 / 3;
  audit.momentum = {1, 2, 3};
  r.objects.emplace_back("bulk/\"water\"", audit);
  r.solves.push_back({"pressure", 1000, 9, 1e-6, 0.25});
  r.tasks["bulk/water:move"] = {0.5, 1024, 1};
  r.memory_bytes = 4096;
  return r;
}

TEST(Stats, LineIsJsonWithAllBits) {
  const auto line = nlohmann::json::parse(stats_line(report(1001, 2)));
  EXPECT_EQ(line.size(), 8u);
  EXPECT_EQ(line["frame"], 1001);
  EXPECT_EQ(line["substep"], 2);
  EXPECT_EQ(line["time"].get<double>(), 1.0 / 3);
  const auto& object = line["objects"]["bulk/\"water\""];
  EXPECT_EQ(object.size(), 8u);
  EXPECT_EQ(object["mass"].get<double>(), 1e-300 / 3);
  EXPECT_EQ(object["momentum"], (nlohmann::json{1, 2, 3}));
  EXPECT_EQ(line["solves"][0]["iterations"], 9);
  EXPECT_EQ(line["tasks"]["bulk/water:move"]["bytes"], 1024);
  EXPECT_EQ(line["memory_bytes"], 4096);
}

TEST(Stats, CutBackToACheckpoint) {
  test::TestFolder folder;
  std::string all, kept;
  for (const auto& [frame, substep] :
       std::vector<std::pair<int, int>>{{1, 0}, {2, 0}, {2, 1}, {3, 0}, {3, 1}, {4, 0}}) {
    all += stats_line(report(frame, substep));
    if (frame <= 2 || (frame == 3 && substep == 0)) kept += stats_line(report(frame, substep));
  }
  const std::string path = folder.write("stats.jsonl", all + R"({"frame":4,"subst)");
  {
    auto file = StatsFile::open(path, RunMoment{2, 1});
    ASSERT_TRUE(file);
    EXPECT_EQ(test::read_text(path), kept);
    ASSERT_TRUE(file->append(report(3, 1)));
    ASSERT_TRUE(file->sync());
  }
  EXPECT_EQ(test::read_text(path), kept + stats_line(report(3, 1)));
  ASSERT_TRUE(StatsFile::open(path, {}));
  EXPECT_EQ(test::read_text(path), "");
}

TEST(Stats, TornLastLineIsDropped) {
  test::TestFolder folder;
  const std::string path = folder.write("stats.jsonl", stats_line(report(1, 0)) + R"({"frame":2,"substep":0,"ti)");
  ASSERT_TRUE(StatsFile::open(path, RunMoment{9, 0}));
  EXPECT_EQ(test::read_text(path), stats_line(report(1, 0)));
}

// A run that slept while another took over its directory may wake up and write before it notices.
TEST(Stats, ASleeperWritesNothingIntoTheFileOfItsSuccessor) {
  test::TestFolder folder;
  const std::string path = folder / "stats.jsonl";
  auto sleeper = StatsFile::open(path, {});
  ASSERT_TRUE(sleeper);
  for (int n = 0; n < 3; ++n) ASSERT_TRUE(sleeper->append(report(1, n)));
  auto successor = StatsFile::open(path, RunMoment{0, 1});
  ASSERT_TRUE(successor);
  ASSERT_TRUE(successor->append(report(1, 1)));
  ASSERT_TRUE(sleeper->append(report(1, 3)));
  ASSERT_TRUE(successor->append(report(1, 2)));
  EXPECT_EQ(test::read_text(path), stats_line(report(1, 0)) + stats_line(report(1, 1)) + stats_line(report(1, 2)));
}

}  // namespace
}  // namespace aegir
