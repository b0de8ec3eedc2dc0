#include "engine/run_lock.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/test_support.h"

namespace aegir {
namespace {

TEST(RunLock, OneAtATime) {
  test::TestFolder folder;
  const std::string path = folder / ".lock";
  {
    auto first = RunLock::take(path);
    ASSERT_TRUE(first) << first.error().text();
    const auto second = RunLock::take(path);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().kind, Failure::usage);
    EXPECT_NE(second.error().message.find(std::to_string(::getpid())), std::string::npos) << second.error().message;
    EXPECT_FALSE((*first)->lost());
  }
  EXPECT_FALSE(read_lock(path));
  EXPECT_TRUE(RunLock::take(path));
}

TEST(RunLock, DeadOwnerOnThisHostIsTakenOver) {
  test::TestFolder folder;
  const std::string path = folder / ".lock";
  const pid_t child = ::fork();
  if (child == 0) {
    auto lock = RunLock::take(path);
    ::_exit(lock ? 0 : 1);  // without giving it back
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  const auto owner = read_lock(path);
  ASSERT_TRUE(owner);
  EXPECT_EQ(owner->process, child);
  EXPECT_FALSE(owner->alive);
  EXPECT_TRUE(RunLock::take(path));
}

TEST(RunLock, AnotherHostLivesAsLongAsItsHeartbeat) {
  test::TestFolder folder;
  const std::string path = folder.write(".lock", R"({"host":"elsewhere","process":1,"started":"then"})");
  ASSERT_FALSE(RunLock::take(path));
  std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() - std::chrono::seconds(90));
  EXPECT_TRUE(RunLock::take(path));
}

TEST(RunLock, EmptyLockOfAKilledTakerIsTakenOver) {
  test::TestFolder folder;
  EXPECT_TRUE(RunLock::take(folder.write(".lock", "")));
}

}  // namespace
}  // namespace aegir
