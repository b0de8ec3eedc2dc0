// Filters of a level set, one after the other; after each the band holds distances again.
//
//   Status done = apply_filter(grid, {.kind = FilterKind::gaussian, .width = 2}, points);
//
// mean            φ ← average over a cube of 2w + 1 voxels
// gaussian        φ ← average with weights exp(-|d|² / 2σ²), σ = w/2 voxels, cut off at w
// median          φ ← median of 27 voxels
// mean_curvature  φ ← φ + τ κ |∇φ|, τ = 1/6 voxel²: flows towards flat
// dilate, erode   φ ← φ ∓ distance, in steps of at most one voxel
//
// A mask m in [0, 1] blends: φ ← φ + m (filtered - φ). "Never raise" keeps the smaller of before and after, so that
// thin features stay [Zhu 2005, chapter 4].
#pragma once

#include <vector>

#include "base/result.h"
#include "io/point_set.h"
#include "surfacing/band_grid.h"
#include "surfacing/surface_settings.h"

namespace aegir {

/// Filters in place. Masks by attribute look at `points` through the owners of voxels, and so does sparing droplets at
/// `company`, which says for every particle from 0 to 1 how little alone it is (null: none is). Both may grow on the
/// way where ranks share the surface; collective then. Fails for an attribute or volume that is not there, and for
/// widths that are not 1 to 4.
Status apply_filter(BandGrid& grid, const SurfaceFilter& filter, const PointSet& points,
                    const std::vector<float>* company = nullptr);

}  // namespace aegir
