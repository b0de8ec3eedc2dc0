// What solids do to the velocity of a liquid on the grid: no flow through them, friction along them.
//
//   wall_friction(exec, volume, solids, {velocity, channels, pressure}, {.dt = dt, .density = 1000});  // after
//   pressure constrain_velocity(exec, volume, solids, velocity, channels, {.no_slip = false});                  //
//   after extrapolation
//
// Both read velocity and solid velocity with Halo<1>, solid distance with Halo<1>, area of the own bucket; friction
// also reads pressure with Halo<2>. Both write velocity. Buckets that no solid touches cost nothing.
#pragma once

#include "numerics/solids/solid_grid.h"

namespace aegir {

/// How a liquid meets solids.
struct SlipSettings {
  bool no_slip = false;  ///< the liquid has the solid's velocity in the solid, not only its normal part
  std::span<const std::uint8_t> sticks = {};  ///< the same for single solids by their number, walls last
};

/// Gives faces that are closed, or whose centre is in a solid, a velocity that does not enter or leave it:
///
///   u ← u - n ((u - u_s) · n)         u_s: velocity of the solid, n: gradient of its distance, of unit length
///
/// A closed face in a plane wall along the grid gets exactly the wall's velocity, faces across it stay as they are.
/// Faces closed by a sheet get the sheet's velocity: there is no room for a normal.
void constrain_velocity(Exec& exec, DiscreteVolume& volume, const SolidGrid& solids, const FaceChannel<float>& velocity,
                        const SolidChannels& channels, const SlipSettings& settings = {});

/// What friction reads and writes.
struct FrictionChannels {
  FaceChannel<float> velocity;
  SolidChannels solids;
  CellChannel<double> pressure;  ///< Pa; 0 where there is no liquid
};
struct FrictionSettings {
  double dt = 0;                            ///< s
  double density = 1000;                    ///< kg/m³
  std::span<const std::uint8_t> rubs = {};  ///< solids by their number, walls last, that have friction; all if empty
};

/// How many cells of liquid feel the velocity of a face whose centre is d cells from a wall: linear interpolation, and
/// extrapolation to the next face down where that one is closed.
///
///   c = (1 + d)²/2  for d < 0,   d + 1/2  for 0 ≤ d ≤ 1/2,   1 - (1 - d)²/2  for d > 1/2
inline double friction_reach(double d) {
  if (d < 0) return 0.5 * (1 + d) * (1 + d);
  return d <= 0.5 + 1e-5 ? d + 0.5 : 1 - 0.5 * (1 - d) * (1 - d);
}

/// Coulomb friction bounded by the pressure just solved. On every open face whose centre is -1/4 ≤ d < 3/4 cells from a
/// solid (one layer of faces, wherever the wall lies) the velocity u_T along the surface and relative to it shrinks by
/// at most
///
///   |Δu_T| ≤ μ p_w Δt / (ρ Δx c(d))
///
/// μ: coefficient of the solid nearest to the cell above the face, p_w: pressure at the wall, mean of the two cells
/// (each carried on from the centre to the surface along the grid axis closest to the normal, as the pressure changes
/// to the cell on the other side; never negative), c: friction_reach. A wall takes momentum at the rate μ p_w per area
/// wherever it lies between faces; c = 1 for a wall on faces.
void wall_friction(Exec& exec, DiscreteVolume& volume, const SolidGrid& solids, const FrictionChannels& channels,
                   const FrictionSettings& settings);

}  // namespace aegir
