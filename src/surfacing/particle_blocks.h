// Particles sorted for surfacing: by block of 4×4×4 search cells, then by cell, then as they came.
//
//   auto blocks = sort_particles(positions, radii, {.voxel = 0.01, .cell_voxels = 4});
//   for (std::uint32_t i = blocks.cell_first[b * 65 + c]; i < blocks.cell_first[b * 65 + c + 1]; ++i) … blocks.x[i] …
//
// Lengths are in voxels. Positions are single precision, relative to the lower corner of the block, so that precision
// does not depend on the distance from the origin; a block's corner lies on a corner of a voxel.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/vec.h"
#include "surfacing/bucket_map.h"

namespace aegir {

/// The lattices of one surface.
struct SurfaceLattice {
  double voxel = 1;     ///< metres; voxel (i,j,k) covers [i,i+1]·voxel and has its sample in the middle
  int cell_voxels = 4;  ///< edge of a search cell in voxels: about two particle spacings
  int block_voxels() const { return 4 * cell_voxels; }
};

struct ParticleBlocks {
  static constexpr int cells = 64;           ///< per block, z fastest
  static constexpr std::uint32_t ahead = 8;  ///< values that may be read beyond the last particle

  SurfaceLattice lattice;
  std::vector<Vec3i> key;                 ///< block coordinates, ascending
  BucketMap map;                          ///< coordinate → block
  std::vector<std::uint32_t> cell_first;  ///< 65 per block: first particle of each cell, and the end
  std::vector<float> x, y, z, radius;     ///< sorted; `ahead` more than there are particles
  std::vector<std::uint32_t> source;      ///< where a particle was in the input

  std::size_t blocks() const { return key.size(); }
  std::size_t size() const { return source.size(); }
  std::uint32_t first(std::size_t block) const { return cell_first[block * 65]; }
  std::uint32_t last(std::size_t block) const { return cell_first[block * 65 + 64]; }
};

/// Sorts in linear time; positions and radii in metres, all finite, at most 2^30 voxels from the origin.
///
/// Bytes per particle: 24 + 4 read, then 8 written and read again for the keys, 20 written. The order does not depend
/// on threads: what lands in a block in any order is put back into the order of the input there.
ParticleBlocks sort_particles(std::span<const Vec3d> positions, std::span<const float> radii,
                              const SurfaceLattice& lattice);

}  // namespace aegir
