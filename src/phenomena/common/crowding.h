// How many particles crowd the inside of a liquid: gaps that are none are closed, and crowds are spread.
//
// Particles follow the grid's velocity only up to interpolation and time steps. Flow that stretches them leaves cells
// without particles beside cells with twice their share, and over seconds some places gain particles and others lose
// them, and with them volume. The crowding of a cell is the number of particles in the 27 cells around it over the
// number that belongs into their open part.
//
// A cell without particles is air only if its crowding says so: below a flat surface it is 2/3, in a gap between crowds
// about 1. Where no air is near, the solve for pressure aims at a divergence of (crowding - 1) / correction time,
// beyond a dead band of a few per cent, within which particles at rest lie. For this, cells beside count half per axis:
// of a wave of crowding exp(i k·x) such a mean sees Π (1 + cos k_a Δx) / 2, never with the wrong sign. A mean of equals
// sees Π (1 + 2 cos k_a Δx) / 3, takes crowds closer than three cells for gaps, and drives particles into them. Below
// the surface, where the cells around are partly air, the crowding is what liquid_distance() measures: there particles
// crowd most, and water that lost its volume would stand too low.
#pragma once

#include <span>

#include "domain/exec.h"
#include "domain/particles/particle_system.h"
#include "domain/volume/discrete_volume.h"
#include "numerics/barrier.h"
#include "numerics/surface/cell_counts.h"

namespace aegir {

/// Scratch of the counting; the Object declares them.
inline constexpr CellChannel<float> cell_fill{"cell_fill"};  // particles over those that belong into a whole cell
inline constexpr CellChannel<float> cell_room{"cell_room"};  // open share of the cell
inline constexpr CellChannel<float> surface_crowding{"surface_crowding"};  // as liquid_distance() measures it

/// Writes cell_fill: particles that were counted, or their masses over that of a full cell (reads P and mass).
void count_particles(Exec& exec, const CellCounts& counts, DiscreteVolume& volume, double particles_per_cell);
void count_masses(Exec& exec, ParticleSystem& particles, DiscreteVolume& volume, const ParticleChannel<float>& mass,
                  double full);
/// Writes cell_room; reads solid_distance with halo 1.
void measure_room(Exec& exec, DiscreteVolume& volume, const NodeChannel<float>& solid_distance);

/// Makes gaps inside liquid liquid, but not beside sheets, whose other side may be full. Reads cell_fill and cell_room
/// with halo 1, writes distance.
void close_gaps(Exec& exec, DiscreteVolume& volume, const CellChannel<float>& distance, const Barrier& sheets);

/// Makes cells liquid that solids fill for the most part, and that are open to nothing but liquid: well inside, where
/// their open part is not full. The few particles in them tell little of a surface; as air they would be vents without
/// pressure, through which what is pressed against a solid leaves at many times its speed. Reads cell_fill, and
/// cell_room, distance and open_area with halo 1, writes distance, in some buckets.
void close_pockets(Exec& exec, DiscreteVolume& volume, const CellChannel<float>& distance,
                   const FaceChannel<float>& open_area, std::span<const int> buckets);

/// How crowded the inside of a liquid is.
struct Crowding {
  double mean = 1;   ///< 1 where there is no inside
  double cells = 0;  ///< whole cells that it was measured in
};

/// How crowds are spread.
struct Spreading {
  double rate = 0;     ///< Δx over the correction time, m/s; 0 only measures
  double mean = 1;     ///< crowding that was measured before: undone everywhere alike, without a dead band
  bool opens = false;  ///< pressure only pushes: nothing is drawn together, and crowds are left a wider band
  /// How fast cells are sheared, times Δx: crowds are spread no faster than grains pass one another. The volume of the
  /// whole is kept all the same.
  const CellChannel<float>* sheared = nullptr;
  const Barrier* sheets = nullptr;  ///< beside them nothing is spread: what lies around may be on their other side
};

/// Adds the divergence that spreads crowds to the right-hand side. With `sheared`, 2.4 γ̇ times crowding is the most
/// [Pailha, Nicolas, Pouliquen 2008: grains dilate by tan ψ = 4.1 (c - 0.58), c: their share of the volume]. Reads
/// cell_fill, cell_room, surface_crowding and distance with halo 1, writes rhs. Tells the crowding of whole cells with
/// no air near.
Crowding spread_crowds(Exec& exec, DiscreteVolume& volume, const CellChannel<float>& distance,
                       const CellChannel<float>& rhs, const Spreading& how);

}  // namespace aegir
