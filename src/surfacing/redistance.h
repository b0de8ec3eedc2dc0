// Signed distances from any field whose zero level counts, in the band around it.
//
//   BandGrid distance = redistance(std::move(field));
//   extend_owners(distance);
//
// A voxel beside the zero level takes |φ| / |∇φ|, with the steepest way down along each axis: exact for planes. All
// others solve |∇φ| = 1 upwind (Godunov), by sweeps over buckets: first order in the voxel size, so that the error
// stays in the band, away from the zero level.
#pragma once

#include "surfacing/band_grid.h"

namespace aegir {

struct RedistanceOptions {
  bool whole_band = true;  ///< false: one pass, enough for what looks at the voxels beside the level only
  /// The field held distances before it was changed a little: voxels beside the level whose slope is between 0.7
  /// and 1.4 keep their values. Features thinner than two voxels would lose a little every time otherwise.
  bool nearly = false;
};

/// Distances in voxels up to ± the band; buckets are added where the band needs them and dropped where it does not.
///
/// Per voxel 4 bytes read and written per pass: one pass for the zero level, two (of a band of 3) with three sweeps of
/// 30 flops in the first cache, of which only rows within reach of the level are looked at. Every bucket reads its
/// neighbours as they were before the pass: same bits for any threads and ranks. Collective where ranks share the
/// surface, as is the next.
BandGrid redistance(BandGrid field, const RedistanceOptions& options = {});

/// Gives voxels of the band without an owner that of the neighbour that is nearest to the surface, layer by layer.
void extend_owners(BandGrid& grid);

}  // namespace aegir
