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

namespace {

/// Takes what was touched along to the end of the substep. Whatever it meets on its way, it goes on with; in a valley
/// it keeps away from all sides that it touched last.
class Carrier {
 public:
  Carrier(const DeformingSurface& surface, const Vec3d& x, double part, const DeformingTouch& touch, double clearance)
      : surface_(surface), x_(x), part_(part), least_(2 * surface.tolerance()), off_(std::max(clearance, least_)) {
    sides_.push_back(touch);
  }

  /// Goes to the end, in pieces in which the touched triangle turns by 60 degrees at most.
  void go() {
    constexpr int tries = 64;
    // What is pressed against a triangle must not come so near that rounding hides its side.
    const double nearest = 0.01 * surface_.tolerance();
    for (int i = 0; i < tries && sides_.back().distance > nearest; ++i) {
      double until = 1;
      for (int halving = 0; halving < 10 && turn(until) < 0.5; ++halving) until = 0.5 * (part_ + until);
      const Vec3d normal = normal_at(until), goal = goal_at(until, normal);
      const double share = part_ < 1 ? (until - part_) / (1 - part_) : 1;
      const Vec3d way = until < 1 ? (goal - x_) / share : goal - x_;
      const auto next = surface_.first_touch(x_, x_ + way, part_, share);
      if (!next && until == 1) {
        x_ = goal, normal_ = normal;
        return;
      }
      const double later = next ? part_ + (1 - part_) * next->time : until;
      for (DeformingTouch& side : sides_) side.away = surface_.turned(side.away, side.triangle, part_, later);
      x_ = next ? x_ + way * next->time : goal;
      part_ = later;
      if (next) meet(*next);
    }
    cling();
  }

  const Vec3d& place() const { return x_; }
  const Vec3d& normal() const { return normal_; }

 private:
  double turn(double until) const {
    const DeformingTouch& side = sides_.back();
    return dot(surface_.turned(side.away, side.triangle, part_, until), side.away);
  }
  Vec3d normal_at(double until) const {
    Vec3d sum;
    for (const DeformingTouch& side : sides_) sum += surface_.turned(side.away, side.triangle, part_, until);
    const DeformingTouch& last = sides_.back();
    return length(sum) > 1e-3 ? normalized(sum) : surface_.turned(last.away, last.triangle, part_, until);
  }
  Vec3d goal_at(double until, const Vec3d& normal) const {
    return surface_.place(sides_.back().triangle, sides_.back().barycentric, until) + normal * off_;
  }
  /// In a pit that closes no way may be found. What lies just off the inside of the triangle that was touched last, on
  /// the side where it was touched, is on the right side of the whole mesh as long as that does not cross itself.
  void cling() {
    const DeformingTouch& side = sides_.back();
    const Vec3d inner = side.barycentric * 0.999 + Vec3d(0.001 / 3);
    const Vec3d along = surface_.normal(side.triangle, part_);
    normal_ = surface_.normal(side.triangle, 1) * (dot(along, side.away) < 0 ? -1.0 : 1.0);
    x_ = surface_.place(side.triangle, inner, 1) + normal_ * least_;
  }
  void meet(const DeformingTouch& touch) {
    constexpr std::size_t most_sides = 4;
    std::erase_if(sides_, [&](const DeformingTouch& side) { return side.triangle == touch.triangle; });
    if (sides_.size() == most_sides) sides_.erase(sides_.begin());
    sides_.push_back(touch);
    off_ = std::max(0.5 * off_, least_);
  }

  const DeformingSurface& surface_;
  Vec3d x_, normal_;
  double part_;
  double least_, off_;
  std::vector<DeformingTouch> sides_;  // touched last, newest at the end
};

}  // namespace

std::optional<SweepHit> sweep(const DeformingSurface& surface, double from, const Vec3d& x0, const Vec3d& x1,
                              double clearance) {
  const auto touch = surface.first_touch(x0, x1, from);
  if (!touch) return std::nullopt;
  const double part = from + (1 - from) * touch->time;
  SweepHit hit;
  hit.fraction = touch->time;
  hit.triangle = touch->triangle, hit.barycentric = touch->barycentric;
  hit.point = surface.place(touch->triangle, touch->barycentric, part);
  hit.normal = touch->away;
  hit.surface_velocity = surface.velocity(touch->triangle, touch->barycentric);
  Carrier carrier(surface, x0 + (x1 - x0) * touch->time, part, *touch, clearance);
  carrier.go();
  hit.resting_point = carrier.place(), hit.normal_at_end = carrier.normal();
  const double room = 5 * std::max(clearance, surface.tolerance());
  if (const auto wall = surface.first_touch(hit.resting_point, hit.resting_point + carrier.normal() * room, 1))
    hit.normal_at_end *= 0.5 * wall->time;
  return hit;
}

}  // namespace aegir
