// Loops over local buckets while halos travel, for kernels that for_each_bucket() does not run.
//
//   HaloFlight flight(comm);
//   const BorderSplit split(topology);
//   border_first(split, flight, [&](std::span<const int> buckets) { … },      // makes values of these buckets
//                [&] { flight.add(topology, values, bytes); });               // once others' copies are made
//   inner_first(split, flight, [&](std::span<const int> buckets) { … });      // reads them, and those around
//
// A rank that is ahead waits for another only when it has done all that needs nothing of it.
#pragma once

#include <algorithm>
#include <span>
#include <thread>
#include <vector>

#include "domain/grid/topology.h"
#include "domain/transport/halo.h"
#include "parallel/threads.h"

namespace aegir {

/// Calls body(part) on all threads for parts of a list of buckets; the calling thread lets the flight go on.
template <class Body>
void for_parts(std::span<const int> buckets, HaloFlight& flight, const Body& body) {
  const bool flying = !flight.empty();
  const auto caller = std::this_thread::get_id();
  parallel_for(0, buckets.size(), 4, [&](std::size_t begin, std::size_t end) {
    const std::size_t part = flying ? 8 : end - begin;
    for (std::size_t n = begin; n < end; n += part) {
      body(buckets.subspan(n, std::min(part, end - n)));
      if (flying && std::this_thread::get_id() == caller) flight.poke();
    }
  });
}

/// Buckets beside those of other ranks, and the others.
struct BorderSplit {
  BorderSplit(const Topology& topology, std::span<const int> buckets) {
    for (const int b : buckets) (topology.on_border(b) ? border : inner).push_back(b);
  }
  explicit BorderSplit(const Topology& topology) {
    for (int b = 0; b < topology.local_count(); ++b) (topology.on_border(b) ? border : inner).push_back(b);
  }
  std::vector<int> border, inner;
};

/// The body first runs on buckets that other ranks have copies of; `send` then puts what it made on its way, and the
/// rest runs meanwhile. The copies are there when the flight has ended.
template <class Body, class Send>
void border_first(const BorderSplit& buckets, HaloFlight& flight, const Body& body, const Send& send) {
  for_parts(buckets.border, flight, body);
  send();
  for_parts(buckets.inner, flight, body);
}

/// The body first runs on buckets without ghosts around them, while what the flight brings travels.
template <class Body>
void inner_first(const BorderSplit& buckets, HaloFlight& flight, const Body& body) {
  for_parts(buckets.inner, flight, body);
  flight.end();
  for_parts(buckets.border, flight, body);
}

}  // namespace aegir
