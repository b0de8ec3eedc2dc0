// Watches over the ranks of a job from a thread of its own: says which has died, and who waits for whom.
//
//   RankWatch watch(comm, {.board = "runs/rain/.aegir_ranks"}, [&](const RankNews& news) { show(news.text); });
//   watch.saved("1043");      // the checkpoint that the news name
//   watch.ending();           // before the last barrier: ranks that leave from now on are done, not dead
//
// A rank of the same machine that dies is seen at once, by its process. For the rest every rank writes to a board, a
// file in the run directory, how many calls to other ranks it has begun and what it works on; all ranks make the same
// calls, so the one with the fewest is the one that the others wait for.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "parallel/monitored_comm.h"

namespace aegir {

/// Something that happened to a rank while this one was busy or waiting.
struct RankNews {
  enum Kind { died, late };
  Kind kind = late;
  int rank = 0;      ///< it is about
  std::string text;  ///< what happened, where, and what to do
};

/// Where and how patiently ranks are watched.
struct RankWatchSettings {
  std::string board;     ///< file that all ranks can write; empty: only deaths on the same machine are seen
  double patience = 60;  ///< seconds that a rank waits before it asks for whom
  double beat = 1;       ///< seconds between two signs of life
  double grace = 2;      ///< seconds that the launcher has to end the job after a death before this rank does
};

class RankWatch {
 public:
  /// Collective. `tell` is called from the watching thread, on one rank for each piece of news.
  RankWatch(MonitoredComm& comm, RankWatchSettings settings, std::function<void(const RankNews&)> tell);
  ~RankWatch();
  RankWatch(const RankWatch&) = delete;
  RankWatch& operator=(const RankWatch&) = delete;

  /// From now on ranks may leave. Called before a last barrier, after which the watch may be destroyed.
  void ending() { ending_ = true; }
  /// The newest checkpoint, for the news.
  void saved(const std::string& checkpoint);

 private:
  /// Who a rank is.
  struct Place {
    std::string host, space;  // where process numbers have their meaning: a container's are its own
    long process = 0;
    int descriptor = -1;  // becomes readable when the process ends; of this machine's other ranks only
  };
  /// What a rank writes about itself; a machine without a board hears of nobody.
  struct Slot {
    std::int64_t beat = 0, calls = 0;
    double inside = 0;
    char work[232] = {};
  };
  static_assert(sizeof(Slot) == 256);

  void introduce();
  void open_board();
  void watch();
  void look_for_dead();
  void report_death(int rank);
  void write_slot();
  bool read_board();
  void look_for_late(const CommMoment& mine);
  RankNews late_news(const std::vector<int>& waiting, int late, double seconds) const;
  std::string name(int rank) const;
  bool silent(int rank) const;
  bool here(int rank) const;
  std::string go_on() const;

  MonitoredComm& comm_;
  const RankWatchSettings settings_;
  const std::function<void(const RankNews&)> tell_;
  std::vector<Place> places_;      // by rank
  std::vector<Slot> slots_;        // by rank, as last read
  std::vector<double> heard_;      // by rank: when its beat was last seen to change, on our clock
  std::vector<bool> dead_;         // by rank
  int board_ = -1, wake_ = -1;     // descriptors
  long out_of_memory_before_ = 0;  // processes that the kernel had ended for want of memory when we began
  std::int64_t beat_ = 0;
  std::int64_t told_calls_ = -1;  // the call that was last told of, and how long it had lasted
  double told_seconds_ = 0;
  mutable std::mutex mutex_;
  std::string checkpoint_;
  std::atomic<bool> ending_{false}, stopping_{false};
  std::thread thread_;
};

}  // namespace aegir
