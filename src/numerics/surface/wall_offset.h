// The distance to the surface in a cell whose weights a solid cuts: where particles must end for their mean to be where
// it is.
//
//   const BesideSolid here = beside_solid(nodes, cell, plane, mean.around(cell.z));
//
// A plane continued from free cells does not know what the particles beside the solid do: nothing would hold them, and
// they would sink there while the level rises elsewhere. Here the plane keeps its direction n and is moved to the
// distance s at which regular particles, below it and outside the solid, have the mean offset along n that is seen,
// m(s) = Σ w (x·n) / Σ w. Whether those at the very edge of the solid are there decides as much as where the plane is,
// and nobody knows: the plane stays where it is if the mean that is seen is that of regular particles down to any
// distance from the solid within a seventh of a cell, and is moved by what is left otherwise.
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

/// The distance that was read from the mean of particles as if no solid cut their weights, corrected for what one cuts:
/// where regular particles would have that mean. For cells of which it cuts little; `upward`: away from the liquid, of
/// unit length.
float without_cut(const PaddedTile<float, 2>& nodes, const Vec3i& cell, const Vec3f& upward, float distance);

}  // namespace aegir
