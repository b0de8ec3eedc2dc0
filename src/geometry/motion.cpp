#include "geometry/motion.h"

#include <numbers>

namespace aegir {
namespace {

constexpr double radians = std::numbers::pi / 180;
constexpr double largest_turn = 3 * radians;  // per piece

Mat3d rotation_about(const Vec3d& axis, double angle) {  // Rodrigues' formula
  const double c = std::cos(angle), s = std::sin(angle);
  const Mat3d across{{{0, -axis.z, axis.y}, {axis.z, 0, -axis.x}, {-axis.y, axis.x, 0}}};
  Mat3d r = Mat3d::diagonal(c);
  r += across * s;
  r += outer(axis, axis) * (1 - c);
  return r;
}

// Quarter turns come out exact, so that a plate turned by 90 degrees stays axis-aligned.
Mat3d rotation_about_axis(int axis, double degrees) {
  const double turn = std::remainder(degrees, 360.0);
  double c = std::cos(turn * radians), s = std::sin(turn * radians);
  if (turn == 90 || turn == -90) c = 0;
  if (turn == 180 || turn == -180) s = 0;
  const int j = (axis + 1) % 3, k = (axis + 2) % 3;
  Mat3d r = Mat3d::identity();
  r(j, j) = c, r(j, k) = -s, r(k, j) = s, r(k, k) = c;
  return r;
}

Mat3d rotation_of(const Vec3d& degrees) {
  return rotation_about_axis(2, degrees.z) * (rotation_about_axis(1, degrees.y) * rotation_about_axis(0, degrees.x));
}

// Axis and angle in [0, pi] of a rotation, by way of its quaternion (largest component first, which is stable
// everywhere).
double axis_angle(const Mat3d& m, Vec3d& axis) {
  const double t[4] = {1 + m(0, 0) + m(1, 1) + m(2, 2), 1 + m(0, 0) - m(1, 1) - m(2, 2),
                       1 - m(0, 0) + m(1, 1) - m(2, 2), 1 - m(0, 0) - m(1, 1) + m(2, 2)};
  const int best = static_cast<int>(std::max_element(t, t + 4) - t);
  double w;
  Vec3d v;
  if (best == 0) {
    w = t[0], v = {m(2, 1) - m(1, 2), m(0, 2) - m(2, 0), m(1, 0) - m(0, 1)};
  } else {
    const int i = best - 1, j = (i + 1) % 3, k = (i + 2) % 3;
    v[i] = t[best], v[j] = m(i, j) + m(j, i), v[k] = m(i, k) + m(k, i);
    w = m(k, j) - m(j, k);
  }
  if (w < 0) w = -w, v = -v;
  axis = normalized(v);
  return 2 * std::atan2(length(v), w);
}

}  // namespace

Motion::Motion(const Pose& pose) : rest_(pose) {}

Result<Motion> Motion::create(std::vector<MotionKey> keys, MotionInterpolation interpolation) {
  Motion motion;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const MotionKey& k = keys[i];
    if (!std::isfinite(k.time) || !is_finite(k.translation) || !is_finite(k.rotation_degrees) ||
        !std::isfinite(k.scale))
      return usage_error({}, "key {} of the motion is not finite", i + 1);
    if (!(k.scale > 0))
      return usage_error({}, "the scale of key {} of the motion must be positive, not {}", i + 1, k.scale);
    if (i > 0 && !(k.time > keys[i - 1].time))
      return usage_error({}, "the times of the motion's keys must increase, but {} s follows {} s", k.time,
                         keys[i - 1].time);
    for (int axis = 0; axis < 3; ++axis)
      if (std::abs(k.rotation_degrees[axis]) > 1e9)
        return usage_error({}, "key {} of the motion turns by {} degrees, which is beyond 1e9", i + 1,
                           k.rotation_degrees[axis]);
    motion.rotations_.push_back(rotation_of(k.rotation_degrees));
  }
  for (std::size_t i = 0; i + 1 < keys.size(); ++i) {
    const Vec3d change = keys[i + 1].rotation_degrees - keys[i].rotation_degrees;
    Span span;
    int changing = 0;
    for (int axis = 0; axis < 3; ++axis)
      if (change[axis] != 0) ++changing, span.axis = axis;
    if (changing == 1) {
      span.angle = std::abs(change[span.axis]) * radians;
    } else {
      span.axis = -1;
      if (changing > 1)
        span.angle = axis_angle(motion.rotations_[i + 1] * transpose(motion.rotations_[i]), span.turn_axis);
    }
    motion.spans_.push_back(span);
  }
  motion.keys_ = std::move(keys);
  motion.interpolation_ = interpolation;
  return motion;
}

Pose Motion::between(std::size_t i, double s) const {
  const MotionKey &a = keys_[i], &b = keys_[i + 1];
  if (s >= 1) return {rotations_[i + 1], b.translation, b.scale};
  if (s <= 0 || interpolation_ == MotionInterpolation::step) return {rotations_[i], a.translation, a.scale};
  if (interpolation_ == MotionInterpolation::smooth) s = s * s * (3 - 2 * s);
  Pose pose;
  pose.translation = a.translation + (b.translation - a.translation) * s;
  pose.scale = a.scale + (b.scale - a.scale) * s;
  const Span& span = spans_[i];
  if (span.axis >= 0)
    pose.rotation = rotation_of(a.rotation_degrees + (b.rotation_degrees - a.rotation_degrees) * s);
  else if (span.angle > 0)
    pose.rotation = rotation_about(span.turn_axis, s * span.angle) * rotations_[i];
  else
    pose.rotation = rotations_[i];
  return pose;
}

Pose Motion::at(double time) const {
  if (keys_.empty()) return rest_;
  if (time < keys_.front().time || keys_.size() == 1)
    return {rotations_.front(), keys_.front().translation, keys_.front().scale};
  if (time >= keys_.back().time) return {rotations_.back(), keys_.back().translation, keys_.back().scale};
  const auto next =
      std::upper_bound(keys_.begin(), keys_.end(), time, [](double t, const MotionKey& k) { return t < k.time; });
  const auto i = static_cast<std::size_t>(next - keys_.begin()) - 1;
  return between(i, (time - keys_[i].time) / (keys_[i + 1].time - keys_[i].time));
}

bool Motion::is_static() const {
  for (std::size_t i = 1; i < keys_.size(); ++i)
    if (!(keys_[i].translation == keys_[0].translation) || keys_[i].scale != keys_[0].scale || spans_[i - 1].angle != 0)
      return false;
  return true;
}

Vec3d Motion::velocity(const Vec3d& world_point, double t0, double t1) const {
  if (interpolation_ == MotionInterpolation::step || is_static()) return {};
  if (t0 == t1) t0 = t1 - 1e-5;
  const Pose end = at(t1);
  return (world_point - at(t0).apply(end.apply_inverse(world_point))) / (t1 - t0);
}

std::vector<MotionPiece> Motion::pieces(double t0, double t1) const {
  std::vector<MotionPiece> result;
  if (is_static()) return {{t0, t1, at(t0), at(t0)}};
  double from = t0;
  Pose pose = at(t0);
  const auto add = [&](double to, const Pose& end) {
    result.push_back({from, to, pose, end});
    from = to, pose = end;
  };
  for (std::size_t i = 0; i < keys_.size() && from < t1; ++i) {
    if (keys_[i].time <= from) continue;
    const double to = std::min(keys_[i].time, t1);
    if (interpolation_ == MotionInterpolation::step) {
      if (keys_[i].time > t1) break;
      add(to, pose);
      pose = at(to);
      continue;
    }
    int count = 1;
    if (i > 0) {
      const double duration = keys_[i].time - keys_[i - 1].time;
      const double fastest =
          interpolation_ == MotionInterpolation::smooth ? 1.5 : 1.0;  // slope of 3s^2 - 2s^3 at the middle
      const double turn = fastest * spans_[i - 1].angle * (to - from) / duration;
      count = static_cast<int>(std::clamp(std::ceil(turn / largest_turn - 1e-9), 1.0, 4096.0));
    }
    const double start = from;
    for (int k = 1; k < count; ++k) {
      const double time = start + (to - start) * k / count;
      add(time, at(time));
    }
    add(to, at(to));
  }
  if (from < t1 || result.empty()) add(t1, interpolation_ == MotionInterpolation::step ? pose : at(t1));
  return result;
}

}  // namespace aegir
