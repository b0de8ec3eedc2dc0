// Ghost exchange: the values of neighbouring buckets that other ranks own.
//
//   HaloFlight flight(comm);
//   flight.add(topology, data, bucket_bytes);       // on their way from here on
//   …                                               // buckets that have no ghosts around them
//   flight.end();                                   // the ghosts are there
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "domain/channel/buffer.h"
#include "domain/grid/topology.h"
#include "parallel/comm.h"

namespace aegir {

/// Memory of things that travel, used again when they have arrived: fresh memory costs a page fault for every 4 KB. To
/// be made and given back by one thread.
class FlightBuffer {
 public:
  explicit FlightBuffer(std::size_t bytes);
  ~FlightBuffer();
  FlightBuffer(FlightBuffer&&) = default;
  FlightBuffer& operator=(FlightBuffer&&) = default;
  std::byte* data() { return buffer_.data(); }

 private:
  Buffer buffer_;
};

/// Halo exchanges under way. What is sent is copied at once, so kernels may write it meanwhile; ghosts may be read
/// after `end`. All ranks add and end alike.
class HaloFlight {
 public:
  explicit HaloFlight(Comm& comm) : comm_(comm) {}
  ~HaloFlight() { end(); }
  HaloFlight(const HaloFlight&) = delete;
  HaloFlight& operator=(const HaloFlight&) = delete;

  /// Fills the ghosts of an array that holds `bucket_bytes` for every bucket of the topology.
  void add(const Topology& topology, std::byte* data, std::size_t bucket_bytes);
  /// The same for runs of different length: bucket b holds elements [first[b], first[b+1]) of `element_bytes` each.
  void add(const Topology& topology, std::byte* data, std::span<const std::uint64_t> first, std::size_t element_bytes);

  /// Of an array with 512 values for every bucket, the ghosts within 1 to 4 cells of local buckets.
  void add_layers(const Topology& topology, std::byte* data, std::size_t cell_bytes, int width);

  /// Anything else; `sent` is what the sends point to.
  void add(std::span<const Transfer> sends, std::span<const Transfer> receives, std::vector<FlightBuffer> sent);

  bool empty() const { return pending_.empty(); }
  /// Lets it go on; by the thread that has added, now and then while that works.
  void poke() {
    for (auto& p : pending_) p->poke();
  }
  void end();

 private:
  template <class Range>
  void begin(const Topology& topology, std::byte* data, Range range);

  /// Layers that arrive in one piece and have to be laid out.
  struct Landing {
    FlightBuffer arrived;
    const PeerLayers* layers;
    std::byte* data;
    std::size_t cell_bytes;
  };

  Comm& comm_;
  std::vector<Landing> landings_;
  std::vector<FlightBuffer> packed_;  // in use until the exchanges have ended
  std::vector<std::unique_ptr<PendingExchange>> pending_;
};

/// The two at once. Collective.
void exchange_halo(Comm& comm, const Topology& topology, std::byte* data, std::size_t bucket_bytes);
void exchange_halo(Comm& comm, const Topology& topology, std::byte* data, std::span<const std::uint64_t> first,
                   std::size_t element_bytes);

/// Sends value(bucket, cell) of the cells within `width` cells of other ranks' buckets; they call take(ghost, cell,
/// value) for what arrives. Collective.
template <class T, class Value, class Take>
void exchange_layers(Comm& comm, const Topology& topology, int width, const Value& value, const Take& take) {
  if (comm.size() == 1) return;
  std::vector<FlightBuffer> out, in;
  std::vector<Transfer> sends, receives;
  const auto& layers = topology.layers(width);
  const auto for_cells = [](const std::vector<LayerRun>& runs, FlightBuffer& buffer, const auto& visit) {
    T* at = reinterpret_cast<T*>(buffer.data());
    for (const LayerRun& r : runs)
      for (std::uint32_t c = r.first; c < r.first + r.count; ++c)
        visit(static_cast<int>(c / bucket_cells), static_cast<int>(c % bucket_cells), *at++);
  };
  for (const PeerLayers& peer : layers) {
    out.emplace_back(peer.sent * sizeof(T)), in.emplace_back(peer.received * sizeof(T));
    for_cells(peer.send, out.back(), [&](int b, int cell, T& to) { to = value(b, cell); });
    if (peer.sent) sends.push_back({peer.rank, out.back().data(), peer.sent * sizeof(T)});
    if (peer.received) receives.push_back({peer.rank, in.back().data(), peer.received * sizeof(T)});
  }
  comm.exchange(sends, receives);
  for (std::size_t p = 0; p < layers.size(); ++p)
    for_cells(layers[p].receive, in[p], [&](int ghost, int cell, const T& from) { take(ghost, cell, from); });
}

}  // namespace aegir
