// Rigid groups: connected cells of sand that neither yield nor deform move as one body [Zhu 2005 (thesis), section
// 2.3.4, with the inertia tensor in its place].
//
// The velocity of a group's faces is replaced by the rigid motion v(x) = v̄ + ω × (x - x̄) that is nearest to it,
// weighed by the mass of faces: six unknowns, least squares. A group that touches no solid keeps its linear and angular
// momentum; what the pressure gave to it counts by the pressure's own masses. Where one rests on solids it does not
// move into them and rubs on them as a whole (body_friction.h); what changes its momentum is reported.
#pragma once

#include "domain/exec.h"
#include "domain/grid/connected_cells.h"
#include "domain/volume/discrete_volume.h"
#include "phenomena/sand/friction.h"

namespace aegir::sand {

/// When cells count as rigid.
struct RigidSettings {
  double slack = 0.05;  ///< share of the yield stress that must be left
  double rate = 0;      ///< greatest |Δx D|, m/s …
  double idle = 0.7;    ///< … or, of what sweeps have not stopped yet: share of the yield stress that is enough …
  double far = 8;       ///< … for the stress and so many times |Δx D|
  std::int64_t least = 8;  ///< cells of a group
};

/// What became rigid.
struct RigidReport {
  std::int64_t groups = 0, cells = 0;
  Vec3d impulse, angular_impulse;  ///< given by solids to groups, kg m/s and kg m²/s
};

/// Finds rigid cells: the set they belong to. Reads velocity with Halo<1>.
ConnectedCells find_rigid(Exec& exec, DiscreteVolume& volume, const FrictionInputs& in, const RigidSettings& settings);

/// Replaces the velocity of groups by rigid motion. `cell_mass` in kg: faces have the mass of the cells that belong to
/// them.
RigidReport make_rigid(Exec& exec, DiscreteVolume& volume, const FrictionInputs& in, double cell_mass,
                       const ConnectedCells& groups, const Contacts& contacts);

}  // namespace aegir::sand
