#include "parallel/monitored_comm.h"

#include <cstdlib>
#include <ctime>

namespace aegir {

CommTraffic CommTraffic::operator-(const CommTraffic& b) const {
  return {bytes_sent - b.bytes_sent, halo_bytes - b.halo_bytes, halos - b.halos,     messages - b.messages,
          reductions - b.reductions, gathers - b.gathers,       waiting - b.waiting, waiting_cpu - b.waiting_cpu};
}

CommTraffic& CommTraffic::operator+=(const CommTraffic& b) {
  bytes_sent += b.bytes_sent, halo_bytes += b.halo_bytes, halos += b.halos, messages += b.messages;
  reductions += b.reductions, gathers += b.gathers, waiting += b.waiting, waiting_cpu += b.waiting_cpu;
  return *this;
}

namespace {

/// CPU seconds of all threads of this process.
double cpu_now() {
  timespec t{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace

double work_seconds(const Comm& comm) {
  const auto* monitored = dynamic_cast<const MonitoredComm*>(&comm);
  return cpu_now() - (monitored ? monitored->traffic().waiting_cpu : 0);
}

/// One call from its begin to its end; books what it was told.
class MonitoredComm::Call {
 public:
  explicit Call(MonitoredComm& comm) : comm_(comm) {
    const std::lock_guard lock(comm_.mutex_);
    ++comm_.calls_;
    comm_.inside_ = true;
    comm_.changed_ = begin_ = now();
    cpu_begin_ = cpu_now();
  }
  ~Call() {
    const std::lock_guard lock(comm_.mutex_);
    comm_.inside_ = false;
    comm_.changed_ = now();
    booked.waiting = comm_.changed_ - begin_;
    booked.waiting_cpu = cpu_now() - cpu_begin_;
    comm_.traffic_ += booked;
    comm_.by_work_[comm_.work_] += booked;
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  /// A sum or a maximum goes once to another rank and comes back, whatever tree the library makes of it.
  void reduction(std::size_t bytes) {
    booked.reductions = 1;
    if (comm_.size() > 1) booked.messages = 1, booked.bytes_sent = static_cast<std::int64_t>(bytes);
  }
  void send(int rank, std::size_t bytes) {
    if (rank == comm_.rank()) return;
    ++booked.messages;
    booked.bytes_sent += static_cast<std::int64_t>(bytes);
  }
  CommTraffic booked;

 private:
  MonitoredComm& comm_;
  double begin_ = 0, cpu_begin_ = 0;
};

void MonitoredComm::barrier() {
  Call call(*this);
  call.reduction(0);
  inner_.barrier();
}

void MonitoredComm::sum(std::span<std::int64_t> values) {
  Call call(*this);
  call.reduction(values.size_bytes());
  inner_.sum(values);
}

void MonitoredComm::max(std::span<double> values) {
  Call call(*this);
  call.reduction(values.size_bytes());
  inner_.max(values);
}

void MonitoredComm::max(std::span<std::int64_t> values) {
  Call call(*this);
  call.reduction(values.size_bytes());
  inner_.max(values);
}

std::vector<Message> MonitoredComm::exchange(std::vector<Message> outgoing) {
  Call call(*this);
  call.booked.gathers = 1;
  for (const Message& m : outgoing) call.send(m.rank, m.bytes.size());
  return inner_.exchange(std::move(outgoing));
}

class MonitoredComm::Pending final : public PendingExchange {
 public:
  Pending(MonitoredComm& comm, std::unique_ptr<PendingExchange> inner) : comm_(comm), inner_(std::move(inner)) {}
  ~Pending() override { Pending::end(); }
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;

  void poke() override {
    if (inner_) inner_->poke();
  }
  void end() override {
    if (!inner_) return;
    Call call(comm_);
    inner_->end();
    inner_.reset();
  }

 private:
  MonitoredComm& comm_;
  std::unique_ptr<PendingExchange> inner_;
};

std::unique_ptr<PendingExchange> MonitoredComm::begin_exchange(std::span<const Transfer> sends,
                                                               std::span<const Transfer> receives) {
  Call call(*this);
  call.booked.halos = 1;
  for (const Transfer& t : sends) call.send(t.rank, t.size);
  call.booked.halo_bytes = call.booked.bytes_sent;
  return std::make_unique<Pending>(*this, inner_.begin_exchange(sends, receives));
}

std::vector<Bytes> MonitoredComm::all_gather(const Bytes& mine) {
  Call call(*this);
  call.booked.gathers = 1;
  for (int r = 0; r < size(); ++r) call.send(r, mine.size());
  return inner_.all_gather(mine);
}

std::vector<Bytes> MonitoredComm::gather(Bytes mine) {
  Call call(*this);
  call.booked.gathers = 1;
  call.send(0, mine.size());
  return inner_.gather(std::move(mine));
}

void MonitoredComm::broadcast(Bytes& bytes) {
  Call call(*this);
  call.booked.gathers = 1;
  if (root())
    for (int r = 1; r < size(); ++r) call.send(r, bytes.size());
  inner_.broadcast(bytes);
}

void MonitoredComm::abort(int exit_code) {
  inner_.abort(exit_code);
  std::abort();  // never reached
}

void MonitoredComm::working_on(const std::string& what) {
  const std::lock_guard lock(mutex_);
  work_ = what;
}

CommTraffic MonitoredComm::traffic() const {
  const std::lock_guard lock(mutex_);
  return traffic_;
}

std::map<std::string, CommTraffic> MonitoredComm::traffic_by_work() const {
  const std::lock_guard lock(mutex_);
  return by_work_;
}

CommMoment MonitoredComm::moment() const {
  const std::lock_guard lock(mutex_);
  const double since = now() - changed_;
  return {calls_, inside_ ? since : 0, inside_ ? 0 : since, work_};
}

}  // namespace aegir
