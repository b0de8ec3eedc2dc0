// Shapes of particles to a field in buckets: each bucket gathers the shapes that reach it into a tile that stays in the
// first cache.
//
//   BandGrid grid = rasterize(blocks, near, shapes, {.method = SurfaceMethod::ellipsoids, .owners = true});
//
// spheres, ellipsoids   φ(x) = min_p (‖G_p (x - c_p)‖ - r_p)                       [Jones 2018, (5.1) and (5.2)]
// zhu_bridson           φ(x) = |x - x̄| - r̄,  x̄ = Σ w x_i / Σ w,  r̄ = Σ w r_i / Σ w,  w = (1 - |x - x_i|²/R²)³
//                                                                                  [Zhu 2005, (4.2) to (4.5)]
// solenthaler           φ(x) = |x - x̄| - f r̄,  f = γ³ - 3γ² + 3γ,  γ = (t_high - λ) / (t_high - t_low) in [0, 1],
//                       λ: largest eigenvalue of the symmetric part of ∂x̄/∂x; t_low = 0.4, t_high = 3.5
//                                                                                  [Solenthaler & Pajarola 2008]
// Only the zero level and its neighbourhood count; redistance() makes distances of it.
#pragma once

#include "surfacing/band_grid.h"
#include "surfacing/shapes.h"

namespace aegir {

struct RasterSettings {
  SurfaceMethod method = SurfaceMethod::ellipsoids;
  float search_radius = 4;  ///< in particle radii, for the methods that average
  int band = 3;
  bool owners = false;  ///< whether to remember which particle is nearest
  std::shared_ptr<BufferPool> pool = nullptr;
  std::shared_ptr<SurfaceShares> shares = nullptr;  ///< where ranks make a surface together
};

/// Every bucket that is not known to be all inside or all outside. Per shape and bucket about 20 rows of eight voxels,
/// 14 flops per voxel; all methods that average: 13 (zhu_bridson) or 37. Shared surfaces: this rank's buckets;
/// collective.
BandGrid rasterize(const ParticleBlocks& blocks, const NearSurface& near, Shapes shapes,
                   const RasterSettings& settings);

}  // namespace aegir
