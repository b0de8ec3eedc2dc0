// Loops over all threads of a run. What a loop computes never depends on how it was split.
//
//   ThreadScope threads(8);
//   threads.run([&] { parallel_for(0, n, 1024, [&](std::size_t begin, std::size_t end) { … }); });
#pragma once

#include <cstddef>
#include <memory>

#include "base/function_ref.h"

namespace aegir {

/// How many CPUs this process may use: its affinity mask and its cgroup's quota.
int available_threads();

/// Runs code on a fixed number of threads, also when that is more than the machine has.
class ThreadScope {
 public:
  explicit ThreadScope(int count);
  ~ThreadScope();
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

  void run(FunctionRef<void()> body);
  int count() const { return count_; }

 private:
  struct Arena;
  std::unique_ptr<Arena> arena_;
  int count_;
};

/// Calls body(begin, end) on ranges of about `grain` elements that cover [first, last), on the threads of the enclosing
/// scope.
void parallel_for(std::size_t first, std::size_t last, std::size_t grain,
                  FunctionRef<void(std::size_t, std::size_t)> body);

/// Threads of the enclosing scope.
int current_threads();

}  // namespace aegir
