// What solids do to the velocity of a liquid on the grid: no flow through them, friction along them.
//
//   wall_friction(exec, volume, solids, {velocity, channels, pressure}, {.dt = dt, .density = 1000});  // after
//   pressure constrain_velocity(exec, volume, solids, velocity, channels, {.no_slip = false});                  //
//   after extrapolation
//
// Both read velocity and solid velocity with Halo<1>, solid distance with Halo<1>, area of the own bucket; friction
// also reads pressure with Halo<2>. Both write velocity. Buckets that no solid touches cost nothing.
#pragma once

#include <algorithm>
#include <cmath>

#include "numerics/solids/solid_grid.h"

namespace aegir {

/// How a liquid meets solids.
struct SlipSettings {
  bool no_slip = false;  ///< the liquid has the solid's velocity in the solid, not only its normal part
  std::span<const std::uint8_t> sticks = {};   ///< the same for single solids by their number, walls last
  bool leaves = false;                         ///< the liquid may move away from solids, only not into them
  std::span<const std::uint8_t> lets_go = {};  ///< the same for single solids
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
  /// Distance of the surface, for layers thinner than a cell: their weight is that of what lies between the wall and
  /// the surface, and what has no pressure at all weighs as much as it moves towards the wall. None: liquids.
  const CellChannel<float>* surface = nullptr;
  /// Stress beside the pressure, tension positive: xx yy zz, and yz xz xy. Presses along the normal too.
  const CellChannel<Vec3f>*normal_stress = nullptr, *shear_stress = nullptr;
};
struct FrictionSettings {
  double dt = 0;            ///< s
  double density = 1000;    ///< kg/m³
  Vec3d weight{};           ///< with a surface: what a cell adds to the pressure below it, as a force, Pa
  bool along_grid = false;  ///< leaves out surfaces across the grid: their faces cannot rub one by one
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

/// Whether the gradient of the distance is that of one surface that lies across the grid, nearly flat: not in edges and
/// corners.
inline bool across_grid(const Vec3f& gradient) {
  const float slope = length(gradient);
  const float most = std::max({std::abs(gradient.x), std::abs(gradient.y), std::abs(gradient.z)});
  return std::abs(slope - 1) < 0.02f && most < 0.999f * slope;
}

/// One face that friction acts on: the layer of faces along a solid.
struct WallContact {
  std::uint16_t cell;  ///< of the bucket; the face is its lower one
  std::uint8_t axis;
  Vec3f normal;
  Vec3f solid;        ///< the solid's velocity
  bool plain = true;  ///< one surface is near, and the normal is its own: not in edges and corners
  float bound;        ///< greatest change of velocity, m/s
  float rough = 1;    ///< coefficient of friction that it comes from
  float load = 0;     ///< what presses on the wall there, over the mass of a cell, m/s
  float below = 0;    ///< cells between the centres of cells and the wall, whose weight is in the load
};

/// The contacts of each of solids.touched(), in order of axis and cell. Reads solid distance with Halo<1>, area, solid
/// velocity with Halo<1>, pressure with Halo<2>; with a surface also velocity and stress with Halo<1> and surface with
/// Halo<2>.
std::vector<std::vector<WallContact>> wall_contacts(Exec& exec, DiscreteVolume& volume, const SolidGrid& solids,
                                                    const FrictionChannels& channels, const FrictionSettings& settings);

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
