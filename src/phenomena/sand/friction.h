// Friction inside sand: the stress of least kinetic energy among those that the yield condition allows.
//
// With p the pressure just solved, the deviatoric stress s obeys |s|_F / √2 ≤ p tan φ + c in every cell [Zhu 2005
// (thesis), with the factors of one surface], and of all such stresses the one that leaves the least kinetic energy
// acts [Narain, Golas, Lin 2010]: where it is inside the bound nothing deforms, where it is on it s is along the strain
// rate. That is a quadratic problem with a convex set per cell:
//
//   minimise ½ |u|²,   u = u_base + B s,   B = -Eᵀ,   E: strain rate of a velocity
//
// It is solved by projected gradient steps s ← project(s + τ E(u)) with Nesterov's momentum [Beck & Teboulle 2009],
// from the stress of the substep before. Stress is local to cells (collocated): E averages the shear of a cell's four
// edges, so the projection is exact and momentum, linear and angular, is kept by construction.
//
// At solids the impulse T on the layer of faces along them obeys Coulomb's law, |T| ≤ μ p, and is found by the same
// steps; at solids across the grid it belongs to cells (contacts.h).
#pragma once

#include "base/function_ref.h"
#include "domain/exec.h"
#include "domain/volume/discrete_volume.h"
#include "numerics/solids/wall_velocity.h"
#include "phenomena/sand/contacts.h"

namespace aegir::sand {

/// What friction reads of the Object.
struct FrictionInputs {
  FaceChannel<float> velocity, open_area, solid_velocity;
  CellChannel<float> distance;
  CellChannel<double> pressure;
  NodeChannel<float> solid_distance;
};

/// Where stress acts: writes ease, edge, span and pace. Reads distance and solid_distance with
/// Halo<1> and open_area. Returns the buckets with such
/// faces, and those that `also` names; all functions below work on them.
std::vector<int> find_faces(Exec& exec, DiscreteVolume& volume, const FrictionInputs& in,
                            FunctionRef<bool(int bucket)> also);

/// How strong sand is, in the units of the pressure channel; channels instead where particles differ.
struct Strength {
  double tan_angle = 0;
  double cohesion = 0;  ///< c dt / (ρ Δx)
  double least = 0;     ///< added to either cohesion
  const CellChannel<float>* tan_angles = nullptr;
  const CellChannel<float>* cohesions = nullptr;  ///< Pa
  double per_pascal = 0;                          ///< dt / (ρ Δx)
};

/// Writes yield from the pressure.
void find_yield(Exec& exec, DiscreteVolume& volume, const FrictionInputs& in, const Strength& strength);

/// Multiplies kept stress: another dt, another scale. Forgets what other buckets have kept.
void scale_stress(Exec& exec, DiscreteVolume& volume, std::span<const int> buckets, double factor);

/// velocity += B stress + wall, by the kept ones.
void apply_kept(Exec& exec, DiscreteVolume& volume, const FrictionInputs& in, std::span<const int> buckets);

/// base = velocity - B stress - wall; closed faces take the velocity of their solid.
void take_base(Exec& exec, DiscreteVolume& volume, const FrictionInputs& in, std::span<const int> buckets);

/// The contacts of the buckets that solids touch.
struct Contacts {
  std::span<const int> buckets;
  std::vector<std::vector<WallContact>> faces;
  CellContacts across = {};  ///< with solids across the grid
  double creep = 1e-6;       ///< what slips less than this counts as held, m/s
  /// Solids that move away from bodies faster than this do not pull them along, m/s.
  double recede = std::numeric_limits<double>::infinity();
};

/// How stress is sought.
struct SweepSettings {
  int sweeps = 8;
  float stress_step = 0.08f;  ///< τ, where faces have a whole cell: |B|² is 4 then
  float block_step = 0.5f;    ///< of the mean of 4 × 4 × 4 cells that do not yield, where |B|² is 1
  float bucket_step = 1.0f;   ///< of the mean of a bucket's cells that do not yield, where |B|² is 1/2
  float wall_step = 0.25f;
  /// Nesterov's t at the first sweep: 1 for a search from nothing. One that starts from the stress of the substep
  /// before goes on with the pace of that one's search, about; from 1 eight sweeps fell short of the stress of least
  /// energy in a small bin with a square opening, which ran at 0.8 of its rate.
  float first_inertia = 1;
};

/// Finds stress, and velocity = base + B stress + wall.
void sweep(Exec& exec, DiscreteVolume& volume, const FrictionInputs& in, std::span<const int> buckets,
           Contacts& contacts, const SweepSettings& how);

/// How fast sand is sheared, √2 |D| Δx, by the velocity as it is. Reads velocity with Halo<1>.
void measure_shear(Exec& exec, DiscreteVolume& volume, const FrictionInputs& in, const CellChannel<float>& rate);

/// What friction did to the kinetic energy, over ρ Δx³: ½ Σ (|velocity|² - |base|²) over faces, weighed by the cells
/// that belong to them. Never above zero: sweeps that end too early could gain, and are then taken back as far as
/// needed. Collective.
double never_gain(Exec& exec, DiscreteVolume& volume, const FrictionInputs& in, std::span<const int> buckets);

}  // namespace aegir::sand
