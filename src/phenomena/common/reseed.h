// Keeps the number of particles per cell between two limits, inside the liquid: cells that were stretched get
// particles, crowded ones have some of theirs merged.
//
//   const Reseeded done = reseed(exec, particles, volume, {.limits = {4, 16}, …}, blocked);
//   if (done.any()) particles.rebucket(exec, padding);      // before anyone looks: the new arrive, the merged leave
//
// Nothing is made or lost. New particles take over a share of their cell's mass M, and all move on so that the cell's
// momentum stays:
//   m = M / (n + k),   v ← v + (Σ m_before v_before - Σ m v) / M
// A new particle has the grid's velocity (and its gradient) plus what the cell's particles differ from the grid by on
// average: FLIP's share of their momentum, without which the last step would double it in those that were there. The
// rest is copied from the particle next to it. Two that merge become one at their centre of mass, with the sum of their
// masses and the mean, by mass, of all they carry. Radii follow masses, so the particles' volume stays too. Angular
// momentum does not: it changes by what the new velocities differ from the old ones.
//
// A cell is inside if it is whole, no cell around it is air, and no sheet is near. Those without particles stay empty:
// there is nothing to share.
#pragma once

#include <cstdint>

#include "base/function_ref.h"
#include "domain/exec.h"
#include "domain/particles/particle_system.h"
#include "domain/volume/discrete_volume.h"
#include "numerics/barrier.h"

namespace aegir {

struct ReseedSettings {
  int minimum = 4, maximum = 16;  ///< particles per cell
};

struct ReseedRules {
  ReseedSettings limits;
  int per_axis = 2;       ///< places of new particles in a cell, along each axis
  double density = 1000;  ///< kg/m³
  double dt = 0;          ///< new particles are put where they will be after it
  std::uint64_t seed = 1, step = 0;
  std::int64_t next_id = 0;  ///< of the first new particle
  bool affine = false;       ///< particles carry the gradient of the velocity
  const Barrier* sheets = nullptr;
};

struct Reseeded {
  std::int64_t added = 0, merged = 0;  ///< on all ranks
  bool any() const { return added + merged > 0; }
};

/// Particles are as the last rebucket() sorted them, velocities are those of the end of the substep. New particles
/// wait for the next rebucket(), merged ones are marked for removal in it. `blocked` tells places where none can be.
/// Reads vel with halo 4, surface_distance and cell_room with halo 1; writes every channel of the particles.
/// Same bits for any number of threads and ranks. Collective.
Reseeded reseed(Exec& exec, ParticleSystem& particles, DiscreteVolume& volume, const ReseedRules& rules,
                FunctionRef<bool(const Vec3d&)> blocked);

}  // namespace aegir
