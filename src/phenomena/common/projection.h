// Making a velocity free of divergence, before and after the solve for pressure.
//
// Pressure is carried as a velocity, p̂ = p dt / (ρ Δx), so that
//   Σ faces A (p̂_i - p̂_j) + sinks = -Σ faces (outward) [A u + (V - A) u_solid]      divergence_of(), the right-hand
//   side u -= p̂_i - p̂_(i-1)                                                              subtract_gradient()
// A: open area of the face [Ng, Min, Gibou 2009], V: open share of the cell. A rigid solid would have 1 in place of V:
// its velocity sums to zero over the faces. One that swells inside a cell does not; of what its velocity sums to there,
// the part 1 - V is the solid's own swelling and pushes no liquid. Without it a cell with a small opening would have to
// let all of it out. At the surface p is zero where the liquid's distance is, between two
// cell centres:
//   u -= p̂_i / θ        θ as in solvers/linear/free_surface.h [Gibou et al. 2002]
#pragma once

#include <span>

#include "domain/exec.h"
#include "domain/volume/discrete_volume.h"

namespace aegir {

struct ProjectionChannels {
  FaceChannel<float> velocity, mass, area, solid_velocity;
  CellChannel<float> room, distance, rhs;
  CellChannel<double> pressure;
};

/// rhs = minus the flux out of each cell. Reads faces with a halo of 1.
void divergence_of(Exec& exec, DiscreteVolume& volume, const ProjectionChannels& channels);

/// Takes the pressure's gradient from the faces beside liquid; afterwards `mass` is above zero exactly on open faces
/// whose velocity means something. Reads pressure and distance with a halo of 1.
void subtract_gradient(Exec& exec, DiscreteVolume& volume, const ProjectionChannels& channels);

/// The same into another channel, and leaves velocity and mass as they are.
void less_gradient(Exec& exec, DiscreteVolume& volume, const ProjectionChannels& channels,
                   const FaceChannel<float>& result);

/// What forget_air reads and writes.
struct AirChannels {
  CellChannel<float> distance;
  FaceChannel<float> mass;
};

/// Which air is next to bulk liquid.
struct BulkAir {
  float depth = 0;       ///< cells that bulk is deeper than
  bool corners = false;  ///< over edges and corners of cells too, not only over faces
};

/// Forgets velocities of the air next to bulk liquid in some buckets, those that solids touch: no pressure acted on
/// them, so gravity's kick is still in them, and extending them into solids would pull liquid along walls. They are
/// extended from the liquid instead. Single drops are no bulk. Reads distance with halo 2, writes mass.
void forget_air(Exec& exec, DiscreteVolume& volume, const AirChannels& channels, const BulkAir& air,
                std::span<const int> buckets);

/// Forgets velocities of faces that solids leave less than `least` open, in some buckets. Next to nothing moves with
/// them, so what acts on whole cells beside them, and volume that must go through them, gives them any velocity: many
/// times that of a board that is pushed through sand. Particles near them would be shot off by it. They are extended
/// from the open faces around instead.
void forget_slivers(Exec& exec, DiscreteVolume& volume, const FaceChannel<float>& area, const FaceChannel<float>& mass,
                    float least, std::span<const int> buckets);

/// Makes the first layer of air free of divergence, after velocities were extended into it: what enters an air cell
/// beside liquid leaves through its faces towards farther air. With plain extension the surface would lag behind by the
/// part of the top half cell that does not stretch: waves would be slow by first order in Δx. Overwrites rhs; reads
/// distance with halo 2.
void close_air(Exec& exec, DiscreteVolume& volume, const ProjectionChannels& channels);

}  // namespace aegir
