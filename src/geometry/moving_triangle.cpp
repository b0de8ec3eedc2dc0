#include "geometry/moving_triangle.h"

#include <limits>

#include "geometry/triangle.h"

namespace aegir {
namespace {

constexpr int most_planes = 64;

/// Point and triangle at one time, seen from the point.
struct Apart {
  TrianglePoint nearest;
  Vec3d corner[3];
  double distance;
};

Apart look(const MovingTriangle& t, const Vec3d& x0, const Vec3d& way, double time) {
  const Vec3d x = time >= 1 ? x0 + way : x0 + way * time;
  Apart a;
  for (int k = 0; k < 3; ++k) a.corner[k] = t.corner(k, time) - x;
  a.nearest = closest_on_triangle({}, a.corner[0], a.corner[1], a.corner[2]);
  a.distance = std::sqrt(a.nearest.distance2);
  return a;
}

/// Unit vector from the triangle to the point; above its inside this is the normal, which stays exact at any distance.
Vec3d direction(const Apart& a) {
  const Vec3d b = a.nearest.barycentric;
  if (b.x > 0 && b.y > 0 && b.z > 0) {
    const Vec3d normal = normalized(cross(a.corner[1] - a.corner[0], a.corner[2] - a.corner[0]));
    return dot(normal, a.corner[0]) > 0 ? -normal : normal;
  }
  return normalized(-a.nearest.point);
}

/// How long the distance certainly stays `least` or more. Close by, the direction of the closest points may be too
/// inexact to give a plane between them; then nothing is known but the speeds.
double free_time(const Apart& now, const MovingTriangle& t, const Vec3d& way, double least) {
  const Vec3d away = direction(now);
  double step = std::numeric_limits<double>::infinity(), fastest2 = 0;
  bool separates = true;
  for (int k = 0; k < 3; ++k) {
    const Vec3d relative = way - (t.end[k] - t.begin[k]);
    const double gap = -dot(away, now.corner[k]), rate = dot(away, relative);
    separates &= gap >= least;
    fastest2 = std::max(fastest2, dot(relative, relative));
    if (rate < 0) step = std::min(step, (gap - least) / -rate);
  }
  return separates || fastest2 == 0 ? step : (now.distance - least) / std::sqrt(fastest2);
}

/// f(s) = N(s) · (x(s) - a(s)) with N = (b - a) × (c - a), for a triangle and a point that move straight: a cubic.
struct PlaneSide {
  Vec3d n0, n1, n2;  // N = n0 + n1 s + n2 s²
  double f[4];       // turned so that f[0] is not negative

  /// Places relative to the corner a, and their rates.
  PlaneSide(const Vec3d& x, const Vec3d& rate_x, const Vec3d& b, const Vec3d& rate_b, const Vec3d& c,
            const Vec3d& rate_c)
      : n0(cross(b, c)), n1(cross(b, rate_c) + cross(rate_b, c)), n2(cross(rate_b, rate_c)) {
    const double sign = dot(n0, x) < 0 ? -1 : 1;
    f[0] = sign * dot(n0, x), f[1] = sign * (dot(n0, rate_x) + dot(n1, x));
    f[2] = sign * (dot(n1, rate_x) + dot(n2, x)), f[3] = sign * dot(n2, rate_x);
  }
  /// Whether f ≥ least |N| up to s = h, as far as Bernstein coefficients tell.
  bool positive(double h, double least) const {
    const double p[4] = {f[0], f[1] * h, f[2] * h * h, f[3] * h * h * h};
    const double lowest = std::min({p[0], p[0] + p[1] / 3, p[0] + 2 * p[1] / 3 + p[2] / 3, p[0] + p[1] + p[2] + p[3]});
    if (!(lowest > 0)) return false;
    const Vec3d middle = n0 + n1 * (0.5 * h), end = n0 + n1 * h + n2 * (h * h);
    const double largest = std::max({dot(n0, n0), dot(middle, middle), dot(end, end)});
    return lowest >= least * std::sqrt(largest);
  }
};

/// How long the point certainly stays on its side of the triangle's own plane, `least` or more off it, up to `longest`.
/// What follows a turning triangle closely is held up by every fixed plane; this one turns along.
double free_time_of_plane(const Apart& now, const MovingTriangle& t, const Vec3d& way, double least, double longest) {
  const Vec3d rate_a = t.end[0] - t.begin[0], x = -now.corner[0], rate_x = way - rate_a;
  const Vec3d b = now.corner[1] - now.corner[0], rate_b = t.end[1] - t.begin[1] - rate_a;
  const Vec3d c = now.corner[2] - now.corner[0], rate_c = t.end[2] - t.begin[2] - rate_a;
  const PlaneSide side(x, rate_x, b, rate_b, c, rate_c);
  for (double h = longest; h > 1e-12; h *= 0.5)
    if (side.positive(h, least)) return h;
  return 0;
}

}  // namespace

bool stays_beside(const MovingTriangle& t, const Vec3d& x0, const Vec3d& x1, double least) {
  const Vec3d a = t.begin[0], rate_a = t.end[0] - a;
  const Vec3d b = t.begin[1] - a, c = t.begin[2] - a;
  const PlaneSide side(x0 - a, x1 - x0 - rate_a, b, t.end[1] - t.end[0] - b, c, t.end[2] - t.end[0] - c);
  return side.positive(1, least);
}

std::optional<TriangleTouch> first_touch(const MovingTriangle& t, const Vec3d& x0, const Vec3d& x1, double reach,
                                         double latest) {
  const Vec3d way = x1 - x0;
  double time = 0;
  Apart now = look(t, x0, way, time);
  if (now.distance <= 1e-4 * reach) {
    time = 1.0 / 64;
    now = look(t, x0, way, time);
    if (time > latest || now.distance <= 1e-4 * reach) return std::nullopt;
  }
  if (now.distance <= reach) reach = 0.5 * now.distance;
  const double least = 0.5 * reach;  // what every plane keeps between the point and the triangle
  for (int plane = 0; plane < most_planes; ++plane) {
    if (now.distance <= reach) return TriangleTouch{time, now.nearest.barycentric, direction(now), now.distance};
    if (time >= latest) return std::nullopt;
    double step = free_time(now, t, way, least);
    if (plane > 1 && step < latest - time) step = std::max(step, free_time_of_plane(now, t, way, least, latest - time));
    time = std::min(time + std::max(step, 1e-15), latest);
    now = look(t, x0, way, time);
  }
  return TriangleTouch{time, now.nearest.barycentric, direction(now), now.distance};
}

}  // namespace aegir
