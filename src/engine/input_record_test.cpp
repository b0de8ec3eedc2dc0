#include "engine/input_record.h"

#include <gtest/gtest.h>

#include "engine/test_support.h"

namespace aegir {
namespace {

std::vector<InputRecord> record(const std::string& path) {
  std::map<std::string, InputSettings> inputs;
  inputs["flag"].file.resolved = path;
  return record_inputs(inputs);
}

TEST(InputRecord, SequenceIsHashedFileByFile) {
  test::TestFolder folder;
  for (const char* frame : {"0001", "0002", "0010"})
    folder.write(std::string("flag.") + frame + ".txt", std::string("what is in ") + frame);
  const auto before = record(folder / "flag.$F4.txt");
  ASSERT_EQ(before.size(), 1u);
  ASSERT_EQ(before[0].files.size(), 3u);
  EXPECT_EQ(before[0].files[2].path, folder / "flag.0010.txt");
  EXPECT_EQ(before[0].files[2].hash.size(), 32u);
  EXPECT_NE(before[0].files[1].hash, before[0].files[2].hash);
  EXPECT_TRUE(input_changes(before, record(folder / "flag.$F4.txt")).empty());

  folder.write("flag.0002.txt", "something else");
  folder.write("flag.0011.txt", "one more");
  std::filesystem::remove(folder / "flag.0001.txt");
  const auto changes = input_changes(before, record(folder / "flag.$F4.txt"));
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0], "input 'flag': flag.0002.txt; new: flag.0011.txt; gone: flag.0001.txt");
}

TEST(InputRecord, ManyFilesAreOneLine) {
  test::TestFolder folder;
  for (const char* frame : {"1", "2", "3"}) folder.write(std::string("a.") + frame + ".txt", "old");
  const auto before = record(folder / "a.$F.txt");
  for (const char* frame : {"1", "2", "3"}) folder.write(std::string("a.") + frame + ".txt", "new");
  EXPECT_EQ(input_changes(before, record(folder / "a.$F.txt")).at(0), "input 'flag': a.1.txt and 2 more");
}

TEST(InputRecord, TextIsReadBack) {
  test::TestFolder folder;
  folder.write("a.txt", "a");
  const auto before = record(folder / "a.txt");
  const auto back = inputs_of_text(inputs_text(before));
  ASSERT_TRUE(back);
  EXPECT_TRUE(input_changes(*back, before).empty());
  EXPECT_EQ(inputs_text(*back), inputs_text(before));
  EXPECT_TRUE(inputs_of_text("{}")->empty());
  for (const char* wrong : {"", "[]", "{\"a\": 3}", "{\"a\": {\"b\": 3}}", "{\"a\""})
    EXPECT_FALSE(inputs_of_text(wrong)) << wrong;
}

TEST(InputRecord, AMissingFileHasNoHash) {
  test::TestFolder folder;
  const auto before = record(folder / "later.txt");
  EXPECT_EQ(before.at(0).files.at(0).hash, "");
  folder.write("later.txt", "now");
  EXPECT_EQ(input_changes(before, record(folder / "later.txt")).at(0), "input 'flag': later.txt");
}

}  // namespace
}  // namespace aegir
