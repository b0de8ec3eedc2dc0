#include "engine/rank_watch.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "engine/machine.h"
#include "engine/text.h"

namespace aegir {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// Processes that the kernel has ended for want of memory since the machine started.
long out_of_memory_kills() {
  std::ifstream stream("/proc/vmstat");
  std::string name;
  for (long value = 0; stream >> name >> value;)
    if (name == "oom_kill") return value;
  return 0;
}

/// A descriptor that becomes readable when a process ends; -1 where the kernel has none.
int process_descriptor(long process) {
#ifdef SYS_pidfd_open
  return static_cast<int>(::syscall(SYS_pidfd_open, process, 0));
#else
  return -1;
#endif
}

/// "rank 2", "ranks 0, 1 and 3", "31 ranks".
std::string list_of(const std::vector<int>& ranks) {
  if (ranks.size() == 1) return fmt::format("rank {}", ranks[0]);
  if (ranks.size() > 6) return plural(static_cast<std::int64_t>(ranks.size()), "rank");
  std::string text = "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i)
    text += (i == 0 ? "" : i + 1 == ranks.size() ? " and " : ", ") + std::to_string(ranks[i]);
  return text;
}

}  // namespace

RankWatch::RankWatch(MonitoredComm& comm, RankWatchSettings settings, std::function<void(const RankNews&)> tell)
    : comm_(comm), settings_(std::move(settings)), tell_(std::move(tell)) {
  introduce();
  open_board();
  out_of_memory_before_ = out_of_memory_kills();
  wake_ = ::eventfd(0, EFD_CLOEXEC);
  thread_ = std::thread([this] { watch(); });
}

RankWatch::~RankWatch() {
  ending_ = stopping_ = true;
  const std::uint64_t one = 1;
  if (::write(wake_, &one, sizeof one) < 0) {
    // The thread looks every beat anyway.
  }
  thread_.join();
  for (const Place& p : places_)
    if (p.descriptor >= 0) ::close(p.descriptor);
  if (wake_ >= 0) ::close(wake_);
  if (board_ >= 0) ::close(board_);
  if (comm_.root() && !settings_.board.empty()) ::unlink(settings_.board.c_str());
}

/// Everybody's host and process; those of this machine are watched.
void RankWatch::introduce() {
  std::error_code ignored;
  const std::string space = std::filesystem::read_symlink("/proc/self/ns/pid", ignored).string();
  const std::string mine = fmt::format("{} {} {}", ::getpid(), space, this_machine().host);
  Bytes packed(mine.size());
  std::memcpy(packed.data(), mine.data(), mine.size());
  for (const Bytes& bytes : comm_.all_gather(packed)) {
    const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    Place& place = places_.emplace_back();
    const auto first = text.find(' '), second = text.find(' ', first + 1);
    place.process = std::atol(text.c_str());
    place.space = text.substr(first + 1, second - first - 1);
    place.host = text.substr(second + 1);
  }
  slots_.resize(places_.size());
  heard_.assign(places_.size(), now());
  dead_.assign(places_.size(), false);
  for (int r = 0; r < comm_.size(); ++r)
    if (Place& place = places_[static_cast<std::size_t>(r)]; r != comm_.rank() && here(r))
      place.descriptor = process_descriptor(place.process);
}

void RankWatch::open_board() {
  if (settings_.board.empty()) return;
  // Nobody writes to a board that rank 0 has not yet cleared.
  if (comm_.root()) board_ = ::open(settings_.board.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  comm_.barrier();
  if (!comm_.root()) board_ = ::open(settings_.board.c_str(), O_RDWR | O_CLOEXEC);
}

bool RankWatch::here(int rank) const {
  const Place &it = places_[static_cast<std::size_t>(rank)], &we = places_[static_cast<std::size_t>(comm_.rank())];
  return it.host == we.host && it.space == we.space;
}

void RankWatch::saved(const std::string& checkpoint) {
  const std::lock_guard lock(mutex_);
  checkpoint_ = checkpoint;
}

void RankWatch::watch() {
  std::vector<pollfd> watched{{wake_, POLLIN, 0}};
  for (const Place& p : places_)
    if (p.descriptor >= 0) watched.push_back({p.descriptor, POLLIN, 0});
  double next_beat = now();
  while (!stopping_) {
    const double left = std::max(0.0, next_beat - now());
    // Ranks that leave at the end are not to wake us.
    ::poll(watched.data(), ending_ ? 1 : static_cast<nfds_t>(watched.size()), static_cast<int>(1000 * left) + 1);
    if (stopping_) return;
    look_for_dead();
    if (now() < next_beat) continue;
    next_beat = now() + settings_.beat;
    write_slot();
    if (const CommMoment mine = comm_.moment(); mine.inside > 0.5 * settings_.patience && read_board())
      look_for_late(mine);
  }
}

void RankWatch::look_for_dead() {
  for (int r = 0; r < comm_.size() && !ending_; ++r) {
    const Place& p = places_[static_cast<std::size_t>(r)];
    if (r == comm_.rank() || !here(r) || dead_[static_cast<std::size_t>(r)]) continue;
    pollfd one{p.descriptor, POLLIN, 0};
    const bool gone =
        p.descriptor >= 0 ? ::poll(&one, 1, 0) == 1 : ::kill(static_cast<pid_t>(p.process), 0) != 0 && errno == ESRCH;
    if (!gone || ending_) continue;
    dead_[static_cast<std::size_t>(r)] = true;
    report_death(r);
  }
}

/// One of those that see it tells it; then the launcher has a moment to end the job, and else we do.
void RankWatch::report_death(int rank) {
  int first = 0;
  while (first < comm_.rank() && (dead_[static_cast<std::size_t>(first)] || !here(first))) ++first;
  const bool memory = out_of_memory_kills() > out_of_memory_before_;
  if (first == comm_.rank())
    tell_({RankNews::died, rank,
           fmt::format("{} has died without a word{}; the job ends. {}", name(rank),
                       memory ? ", and the kernel has ended a process for want of memory meanwhile"
                              : ", as when it is killed (kill -9) or crashes",
                       go_on())});
  pollfd wake{wake_, POLLIN, 0};
  ::poll(&wake, 1, static_cast<int>(1000 * settings_.grace));
  if (!stopping_) comm_.abort(static_cast<int>(memory ? Failure::memory : Failure::io));
}

void RankWatch::write_slot() {
  if (board_ < 0) return;
  const CommMoment mine = comm_.moment();
  Slot slot;
  slot.beat = ++beat_;
  slot.calls = mine.calls;
  slot.inside = mine.inside;
  std::strncpy(slot.work, mine.work.c_str(), sizeof slot.work - 1);
  if (::pwrite(board_, &slot, sizeof slot, comm_.rank() * static_cast<off_t>(sizeof slot)) < 0) {
    // A full disk is told by whoever writes frames; without a sign of life we may be named as late.
  }
}

bool RankWatch::read_board() {
  if (board_ < 0) return false;
  std::vector<Slot> read(slots_.size());
  const auto bytes = static_cast<ssize_t>(read.size() * sizeof(Slot));
  if (::pread(board_, read.data(), static_cast<std::size_t>(bytes), 0) <= 0) return false;
  for (std::size_t r = 0; r < read.size(); ++r) {
    if (read[r].beat != slots_[r].beat) heard_[r] = now();
    read[r].work[sizeof read[r].work - 1] = '\0';
    slots_[r] = read[r];
  }
  return true;
}

bool RankWatch::silent(int rank) const {
  return now() - heard_[static_cast<std::size_t>(rank)] > std::max(3 * settings_.beat, 0.25 * settings_.patience);
}

/// Who is late: those that are silent, and those that have begun fewer calls than we or are at work between two. The
/// first of the waiting tells it, once and again whenever the wait has doubled.
void RankWatch::look_for_late(const CommMoment& mine) {
  if (mine.inside < settings_.patience || ending_) return;
  std::vector<int> waiting, late;
  for (int r = 0; r < comm_.size(); ++r) {
    const Slot& s = slots_[static_cast<std::size_t>(r)];
    const bool waits = r == comm_.rank() || (!silent(r) && s.calls >= mine.calls && s.inside > 0);
    (waits ? waiting : late).push_back(r);
  }
  if (waiting.front() != comm_.rank()) return;
  const bool again = told_calls_ == mine.calls;
  if (again && mine.inside < 2 * told_seconds_) return;
  told_calls_ = mine.calls, told_seconds_ = mine.inside;
  if (late.empty())
    return tell_({RankNews::late, comm_.rank(),
                  fmt::format("all {} have waited {} for each other in '{}'; the network between them may be at fault. "
                              "To give up, end the job. {}",
                              plural(comm_.size(), "rank"), short_time(mine.inside, true), mine.work, go_on())});
  for (const int r : late) tell_(late_news(waiting, r, mine.inside));
}

RankNews RankWatch::late_news(const std::vector<int>& waiting, int late, double seconds) const {
  const Slot& s = slots_[static_cast<std::size_t>(late)];
  const std::string state =
      silent(late) ? fmt::format("has shown no sign of life for {}: it may be stopped, or its machine may hang",
                                 short_time(now() - heard_[static_cast<std::size_t>(late)], true))
                   : fmt::format("is at work on '{}'", s.work);
  return {RankNews::late, late,
          fmt::format("{} {} waited {} for {}, which {}. The run goes on when it does; to give up, end the job. {}",
                      list_of(waiting), waiting.size() > 1 ? "have" : "has", short_time(seconds, true), name(late),
                      state, go_on())};
}

std::string RankWatch::name(int rank) const {
  const Place& p = places_[static_cast<std::size_t>(rank)];
  return fmt::format("rank {} (process {} on {})", rank, p.process, p.host);
}

std::string RankWatch::go_on() const {
  const std::lock_guard lock(mutex_);
  if (settings_.board.empty()) return "Nothing is written, so there is nothing to go on from";
  if (checkpoint_.empty()) return "There is no checkpoint yet: with --resume the same command starts again";
  return fmt::format(
      "Earlier frames are whole: with --resume the same command, on any number of ranks, goes on from checkpoint {}",
      checkpoint_);
}

}  // namespace aegir
