#include "engine/run.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <map>
#include <thread>

#include "engine/info.h"
#include "engine/test_support.h"
#include "io/atomic_file.h"
#include "io/content_hash.h"

namespace aegir {
namespace {

using test::Memory;
using test::run_here;

/// Hash of every frame file, in order.
std::vector<std::string> hashes(const std::string& directory) {
  std::vector<std::string> all;
  for (const FrameFile& file : RunDirectory(directory).frames()) {
    const auto hash = content_hash(directory + "/" + file.path);
    all.push_back(file.path + " " + (hash ? *hash : hash.error().message));
  }
  return all;
}

/// Frame, substep, time, dt and objects of every line; seconds differ from run to run.
std::vector<std::string> stats_lines(const std::string& directory) {
  std::ifstream stream(directory + "/stats.jsonl");
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line.substr(0, line.find("\"solves\"")));
  return lines;
}

class RunTest : public ::testing::Test {
 protected:
  test::TestFolder folder;
  RunControl control;
  Memory memory;
  std::string setup = folder.write("rain.yaml", test::rain_setup());

  RunOptions options(const std::string& out) const {
    RunOptions o;
    o.setup = setup;
    o.output = folder / out;
    o.threads = 2;
    return o;
  }
};

TEST_F(RunTest, WritesFramesStatisticsRecordAndCheckpoints) {
  const auto summary = run_here(options("out"), memory, control);
  ASSERT_TRUE(summary) << summary.error().text();
  EXPECT_EQ(summary->frames, 6);
  EXPECT_EQ(memory.frames, (std::vector<int>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(memory.checkpoints, (std::vector<std::string>{"0001", "0003", "0005", "0006"}));
  EXPECT_EQ(RunDirectory(folder / "out").frames().size(), 6u);
  EXPECT_EQ(stats_lines(folder / "out").size(), 11u);
  EXPECT_TRUE(std::filesystem::exists(folder / "out/run.json"));
  EXPECT_FALSE(std::filesystem::exists(folder / "out/.lock"));
  const auto text = info(folder / "out");
  ASSERT_TRUE(text);
  EXPECT_NE(text->find("finished"), std::string::npos) << *text;
  EXPECT_NE(text->find("drops points: 1–6"), std::string::npos) << *text;
  EXPECT_TRUE(info(folder / "out/checkpoints/0006"));
}

TEST_F(RunTest, DirectoryWithFramesIsRefused) {
  ASSERT_TRUE(run_here(options("out"), memory, control));
  const auto before = hashes(folder / "out");
  const auto again = run_here(options("out"), memory, control);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind, Failure::usage);
  EXPECT_NE(again.error().message.find("--resume"), std::string::npos);
  EXPECT_EQ(hashes(folder / "out"), before);
}

TEST_F(RunTest, StoppedAndResumedRunHasTheSameBits) {
  ASSERT_TRUE(run_here(options("whole"), memory, control));
  int substeps = 0;
  Memory stopping;
  stopping.on_progress = [&] {
    if (++substeps == 3) control.stop = SIGTERM;  // in the middle of frame 4
  };
  const auto stopped = run_here(options("parts"), stopping, control);
  ASSERT_TRUE(stopped) << stopped.error().text();
  EXPECT_EQ(stopped->stopped_by, SIGTERM);
  EXPECT_EQ(stopping.checkpoints.back(), "0003.1");

  control.stop = 0;
  RunOptions resume = options("parts");
  resume.resume.kind = ResumeChoice::latest;
  resume.threads = 1;
  Memory resuming;
  const auto finished = run_here(resume, resuming, control);
  ASSERT_TRUE(finished) << finished.error().text();
  ASSERT_EQ(resuming.resumes.size(), 1u);
  EXPECT_TRUE(resuming.resumes[0].changes.empty()) << resuming.resumes[0].changes[0];
  EXPECT_EQ(resuming.frames, (std::vector<int>{4, 5, 6}));
  EXPECT_EQ(hashes(folder / "parts"), hashes(folder / "whole"));
  EXPECT_EQ(stats_lines(folder / "parts"), stats_lines(folder / "whole"));
}

TEST_F(RunTest, ResumeStartsFreshWhereNothingIsThere) {
  RunOptions o = options("new");
  o.resume.kind = ResumeChoice::latest;
  ASSERT_TRUE(run_here(o, memory, control));
  EXPECT_TRUE(memory.resumes.empty());
  EXPECT_EQ(memory.frames.size(), 6u);
  // … and does nothing where all is done.
  Memory again;
  const auto summary = run_here(o, again, control);
  ASSERT_TRUE(summary) << summary.error().text();
  EXPECT_EQ(summary->frames, 0);
}

TEST_F(RunTest, DamagedCheckpointIsSkipped) {
  ASSERT_TRUE(run_here(options("out"), memory, control));
  const auto before = hashes(folder / "out");
  folder.write("out/checkpoints/0006/piece.0.h5", "junk");
  std::filesystem::remove(folder / "out/checkpoints/0005/index.json");
  RunOptions o = options("out");
  o.resume.kind = ResumeChoice::latest;
  Memory resuming;
  ASSERT_TRUE(run_here(o, resuming, control));
  ASSERT_EQ(resuming.resumes.size(), 1u);
  EXPECT_EQ(resuming.resumes[0].from.text(), "0003");
  ASSERT_EQ(resuming.warnings.size(), 2u);
  EXPECT_NE(resuming.warnings[0].find("0006.damaged"), std::string::npos) << resuming.warnings[0];
  EXPECT_NE(resuming.warnings[1].find("0005.damaged"), std::string::npos) << resuming.warnings[1];
  EXPECT_EQ(hashes(folder / "out"), before);
  EXPECT_EQ(test::read_text(folder / "out/checkpoints/0006.damaged/piece.0.h5"), "junk");
  EXPECT_TRUE(std::filesystem::exists(folder / "out/checkpoints/0005.damaged/piece.0.h5"));
  EXPECT_TRUE(info(folder / "out/checkpoints/0006"));
}

/// Every file below a folder, with its bytes.
std::map<std::string, std::string> contents(const std::string& directory) {
  std::map<std::string, std::string> all;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory))
    if (entry.is_regular_file()) all[entry.path().string()] = test::read_text(entry.path().string());
  return all;
}

TEST_F(RunTest, RunWithoutAReadableCheckpointIsLeftAsItIs) {
  ASSERT_TRUE(run_here(options("out"), memory, control));
  const auto moments = RunDirectory(folder / "out").checkpoints();
  for (const RunMoment& m : moments) folder.write("out/checkpoints/" + m.text() + "/piece.0.h5", "junk");
  const auto before = contents(folder / "out");
  RunOptions o = options("out");
  o.resume.kind = ResumeChoice::latest;
  for (int attempt = 0; attempt < 2; ++attempt) {
    Memory again;
    const auto refused = run_here(o, again, control);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, Failure::io);
    for (const RunMoment& m : moments)
      EXPECT_NE(refused.error().message.find(m.text() + ": "), std::string::npos) << refused.error().message;
    EXPECT_NE(refused.error().message.find("move the folder away"), std::string::npos) << refused.error().message;
    EXPECT_TRUE(again.frames.empty());
    EXPECT_EQ(contents(folder / "out"), before);
  }
}

TEST_F(RunTest, RunThatWasTakenOverWritesNoFrameAnyMore) {
  Memory sleeper;
  sleeper.on_progress = [&] {  // the first substep of frame 2 is done; the second would write the frame
    std::filesystem::remove(folder / "out/.lock");
    folder.write("out/.lock", R"({"host":"elsewhere","process":1,"started":"now"})");
    folder.write("out/drops/drops.points.0002.vdb", "of the successor");
    std::this_thread::sleep_for(std::chrono::seconds(6));  // the heartbeat notices within five
    sleeper.on_progress = [] {};
  };
  const auto summary = run_here(options("out"), sleeper, control);
  ASSERT_FALSE(summary);
  EXPECT_EQ(summary.error().kind, Failure::io);
  EXPECT_NE(summary.error().message.find("taken over"), std::string::npos) << summary.error().message;
  EXPECT_EQ(test::read_text(folder / "out/drops/drops.points.0002.vdb"), "of the successor");
  EXPECT_TRUE(std::filesystem::exists(folder / "out/.lock"));
}

TEST_F(RunTest, BranchRemovesWhatCameLater) {
  ASSERT_TRUE(run_here(options("out"), memory, control));
  RunOptions o = options("out");
  o.resume = {ResumeChoice::frame, 3};
  o.sets = {"rate=50"};
  o.frames = {{1, 4}};
  Memory branch;
  const auto summary = run_here(o, branch, control);
  ASSERT_TRUE(summary) << summary.error().text();
  ASSERT_EQ(branch.resumes.size(), 1u);
  ASSERT_EQ(branch.resumes[0].changes.size(), 1u);
  EXPECT_NE(branch.resumes[0].changes[0].find("rate"), std::string::npos) << branch.resumes[0].changes[0];
  EXPECT_TRUE(branch.resumes[0].later_removed);
  EXPECT_EQ(RunDirectory(folder / "out").frames().size(), 4u);
  EXPECT_EQ(RunDirectory(folder / "out").checkpoints().back().text(), "0004");
  o.resume.at = 2;
  const auto none = run_here(o, branch, control);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, Failure::usage);
}

TEST_F(RunTest, WrongSetupWritesNothing) {
  setup = folder.write("rain.yaml", "aegir: 1\nsetup:\n  - gravty: earth\n  - particles: p\n    voxel_size: 3 kg\n");
  const auto summary = run_here(options("out"), memory, control);
  ASSERT_FALSE(summary);
  EXPECT_EQ(summary.error().kind, Failure::usage);
  EXPECT_EQ(memory.check.messages.errors.size(), 2u);
  EXPECT_FALSE(std::filesystem::exists(folder / "out"));
}

TEST_F(RunTest, FramesAskedForAreWritten) {
  RunOptions o = options("out");
  o.frames = {{3, 4}};
  ASSERT_TRUE(run_here(o, memory, control));
  EXPECT_EQ(memory.frames, (std::vector<int>{1, 2, 3, 4}));
  const auto frames = RunDirectory(folder / "out").frames();
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0].frame, 3);
  o = options("other");
  o.frames = {{0, 4}};
  const auto wrong = run_here(o, memory, control);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().kind, Failure::usage);
}

TEST_F(RunTest, CheckpointOnRequestAndNumberKept) {
  setup = folder.write("rain.yaml", test::rain_setup("{frames: [1, 6], substeps: 2, checkpoint: {every: 1, keep: 2}}"));
  memory.on_progress = [&] {
    if (memory.frames.size() == 2) control.checkpoint = true;
  };
  ASSERT_TRUE(run_here(options("out"), memory, control));
  EXPECT_NE(std::find(memory.checkpoints.begin(), memory.checkpoints.end(), "0002.1"), memory.checkpoints.end());
  EXPECT_EQ(RunDirectory(folder / "out").checkpoints(), (std::vector<RunMoment>{{5, 0}, {6, 0}}));
}

TEST_F(RunTest, NothingIsWrittenWithoutOutput) {
  RunOptions o = options("out");
  o.no_output = true;
  const auto summary = run_here(o, memory, control);
  ASSERT_TRUE(summary);
  EXPECT_EQ(memory.frames.size(), 6u);
  EXPECT_FALSE(std::filesystem::exists(folder / "out"));
}

TEST_F(RunTest, ForecastBeyondTheMemoryEndsBeforeAnythingIsWritten) {
  RunOptions o = options("out");
  o.memory_limit = 1;
  const auto summary = run_here(o, memory, control);
  ASSERT_FALSE(summary);
  EXPECT_EQ(summary.error().kind, Failure::memory);
  EXPECT_FALSE(std::filesystem::exists(folder / "out"));
}

/// A process that believes to share its machine with one that is like it.
class TwinComm final : public Comm {
 public:
  using Comm::max, Comm::sum;
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void barrier() override {}
  void sum(std::span<std::int64_t>) override {}
  void max(std::span<double>) override {}
  void max(std::span<std::int64_t>) override {}
  std::vector<Message> exchange(std::vector<Message> outgoing) override { return outgoing; }
  std::unique_ptr<PendingExchange> begin_exchange(std::span<const Transfer>, std::span<const Transfer>) override {
    return {};
  }
  std::vector<Bytes> all_gather(const Bytes& mine) override { return {mine, mine}; }
  std::vector<Bytes> gather(Bytes mine) override { return {std::move(mine)}; }
  void broadcast(Bytes&) override {}
  void abort(int code) override { std::exit(code); }
};

TEST_F(RunTest, ForecastCountsAllRanksOfAMachine) {
  RunOptions o = options("out");
  ASSERT_TRUE(run_here(o, memory, control));
  const std::uint64_t alone = memory.expected.memory_needed;
  ASSERT_GT(alone, 2u);
  o = options("together");
  o.memory_limit = alone + alone / 2;
  TwinComm twins;
  const auto summary = run(o, make_catalog(), twins, control, memory);
  ASSERT_FALSE(summary);
  EXPECT_EQ(summary.error().kind, Failure::memory);
  EXPECT_EQ(memory.expected.memory_needed, 2 * alone);
  EXPECT_FALSE(std::filesystem::exists(folder / "together"));
}

TEST_F(RunTest, NonFiniteStateIsASimulationErrorWithACheckpointFromBefore) {
  const std::string text = test::rain_setup();
  const std::string calm = "gravity: earth\n";
  std::string wild = text;
  wild.replace(wild.find(calm), calm.size(),
               "gravity: earth\n    acceleration: {keys: {3: [0, -9.8, 0], 4: [0, 1e300, 0]}}\n");
  setup = folder.write("rain.yaml", wild);
  const auto summary = run_here(options("out"), memory, control);
  ASSERT_FALSE(summary);
  EXPECT_EQ(summary.error().kind, Failure::simulation);
  for (const char* word : {"drops", "frame 4", "finite"})
    EXPECT_NE(summary.error().message.find(word), std::string::npos) << summary.error().message;
  EXPECT_EQ(RunDirectory(folder / "out").checkpoints().back(), (RunMoment{3, 0}));
  EXPECT_EQ(RunDirectory(folder / "out").frames().size(), 3u);
}

TEST(Info, WhatIsNotThereOrNotWholeIsAnIoError) {
  test::TestFolder folder;
  const std::vector<std::string> broken = {folder / "nowhere",
                                           folder / "nowhere.vdb",
                                           folder.write("empty.vdb", ""),
                                           folder.write("junk.vdb", "junk"),
                                           folder.write("empty.ply", ""),
                                           folder.write("empty.h5", ""),
                                           folder.write("file", "x") + "/below"};
  for (const std::string& path : broken)
    for (const auto& result : {info(path), file_hash(path)}) {
      ASSERT_FALSE(result) << path;
      EXPECT_EQ(result.error().kind, Failure::io) << path;
      EXPECT_NE(result.error().message.find(path), std::string::npos) << result.error().message;
    }
  EXPECT_NE(info(folder / "empty.vdb").error().message.find("damaged"), std::string::npos);
  std::filesystem::create_directory(folder / "folder");
  EXPECT_EQ(info(folder / "folder").error().kind, Failure::usage);
  EXPECT_EQ(file_hash(folder / "folder").error().kind, Failure::usage);
  EXPECT_TRUE(file_hash(folder / "file"));
}

TEST(RunWords, FramesAndIntervals) {
  EXPECT_EQ(*parse_frames("-12:1120"), (std::pair{-12, 1120}));
  for (const char* bad : {"", "1", "1:", ":2", "1:x", "5:4", "1:2:3", "99999999999:1"})
    EXPECT_FALSE(parse_frames(bad)) << bad;
  EXPECT_EQ(*parse_interval("10"), (Interval{10, 0}));
  EXPECT_EQ(*parse_interval("10 frames"), (Interval{10, 0}));
  EXPECT_EQ(*parse_interval("10 min"), (Interval{0, 600}));
  for (const char* bad : {"", "-1", "3 m", "nan", "x"}) EXPECT_FALSE(parse_interval(bad)) << bad;
  EXPECT_EQ(default_output("setups/rain.yaml"), "runs/rain");
}

}  // namespace
}  // namespace aegir
