#include "engine/wedge.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "engine/test_support.h"
#include "engine/wedge_table.h"

namespace aegir {
namespace {

namespace fs = std::filesystem;
using test::TestFolder;

TEST(Wedge, CommasInBracketsAndQuotesDoNotSplit) {
  const auto axes = parse_wedge({"a=1, 2,3", "nozzle.velocity=[0,1,0],{keys: {1: [0,0,0], 4: [1,0,0]}}", "t='x,y',z"});
  ASSERT_TRUE(axes) << axes.error().text();
  EXPECT_EQ((*axes)[0].values, (std::vector<std::string>{"1", "2", "3"}));
  EXPECT_EQ((*axes)[1].path, "nozzle.velocity");
  EXPECT_EQ((*axes)[1].values, (std::vector<std::string>{"[0,1,0]", "{keys: {1: [0,0,0], 4: [1,0,0]}}"}));
  EXPECT_EQ((*axes)[2].values, (std::vector<std::string>{"'x,y'", "z"}));
  const auto runs = combinations(*axes);
  ASSERT_EQ(runs.size(), 12u);
  EXPECT_EQ(runs[0].label(), "a=1 nozzle.velocity=[0,1,0] t='x,y'");
  EXPECT_EQ(runs[1].label(), "a=1 nozzle.velocity=[0,1,0] t=z");
  EXPECT_EQ(runs[11].values.front().second, "3");
}

TEST(Wedge, MistakesOnTheCommandLine) {
  using Sets = std::vector<std::string>;
  for (const Sets& sets : {Sets{}, Sets{"a"}, Sets{"=1,2"}, Sets{"a=1"}, Sets{"a=[1,2]"}, Sets{"a=1,"}, Sets{"a=1,1"},
                           Sets{"a=1,2", "a=3,4"}}) {
    const auto axes = parse_wedge(sets);
    ASSERT_FALSE(axes);
    EXPECT_EQ(axes.error().kind, Failure::usage);
  }
}

TEST(Wedge, TheTableComesBackAndReadsStatistics) {
  TestFolder folder;
  folder.write("stats.jsonl",
               "{\"frame\":1,\"objects\":{\"a\":{\"particles\":5,\"mass\":2,\"volume\":1,\"max_speed\":7},"
               "\"b\":{\"particles\":1,\"mass\":0,\"volume\":0,\"max_speed\":1}}}\n"
               "{\"frame\":2,\"objects\":{\"a\":{\"particles\":6,\"mass\":4,\"volume\":1.98,\"max_speed\":3},"
               "\"b\":{\"particles\":1,\"mass\":3,\"volume\":1,\"max_speed\":1}}}\n{\"fra");
  WedgeRun run;
  run.number = 7;
  run.values = {{"z", "1|2"}, {"a", "[0,1]"}};
  run.outcome = "finished";
  read_statistics(folder / "stats.jsonl", run);
  EXPECT_EQ(run.last_frame, 2);
  EXPECT_EQ(run.particles, 7);
  EXPECT_EQ(run.max_speed, 7);
  ASSERT_TRUE(run.volume_drift);
  EXPECT_NEAR(*run.volume_drift, -0.01, 1e-12);
  ASSERT_TRUE(save_wedge(folder / ".", "x.yaml", {run}));
  const auto back = parse_wedge_table(test::read_text(folder / "wedge.json"));
  ASSERT_TRUE(back) << back.error().text();
  ASSERT_EQ(back->size(), 1u);
  EXPECT_EQ((*back)[0].number, 7);
  EXPECT_EQ((*back)[0].values, run.values);
  EXPECT_EQ((*back)[0].volume_drift, run.volume_drift);
  EXPECT_NE(test::read_text(folder / "wedge.md").find("1\\|2"), std::string::npos);
  EXPECT_NE(wedge_text({run}).find("-1.00 %"), std::string::npos) << wedge_text({run});
  EXPECT_FALSE(parse_wedge_table("{\"aegir_wedge\": 1, \"runs\": [3]}"));
  EXPECT_FALSE(parse_wedge_table("nothing"));
}

/// Remembers the runs, and can ask for a stop.
struct WedgeMemory : WedgeObserver {
  test::Memory run;
  std::vector<std::string> begun;
  int refusals = 0;
  std::function<void(const std::string&)> on_begin = [](const std::string&) {};

  void refused(const CheckReport&) override { ++refusals; }
  RunObserver& begin(const WedgeRun& r, int, int) override {
    begun.push_back(r.folder());
    on_begin(r.folder());
    return run;
  }
  int end(const WedgeRun& r, const Result<RunSummary>&) override { return r.code; }
};

RunOptions options_of(const std::string& setup, const std::string& output, std::vector<std::string> sets) {
  RunOptions options;
  options.setup = setup, options.output = output, options.sets = std::move(sets);
  return options;
}

Result<WedgeReport> wedge(const RunOptions& options, WedgeMemory& memory, RunControl& control) {
  const auto comm = make_single_comm();
  return run_wedge(options, make_catalog(), *comm, control, memory);
}

TEST(Wedge, EveryCombinationIsARunAndNewValuesAreAdded) {
  TestFolder folder;
  const std::string setup = folder.write("rain.yaml", test::rain_setup("{frames: [1, 2], substeps: 1}"));
  RunOptions options = options_of(setup, folder / "w", {"rate=1000,3000", "nozzle.velocity=[0,3,0],[0,6,0]"});
  WedgeMemory memory;
  RunControl control;
  const auto report = wedge(options, memory, control);
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(report->code, 0);
  ASSERT_EQ(report->runs.size(), 4u);
  for (const WedgeRun& run : report->runs) {
    EXPECT_EQ(run.outcome, "finished");
    EXPECT_EQ(run.last_frame, 2);
    EXPECT_TRUE(fs::exists(folder / "w/" + run.folder() + "/drops/drops.points.0002.vdb"));
  }
  EXPECT_GT(report->runs[2].particles, report->runs[0].particles);
  EXPECT_GT(report->runs[1].max_speed, report->runs[0].max_speed + 2);
  EXPECT_TRUE(fs::exists(report->sheet)) << report->sheet_problem;

  ASSERT_FALSE(wedge(options, memory, control)) << "the folder holds a wedge";
  options.resume.kind = ResumeChoice::latest;
  options.sets = {"nozzle.velocity=[0,6,0],[0,9,0]", "rate=1000,3000"};
  memory.begun.clear();
  const auto more = wedge(options, memory, control);
  ASSERT_TRUE(more) << more.error().text();
  EXPECT_EQ(memory.begun, (std::vector<std::string>{"0002", "0004", "0005", "0006"}));
  EXPECT_EQ(more->runs.size(), 6u);
  EXPECT_EQ(more->runs[0].particles, report->runs[0].particles);
  EXPECT_EQ(more->runs[1].seconds, report->runs[1].seconds) << "it was finished already";
}

TEST(Wedge, AFailureIsNotedAndTheOthersGoOn) {
  TestFolder folder;
  const std::string setup = folder.write("rain.yaml", test::rain_setup("{frames: [1, 2], substeps: 1}"));
  WedgeMemory memory;
  RunControl control;
  const auto report = wedge(options_of(setup, folder / "w", {"rate=-5,1000"}), memory, control);
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(report->code, 2);
  EXPECT_EQ(report->runs[0].code, 2);
  EXPECT_NE(report->runs[0].outcome, "finished");
  EXPECT_EQ(report->runs[1].outcome, "finished");

  const auto refused = wedge(options_of(setup, folder / "v", {"raet=1,2"}), memory, control);
  ASSERT_FALSE(refused);
  EXPECT_EQ(memory.refusals, 1);
  EXPECT_FALSE(fs::exists(folder / "v")) << "nothing can be run, nothing is written";
}

TEST(Wedge, StopsAndGoesOn) {
  TestFolder folder;
  const std::string setup = folder.write("rain.yaml", test::rain_setup("{frames: [1, 4], substeps: 2}"));
  RunOptions options = options_of(setup, folder / "w", {"rate=1000,2000,3000"});
  WedgeMemory memory;
  RunControl control;
  memory.on_begin = [&](const std::string& name) { control.stop = name == "0002" ? 15 : 0; };
  const auto stopped = wedge(options, memory, control);
  ASSERT_TRUE(stopped) << stopped.error().text();
  EXPECT_EQ(stopped->stopped_by, 15);
  EXPECT_EQ(stopped->code, 128 + 15);
  EXPECT_EQ(stopped->runs[1].outcome, "stopped");
  EXPECT_EQ(stopped->runs[2].outcome, "");
  control.stop = 0;
  memory.on_begin = [](const std::string&) {};
  options.resume.kind = ResumeChoice::latest;
  const auto finished = wedge(options, memory, control);
  ASSERT_TRUE(finished) << finished.error().text();
  EXPECT_EQ(finished->code, 0);
  for (const WedgeRun& run : finished->runs) EXPECT_EQ(run.outcome, "finished");
}

}  // namespace
}  // namespace aegir
