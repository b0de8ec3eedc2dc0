// Uniform random points of shapes. Where a number decides between parts, what is left of it is used again.
#include <numbers>

#include "base/assert.h"
#include "geometry/shapes.h"

namespace aegir {
namespace {

constexpr double two_pi = 2 * std::numbers::pi;

// Takes the branch with the given probability; `u` becomes a fresh uniform number.
bool choose(double probability, double& u) {
  if (u < probability) {
    u /= probability;
    return true;
  }
  u = std::min((u - probability) / (1 - probability), 1.0);
  return false;
}

Vec3d on_sphere(double u, double v) {
  const double y = 2 * u - 1, r = std::sqrt(std::max(0.0, 1 - y * y));
  return {r * std::cos(two_pi * v), y, r * std::sin(two_pi * v)};
}

Vec3d in_disc(double u, double v) {
  const double r = std::sqrt(u);
  return {r * std::cos(two_pi * v), 0, r * std::sin(two_pi * v)};
}

// Distance from the tube's centre line, away from the ring's centre. Farther out there is more of the ring: a mirrored
// pair of places shares its weight as (R + x) : (R - x), which makes the choice exact.
double mirrored(double x, double ring_radius, double& u) {
  return choose((ring_radius + x) / (2 * ring_radius), u) ? x : -x;
}

}  // namespace

Vec3d Shape::sample_volume(double u, double v, double w) const {
  AEGIR_ASSERT(bounded(), "a plane has no uniform random points");
  return to_world(local_volume_sample(u, v, w));
}

SurfacePoint Shape::sample_surface(double u, double v, double w) const {
  AEGIR_ASSERT(bounded(), "a plane has no uniform random points");
  SurfacePoint point = local_surface_sample(u, v, w);
  point.position = to_world(point.position), point.normal = turn_to_world(point.normal);
  return point;
}

Vec3d Shape::local_volume_sample(double u, double v, double w) const {
  const ShapeSettings& s = settings_;
  const double r = s.radius;
  switch (s.kind) {
    case ShapeKind::sphere:
      return on_sphere(u, v) * (r * std::cbrt(w));
    case ShapeKind::box:
      return multiply(s.size, Vec3d{u - 0.5, v - 0.5, w - 0.5});
    case ShapeKind::cylinder:
      return in_disc(u, v) * r + Vec3d{0, (w - 0.5) * s.height, 0};
    case ShapeKind::capsule: {
      if (choose(s.height / (s.height + 4.0 / 3.0 * r), w))
        return in_disc(u, v) * r + Vec3d{0, (w - 0.5) * s.height, 0};
      const Vec3d p = on_sphere(u, v) * (r * std::cbrt(w));
      return p + Vec3d{0, std::copysign(0.5 * s.height, p.y), 0};
    }
    case ShapeKind::torus: {
      const Vec3d p = in_disc(u, v) * s.minor_radius;
      const double x = mirrored(p.x, r, w);
      return {(r + x) * std::cos(two_pi * w), p.z, (r + x) * std::sin(two_pi * w)};
    }
    case ShapeKind::plane:
    case ShapeKind::disc:
    case ShapeKind::rectangle:
      return local_surface_sample(u, v, w).position;
  }
  return {};
}

SurfacePoint Shape::local_surface_sample(double u, double v, double w) const {
  const ShapeSettings& s = settings_;
  const double r = s.radius;
  switch (s.kind) {
    case ShapeKind::sphere: {
      const Vec3d n = on_sphere(u, v);
      return {n * r, n, -1, {}};
    }
    case ShapeKind::box: {
      const double xy = s.size.x * s.size.y, yz = s.size.y * s.size.z, zx = s.size.z * s.size.x;
      const int axis = choose(xy / (xy + yz + zx), w) ? 2 : choose(yz / (yz + zx), w) ? 0 : 1;
      const double side = choose(0.5, w) ? 1 : -1;
      Vec3d p, n;
      n[axis] = side;
      p[axis] = side * 0.5 * s.size[axis];
      p[(axis + 1) % 3] = (u - 0.5) * s.size[(axis + 1) % 3], p[(axis + 2) % 3] = (v - 0.5) * s.size[(axis + 2) % 3];
      return {p, n, -1, {}};
    }
    case ShapeKind::cylinder: {
      if (choose(s.height / (s.height + r), w)) {
        const Vec3d n{std::cos(two_pi * u), 0, std::sin(two_pi * u)};
        return {n * r + Vec3d{0, (v - 0.5) * s.height, 0}, n, -1, {}};
      }
      const double side = choose(0.5, w) ? 1 : -1;
      return {in_disc(u, v) * r + Vec3d{0, side * 0.5 * s.height, 0}, {0, side, 0}, -1, {}};
    }
    case ShapeKind::capsule: {
      if (choose(s.height / (s.height + 2 * r), w)) {
        const Vec3d n{std::cos(two_pi * u), 0, std::sin(two_pi * u)};
        return {n * r + Vec3d{0, (v - 0.5) * s.height, 0}, n, -1, {}};
      }
      const Vec3d n = on_sphere(u, v);
      return {n * r + Vec3d{0, std::copysign(0.5 * s.height, n.y), 0}, n, -1, {}};
    }
    case ShapeKind::torus: {
      const double x = mirrored(s.minor_radius * std::cos(two_pi * u), r, w), y = s.minor_radius * std::sin(two_pi * u);
      const Vec3d out{std::cos(two_pi * v), 0, std::sin(two_pi * v)};
      return {out * (r + x) + Vec3d{0, y, 0}, normalized(out * x + Vec3d{0, y, 0}), -1, {}};
    }
    case ShapeKind::disc:
      return {in_disc(u, v) * r, {0, 1, 0}, -1, {}};
    case ShapeKind::plane:
    case ShapeKind::rectangle:
      return {{(u - 0.5) * s.size.x, 0, (v - 0.5) * s.size.z}, {0, 1, 0}, -1, {}};
  }
  return {};
}

}  // namespace aegir
