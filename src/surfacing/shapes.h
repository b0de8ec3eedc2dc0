// The shape that each particle near the surface stamps: a sphere, or an ellipsoid stretched along its neighbours.
//
//   Shapes shapes = make_ellipsoids(blocks, near, settings);
//   // particle p of block b reaches the surface ‖G_p (x - c_p)‖ = r_p;  M = GᵀG is in shapes.m
//
// Equations of Jones 2018 (5.2) to (5.9), with the volume taken from the clamped stretches:
//
//   w_ip = 1 - (|x_i - x_p| / R)³        x̄_p = Σ w x_i / Σ w        C_p = Σ w (x_i - x̄)(x_i - x̄)ᵀ / Σ w = Q Σ Qᵀ
//   σ̂_i = max(σ_i, k_r σ_0)              k_s = (σ̂_0 σ̂_1 σ̂_2)^(-1/3)     Ĉ_p = k_s Q Σ̂ Qᵀ,  det Ĉ = 1
//   G_p = Ĉ_p⁻¹
//
// Where radii differ, a neighbour that is smaller than p counts by its volume, w times (r_i / r_p)³: a large drop in a
// mist is alone. Neighbours are counted smoothly, n = 2 Σ_{i≠p} w_ip (w has mean ½ in the ball): with few of them an
// ellipsoid becomes a sphere of radius k_n r, and the way there is a blend of the logarithms of the stretches over n,
// so that nothing pops when a particle comes or goes.
#pragma once

#include <cstdint>
#include <vector>

#include "surfacing/near_surface.h"
#include "surfacing/surface_settings.h"

namespace aegir {

class SurfaceShares;

/// What is stamped, in the order of blocks; positions relative to the block, lengths in voxels.
struct Shapes {
  std::vector<Vec3i> key;               ///< of the blocks, ascending
  std::vector<std::uint32_t> first;     ///< per block, and the end
  std::vector<std::uint32_t> particle;  ///< in ParticleBlocks
  std::vector<std::int32_t> owner;      ///< where the particle was in the input
  std::vector<float> given;             ///< its radius as it was given
  std::vector<float> x, y, z, radius;   ///< centre and r
  std::vector<std::uint8_t> filler;     ///< 1: lies inside, is a sphere and only fills: nobody sees its outside
  std::vector<float> m[6];              ///< M = xx xy xz yy yz zz; empty for spheres
  std::vector<float> extent[3];         ///< half the size of the box around it; empty for spheres
  std::vector<float> company;           ///< 1: shaped by its neighbours, 0: a particle alone; empty for spheres
  bool stretched = false;               ///< ellipsoids
  std::size_t size() const { return particle.size(); }
};

/// Every particle near the surface as it is, radii times `scale`.
Shapes make_spheres(const ParticleBlocks& blocks, const NearSurface& near, float scale);

/// Ellipsoids where the surface may be, spheres below. Per particle that is shaped about 500 candidates of 12 bytes
/// from the second cache, 30 flops each. Where ranks share a surface, neighbours are copied from other ranks, and what
/// all particles have in common is found together; collective then.
Shapes make_ellipsoids(ParticleBlocks& blocks, const NearSurface& near, const SurfaceSettings& settings,
                       SurfaceShares* shares = nullptr);

}  // namespace aegir
