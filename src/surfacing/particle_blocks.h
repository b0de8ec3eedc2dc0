// Particles sorted for surfacing: by block of 4×4×4 search cells, then by cell, then as they came.
//
//   auto blocks = sort_particles(positions, radii, {.voxel = 0.01, .cell_voxels = 4});
//   for (std::uint32_t i = blocks.cell_first[b * 65 + c]; i < blocks.cell_first[b * 65 + c + 1]; ++i) … blocks.x[i] …
//
// Lengths are in voxels. Positions are single precision, relative to the lower corner of the block, so that precision
// does not depend on the distance from the origin; a block's corner lies on a corner of a voxel.
#pragma once

#include <algorithm>
#include <cmath>
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

/// Which block a position lies in, and where in it.
struct BlockPlace {
  Vec3i block;
  Vec3f local;  ///< voxels
};

class BlockLocator {
 public:
  explicit BlockLocator(const SurfaceLattice& lattice);
  BlockPlace operator()(const Vec3d& p) const {
    BlockPlace r;
    for (int a = 0; a < 3; ++a) {
      const double q = p[a] * per_metre_, block = std::floor(q * per_edge_);
      r.block[a] = static_cast<std::int32_t>(block);
      r.local[a] = static_cast<float>(q - block * edge_);
    }
    return r;
  }
  /// The search cell of its block that a place lies in.
  std::uint32_t cell(const Vec3f& local) const {
    const auto along = [&](float v) { return std::clamp(static_cast<int>(v * per_cell_), 0, 3); };
    return static_cast<std::uint32_t>((along(local.x) * 4 + along(local.y)) * 4 + along(local.z));
  }

 private:
  double per_metre_, edge_, per_edge_;
  float per_cell_;
};

struct ParticleBlocks {
  static constexpr int cells = 64;           ///< per block, z fastest
  static constexpr std::uint32_t ahead = 8;  ///< values that may be read beyond the last particle

  SurfaceLattice lattice;
  std::vector<Vec3i> key;                 ///< block coordinates, ascending; then copies of other ranks' blocks
  BucketMap map;                          ///< coordinate → block
  std::vector<std::uint32_t> cell_first;  ///< 65 per block: first particle of each cell, and the end
  std::vector<float> x, y, z, radius;     ///< sorted; copies last; `ahead` more than there are particles
  std::vector<std::uint32_t> source;      ///< where a particle was in the input
  std::size_t copies = 0;                 ///< blocks of other ranks, of which only what is needed is here

  /// Own ones.
  std::size_t blocks() const { return key.size() - copies; }
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
