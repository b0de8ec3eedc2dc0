// The eight faces of one velocity component around a point: the definition that the vector kernels follow, used where
// speed does not matter (next to barriers, in tests).
//
//   const Vec3f u = sample_velocity<float>([&](int axis, const Vec3i& f) { return tile[axis](f.x, f.y, f.z); }, cells);
#pragma once

#include <cmath>

#include "base/vec.h"

namespace aegir {

/// Faces and weights of component `axis` at a point in cells. The face (i, j, k) of the x component lies at
/// (i, j + ½, k + ½).
template <class Real>
struct FaceStencil {
  FaceStencil(int axis_, const Vec3<Real>& cells) : axis(axis_) {
    for (int a = 0; a < 3; ++a) {
      const Real g = cells[a] - offset(a);
      base[a] = static_cast<std::int32_t>(std::floor(g));
      fraction[a] = g - static_cast<Real>(base[a]);
    }
  }

  /// Corner n of 8: bit 2 counts along x, bit 1 along y, bit 0 along z.
  static int bit(int corner, int a) { return corner >> (2 - a) & 1; }
  Real offset(int a) const { return a == axis ? Real(0) : Real(0.5); }
  Vec3i face(int corner) const { return base + Vec3i{bit(corner, 0), bit(corner, 1), bit(corner, 2)}; }
  Vec3<Real> position(int corner) const {
    return Vec3<Real>(face(corner)) + Vec3<Real>(offset(0), offset(1), offset(2));
  }
  Real hat(int corner, int a) const { return bit(corner, a) ? fraction[a] : Real(1) - fraction[a]; }
  Real weight(int corner) const { return hat(corner, 0) * hat(corner, 1) * hat(corner, 2); }
  /// Of the weight, per cell; at a kink the one towards larger coordinates.
  Vec3<Real> gradient(int corner) const {
    const auto slope = [&](int a) { return bit(corner, a) ? Real(1) : Real(-1); };
    return {slope(0) * hat(corner, 1) * hat(corner, 2), hat(corner, 0) * slope(1) * hat(corner, 2),
            hat(corner, 0) * hat(corner, 1) * slope(2)};
  }

  int axis;
  Vec3i base;
  Vec3<Real> fraction;
};

/// The velocity at a point in cells; `face(axis, index)` gives the value on a face.
template <class Real, class Face>
Vec3<Real> sample_velocity(const Face& face, const Vec3<Real>& cells) {
  Vec3<Real> u;
  for (int axis = 0; axis < 3; ++axis) {
    const FaceStencil<Real> stencil(axis, cells);
    for (int n = 0; n < 8; ++n) u[axis] += stencil.weight(n) * static_cast<Real>(face(axis, stencil.face(n)));
  }
  return u;
}

}  // namespace aegir
