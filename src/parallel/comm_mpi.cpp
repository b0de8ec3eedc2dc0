// The only file that sees MPI.
// Open MPI and MPICH would otherwise pull in their abandoned C++ bindings.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/assert.h"
#include "parallel/comm.h"

namespace aegir {
namespace {

constexpr int message_tag = 1, halo_tag = 2;
constexpr std::size_t piece = std::size_t{1} << 30;  // MPI counts are int

class MpiExchange final : public PendingExchange {
 public:
  MpiExchange(std::span<const Transfer> sends, std::span<const Transfer> receives, int tag) {
    const auto pieces = [&](const Transfer& t, auto&& post) {
      for (std::size_t at = 0; at < t.size; at += piece)
        post(t.data + at, static_cast<int>(std::min(piece, t.size - at)));
    };
    for (const Transfer& t : receives)
      pieces(t, [&](std::byte* data, int n) {
        MPI_Irecv(data, n, MPI_BYTE, t.rank, tag, MPI_COMM_WORLD, &requests_.emplace_back());
      });
    for (const Transfer& t : sends)
      pieces(t, [&](std::byte* data, int n) {
        MPI_Isend(data, n, MPI_BYTE, t.rank, tag, MPI_COMM_WORLD, &requests_.emplace_back());
      });
  }
  ~MpiExchange() override { MpiExchange::end(); }
  MpiExchange(const MpiExchange&) = delete;
  MpiExchange& operator=(const MpiExchange&) = delete;

  void poke() override {
    int done = 0;
    if (requests_.empty()) return;
    MPI_Testall(count(), requests_.data(), &done, MPI_STATUSES_IGNORE);
    if (done) requests_.clear();
  }
  void end() override {
    MPI_Waitall(count(), requests_.data(), MPI_STATUSES_IGNORE);
    requests_.clear();
  }

 private:
  int count() const { return static_cast<int>(requests_.size()); }
  std::vector<MPI_Request> requests_;
};

class MpiComm final : public Comm {
 public:
  MpiComm() {
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  ~MpiComm() override { MPI_Finalize(); }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void barrier() override { MPI_Barrier(MPI_COMM_WORLD); }
  void sum(std::span<std::int64_t> v) override {
    MPI_Allreduce(MPI_IN_PLACE, v.data(), static_cast<int>(v.size()), MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  }
  void max(std::span<double> v) override {
    MPI_Allreduce(MPI_IN_PLACE, v.data(), static_cast<int>(v.size()), MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  }
  void max(std::span<std::int64_t> v) override {
    MPI_Allreduce(MPI_IN_PLACE, v.data(), static_cast<int>(v.size()), MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
  }

  std::vector<Message> exchange(std::vector<Message> outgoing) override {
    std::vector<std::int64_t> out(static_cast<std::size_t>(size_), -1), in(static_cast<std::size_t>(size_), -1);
    for (const Message& m : outgoing) {
      AEGIR_ASSERT(out[static_cast<std::size_t>(m.rank)] < 0, "one message per rank");
      out[static_cast<std::size_t>(m.rank)] = static_cast<std::int64_t>(m.bytes.size());
    }
    MPI_Alltoall(out.data(), 1, MPI_INT64_T, in.data(), 1, MPI_INT64_T, MPI_COMM_WORLD);
    std::vector<Message> incoming;
    for (int r = 0; r < size_; ++r)
      if (const auto n = in[static_cast<std::size_t>(r)]; n >= 0)
        incoming.push_back({r, Bytes(static_cast<std::size_t>(n))});
    std::vector<Transfer> sends, receives;
    for (Message& m : outgoing) sends.push_back({m.rank, m.bytes.data(), m.bytes.size()});
    for (Message& m : incoming) receives.push_back({m.rank, m.bytes.data(), m.bytes.size()});
    MpiExchange(sends, receives, message_tag).end();
    return incoming;
  }

  std::unique_ptr<PendingExchange> begin_exchange(std::span<const Transfer> sends,
                                                  std::span<const Transfer> receives) override {
    return std::make_unique<MpiExchange>(sends, receives, halo_tag);
  }

  std::vector<Bytes> all_gather(const Bytes& mine) override {
    std::vector<Message> outgoing;
    for (int r = 0; r < size_; ++r) outgoing.push_back({r, mine});
    return unwrap(exchange(std::move(outgoing)));
  }
  std::vector<Bytes> gather(Bytes mine) override {
    std::vector<Message> outgoing;
    outgoing.push_back({0, std::move(mine)});
    return unwrap(exchange(std::move(outgoing)));
  }
  void broadcast(Bytes& bytes) override {
    std::vector<Message> outgoing;
    if (root())
      for (int r = 1; r < size_; ++r) outgoing.push_back({r, bytes});
    auto incoming = exchange(std::move(outgoing));
    if (!root()) bytes = std::move(incoming.front().bytes);
  }
  [[noreturn]] void abort(int exit_code) override {
    MPI_Abort(MPI_COMM_WORLD, exit_code);
    std::_Exit(exit_code);
  }

 private:
  static std::vector<Bytes> unwrap(std::vector<Message> messages) {
    std::vector<Bytes> all;
    for (Message& m : messages) all.push_back(std::move(m.bytes));
    return all;
  }

  int rank_ = 0, size_ = 1;
};

}  // namespace

std::unique_ptr<Comm> make_comm() {
  for (const char* mark : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"})
    if (std::getenv(mark)) return std::make_unique<MpiComm>();
  return make_single_comm();
}

}  // namespace aegir
