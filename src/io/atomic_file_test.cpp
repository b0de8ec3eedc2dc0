#include "io/atomic_file.h"

#include <ostream>
#include <stdexcept>

#include <gtest/gtest.h>
#include <unistd.h>

#include "io/file_sink.h"
#include "io/test_support.h"

namespace aegir {
namespace {

TEST(AtomicFile, WritesAndReplacesText) {
  TestFolder folder;
  ASSERT_TRUE(write_text_atomically(folder / "a.txt", "one"));
  ASSERT_TRUE(write_text_atomically(folder / "a.txt", "two"));
  EXPECT_EQ(bytes_of(folder / "a.txt"), "two");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"a.txt"});
}

TEST(AtomicFile, SizeLimitLeavesOldFileAndNoTemporary) {
  TestFolder folder;
  ASSERT_TRUE(write_text_atomically(folder / "a.txt", "old"));
  Status s;
  {
    FileSizeLimit limit(1000);
    s = write_text_atomically(folder / "a.txt", std::string(5000, 'x'));
  }
  ASSERT_FALSE(s);
  EXPECT_EQ(s.error().kind, Failure::io);
  EXPECT_NE(s.error().message.find(folder / "a.txt"), std::string::npos) << s.error().message;
  EXPECT_NE(s.error().message.find("File too large"), std::string::npos) << s.error().message;
  EXPECT_EQ(s.error().message.find(".tmp-"), std::string::npos) << s.error().message;
  EXPECT_EQ(bytes_of(folder / "a.txt"), "old");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"a.txt"});
}

TEST(AtomicFile, FullDeviceNamesReasonAndRemedy) {
  FileSink sink("/dev/full");
  sink.write("abc", 3);
  const Status s = sink.finish();
  ASSERT_FALSE(s);
  EXPECT_NE(s.error().message.find("No space left on device; free space and resume"), std::string::npos);
}

TEST(AtomicFile, MissingFolderAndFolderAsTarget) {
  TestFolder folder;
  const Status missing = write_text_atomically(folder / "no/such/a.txt", "x");
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("folder exists"), std::string::npos) << missing.error().message;
  EXPECT_FALSE(write_text_atomically(folder.path(), "x"));
  EXPECT_FALSE(write_text_atomically(folder.path() + "/", "x"));
  EXPECT_FALSE(write_text_atomically("", "x"));
  EXPECT_TRUE(folder.names().empty());
}

TEST(AtomicFile, WriterThatThrowsOrFailsOrWritesNothing) {
  TestFolder folder;
  const auto thrown = write_atomically(folder / "a", [](const std::string& temporary) -> Status {
    write_bytes(temporary, "half");
    throw std::runtime_error("broken");
  });
  ASSERT_FALSE(thrown);
  EXPECT_NE(thrown.error().message.find("broken"), std::string::npos);
  const auto failed = write_atomically(folder / "a", [](const std::string& temporary) -> Status {
    write_bytes(temporary, "half");
    return simulation_error("no");
  });
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind, Failure::simulation);
  EXPECT_FALSE(write_atomically(folder / "a", [](const std::string&) { return Status(); }));
  EXPECT_TRUE(folder.names().empty());
}

TEST(AtomicFile, TemporaryNamesAreRecognised) {
  TestFolder folder;
  std::string name;
  ASSERT_TRUE(write_atomically(folder / "a.vdb", [&](const std::string& temporary) {
    name = std::filesystem::path(temporary).filename().string();
    write_bytes(temporary, "x");
    return Status();
  }));
  EXPECT_TRUE(name.starts_with(".a.vdb.tmp-" + std::to_string(::getpid()))) << name;
  EXPECT_TRUE(is_temporary_name(name));
  EXPECT_FALSE(is_temporary_name("a.vdb"));
  EXPECT_FALSE(is_temporary_name(".tmp-"));
  EXPECT_FALSE(is_temporary_name(".a.tmp-x"));
}

TEST(FileSink, SeeksLikeAFileStream) {
  TestFolder folder;
  FileSink sink(folder / "a");
  std::ostream out(&sink);
  out << "0000" << std::string(3 << 20, 'x') << "end";
  EXPECT_EQ(out.tellp(), std::streampos((3 << 20) + 7));
  out.seekp(0);
  out << "head";
  out.seekp(0, std::ios::end);
  out << "!";
  ASSERT_TRUE(sink.finish());
  const std::string text = bytes_of(folder / "a");
  EXPECT_EQ(text.size(), std::size_t((3 << 20) + 8));
  EXPECT_EQ(text.substr(0, 5), "headx");
  EXPECT_EQ(text.substr(text.size() - 4), "end!");
}

}  // namespace
}  // namespace aegir
