// Where sand rests on solids across the grid, and Coulomb's friction there.
//
// Contacts are cells that a solid cuts. With A the open areas of a cell's faces its part of the solid's
// surface is the vector Σ (A_upper - A_lower) e, which is what the pressure p of the cell presses on [Ng, Min, Gibou
// 2009]; all cells together get just what holds the sand up, wherever the solid lies in the grid. The impulse T of a
// contact is along the solid, |T| ≤ μ N, and acts on the cell's open faces, in proportion to the mass that moves with
// them; it is sought against the velocity that is the mean of those faces in the same proportion, so it cannot gain
// energy, and all contacts together give no more than μ times what they bear, against the way the sand slides.
#pragma once

#include <span>
#include <vector>

#include "domain/exec.h"
#include "domain/volume/discrete_volume.h"
#include "numerics/solids/solid_grid.h"

namespace aegir::sand {

struct FrictionInputs;

/// A cell that a solid cuts. Impulses are in velocities of a cell's mass.
struct CellContact {
  std::uint16_t cell = 0;  ///< of the bucket
  float bound = 0;         ///< greatest |T|
  float rough = 1;         ///< μ
  float below = 0;         ///< cells between its centre and the solid, whose weight is in the bound
  Vec3f normal = {};
  Vec3f solid = {};    ///< the solid's velocity
  Vec3f lower = {};    ///< share of the lower face in the mean along each axis, the upper one has the rest
  Vec3f cells = {};    ///< that move with both faces along each axis; 0: both are closed
  Vec3f impulse = {};  ///< T, as the last sweep left it
  Vec3f ahead = {};    ///< the same, carried on by the sweeps' momentum
};

/// The contacts of the buckets that solids touch.
struct CellContacts {
  std::span<const int> buckets;
  std::vector<std::vector<CellContact>> cells;  ///< of each bucket
  bool any = false;                             ///< on any rank
};

/// Finds the cells that one surface across the grid cuts; surfaces along it, edges and corners are left to
/// wall_contacts(). Collective. `gained` is what forces added to the velocity in this substep: the weight between a
/// cell's centre and the solid. Layers too thin for a pressure rub under what they would gain towards the solid.
CellContacts find_contacts(Exec& exec, DiscreteVolume& volume, const SolidGrid& solids, const FrictionInputs& in,
                           const Vec3d& gained);

/// Starts from what was kept, as far as it is still in contact and within the bounds of this substep.
void start_contacts(Exec& exec, DiscreteVolume& volume, CellContacts& contacts);

/// One step: T ← project(T - τ u_T).
void sweep_contacts(Exec& exec, DiscreteVolume& volume, const FrictionInputs& in, CellContacts& contacts, float step,
                    float momentum);

/// Writes `grip_face` from `grip`, on open faces of some buckets.
void spread_grip(Exec& exec, DiscreteVolume& volume, const FrictionInputs& in, std::span<const int> buckets);

}  // namespace aegir::sand
