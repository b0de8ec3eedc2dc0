#include "domain/transport/halo.h"

#include <cstring>
#include <utility>

#include "base/assert.h"

namespace aegir {
namespace {

thread_local std::vector<Buffer> spares;

}  // namespace

/// The smallest spare that is large enough, or the largest made larger.
FlightBuffer::FlightBuffer(std::size_t bytes) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < spares.size(); ++i) {
    const std::size_t a = spares[i].capacity(), b = spares[best].capacity();
    if (b < bytes ? a > b : a >= bytes && a < b) best = i;
  }
  if (!spares.empty()) {
    std::swap(spares[best], spares.back());
    buffer_ = std::move(spares.back());
    spares.pop_back();
  }
  buffer_.reserve(bytes, 0);
}

FlightBuffer::~FlightBuffer() {
  if (buffer_.capacity()) spares.push_back(std::move(buffer_));
}

template <class Range>  // Range(b) -> {byte offset, byte size}
void HaloFlight::begin(const Topology& topology, std::byte* data, Range range) {
  std::vector<Transfer> sends, receives;
  for (const HaloPeer& peer : topology.peers()) {
    std::size_t size = 0;
    for (int b : peer.send) size += range(b).second;
    if (size) {
      FlightBuffer& packed = packed_.emplace_back(size);
      std::byte* to = packed.data();
      for (int b : peer.send) {
        const auto [offset, bytes] = range(b);
        if (bytes) std::memcpy(to, data + offset, bytes);
        to += bytes;
      }
      sends.push_back({peer.rank, packed.data(), size});
    }
    if (!peer.ghost_count) continue;
    const auto first = range(peer.first_ghost), last = range(peer.first_ghost + peer.ghost_count - 1);
    const std::size_t incoming = last.first + last.second - first.first;
    if (incoming) receives.push_back({peer.rank, data + first.first, incoming});
  }
  pending_.push_back(comm_.begin_exchange(sends, receives));
}

void HaloFlight::add(const Topology& topology, std::byte* data, std::size_t bucket_bytes) {
  if (comm_.size() == 1) return;
  begin(topology, data, [=](int b) { return std::pair{static_cast<std::size_t>(b) * bucket_bytes, bucket_bytes}; });
}

void HaloFlight::add(const Topology& topology, std::byte* data, std::span<const std::uint64_t> first,
                     std::size_t element_bytes) {
  if (comm_.size() == 1) return;
  begin(topology, data, [=](int b) {
    const auto i = static_cast<std::size_t>(b);
    return std::pair{first[i] * element_bytes, (first[i + 1] - first[i]) * element_bytes};
  });
}

namespace {

/// Copies runs of cells of a whole array to a packed one, or back.
template <class T, bool Pack>
void copy_cells(std::span<const LayerRun> runs, std::byte* array, std::byte* packed) {
  auto* whole = reinterpret_cast<T*>(array);
  auto* line = reinterpret_cast<T*>(packed);
  for (const LayerRun& r : runs) {
    T *from = Pack ? whole + r.first : line, *to = Pack ? line : whole + r.first;
    if (r.count >= 8)
      std::memcpy(to, from, r.count * sizeof(T));
    else
      for (std::uint32_t i = 0; i < r.count; ++i) to[i] = from[i];
    line += r.count;
  }
}

template <bool Pack>
void copy_cells(std::span<const LayerRun> runs, std::size_t cell_bytes, std::byte* array, std::byte* packed) {
  switch (cell_bytes) {
    case 1:
      return copy_cells<std::uint8_t, Pack>(runs, array, packed);
    case 4:
      return copy_cells<std::uint32_t, Pack>(runs, array, packed);
    case 8:
      return copy_cells<std::uint64_t, Pack>(runs, array, packed);
    default:
      AEGIR_ASSERT(false, "values of cells have 1, 4 or 8 bytes");
  }
}

}  // namespace

void HaloFlight::add_layers(const Topology& topology, std::byte* data, std::size_t cell_bytes, int width) {
  if (comm_.size() == 1) return;
  std::vector<Transfer> sends, receives;
  for (const PeerLayers& peer : topology.layers(width)) {
    if (peer.sent) {
      FlightBuffer& packed = packed_.emplace_back(peer.sent * cell_bytes);
      copy_cells<true>(peer.send, cell_bytes, data, packed.data());
      sends.push_back({peer.rank, packed.data(), peer.sent * cell_bytes});
    }
    if (peer.received) {
      landings_.push_back({FlightBuffer(peer.received * cell_bytes), &peer, data, cell_bytes});
      receives.push_back({peer.rank, landings_.back().arrived.data(), peer.received * cell_bytes});
    }
  }
  pending_.push_back(comm_.begin_exchange(sends, receives));
}

void HaloFlight::add(std::span<const Transfer> sends, std::span<const Transfer> receives,
                     std::vector<FlightBuffer> sent) {
  for (FlightBuffer& b : sent) packed_.push_back(std::move(b));
  pending_.push_back(comm_.begin_exchange(sends, receives));
}

void HaloFlight::end() {
  for (auto& p : pending_) p->end();
  pending_.clear();
  for (Landing& l : landings_) copy_cells<false>(l.layers->receive, l.cell_bytes, l.data, l.arrived.data());
  landings_.clear();
  packed_.clear();
}

void exchange_halo(Comm& comm, const Topology& topology, std::byte* data, std::size_t bucket_bytes) {
  HaloFlight flight(comm);
  flight.add(topology, data, bucket_bytes);
  flight.end();
}

void exchange_halo(Comm& comm, const Topology& topology, std::byte* data, std::span<const std::uint64_t> first,
                   std::size_t element_bytes) {
  HaloFlight flight(comm);
  flight.add(topology, data, first, element_bytes);
  flight.end();
}

}  // namespace aegir
