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
