// From distances to the coefficients of a viscosity system: shares of liquid, cut distances at walls, who is unknown.
//
// The share of liquid around a sample is clamp(1/2 - d, 0, 1), d the mean distance of the cells that meet at the sample
// (one at a cell, two at a face, four at an edge) and have their centre outside solids; so liquid at a wall goes on
// into the wall. A face whose centre lies in a solid is prescribed. Where a velocity difference ends at such a face, it
// is taken over the distance to the wall: theta cells, theta = f / (f - g) for solid distances f > 0 >= g of both
// faces, and the sample's volume shrinks by theta.
//
// Where liquid slips, only faces in a solid that look towards its surface (no other axis is closer to the normal) are
// prescribed. The others are absent: they are neither unknown nor prescribed, and no sample that needs one counts, so a
// wall bears no shear. Exact for walls along the grid, first order for others.
#pragma once

#include <cstdint>

#include "solvers/linear/viscosity_kernels.h"

namespace aegir {

/// The channels of a system as memory over a topology, 512 values per bucket, ghosts included where halos are read.
struct ViscosityInput {
  const Topology* topology = nullptr;
  const float* liquid_distance = nullptr;
  const float* solid_distance = nullptr;
  float solid_background = 0;
  const float* viscosity = nullptr;  ///< null: one for all
  const float* known[3] = {};        ///< null: all
  const float* area[3] = {};         ///< open share of the faces; null: no sheets
  bool free_slip = false;            ///< solids prescribe the velocity towards them only
  double stiffness = 0;              ///< dt / (rho h²), times the viscosity of all where there is one
};

enum class ViscosityKind : std::uint8_t {
  far,      ///< nothing of the liquid comes near
  beside,   ///< no unknown, but faces that unknowns next to the bucket may touch
  uniform,  ///< 1536 unknowns, all samples whole
  mixed
};

/// What is wrong with a bucket's input.
enum class ViscosityTrouble : std::uint8_t { none, liquid_distance, solid_distance, viscosity };

struct ViscosityLook {
  ViscosityKind kind = ViscosityKind::far;
  ViscosityTrouble trouble = ViscosityTrouble::none;
  std::int32_t unknowns = 0;
};

/// Tiles and intermediate results of one bucket: 100 KB, to be kept from bucket to bucket.
struct ViscosityScratch {
  /// Values at −2 … 9 along each axis.
  static constexpr int side = 12, cells = side * side * side;
  static constexpr int stride[3] = {side * side, side, 1};
  static constexpr int at(int i, int j, int k) { return ((i + 2) * side + (j + 2)) * side + k + 2; }
  struct Field {
    alignas(64) float values[cells + 16];
  };
  PaddedTile<float, 2> tile;
  Field liquid;      ///< distance of the cells; far where there is no bucket
  Field node;        ///< solid distance of the nodes, bounded
  Field open;        ///< 1 where the cell's centre lies outside solids, else 0
  Field solid[3];    ///< solid distance of the faces, or `slipping`
  Field share[3];    ///< of liquid at the faces
  Field resistance;  ///< 1 / viscosity of the cells; 0 where it has none
  Field sheet[3];    ///< 1 where a sheet thinner than a cell closes the face; only filled where `sheets`
  bool sheets = false;
};

/// Looks at a bucket and, unless it is far, leaves the solid distances of its faces in the scratch.
ViscosityLook look_at_bucket(const ViscosityInput& input, int bucket, ViscosityScratch& scratch);

/// The coefficients of a mixed bucket that the scratch has just been used to look at; returns the number of unknowns.
int fill_bucket(const ViscosityInput& input, int bucket, ViscosityScratch& scratch, ViscosityBucket& out);

/// A face has the velocity of the solid where the solid distance of its centre is at most this, in cells.
inline constexpr float on_wall = 0.01f;
constexpr bool prescribed_face(float solid_distance) { return solid_distance <= on_wall; }
/// The solid distance that stands for an absent face along a wall that lets slip; below all others.
inline constexpr float slipping = -8;

}  // namespace aegir
