// The velocity at eight particles of one cell: lanes are particles, and the 2 × 3 × 3 faces of a component that they
// share are spread to all lanes.
#pragma once

#include "numerics/transfer/lanes.h"

namespace aegir::lanes {

/// Weights of eight particles of a cell, and their slopes per cell: `along` on the two faces of an axis, `across` on
/// the three around it.
struct Weights {
  Line along[3][2], across[3][3], slope[3][3];

  template <bool Slopes>
  AEGIR_INLINE void set(int axis, const Line& fraction) {
    along[axis][1] = fraction, along[axis][0] = spread(1) - fraction;
    hats(fraction, across[axis]);
    if (!Slopes) return;
    const Line upper = _mm256_and_ps(_mm256_cmp_ps(fraction, spread(0.5f), _CMP_GE_OQ), spread(1));
    slope[axis][0] = upper - spread(1), slope[axis][2] = upper, slope[axis][1] = spread(1) - upper - upper;
  }
};

/// The faces of component A that a cell's particles touch.
template <int A, int StrideX>
struct Faces {
  static constexpr int count(int axis) { return axis == A ? 2 : 3; }
  static constexpr int place(int axis, int n) {
    return (axis == A ? n : n - 1) * (axis == 0 ? StrideX : axis == 1 ? 16 : 1);
  }
  static AEGIR_INLINE Line weight(const Weights& w, int axis, int n) {
    return axis == A ? w.along[axis][n] : w.across[axis][n];
  }
  static AEGIR_INLINE Line slope(const Weights& w, int axis, int n) {
    return axis == A ? spread(n ? 1.0f : -1.0f) : w.slope[axis][n];
  }
};

/// Component A; `tile` points to the face (i, j, k) of the particles' cell, rows are 16 apart along y. 18 multiply-adds
/// along z, 6 along y, 2 along x.
template <int A, int StrideX>
AEGIR_INLINE Line component(const float* tile, const Weights& w) {
  using F = Faces<A, StrideX>;
  Line result;
  for (int x = 0; x < F::count(0); ++x) {
    Line plane;
    for (int y = 0; y < F::count(1); ++y) {
      const float* row = tile + F::place(0, x) + F::place(1, y);
      Line sum = F::weight(w, 2, 0) * spread(row[F::place(2, 0)]);
      for (int z = 1; z < F::count(2); ++z) sum = fused(F::weight(w, 2, z), spread(row[F::place(2, z)]), sum);
      plane = y == 0 ? F::weight(w, 1, 0) * sum : fused(F::weight(w, 1, y), sum, plane);
    }
    result = x == 0 ? F::weight(w, 0, 0) * plane : fused(F::weight(w, 0, x), plane, result);
  }
  return result;
}

/// Component A and its gradient per cell, Σ u ∇w: 60 multiply-adds.
template <int A, int StrideX>
AEGIR_INLINE Line component(const float* tile, const Weights& w, Line (&gradient)[3]) {
  using F = Faces<A, StrideX>;
  Line value{}, along_x{}, along_y{}, along_z{};
  for (int x = 0; x < F::count(0); ++x) {
    Line plane{}, plane_y{}, plane_z{};
    for (int y = 0; y < F::count(1); ++y) {
      const float* row = tile + F::place(0, x) + F::place(1, y);
      Line sum{}, sum_z{};
      for (int z = 0; z < F::count(2); ++z) {
        const Line u = spread(row[F::place(2, z)]);
        sum = fused(F::weight(w, 2, z), u, sum), sum_z = fused(F::slope(w, 2, z), u, sum_z);
      }
      plane = fused(F::weight(w, 1, y), sum, plane), plane_y = fused(F::slope(w, 1, y), sum, plane_y);
      plane_z = fused(F::weight(w, 1, y), sum_z, plane_z);
    }
    value = fused(F::weight(w, 0, x), plane, value), along_x = fused(F::slope(w, 0, x), plane, along_x);
    along_y = fused(F::weight(w, 0, x), plane_y, along_y), along_z = fused(F::weight(w, 0, x), plane_z, along_z);
  }
  gradient[0] = along_x, gradient[1] = along_y, gradient[2] = along_z;
  return value;
}

}  // namespace aegir::lanes
