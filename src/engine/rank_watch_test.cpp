#include "engine/rank_watch.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <csignal>
#include <cstring>
#include <mutex>

#include "engine/machine.h"
#include "engine/test_support.h"

namespace aegir {
namespace {

/// Rank 0 of two, of which the other is a process that sleeps. A sum does not end until it is let go.
class PairComm final : public Comm {
 public:
  explicit PairComm(long other) : other_(other) {}
  int rank() const override { return 0; }
  int size() const override { return 2; }
  void barrier() override {}
  void sum(std::span<std::int64_t>) override {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [this] { return free_; });
  }
  void max(std::span<double>) override {}
  void max(std::span<std::int64_t>) override {}
  std::vector<Message> exchange(std::vector<Message>) override { return {}; }
  std::unique_ptr<PendingExchange> begin_exchange(std::span<const Transfer>, std::span<const Transfer>) override {
    return {};
  }
  /// What the other would say: the same, but for its process.
  std::vector<Bytes> all_gather(const Bytes& mine) override {
    const std::string text(reinterpret_cast<const char*>(mine.data()), mine.size());
    const auto process_end = text.find(' ');
    if (process_end == std::string::npos) return {mine, mine};
    const std::string theirs = std::to_string(other_) + text.substr(process_end);
    Bytes packed(theirs.size());
    std::memcpy(packed.data(), theirs.data(), theirs.size());
    return {mine, packed};
  }
  std::vector<Bytes> gather(Bytes mine) override { return {std::move(mine), {}}; }
  void broadcast(Bytes&) override {}
  [[noreturn]] void abort(int exit_code) override { std::_Exit(exit_code); }
  using Comm::sum;

  void let_go() {
    const std::lock_guard lock(mutex_);
    free_ = true;
    wake_.notify_all();
  }

 private:
  const long other_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool free_ = false;
};

struct Sleeper {
  pid_t process = ::fork();
  Sleeper() {
    if (process == 0) {
      for (;;) ::pause();
    }
  }
  ~Sleeper() { end(); }
  void end() {
    if (process <= 0) return;
    ::kill(process, SIGKILL);
    ::waitpid(process, nullptr, 0);
    process = 0;
  }
};

/// News, and waiting for them.
struct Ear {
  std::mutex mutex;
  std::condition_variable wake;
  std::vector<RankNews> heard;
  void operator()(const RankNews& news) {
    const std::lock_guard lock(mutex);
    heard.push_back(news);
    wake.notify_all();
  }
  bool wait(std::size_t count, double seconds) {
    std::unique_lock lock(mutex);
    return wake.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return heard.size() >= count; });
  }
};

TEST(RankWatch, NamesTheDeadRankItsProcessAndTheCheckpoint) {
  const test::TestFolder folder;
  Sleeper other;
  const pid_t process = other.process;
  PairComm pair(process);
  MonitoredComm comm(pair);
  Ear ear;
  RankWatch watch(comm, {.board = folder / "board", .grace = 60}, [&](const RankNews& n) { ear(n); });
  watch.saved("1043");
  EXPECT_FALSE(ear.wait(1, 0.2)) << "nobody has died";
  other.end();
  ASSERT_TRUE(ear.wait(1, 20));
  EXPECT_EQ(ear.heard[0].kind, RankNews::died);
  EXPECT_EQ(ear.heard[0].rank, 1);
  EXPECT_NE(ear.heard[0].text.find(fmt::format("rank 1 (process {} on {})", process, this_machine().host)),
            std::string::npos)
      << ear.heard[0].text;
  EXPECT_NE(ear.heard[0].text.find("--resume"), std::string::npos);
  EXPECT_NE(ear.heard[0].text.find("checkpoint 1043"), std::string::npos);
}

TEST(RankWatch, RanksThatLeaveAtTheEndAreNoNews) {
  Sleeper other;
  PairComm pair(other.process);
  MonitoredComm comm(pair);
  Ear ear;
  RankWatch watch(comm, {.board = {}, .beat = 0.02}, [&](const RankNews& n) { ear(n); });
  watch.ending();
  other.end();
  EXPECT_FALSE(ear.wait(1, 0.3));
}

TEST(RankWatch, SaysForWhomARankWaits) {
  const test::TestFolder folder;
  Sleeper other;
  PairComm pair(other.process);
  MonitoredComm comm(pair);
  comm.working_on("water:to grid");
  Ear ear;
  RankWatch watch(comm, {.board = folder / "board", .patience = 0.4, .beat = 0.02}, [&](const RankNews& n) { ear(n); });
  std::thread waits([&] { (void)comm.sum(std::int64_t{1}); });
  const bool told = ear.wait(1, 20);
  pair.let_go();
  waits.join();
  ASSERT_TRUE(told);
  EXPECT_EQ(ear.heard[0].kind, RankNews::late);
  EXPECT_EQ(ear.heard[0].rank, 1);
  EXPECT_EQ(ear.heard[0].text.find("rank 0 has waited"), 0u) << ear.heard[0].text;
  EXPECT_NE(ear.heard[0].text.find("no sign of life"), std::string::npos) << ear.heard[0].text;
}

TEST(RankWatch, TheBoardIsGoneAfterwards) {
  const test::TestFolder folder;
  Sleeper other;
  PairComm pair(other.process);
  MonitoredComm comm(pair);
  {
    const RankWatch watch(comm, {.board = folder / "board"}, [](const RankNews&) {});
    EXPECT_TRUE(std::filesystem::exists(folder / "board"));
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "board"));
}

TEST(MonitoredComm, CountsCallsAndWhatItSends) {
  Sleeper other;
  PairComm pair(other.process);
  pair.let_go();
  MonitoredComm comm(pair);
  comm.working_on("a");
  (void)comm.sum(std::int64_t{1});
  comm.working_on("b");
  std::byte data[64] = {};
  const Transfer out{1, data, 64}, in{1, data, 64};
  comm.exchange(std::span(&out, 1), std::span(&in, 1));
  (void)comm.all_gather(Bytes(10));
  const CommTraffic t = comm.traffic();
  EXPECT_EQ(t.bytes_sent, 8 + 64 + 10);
  EXPECT_EQ(t.halo_bytes, 64);
  EXPECT_EQ(t.reductions, 1);
  EXPECT_EQ(t.halos, 1);
  EXPECT_EQ(t.gathers, 1);
  EXPECT_EQ(comm.moment().calls, 3);
  EXPECT_EQ(comm.moment().inside, 0);
  const auto by = comm.traffic_by_work();
  EXPECT_EQ(by.at("a").bytes_sent, 8);
  EXPECT_EQ(by.at("b").bytes_sent, 74);
}

}  // namespace
}  // namespace aegir
