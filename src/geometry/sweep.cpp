#include "geometry/sweep.h"

namespace aegir {
namespace {

double largest(const Vec3d& v) { return std::max({std::abs(v.x), std::abs(v.y), std::abs(v.z)}); }

// What one step of a body's frame may get wrong when world coordinates are turned into the body's.
double frame_rounding(const MotionPiece& piece, const Vec3d& x0, const Vec3d& x1) {
  const double far =
      std::max({largest(piece.begin.translation), largest(piece.end.translation), largest(x0), largest(x1)});
  return 2e-15 * far / std::min(piece.begin.scale, piece.end.scale);
}

struct BodyHit {
  double t;
  Vec3d point, normal;
  int triangle;
  Vec3d barycentric;
};

std::optional<BodyHit> first_hit(const Surface& surface, const Vec3d& a, const Vec3d& b, double tolerance) {
  const auto hit = surface.ray(a, b - a, 1, tolerance);
  if (!hit) return std::nullopt;
  return BodyHit{hit->t, hit->point, hit->normal, hit->triangle, hit->barycentric};
}

std::optional<BodyHit> first_hit(const Shape& shape, const Vec3d& a, const Vec3d& b, double tolerance) {
  const auto hit = shape.ray(a, b - a, 1, tolerance);
  if (!hit) return std::nullopt;
  return BodyHit{hit->t, hit->point, hit->normal, -1, {}};
}

template <class Body>
SweepHit describe(const Body& body, std::span<const MotionPiece> pieces, const MotionPiece& piece, const Vec3d& from,
                  const Vec3d& to, const BodyHit& hit, double tolerance, double clearance) {
  SweepHit answer;
  const double t0 = pieces.front().t0, t1 = pieces.back().t1, time = piece.t0 + hit.t * (piece.t1 - piece.t0);
  answer.fraction = t1 > t0 ? std::clamp((time - t0) / (t1 - t0), 0.0, 1.0) : hit.t;
  answer.triangle = hit.triangle, answer.barycentric = hit.barycentric;
  const Vec3d before = piece.begin.apply(hit.point), after = piece.end.apply(hit.point);
  answer.point = before + (after - before) * hit.t;
  if (piece.t1 > piece.t0) answer.surface_velocity = (after - before) / (piece.t1 - piece.t0);

  const Vec3d facing = dot(hit.normal, to - from) > 0 ? -hit.normal : hit.normal;
  answer.normal = normalized(piece.begin.direction(facing) * (1 - hit.t) + piece.end.direction(facing) * hit.t);
  const Pose& last = pieces.back().end;
  answer.normal_at_end = last.direction(facing);
  // In a corner narrower than the clearance, moving off one wall may cross the other; the place the point came from is
  // safe.
  const double off = std::max(clearance / last.scale, 4 * tolerance);
  Vec3d resting = hit.point + facing * off;
  if (first_hit(body, from, resting, tolerance)) resting = from;
  answer.resting_point = last.apply(resting);
  return answer;
}

template <class Body>
std::optional<SweepHit> sweep_body(const Body& body, std::span<const MotionPiece> pieces, const Vec3d& x0,
                                   const Vec3d& x1, double clearance) {
  if (pieces.empty() || !is_finite(x0) || !is_finite(x1)) return std::nullopt;
  const double t0 = pieces.front().t0, duration = pieces.back().t1 - t0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const MotionPiece& piece = pieces[i];
    const double f0 = i == 0 ? 0 : (piece.t0 - t0) / duration,
                 f1 = i + 1 == pieces.size() ? 1 : (piece.t1 - t0) / duration;
    const Vec3d from = piece.begin.apply_inverse(f0 == 0 ? x0 : x0 + (x1 - x0) * f0);
    const Vec3d to = piece.end.apply_inverse(f1 == 1 ? x1 : x0 + (x1 - x0) * f1);
    const double rounding = frame_rounding(piece, x0, x1);
    if (const auto hit = first_hit(body, from, to, rounding))
      return describe(body, pieces, piece, from, to, *hit, body.tolerance() + rounding, clearance);
  }
  return std::nullopt;
}

template <class Body>
std::optional<SweepHit> sweep_motion(const Body& body, const Motion& motion, const Vec3d& x0, const Vec3d& x1,
                                     double t0, double t1, double clearance) {
  auto hit = sweep_body(body, motion.pieces(t0, t1), x0, x1, clearance);
  if (hit && t0 == t1) hit->surface_velocity = motion.velocity(hit->point, t0, t0);
  return hit;
}

}  // namespace

std::optional<SweepHit> sweep(const Surface& surface, std::span<const MotionPiece> pieces, const Vec3d& x0,
                              const Vec3d& x1, double clearance) {
  return sweep_body(surface, pieces, x0, x1, clearance);
}

std::optional<SweepHit> sweep(const Shape& shape, std::span<const MotionPiece> pieces, const Vec3d& x0, const Vec3d& x1,
                              double clearance) {
  return sweep_body(shape, pieces, x0, x1, clearance);
}

std::optional<SweepHit> sweep(const Surface& surface, const Motion& motion, const Vec3d& x0, const Vec3d& x1, double t0,
                              double t1, double clearance) {
  return sweep_motion(surface, motion, x0, x1, t0, t1, clearance);
}

std::optional<SweepHit> sweep(const Shape& shape, const Motion& motion, const Vec3d& x0, const Vec3d& x1, double t0,
                              double t1, double clearance) {
  return sweep_motion(shape, motion, x0, x1, t0, t1, clearance);
}

}  // namespace aegir
