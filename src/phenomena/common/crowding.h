// How many particles crowd the inside of a liquid, and the divergence that spreads them again.
//
// Particles follow the grid's velocity only up to interpolation and time steps, so that over seconds some places gain
// particles and others lose them, and with them volume. Crowding is the number of particles in the 27 cells around a
// cell, over the number that belongs into their open part. Deep in the liquid (farther than the kernel of the surface)
// the solve aims at a divergence of
//   (crowding - 1) / correction time
// beyond a dead band of a few per cent, within which the jitter of particles at rest lies.
#pragma once

#include "domain/exec.h"
#include "domain/particles/particle_system.h"
#include "domain/volume/discrete_volume.h"

namespace aegir {

struct CrowdingChannels {
  CellChannel<float> distance;        ///< to the surface, cells
  NodeChannel<float> solid_distance;  ///< cells; read with halo 1
  CellChannel<float> rhs;             ///< of the pressure, added to
};

/// Scratch of the counting; the Object declares them.
inline constexpr CellChannel<float> cell_fill{"cell_fill"};  // particles over those that belong there
inline constexpr CellChannel<float> cell_room{"cell_room"};  // open share of the cell

/// Mean crowding of deep cells, weighted by their number; 1 where there are none.
struct Crowding {
  double mean = 1;
  double cells = 0;
};

/// Counts. Reads P and solid_distance (halo 1); writes cell_fill, cell_room. Particles are sorted.
Crowding measure_crowding(Exec& exec, ParticleSystem& particles, DiscreteVolume& volume,
                          const CrowdingChannels& channels, double particles_per_cell);

/// Adds the divergence to the right-hand side; `rate` is Δx over the correction time, m/s. After measure_crowding().
/// Reads cell_fill and cell_room with halo 1.
void correct_crowding(Exec& exec, DiscreteVolume& volume, const CrowdingChannels& channels, double rate);

}  // namespace aegir
