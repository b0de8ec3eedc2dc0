// The distance to the surface in a cell whose weights a solid cuts: where particles must end for their mean to be where
// it is.
//
//   const BesideSolid here = beside_solid(nodes, cell, plane, mean.around(cell.z));
//
// A plane continued from free cells does not know what the particles beside the solid do: nothing would hold them, and
// they would sink there while the level rises elsewhere. Here the plane keeps its direction n and is moved to the
// distance s at which regular particles, below it and outside the solid, have the mean offset along n that is seen,
// m(s) = Σ w (x·n) / Σ w. Differences of up to 0.06 cells are left where regular particles would lie at the very
// edge of the solid: whether they are there decides as much.
#pragma once

#include "domain/volume/tile.h"
#include "numerics/surface/mean_offset.h"

namespace aegir {

/// A plane near a cell: distance(x) = distance + slope · x, x from the cell's centre, in cells.
struct SurfacePlane {
  float distance = 0;
  Vec3f slope;
};

/// What particles beside a solid tell.
struct BesideSolid {
  float distance;      ///< to the surface; the plane's own where they tell nothing
  float expected = 0;  ///< weight of regular particles, eight per cell; 0 where they tell nothing
};

/// `nodes`: distances to solids around the bucket; `seen`: sums over the particles around the cell's centre, eight of
/// which fill a cell.
BesideSolid beside_solid(const PaddedTile<float, 2>& nodes, const Vec3i& cell, const SurfacePlane& plane,
                         const MeanOffset::Sums& seen);

}  // namespace aegir
