#include "domain/transport/halo.h"

#include <cstring>
#include <vector>

namespace aegir {
namespace {

template <class Range>  // Range(b) -> {byte offset, byte size}
void exchange(Comm& comm, const Topology& topology, std::byte* data, Range range) {
  const auto peers = topology.peers();
  std::vector<Bytes> packed(peers.size());
  std::vector<Transfer> sends, receives;
  for (std::size_t p = 0; p < peers.size(); ++p) {
    std::size_t size = 0;
    for (int b : peers[p].send) size += range(b).second;
    packed[p].resize(size);
    std::byte* to = packed[p].data();
    for (int b : peers[p].send) {
      const auto [offset, bytes] = range(b);
      if (bytes) std::memcpy(to, data + offset, bytes);
      to += bytes;
    }
    if (size) sends.push_back({peers[p].rank, packed[p].data(), size});
    if (!peers[p].ghost_count) continue;
    const auto first = range(peers[p].first_ghost), last = range(peers[p].first_ghost + peers[p].ghost_count - 1);
    const std::size_t incoming = last.first + last.second - first.first;
    if (incoming) receives.push_back({peers[p].rank, data + first.first, incoming});
  }
  comm.exchange(sends, receives);
}

}  // namespace

void exchange_halo(Comm& comm, const Topology& topology, std::byte* data, std::size_t bucket_bytes) {
  if (comm.size() == 1) return;
  exchange(comm, topology, data, [=](int b) {
    return std::pair{static_cast<std::size_t>(b) * bucket_bytes, bucket_bytes};
  });
}

void exchange_halo(Comm& comm, const Topology& topology, std::byte* data, std::span<const std::uint64_t> first,
                   std::size_t element_bytes) {
  if (comm.size() == 1) return;
  exchange(comm, topology, data, [=](int b) {
    const auto i = static_cast<std::size_t>(b);
    return std::pair{first[i] * element_bytes, (first[i + 1] - first[i]) * element_bytes};
  });
}

}  // namespace aegir
