// A point and a triangle that both move: when do they first come close?
//
//   const MovingTriangle t{{a0, b0, c0}, {a1, b1, c1}};
//   if (auto touch = first_touch(t, x0, x1, 1e-9)) stop_at(touch->time);
#pragma once

#include <optional>

#include "base/vec.h"

namespace aegir {

/// Corners that go straight from `begin` at time 0 to `end` at time 1.
struct MovingTriangle {
  Vec3d begin[3], end[3];

  /// A corner at a time; exact at 0 and 1.
  Vec3d corner(int k, double time) const {
    return time >= 1 ? end[k] : time <= 0 ? begin[k] : begin[k] + (end[k] - begin[k]) * time;
  }
};

/// How a point first comes close to a triangle.
struct TriangleTouch {
  double time = 0;  ///< in [0, 1]
  Vec3d barycentric;
  Vec3d away;           ///< unit vector from the triangle to the point, at that time: the side it came from
  double distance = 0;  ///< at that time
};

/// Whether a point going straight from x0 to x1 stays more than `least` off the triangle's plane, which moves along, on
/// one side of it. Cheap, and true for most triangles that are not touched.
bool stays_beside(const MovingTriangle& triangle, const Vec3d& x0, const Vec3d& x1, double least);

/// The first time up to `latest` at which a point going straight from x0 to x1 is within `reach` of the triangle.
///
/// Separating planes are followed: a plane between point and triangle, with the direction of their closest points,
/// moves on until a corner or the point reaches it, and the next plane starts there. A crossing is therefore never
/// missed, whatever rounding does to its place; grazing paths may be stopped a little early. A point that starts within
/// `reach` is stopped at half of its first distance; one that starts on the triangle is watched from a 64th of the way
/// on.
std::optional<TriangleTouch> first_touch(const MovingTriangle& triangle, const Vec3d& x0, const Vec3d& x1, double reach,
                                         double latest = 1);

}  // namespace aegir
