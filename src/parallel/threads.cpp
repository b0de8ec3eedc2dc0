#include "parallel/threads.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace aegir {
namespace {

/// Tells the thread sanitizer what it cannot see inside oneTBB: work starts after it was handed over and is done before
/// the loop ends.
struct HandOver {
#ifdef __SANITIZE_THREAD__
  char start, end;
  void give() { __tsan_release(&start); }
  void begin() { __tsan_acquire(&start); }
  void finish() { __tsan_release(&end); }
  void take() { __tsan_acquire(&end); }
#else
  void give() {}
  void begin() {}
  void finish() {}
  void take() {}
#endif
};

}  // namespace

int available_threads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  std::ifstream quota_file("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (quota_file >> quota >> period && quota != "max" && period > 0)
    count = std::min(count, std::max(1, static_cast<int>(std::ceil(std::stod(quota) / period))));
  return std::max(1, count);
}

struct ThreadScope::Arena {
  tbb::global_control limit;
  tbb::task_arena arena;
  explicit Arena(int count)
      : limit(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(count)), arena(count) {}
};

ThreadScope::ThreadScope(int count) : arena_(std::make_unique<Arena>(std::max(1, count))), count_(std::max(1, count)) {}
ThreadScope::~ThreadScope() = default;

void ThreadScope::run(FunctionRef<void()> body) {
  HandOver hand;
  hand.give();
  arena_->arena.execute([&] {
    hand.begin();
    body();
    hand.finish();
  });
  hand.take();
}

namespace {

/// What TBB copies into its tasks. The thread sanitizer does not see these copies being handed over, so it must not
/// look at their members; what the body does it sees.
struct Loop {
  HandOver* hand;
  const FunctionRef<void(std::size_t, std::size_t)>* body;

  __attribute__((no_sanitize("thread"))) void operator()(const tbb::blocked_range<std::size_t>& r) const {
    hand->begin();
    (*body)(r.begin(), r.end());
    hand->finish();
  }
};

}  // namespace

void parallel_for(std::size_t first, std::size_t last, std::size_t grain,
                  FunctionRef<void(std::size_t, std::size_t)> body) {
  if (first >= last) return;
  if (last - first <= grain) return body(first, last);
  HandOver hand;
  hand.give();
  tbb::parallel_for(tbb::blocked_range<std::size_t>(first, last, grain), Loop{&hand, &body});
  hand.take();
}

int current_threads() { return tbb::this_task_arena::max_concurrency(); }

}  // namespace aegir
