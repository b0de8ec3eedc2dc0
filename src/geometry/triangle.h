// One triangle in double precision: closest point, solid angle, and a ray test without gaps between neighbours.
//
//   TrianglePoint nearest = closest_on_triangle(x, a, b, c);
#pragma once

#include <array>
#include <optional>

#include "base/vec.h"

namespace aegir {

/// A point of a triangle and the weights of its corners.
struct TrianglePoint {
  Vec3d point;
  Vec3d barycentric;
  double distance2 = 0;  ///< squared distance to what was asked about
};

/// The point of triangle abc closest to x; slivers and points are allowed.
TrianglePoint closest_on_triangle(const Vec3d& x, const Vec3d& a, const Vec3d& b, const Vec3d& c);

/// Its squared distance alone, without branches. Real may be a vector of doubles, with a triangle in each lane.
template <class Real>
Real distance2_to_triangle(const Vec3<Real>& x, const Vec3<Real>& a, const Vec3<Real>& b, const Vec3<Real>& c) {
  const Real none{}, one = none + 1;
  const auto least = [](const Real& p, const Real& q) { return q < p ? q : p; };
  const auto of_edge = [&](const Vec3<Real>& p, const Vec3<Real>& q) {
    const Vec3<Real> e = q - p;
    const Real ee = dot(e, e), along = dot(x - p, e) / ee, s = ee > 0 ? (along < 0 ? none : least(one, along)) : none;
    const Vec3<Real> off = x - (p * (one - s) + q * s);
    return dot(off, off);
  };
  const Vec3<Real> n = cross(b - a, c - a);
  const Real nn = dot(n, n), height = dot(x - a, n);
  const Real wb = dot(cross(x - a, c - a), n) / nn, wc = dot(cross(b - a, x - a), n) / nn, wa = one - wb - wc;
  const Real edges = least(least(of_edge(a, b), of_edge(b, c)), of_edge(c, a));
  return ((nn > 0) & (wa >= 0) & (wb >= 0) & (wc >= 0)) ? height * height / nn : edges;
}

/// Solid angle of triangle abc seen from x, over 4 pi: positive from behind [van Oosterom and Strackee 1983, eq. 8].
double solid_angle_fraction(const Vec3d& x, const Vec3d& a, const Vec3d& b, const Vec3d& c);

/// A line prepared for many triangles. Neighbours evaluate the edge they share to exactly opposite numbers, and
/// rounding can only turn a sign into zero, which counts as a hit: no line slips through an edge or a corner [after
/// Woop et al. 2013].
class WatertightLine {
 public:
  struct Crossing {
    double t;           ///< in multiples of the direction; may be negative
    Vec3d barycentric;  ///< weights of a, b, c
  };

  WatertightLine(const Vec3d& origin, const Vec3d& direction);
  /// Where the line crosses triangle abc; lines inside the triangle's plane do not cross it.
  std::optional<Crossing> cross(const Vec3d& a, const Vec3d& b, const Vec3d& c) const;

 private:
  Vec3d sheared(const Vec3d& p) const;
  Vec3d origin_;
  int kx_, ky_, kz_;
  double shear_x_, shear_y_, scale_z_;
};

}  // namespace aegir
