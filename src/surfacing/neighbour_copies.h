// Copies of other ranks' particles around those of this rank, where ranks share a surface.
//
//   SurfaceHalo halo = copy_blocks_around(blocks, shares);    // which blocks there are, without particles
//   copy_neighbours(blocks, near, 5, large, shares);          // the particles that shapes look at
#pragma once

#include <cstdint>
#include <vector>

#include "surfacing/near_surface.h"
#include "surfacing/surface_halo.h"
#include "surfacing/surface_shares.h"

namespace aegir {

/// Appends the blocks of other ranks that touch this rank's share, or that its buckets overlap, as copies without
/// particles. Collective.
SurfaceHalo copy_blocks_around(ParticleBlocks& blocks, SurfaceShares& shares);

/// Fills copies with the particles of whole cells within `search_radius` radii of particles that get a shape from their
/// neighbours: those of shaped cells, and any larger than `large` voxels. Collective.
void copy_neighbours(ParticleBlocks& blocks, const NearSurface& near, float search_radius, float large,
                     SurfaceShares& shares);

}  // namespace aegir
