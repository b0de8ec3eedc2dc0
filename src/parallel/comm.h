// What ranks say to each other. One process or many run the same code; only comm_mpi.cpp knows which.
//
//   std::unique_ptr<Comm> comm = make_comm();      // MPI only when started by an MPI launcher
//   double total = comm->sum(partial);             // exact: same bits for any number of ranks
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/result.h"
#include "parallel/exact_sum.h"

namespace aegir {

using Bytes = std::vector<std::byte>;

/// Bytes to or from one rank.
struct Message {
  int rank = 0;
  Bytes bytes;
};

/// Memory that one rank fills for, or reads from, another in a halo exchange of known size.
struct Transfer {
  int rank = 0;
  std::byte* data = nullptr;
  std::size_t size = 0;
};

/// A halo exchange under way. What is sent and received stays where it is until it has ended.
class PendingExchange {
 public:
  virtual ~PendingExchange() = default;  ///< an exchange that has not ended ends here
  /// Lets it go on; by the thread that began it, now and then while that works.
  virtual void poke() = 0;
  /// Returns when everything has arrived.
  virtual void end() = 0;
};

class Comm {
 public:
  virtual ~Comm() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  bool root() const { return rank() == 0; }

  virtual void barrier() = 0;
  virtual void sum(std::span<std::int64_t> values) = 0;
  virtual void max(std::span<double> values) = 0;
  virtual void max(std::span<std::int64_t> values) = 0;
  /// Sends every message to its rank; returns what arrived, in order of source rank.
  virtual std::vector<Message> exchange(std::vector<Message> outgoing) = 0;
  /// Halo exchange: sizes are known on both sides. It goes on while this rank works; all ranks begin and end theirs in
  /// the same order.
  virtual std::unique_ptr<PendingExchange> begin_exchange(std::span<const Transfer> sends,
                                                          std::span<const Transfer> receives) = 0;
  /// Everybody's bytes on every rank, in rank order.
  virtual std::vector<Bytes> all_gather(const Bytes& mine) = 0;
  /// Everybody's bytes on rank 0, in rank order; nothing elsewhere.
  virtual std::vector<Bytes> gather(Bytes mine) = 0;
  /// Rank 0's bytes on every rank.
  virtual void broadcast(Bytes& bytes) = 0;
  /// Ends every rank of the job at once.
  [[noreturn]] virtual void abort(int exit_code) = 0;

  void exchange(std::span<const Transfer> sends, std::span<const Transfer> receives) {
    begin_exchange(sends, receives)->end();
  }
  double sum(const ExactSum& partial);
  std::int64_t sum(std::int64_t value);
  double max(double value);
  std::int64_t max(std::int64_t value);
  bool any(bool value) { return max(static_cast<std::int64_t>(value)) != 0; }
  /// The same outcome on every rank: the failure of the lowest rank that failed, if any did.
  Status agree(const Status& mine);
};

/// Everybody's plain values on every rank, one after the other in rank order. Collective.
template <class T>
std::vector<T> gather_all(Comm& comm, const std::vector<T>& mine) {
  static_assert(std::is_trivially_copyable_v<T>);
  Bytes bytes(mine.size() * sizeof(T));
  if (!mine.empty()) std::memcpy(bytes.data(), mine.data(), bytes.size());
  std::vector<T> all;
  for (const Bytes& part : comm.all_gather(bytes)) {
    const std::size_t at = all.size();
    all.resize(at + part.size() / sizeof(T));
    if (!part.empty()) std::memcpy(all.data() + at, part.data(), part.size());
  }
  return all;
}

/// The process alone.
std::unique_ptr<Comm> make_single_comm();

/// MPI when an MPI launcher started this process, the process alone otherwise.
std::unique_ptr<Comm> make_comm();

}  // namespace aegir
