#include <cmath>
#include <cstdio>
#include <cstring>

#include "base/random.h"
#include "tests/mpi/ranks.h"

namespace aegir::ranks {
namespace {

Bytes pattern(int from, int to, std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<std::byte>(mix(i + static_cast<std::size_t>(1000 * from + to)) & 0xff);
  return bytes;
}

void check_exchange(Comm& comm) {
  // To every second rank, itself included, with sizes from nothing to three megabytes.
  const auto talks = [](int from, int to) { return (from + to) % 2 == 0 || to == 0; };
  const auto size = [](int from, int to) {
    return (from + to) % 3 == 0 ? std::size_t{0} : static_cast<std::size_t>(3'000'001 / (1 + from + to));
  };
  std::vector<Message> outgoing;
  for (int r = comm.size() - 1; r >= 0; --r)
    if (talks(comm.rank(), r)) outgoing.push_back({r, pattern(comm.rank(), r, size(comm.rank(), r))});
  const auto incoming = comm.exchange(std::move(outgoing));
  std::size_t next = 0;
  for (int r = 0; r < comm.size(); ++r) {
    if (!talks(r, comm.rank())) continue;
    require(next < incoming.size() && incoming[next].rank == r, "messages arrive in order of rank");
    require(incoming[next++].bytes == pattern(r, comm.rank(), size(r, comm.rank())),
            "a message arrives as it was sent");
  }
  require(next == incoming.size(), "nothing arrives that was not sent");
}

void check_transfers(Comm& comm) {
  // A ring of halo exchanges of known size, more than a megabyte each.
  if (comm.size() == 1) return;
  const int right = (comm.rank() + 1) % comm.size(), left = (comm.rank() + comm.size() - 1) % comm.size();
  Bytes out = pattern(comm.rank(), right, 2'500'000), in(2'500'000);
  const Transfer send{right, out.data(), out.size()}, receive{left, in.data(), in.size()};
  comm.exchange(std::span(&send, 1), std::span(&receive, 1));
  require(in == pattern(left, comm.rank(), in.size()), "a halo arrives as it was sent");
  comm.exchange(std::span<const Transfer>{}, std::span<const Transfer>{});
}

void check_gathers(Comm& comm) {
  const Bytes mine = pattern(comm.rank(), 7, comm.rank() == 1 ? 0 : 1'500'000);
  const auto all = comm.all_gather(mine);
  require(all.size() == static_cast<std::size_t>(comm.size()), "all_gather brings everybody's bytes");
  for (int r = 0; r < comm.size(); ++r)
    require(all[static_cast<std::size_t>(r)] == pattern(r, 7, r == 1 ? 0 : 1'500'000), "all_gather is in rank order");
  const auto here = comm.gather(mine);
  require(comm.root() ? here == all : here.empty(), "gather brings them to rank 0 only");
  Bytes said = comm.root() ? pattern(0, 9, 2'000'000) : Bytes{};
  comm.broadcast(said);
  require(said == pattern(0, 9, 2'000'000), "broadcast spreads the bytes of rank 0");
}

void check_agreement(Comm& comm) {
  require(static_cast<bool>(comm.agree({})), "all well is well");
  const bool last = comm.rank() == comm.size() - 1;
  const Status one = comm.agree(last ? Status(io_error("disk full")) : Status());
  require(!one && one.error().kind == Failure::io && one.error().message == "disk full", "one failure is everybody's");
  const Status all = comm.agree(simulation_error("rank {}", comm.rank()));
  require(!all && all.error().kind == Failure::simulation && all.error().message == "rank 0", "the lowest rank speaks");
}

void check_numbers(Comm& comm) {
  require(comm.sum(std::int64_t{comm.rank() + 1}) == comm.size() * (comm.size() + 1) / 2, "sum");
  require(comm.max(static_cast<double>(-comm.rank())) == 0.0, "max of doubles");
  require(comm.max(std::int64_t{comm.rank()}) == comm.size() - 1, "max of integers");
  require(comm.any(comm.rank() == 0) && !comm.any(false), "any");
  // Ten thousand numbers of every magnitude, dealt out differently for every number of ranks.
  ExactSum part;
  for (std::uint64_t i = 0; i < 10000; ++i)
    if (static_cast<int>(i % static_cast<std::uint64_t>(comm.size())) == comm.rank()) {
      const Random r(1, i, 0, Purpose::test);
      part.add(r.uniform(0, -1, 1) * std::pow(10.0, r.uniform(1, -200, 200)));
    }
  const double total = comm.sum(part);
  if (comm.root()) std::printf("sum %a\n", total);
}

}  // namespace

void check_comm(Comm& comm) {
  check_exchange(comm), check_transfers(comm), check_gathers(comm), check_agreement(comm), check_numbers(comm);
  comm.barrier();
  if (comm.root()) std::printf("comm well\n");
}

}  // namespace aegir::ranks
