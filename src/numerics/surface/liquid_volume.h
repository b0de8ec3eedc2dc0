// The volume of liquid that a distance describes.
//
//   const double cubic_metres = liquid_volume(exec, volume, surface_distance, &solid_distance);
#pragma once

#include "domain/exec.h"
#include "domain/volume/discrete_volume.h"

namespace aegir {

/// The share of a unit cube in which n·x + distance < 0, for x counted from its centre and a unit vector n. Exact.
double share_below(const Vec3d& n, double distance);

/// Share of a cell that is liquid, by the plane that its distance (in cells) and its neighbours' describe; differences
/// do not see how distances are cut off far from the surface.
double liquid_share(const PaddedTile<float, 1>& distance, int i, int j, int k);

/// Volume in m³ where distance < 0: each cell is cut by the plane that its distance and its neighbours' describe, which
/// is second order. `solid_distance`: only what lies outside solids counts, in cut cells as the product of both shares.
/// Reads both with halo 1. Collective; the same bits for any threads and ranks.
double liquid_volume(Exec& exec, DiscreteVolume& volume, const CellChannel<float>& distance,
                     const NodeChannel<float>* solid_distance = nullptr);

}  // namespace aegir
