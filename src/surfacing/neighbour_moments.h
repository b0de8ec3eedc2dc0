// Weighted sums over the neighbours of a particle: what its mean position and its covariance are made of.
//
//   NeighbourMoments moments(blocks, block);
//   auto sums = moments.around(particle, radius);
//   float n = 2 * (sums[NeighbourMoments::w] - 1);        // the particle itself has weight 1
#pragma once

#include <array>

#include "numerics/transfer/lanes.h"
#include "surfacing/particle_blocks.h"

namespace aegir {

/// Walks over the search cells within reach, row by row along z, where particles are contiguous in memory.
class NeighbourMoments {
 public:
  enum { w, x, y, z, xx, xy, xz, yy, yz, zz, count };
  using Sums = std::array<float, count>;

  /// `sized`: radii differ, and a particle that is smaller than the one in the middle counts by its volume.
  NeighbourMoments(const ParticleBlocks& blocks, std::size_t block, bool sized = false);

  /// Σ w, Σ w d and Σ w d dᵀ with d = x_i - x_p and w = 1 - (|d|/R)³, where sized times min(1, r_i/r_p)³, over all
  /// particles within R, p included. Lengths in voxels. Eight candidates at a time, 33 flops each.
  Sums around(std::uint32_t particle, float reach) const {
    return sized_ ? sums<true>(particle, reach) : sums<false>(particle, reach);
  }

 private:
  template <bool Sized>
  Sums sums(std::uint32_t particle, float reach) const;
  std::int32_t block_at(int i, int j, int k) const;

  const ParticleBlocks& blocks_;
  std::size_t block_;
  bool sized_;
  std::int32_t around_[27];
};

}  // namespace aegir
