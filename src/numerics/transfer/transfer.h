// Particles to grid, grid to particles, and particle moves, on the buckets that both share.
//
//   const TransferChannels channels{v, mass, vel, face_mass, {cx, cy, cz}};
//   to_grid(exec, particles, volume, channels, false, barrier, &pool);
//   … forces, pressure …
//   to_particles(exec, particles, volume, channels, {.transfer = TransferMethod::flip, .previous = vel_before});
//   move_particles(exec, particles, volume, vel, {.dt = dt}, &collide);
//
// The weight of a face is the product of three hats max(0, 1 - |distance in cells|). Particles are where the last
// rebucket() put them: sorted by cell, inside their buckets. Same bits for any number of threads and ranks.
#pragma once

#include <array>

#include "base/function_ref.h"
#include "domain/channel/buffer.h"
#include "domain/for_each_bucket.h"
#include "domain/particles/particle_system.h"
#include "domain/volume/discrete_volume.h"
#include "numerics/barrier.h"

namespace aegir {

/// How the velocity of the grid becomes that of particles.
enum class TransferMethod { pic, flip, apic };

/// The channels of a transfer; `affine` holds the rows of the particles' velocity gradient (1/s), used by APIC only.
struct TransferChannels {
  ParticleChannel<Vec3f> velocity;  ///< m/s
  ParticleChannel<float> mass;      ///< kg
  FaceChannel<float> grid_velocity, grid_mass;
  std::array<ParticleChannel<Vec3f>, 3> affine{};
};

/// grid_velocity = Σ m w (v [+ C (x_face - x_p)]) / Σ m w and grid_mass = Σ m w. Where no particle reaches a face both
/// are 0. With a barrier, faces that it hides from a particle get nothing of it. `memory` keeps the sums' memory
/// between steps: 6.6 bytes per particle at eight particles per cell.
/// Reads P, velocity, mass (and affine); adds to grid_velocity and grid_mass, halo 1; every face is rewritten.
void to_grid(Exec& exec, ParticleSystem& particles, DiscreteVolume& volume, const TransferChannels& channels,
             bool affine, const Barrier* barrier = nullptr, BufferPool* memory = nullptr);

/// Which transfer back, and what it needs.
struct ToParticles {
  TransferMethod transfer = TransferMethod::flip;
  float flip_ratio = 1;  ///< 1: FLIP, 0: PIC
  const ParticleChannel<float>* flip_ratio_per_particle = nullptr;
  FaceChannel<float> previous{};  ///< grid velocity as to_grid left it; FLIP only
  const Barrier* barrier = nullptr;
};

/// With u the grid's velocity at the particle: pic v = u; flip v = u + ratio (v - u_previous); apic v = u and
/// C = Σ u ∇w, one row per component (Jiang et al. 2015, section 5.3). With a barrier, hidden faces are left out and
/// the other weights scaled to 1; where none is left a particle keeps its velocity, and C becomes 0. Reads
/// grid_velocity and (flip) previous, halo 1, P and (flip) the ratio; writes velocity and (apic) affine.
void to_particles(Exec& exec, ParticleSystem& particles, DiscreteVolume& volume, const TransferChannels& channels,
                  const ToParticles& settings);

/// Bounds the velocity gradients of loose particles, those in cells whose centre is outside the liquid (`distance` not
/// below 0): over a cell C may change a particle's velocity by no more than `most` of its speed. No pressure acts
/// there, so nothing else bounds them: where a floor stops the faces below a particle while those above it fall, C
/// grows by g dt/Δx a step for as long as it lies there, and hits whatever comes near. For materials that come to rest:
/// speed is that towards the grid. Reads P, velocity and distance; writes affine.
void limit_loose_gradients(Exec& exec, ParticleSystem& particles, DiscreteVolume& volume,
                           const CellChannel<float>& distance, const TransferChannels& channels, float most = 0.5f);

/// Sees the new positions of up to 128 particles before they are stored, and may change them; for collisions. `first`
/// counts from the bucket's first particle; positions are in cells relative to the bucket.
using MoveHook = FunctionRef<void(const Bucket& bucket, std::size_t first, std::size_t count,
                                  const float* const from[3], float* const to[3])>;

/// How particles move.
struct MoveSettings {
  double dt = 0;
  int order = 3;  ///< 3: Ralston's third-order Runge–Kutta; 2: midpoint
  const Barrier* barrier = nullptr;
  /// Moves particles that see no face at all; without it they rest.
  const ParticleChannel<Vec3f>* own_velocity = nullptr;
};

/// Moves particles along the grid's velocity, which is known within four cells of a bucket: velocities are exact up to
/// a Courant number of 4, beyond that they are those at the edge. A move that is no finite number is not made.
/// Reads velocity, halo 4 (and own_velocity); writes P. Afterwards particles may lie outside their buckets.
void move_particles(Exec& exec, ParticleSystem& particles, DiscreteVolume& volume, const FaceChannel<float>& velocity,
                    const MoveSettings& settings, const MoveHook* hook = nullptr);

}  // namespace aegir
