// Which cells of a bucket other ranks read: those within some cells of their own buckets, not all 512.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace aegir {

class Topology;

/// Cells that follow each other in memory, counted from the first cell of the first bucket.
struct LayerRun {
  std::uint32_t first;
  std::uint32_t count;
};

/// The cells that travel between this rank and one other, in the order in which they do.
struct PeerLayers {
  int rank = 0;
  std::vector<LayerRun> send, receive;
  std::size_t sent = 0, received = 0;  ///< cells
};

/// The cells of buckets of other ranks within `width` cells of local ones, for every peer; both sides list them alike,
/// so nothing is said.
std::vector<PeerLayers> halo_layers(const Topology& topology, int width);

}  // namespace aegir
