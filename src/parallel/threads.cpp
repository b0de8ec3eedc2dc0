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

namespace aegir {

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
  explicit Arena(int count) : limit(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(count)), arena(count) {}
};

ThreadScope::ThreadScope(int count) : arena_(std::make_unique<Arena>(std::max(1, count))), count_(std::max(1, count)) {}
ThreadScope::~ThreadScope() = default;

void ThreadScope::run(FunctionRef<void()> body) {
  arena_->arena.execute([&] { body(); });
}

void parallel_for(std::size_t first, std::size_t last, std::size_t grain, FunctionRef<void(std::size_t, std::size_t)> body) {
  if (first >= last) return;
  if (last - first <= grain) return body(first, last);
  tbb::parallel_for(tbb::blocked_range<std::size_t>(first, last, grain), [&](const tbb::blocked_range<std::size_t>& r) { body(r.begin(), r.end()); });
}

int current_threads() { return tbb::this_task_arena::max_concurrency(); }

}  // namespace aegir
