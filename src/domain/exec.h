// What a kernel runs with: the ranks, and the profile its time and bytes are booked to.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include "parallel/comm.h"

namespace aegir {

/// Seconds, bytes and cells by kernel and by task. Bytes are what must move at least: reads once, writes twice
/// (write-allocate). Cells are those of the buckets that kernels ran on, each time they did.
class Profile {
 public:
  struct Entry {
    double seconds = 0;
    std::int64_t bytes = 0;
    std::int64_t calls = 0;
    std::int64_t cells = 0;
  };
  /// Books one run of a kernel; its bytes and cells also go to the task that is running.
  void kernel(const std::string& label, double seconds, std::int64_t bytes, std::int64_t cells = 0) {
    add(kernels_[label], seconds, bytes, cells);
    task_bytes_ += bytes, task_cells_ += cells;
  }
  void begin_task() { task_bytes_ = task_cells_ = 0; }
  void end_task(const std::string& name, double seconds) { add(tasks_[name], seconds, task_bytes_, task_cells_); }
  const std::map<std::string, Entry>& kernels() const { return kernels_; }
  const std::map<std::string, Entry>& tasks() const { return tasks_; }
  void clear() { kernels_.clear(), tasks_.clear(); }

 private:
  static void add(Entry& e, double seconds, std::int64_t bytes, std::int64_t cells) {
    e.seconds += seconds, e.bytes += bytes, e.cells += cells, ++e.calls;
  }
  std::map<std::string, Entry> kernels_, tasks_;
  std::int64_t task_bytes_ = 0, task_cells_ = 0;
};

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Travels as an argument to everything that runs kernels.
struct Exec {
  Comm& comm;
  Profile& profile;
};

}  // namespace aegir
