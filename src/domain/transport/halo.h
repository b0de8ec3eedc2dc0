// Ghost exchange: the values of neighbouring buckets that other ranks own.
#pragma once

#include <cstddef>
#include <span>

#include "domain/grid/topology.h"
#include "parallel/comm.h"

namespace aegir {

/// Fills the ghosts of an array that holds `bucket_bytes` for every bucket of the topology. Collective.
void exchange_halo(Comm& comm, const Topology& topology, std::byte* data, std::size_t bucket_bytes);

/// The same for runs of different length: bucket b holds elements [first[b], first[b+1]) of `element_bytes` each.
void exchange_halo(Comm& comm, const Topology& topology, std::byte* data, std::span<const std::uint64_t> first,
                   std::size_t element_bytes);

}  // namespace aegir
