// One run per directory: a file that says who works there, kept fresh by a heartbeat.
//
//   Result<std::unique_ptr<RunLock>> lock = RunLock::take("runs/rain/.lock");
//   if (!lock) return lock.error();          // somebody else is at work
//   if ((*lock)->lost()) stop();             // we slept too long and somebody else took over
//
// A lock is stale when its process is gone (known on the same host only) or when its heartbeat is older than a minute.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/result.h"

namespace aegir {

/// Who holds a lock, as the lock file says.
struct LockOwner {
  std::string host;
  long process = 0;
  std::string started;       ///< UTC
  double heartbeat_age = 0;  ///< seconds
  bool alive = false;        ///< whether it counts as at work
};

/// The owner of a lock file, or nothing where there is none.
std::optional<LockOwner> read_lock(const std::string& path);

class RunLock {
 public:
  /// Makes the lock ours; a stale one is taken over, a live one is a usage error that names its owner.
  static Result<std::unique_ptr<RunLock>> take(const std::string& path);
  /// Gives the lock back.
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

  /// Whether somebody else holds the lock by now. Looks at the file when the heartbeat has paused: a process that was
  /// put to sleep must notice before it writes.
  bool lost();

 private:
  RunLock(std::string path, std::string content);
  void beat();

  std::string path_;
  std::string content_;  // what the file must say to be ours
  std::atomic<bool> lost_{false};
  std::chrono::steady_clock::time_point last_beat_;  // under the mutex
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ending_ = false;
  std::thread heart_;
};

}  // namespace aegir
