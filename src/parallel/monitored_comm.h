// A Comm that keeps books: what this rank has sent, how long it has waited, and where it is right now. Other threads
// may look at any time.
//
//   MonitoredComm comm(*inner);                    // says and hears what `inner` does
//   comm.working_on("water:to grid");
//   const CommTraffic t = comm.traffic();          // bytes, calls, seconds inside calls
//   const CommMoment now = comm.moment();          // the same number of calls on every rank, unless one is late
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>

#include "parallel/comm.h"

namespace aegir {

/// What one rank has said to the others since the start.
struct CommTraffic {
  std::int64_t bytes_sent = 0;  ///< to other ranks, without what the library adds; sums and maxima count their length
  std::int64_t halo_bytes = 0;  ///< of these, by halo exchanges
  std::int64_t halos = 0;       ///< halo exchanges
  std::int64_t messages = 0;    ///< of any kind, to one rank each
  std::int64_t reductions = 0;  ///< sums, maxima and barriers
  std::int64_t gathers = 0;     ///< exchanges of unknown size, gathers and broadcasts
  double waiting = 0;           ///< seconds inside calls: copying and waiting for others
  double waiting_cpu = 0;       ///< CPU seconds of the process in that time: who waits spins

  CommTraffic operator-(const CommTraffic& before) const;
  CommTraffic& operator+=(const CommTraffic& more);
};

/// Where a rank is: all ranks make the same calls, so that the one with the fewest is the one that others wait for.
struct CommMoment {
  std::int64_t calls = 0;  ///< begun so far
  double inside = 0;       ///< seconds since the call that is still going on began; 0 between calls
  double outside = 0;      ///< seconds since the last call ended; 0 inside one
  std::string work;        ///< what it says it works on
};

class MonitoredComm final : public Comm {
 public:
  explicit MonitoredComm(Comm& inner) : inner_(inner), changed_(now()) {}

  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  void barrier() override;
  void sum(std::span<std::int64_t> values) override;
  void max(std::span<double> values) override;
  void max(std::span<std::int64_t> values) override;
  std::vector<Message> exchange(std::vector<Message> outgoing) override;
  /// Its end is a call of its own: what happens between the two is work.
  std::unique_ptr<PendingExchange> begin_exchange(std::span<const Transfer> sends,
                                                  std::span<const Transfer> receives) override;
  std::vector<Bytes> all_gather(const Bytes& mine) override;
  std::vector<Bytes> gather(Bytes mine) override;
  void broadcast(Bytes& bytes) override;
  [[noreturn]] void abort(int exit_code) override;
  using Comm::exchange;
  using Comm::max;
  using Comm::sum;

  /// What the rank does from now on, for whoever asks where it is; traffic is booked under it.
  void working_on(const std::string& what);
  CommTraffic traffic() const;
  /// By what the rank was working on.
  std::map<std::string, CommTraffic> traffic_by_work() const;
  CommMoment moment() const;

 private:
  class Call;
  class Pending;
  static double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }

  Comm& inner_;
  mutable std::mutex mutex_;  // a call costs microseconds, this lock some ten nanoseconds
  CommTraffic traffic_;
  std::map<std::string, CommTraffic> by_work_;
  std::string work_;
  std::int64_t calls_ = 0;
  bool inside_ = false;
  double changed_;  // when the last call began or ended
};

/// CPU seconds that this process has worked so far, without what it spent in calls of a monitored Comm. What it says
/// does not depend on how many ranks share a core.
double work_seconds(const Comm& comm);

}  // namespace aegir
