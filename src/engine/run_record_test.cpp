#include "engine/run_record.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace aegir {
namespace {

TEST(RunRecord, WarningsAndTotalsComeBack) {
  const std::string path = ::testing::TempDir() + "run_record_test.json";
  RunRecord record;
  record.warn(3, "before there is a session");
  record.setup_file = "rain.yaml";
  record.setup_text = "aegir: 1\n";
  record.sessions.emplace_back();
  record.warn({}, "rain.yaml:3:1: doubtful");
  record.warn(1003, "odd “letters” <&>");
  for (int i = 0; i < 600; ++i) record.warn(1004 + i, "again " + std::to_string(i));
  record.saw_memory(500);
  record.saw_memory(300);
  record.end("finished", 12.5);
  ASSERT_TRUE(record.save(path));
  const auto back = RunRecord::load(path);
  ASSERT_TRUE(back);
  ASSERT_EQ(back->sessions.size(), 1u);
  const RunSession& s = back->sessions[0];
  EXPECT_EQ(s.seconds, 12.5);
  EXPECT_EQ(s.peak_memory, 500u);
  EXPECT_EQ(s.outcome, "finished");
  ASSERT_EQ(s.warnings.size() + static_cast<std::size_t>(s.more_warnings), 602u);
  EXPECT_GT(s.more_warnings, 0);
  EXPECT_FALSE(s.warnings[0].frame);
  EXPECT_EQ(s.warnings[1].frame, 1003);
  EXPECT_EQ(s.warnings[1].text, "odd “letters” <&>");
  std::filesystem::remove(path);
}

TEST(RunRecord, RecordsFromBeforeWarningsAreRead) {
  const std::string path = ::testing::TempDir() + "run_record_old.json";
  std::ofstream(path)
      << R"({"setup":{"file":"a","hash":"b","text":"c"},"frames":[1,2],"fps":24,"sessions":[{"outcome":"stopped"}]})";
  const auto record = RunRecord::load(path);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->sessions[0].outcome, "stopped");
  EXPECT_TRUE(record->sessions[0].warnings.empty());
  EXPECT_EQ(record->sessions[0].seconds, 0);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace aegir
