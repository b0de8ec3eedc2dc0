// Rigid motion with uniform scale, given by keys.
//
//   Result<Motion> spin = Motion::create({{0, {0, 1, 0}, {0, 0, 0}, 1}, {2, {0, 1, 0}, {0, 720, 0}, 1}});
//   if (!spin) return spin.error();
//   Vec3d world = spin->at(0.5).apply(body_point);
#pragma once

#include <vector>

#include "base/result.h"
#include "base/vec.h"

namespace aegir {

/// Where a body is: world = rotation * (scale * body) + translation.
struct Pose {
  Mat3d rotation = Mat3d::identity();
  Vec3d translation{};
  double scale = 1;

  /// Body to world.
  Vec3d apply(const Vec3d& body) const { return rotation * (body * scale) + translation; }
  /// World to body.
  Vec3d apply_inverse(const Vec3d& world) const { return transpose(rotation) * (world - translation) / scale; }
  /// Turns a direction from body to world; its length stays.
  Vec3d direction(const Vec3d& body) const { return rotation * body; }
  /// Turns a direction from world to body; its length stays.
  Vec3d direction_inverse(const Vec3d& world) const { return transpose(rotation) * world; }
};

/// Between two keys: linear in time; smooth with 3s^2 - 2s^3, which rests at every key; step holds the earlier key.
enum class MotionInterpolation { linear, smooth, step };

/// One key; the rotation is about the fixed world axes, first x, then y, then z.
struct MotionKey {
  double time = 0;
  Vec3d translation{};
  Vec3d rotation_degrees{};
  double scale = 1;
};

/// A piece of a motion in which the body turns by 3 degrees at most.
struct MotionPiece {
  double t0 = 0, t1 = 0;
  Pose begin, end;
};

/// A keyed motion; holds before the first and after the last key. If only one of the three angles differs between two
/// keys, that angle is interpolated as written, so that several turns count; otherwise the body turns the shortest way.
class Motion {
 public:
  /// Rests at the origin.
  Motion() = default;
  /// Rests at a pose.
  explicit Motion(const Pose& pose);
  /// Refuses non-finite keys, times that do not increase, scales that are not positive, angles beyond 1e9 degrees.
  static Result<Motion> create(std::vector<MotionKey> keys,
                               MotionInterpolation interpolation = MotionInterpolation::linear);

  /// The pose at a time in seconds.
  Pose at(double time) const;
  /// Mean velocity over [t0, t1] of the material point that is at `world_point` at t1; for t0 == t1 the velocity just
  /// before. A step is a jump, not a motion: its velocity is zero.
  Vec3d velocity(const Vec3d& world_point, double t0, double t1) const;
  /// True if the body never moves.
  bool is_static() const;

  /// [t0, t1] cut at keys and at every 3 degrees of rotation (at most 4096 pieces between two keys). Pieces join
  /// without a gap, except that jumps of a step motion are left out.
  std::vector<MotionPiece> pieces(double t0, double t1) const;

 private:
  struct Span {
    int axis = -1;     // the only angle that changes
    double angle = 0;  // radians turned from this key to the next
    Vec3d turn_axis;   // of the shortest turn, in the world
  };
  Pose between(std::size_t key, double fraction) const;

  std::vector<MotionKey> keys_;
  std::vector<Mat3d> rotations_;  // at the keys
  std::vector<Span> spans_;       // from key i to key i + 1
  MotionInterpolation interpolation_ = MotionInterpolation::linear;
  Pose rest_;  // without keys
};

}  // namespace aegir
