// How far the surface is when the particles around a point have their weighted mean a given offset away from it.
//
//   const OffsetTable& table = OffsetTable::get();
//   float distance = table.distance(dot(offset, offset), quartic(offset));
//   float crowding = weight / (8 * table.weight(distance, quartic(offset)));    // with eight particles per cell
//
// Weights are a tensor product of quadratic B-splines of the cell size. In a half space of even density whose surface
// is s cells above the point, the mean lies a(s) = -∫ y w / ∫ w below it, both integrals over y < s: a monotone
// function, 1.5 at s = -1.5, 0.406 at s = 0, 0 at s = 1.5. The table holds its inverse. w is the kernel's projection
// on the surface's normal n: a B-spline of order 3 along an axis and of order 9 along the diagonal, of the same
// variance; in between, Σ n_i^4 decides. Along an axis the integrals are taken as sums over layers of two particles
// per cell, which makes the surface of a liquid at rest exact.
#pragma once

#include <array>

namespace aegir {

class OffsetTable {
 public:
  static constexpr float reach = 1.5f;  ///< distances are given from -reach to reach

  static const OffsetTable& get();

  /// Distance to the surface in cells, negative inside. `offset2`: |offset|²; `quartic`: Σ n_i^4 of its direction, 1/3
  /// to 1.
  float distance(float offset2, float quartic) const;

  /// Share of the weights that a half space at a distance holds, 1 deep inside.
  float weight(float distance, float quartic) const;

 private:
  OffsetTable();
  static constexpr int size = 512;
  // By the square root of the offset, where the curve is smooth enough for linear interpolation.
  std::array<float, size + 2> axis_, diagonal_;
  std::array<float, size + 2> axis_weight_, diagonal_weight_;  // by the distance, from -reach to reach
};

}  // namespace aegir
