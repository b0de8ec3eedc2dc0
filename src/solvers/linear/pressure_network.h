// The pressure system as a network: which buckets hold unknowns, and links and sinks around one of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "domain/exec.h"
#include "domain/volume/discrete_volume.h"
#include "solvers/linear/level.h"
#include "solvers/linear/pressure.h"

namespace aegir {

/// What one look over the channels shows.
struct PressureOutline {
  std::vector<BucketShape> shapes;
  std::int64_t unknowns = 0;  ///< over all ranks
  std::string trouble;        ///< where a value is not a number, or an area negative; empty when all is well
};

/// Classifies the buckets. Reads 20 bytes per cell, once.
/// Collective.
PressureOutline outline(Exec& exec, DiscreteVolume& volume, const PressureChannels& channels);

/// Loads the network around a bucket from the channels.
class PressureTiles {
 public:
  /// Collective: brings the ghosts.
  PressureTiles(Exec& exec, DiscreteVolume& volume, const PressureChannels& channels);
  /// Links and sinks of the bucket and the cells around it.
  void load(int bucket, NetworkTile& tile) const;

 private:
  GridReadHalo<float, 1, Halo<4>> distance_;
  GridReadHalo<float, 3, Halo<4>> area_;
};

}  // namespace aegir
