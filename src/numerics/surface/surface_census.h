// What all ranks must tell each other before distances can be evaluated: particles per cell, and where solids are near.
//
//   SurfaceCensus census(exec, particles, volume, &solid_distance, pool);   // right after rebucket()
//   liquid_distance(exec, particles, volume, census, channels, pool);       // when the distances are wanted
//
// Made while ranks still stand beside each other after sorting: what lies between the two lines, as the transfer to the
// grid, then needs no waiting.
#pragma once

#include <vector>

#include "domain/volume/discrete_volume.h"
#include "numerics/surface/cell_counts.h"

namespace aegir {

class SurfaceCensus {
 public:
  /// Reads "P" with a halo of one bucket and solid_distance with halo 2. Collective.
  SurfaceCensus(Exec& exec, ParticleSystem& particles, DiscreteVolume& volume,
                const NodeChannel<float>* solid_distance, BufferPool* pool);

  const CellCounts& counts() const { return counts_; }
  /// Whether there are solids near the buckets of any rank, and whether cells of this one may lie beside one.
  bool any_solid() const { return any_solid_; }
  bool solid_near(int bucket) const { return any_solid_ && solid_[static_cast<std::size_t>(bucket)]; }

 private:
  std::vector<std::uint8_t> solid_;  // per bucket
  CellCounts counts_;
  bool any_solid_ = false;
};

}  // namespace aegir
