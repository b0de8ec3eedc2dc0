// Continuous collision of a moving point with a moving surface.
//
//   std::vector<MotionPiece> pieces = motion.pieces(t0, t1);              // once per substep
//   if (auto hit = sweep(*surface, pieces, x0, x1, clearance)) {          // for every point
//     x1 = hit->resting_point;
//     v = bounce(v - hit->surface_velocity, hit->normal_at_end) + hit->surface_velocity;
//   }
//
// No leak: sweep between positions as they are stored (round x1 before, not after), pass a `clearance` of at least what
// storing the answer may change, and go on from `resting_point`. Then a point never changes sides without a hit.
#pragma once

#include <optional>
#include <span>

#include "geometry/deforming_surface.h"
#include "geometry/motion.h"
#include "geometry/shapes.h"
#include "geometry/surface.h"

namespace aegir {

/// The first contact.
struct SweepHit {
  double fraction = 0;     ///< of the way and of the time, in [0, 1]
  Vec3d point;             ///< the contact, world, at that time
  Vec3d normal;            ///< world, at that time, towards the side the point came from
  Vec3d surface_velocity;  ///< of the touched material point, mean over the piece of motion in which it is touched
  int triangle = -1;       ///< of meshes
  Vec3d barycentric;
  Vec3d resting_point;  ///< where the touched material point is at t1, moved off by the clearance to the side the point
                        ///< came from
  Vec3d normal_at_end;  ///< `normal` carried along to t1; of deforming meshes shorter where there is no room for four
                        ///< times the clearance
};

/// A point going straight from x0 at t0 to x1 at t1 against a mesh that moves with it in pieces from Motion::pieces. In
/// the body's frame the path is a chain of straight segments; both sides of every surface are hit.
std::optional<SweepHit> sweep(const Surface& surface, std::span<const MotionPiece> pieces, const Vec3d& x0,
                              const Vec3d& x1, double clearance = 0);
std::optional<SweepHit> sweep(const Shape& shape, std::span<const MotionPiece> pieces, const Vec3d& x0, const Vec3d& x1,
                              double clearance = 0);

/// The same for a single point.
std::optional<SweepHit> sweep(const Surface& surface, const Motion& motion, const Vec3d& x0, const Vec3d& x1, double t0,
                              double t1, double clearance = 0);
std::optional<SweepHit> sweep(const Shape& shape, const Motion& motion, const Vec3d& x0, const Vec3d& x1, double t0,
                              double t1, double clearance = 0);

/// A point going straight from x0, at a part `from` of the substep, to x1 at its end, against a mesh whose vertices
/// move straight. The resting point is reached from the touch without crossing any part of the mesh, also where parts
/// of it close in on the point, unless they leave no room at all.
std::optional<SweepHit> sweep(const DeformingSurface& surface, double from, const Vec3d& x0, const Vec3d& x1,
                              double clearance = 0);

}  // namespace aegir
