// Segments against shapes.
#include <limits>

#include "geometry/shapes.h"

namespace aegir {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// The part of a line inside a convex body; t in units of length.
struct Span {
  double enter = infinity, leave = -infinity;
  bool empty() const { return !(enter <= leave); }
};

Span intersection(const Span& a, const Span& b) { return {std::max(a.enter, b.enter), std::min(a.leave, b.leave)}; }
Span hull(const Span& a, const Span& b) {
  if (a.empty() || b.empty()) return a.empty() ? b : a;
  return {std::min(a.enter, b.enter), std::max(a.leave, b.leave)};
}

Span slab(double o, double d, double half) {
  if (d == 0) return std::abs(o) <= half ? Span{-infinity, infinity} : Span{};
  const double a = (-half - o) / d, b = (half - o) / d;
  return {std::min(a, b), std::max(a, b)};
}

// Ball, or (with the y components left out) an infinite cylinder about y.
Span ball(const Vec3d& o, const Vec3d& d, double radius) {
  const double dd = dot(d, d);
  if (dd == 0) return dot(o, o) <= radius * radius ? Span{-infinity, infinity} : Span{};
  const double nearest = -dot(o, d) / dd;
  const Vec3d miss = o + d * nearest;
  const double rest = radius * radius - dot(miss, miss);
  if (rest < 0) return {};
  const double half = std::sqrt(rest / dd);
  return {nearest - half, nearest + half};
}

Span finite_cylinder(const Vec3d& o, const Vec3d& d, double radius, double height) {
  return intersection(ball({o.x, 0, o.z}, {d.x, 0, d.z}, radius), slab(o.y, d.y, 0.5 * height));
}

Span convex_span(const ShapeSettings& s, const Vec3d& o, const Vec3d& d) {
  switch (s.kind) {
    case ShapeKind::sphere:
      return ball(o, d, s.radius);
    case ShapeKind::box: {
      const Vec3d half = s.size * 0.5;
      return intersection(slab(o.x, d.x, half.x), intersection(slab(o.y, d.y, half.y), slab(o.z, d.z, half.z)));
    }
    case ShapeKind::plane:
      if (d.y == 0) return {};
      return d.y < 0 ? Span{-o.y / d.y, infinity} : Span{-infinity, -o.y / d.y};
    case ShapeKind::cylinder:
      return finite_cylinder(o, d, s.radius, s.height);
    case ShapeKind::capsule: {
      const Vec3d up{0, 0.5 * s.height, 0};
      return hull(finite_cylinder(o, d, s.radius, s.height),
                  hull(ball(o - up, d, s.radius), ball(o + up, d, s.radius)));
    }
    default:
      return {};
  }
}

struct Segment {
  Vec3d origin, direction;  // local, unit length
  double length, tolerance;
};

// Bisects a change of sign of the distance between a and b.
template <class Distance>
double bisect(Distance distance, double a, double b, bool inside_at_a) {
  for (int i = 0; i < 60 && b - a > 1e-16 * b; ++i) {
    const double middle = 0.5 * (a + b);
    ((distance(middle) < 0) == inside_at_a ? a : b) = middle;
  }
  return b;
}

double thin_crossing(const ShapeSettings& s, const Segment& line) {
  const double dy = line.direction.y;
  if (dy == 0) return infinity;
  const double t = -line.origin.y / dy;
  if (!(t > 0) || (t - line.length) * std::abs(dy) > line.tolerance) return infinity;
  const Vec3d p = line.origin + line.direction * t;
  const bool inside = s.kind == ShapeKind::disc ? std::hypot(p.x, p.z) <= s.radius
                                                : std::abs(p.x) <= 0.5 * s.size.x && std::abs(p.z) <= 0.5 * s.size.z;
  return inside ? t : infinity;
}

// Walks by the distance, which nothing can be nearer than; `floor` bounds the number of steps along grazing lines.
template <class Distance>
double march(Distance distance, const Segment& line, double floor) {
  const bool inside = distance(0.0) < 0;
  const double end = line.length + line.tolerance;
  for (double t = 0; t < end;) {
    const double next = std::min(t + std::max(std::abs(distance(t)), floor), end);
    if ((distance(next) < 0) != inside) return bisect(distance, t, next, inside);
    t = next;
  }
  return infinity;
}

// The side the line starts on decides which end of the span counts, so that rounding at the start cannot turn leaving
// into entering.
double convex_crossing(const Span& span, bool inside, const Segment& line, double start_tolerance) {
  if (span.empty()) return infinity;
  if (inside) return span.leave <= line.length + line.tolerance ? std::max(span.leave, 0.0) : infinity;
  if (span.enter > line.length + line.tolerance || span.enter < -start_tolerance || span.leave <= start_tolerance)
    return infinity;
  return std::max(span.enter, 0.0);
}

}  // namespace

std::optional<ShapeHit> Shape::ray(const Vec3d& origin, const Vec3d& direction, double t_max,
                                   double extra_tolerance) const {
  const double scale = aegir::length(direction);
  if (!is_finite(origin) || !std::isfinite(scale) || !(scale > 1e-150) || !(t_max >= 0)) return std::nullopt;
  const Vec3d start = to_local(origin), unit = frame_ * (direction / scale);
  const double segment = t_max * scale, rounding = tolerance() + 1e-15 * aegir::length(start);
  const Segment line{start, unit, segment, rounding + extra_tolerance};
  const auto along = [&](double t) { return local_distance(start + unit * t); };

  double t = infinity;
  if (thin()) {
    t = thin_crossing(settings_, line);
  } else {
    const bool inside = along(0) < 0;
    if (settings_.kind == ShapeKind::torus) {
      const Span around = ball(start, unit, 1.001 * (settings_.radius + settings_.minor_radius));
      if (around.empty() || around.leave < 0 || around.enter > line.length + line.tolerance) return std::nullopt;
      const double skip = std::max(around.enter, 0.0);
      const Segment rest{start + unit * skip, unit, std::min(segment, around.leave) - skip, line.tolerance};
      t = skip + march([&](double s) { return along(skip + s); }, rest, 1e-6 * settings_.minor_radius);
    } else {
      t = convex_crossing(convex_span(settings_, start, unit), inside, line, rounding);
    }
    // Whoever ends on the other side has crossed, whatever rounding made of grazing lines.
    if (t == infinity && std::isfinite(segment) && (along(segment) < 0) != inside)
      t = bisect(along, 0, segment, inside);
  }
  if (t == infinity) return std::nullopt;
  const double clamped = std::min(t / scale, t_max);
  const Vec3d point = start + unit * std::min(t, segment);
  const Vec3d n = thin() ? Vec3d{0, 1, 0} : local_normal(point);
  return ShapeHit{clamped, to_world(point), turn_to_world(n)};
}

}  // namespace aegir
