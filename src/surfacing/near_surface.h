// Which particles can take part in the surface. What lies deeper costs nothing: it only says that there is an inside.
//
//   NearSurface near = find_near_surface(blocks);
//   near.interior[b] >> c & 1      // cell c of block b lies inside
//   near.shaped[b] >> c & 1        // its particles are worth a shape of their own
//
// A cell is interior when it and its 26 neighbours are occupied and particles have at least 85 % of the volume of all
// 27 that they have in a full liquid (spray that is spread thinly is not inside). What full means is taken from the
// particles themselves, since other programs give other radii. Particles of occupied cells that are not interior may
// shape the surface; those of interior cells beside them fill what is between, as plain spheres; all others are
// skipped. A cell is about two particle spacings wide, so air that is narrower than that may count as inside.
#pragma once

#include <cstdint>
#include <vector>

#include "surfacing/particle_blocks.h"

namespace aegir {

class SurfaceShares;

/// One bit per search cell of every block; shaped and stamped for own blocks only.
struct NearSurface {
  std::vector<std::uint64_t> occupied, interior;
  std::vector<std::uint64_t> shaped;   ///< occupied, not interior
  std::vector<std::uint64_t> stamped;  ///< shaped, or interior beside a cell that is not
};

/// Looks at counts of particles only; four bytes per particle and 65 integers per block. Where ranks share a surface
/// the blocks around this rank's come in as copies, and what is full is the same for all; collective then.
NearSurface find_near_surface(ParticleBlocks& blocks, SurfaceShares* shares = nullptr);

/// Cells of every own block that are occupied, as are the 26 around them.
std::vector<std::uint64_t> surrounded_cells(const ParticleBlocks& blocks, const std::vector<std::uint64_t>& occupied);

/// Calls f(neighbour block or none, offset) for the 27 blocks around one, itself included, x slowest.
template <class F>
void for_each_block_around(const ParticleBlocks& blocks, std::size_t block, const F& f) {
  for (int i = -1; i <= 1; ++i)
    for (int j = -1; j <= 1; ++j)
      for (int k = -1; k <= 1; ++k) {
        const Vec3i offset{i, j, k};
        f(offset == Vec3i{} ? static_cast<std::int32_t>(block) : blocks.map.find(blocks.key[block] + offset), offset);
      }
}

}  // namespace aegir
