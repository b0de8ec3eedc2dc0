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

  bool empty() const { return pending_.empty(); }
  /// Lets it go on; by the thread that has added, now and then while that works.
  void poke() {
    for (auto& p : pending_) p->poke();
  }
  void end();

 private:
  template <class Range>
  void begin(const Topology& topology, std::byte* data, Range range);

  Comm& comm_;
  std::vector<FlightBuffer> packed_;  // in use until the exchanges have ended
  std::vector<std::unique_ptr<PendingExchange>> pending_;
};

/// The two at once. Collective.
void exchange_halo(Comm& comm, const Topology& topology, std::byte* data, std::size_t bucket_bytes);
void exchange_halo(Comm& comm, const Topology& topology, std::byte* data, std::span<const std::uint64_t> first,
                   std::size_t element_bytes);

}  // namespace aegir
