#include "geometry/shapes.h"

#include <limits>
#include <numbers>

namespace aegir {
namespace {

constexpr double pi = std::numbers::pi;
constexpr double infinity = std::numeric_limits<double>::infinity();

// Rows x, y, z with y along `axis`, turned from the world's axes by the shortest way.
Mat3d frame_of(const Vec3d& a) {
  const double side2 = a.x * a.x + a.z * a.z;
  if (side2 == 0) return a.y > 0 ? Mat3d::identity() : Mat3d{{{1, 0, 0}, {0, -1, 0}, {0, 0, -1}}};
  const double k = a.y >= 0 ? 1 / (1 + a.y) : (1 - a.y) / side2;
  return {{{1 - a.x * a.x * k, -a.x, -a.x * a.z * k}, a, {-a.x * a.z * k, -a.z, 1 - a.z * a.z * k}}};
}

// Signed distance to a box in as many dimensions as wanted, from how far x lies beyond each pair of faces.
double box_distance(const Vec3d& beyond) {
  return length(max(beyond, Vec3d(0))) + std::min(std::max({beyond.x, beyond.y, beyond.z}), 0.0);
}

// Gradient of box_distance for a point with the given signs.
Vec3d box_normal(const Vec3d& beyond, const Vec3d& p) {
  const Vec3d sign{std::copysign(1.0, p.x), std::copysign(1.0, p.y), std::copysign(1.0, p.z)};
  const Vec3d out = max(beyond, Vec3d(0));
  if (out.x > 0 || out.y > 0 || out.z > 0) return normalized(multiply(out, sign));
  const int axis = beyond.x >= beyond.y && beyond.x >= beyond.z ? 0 : beyond.y >= beyond.z ? 1 : 2;
  Vec3d n;
  n[axis] = sign[axis];
  return n;
}

Vec3d absolute(const Vec3d& p) { return {std::abs(p.x), std::abs(p.y), std::abs(p.z)}; }
Vec3d or_up(const Vec3d& v) { return dot(v, v) > 0 ? normalized(v) : Vec3d{0, 1, 0}; }

}  // namespace

std::string_view name(ShapeKind kind) {
  switch (kind) {
    case ShapeKind::sphere:
      return "sphere";
    case ShapeKind::box:
      return "box";
    case ShapeKind::plane:
      return "plane";
    case ShapeKind::cylinder:
      return "cylinder";
    case ShapeKind::capsule:
      return "capsule";
    case ShapeKind::torus:
      return "torus";
    case ShapeKind::disc:
      return "disc";
    case ShapeKind::rectangle:
      return "rectangle";
  }
  return "shape";
}

Result<Shape> Shape::create(const ShapeSettings& s) {
  const std::string_view kind = name(s.kind);
  if (!is_finite(s.center)) return usage_error({}, "the center of a {} must be finite", kind);
  if (!is_finite(s.axis) || !(length(s.axis) > 1e-100))
    return usage_error({}, "the axis of a {} must have a direction, not ({}, {}, {})", kind, s.axis.x, s.axis.y,
                       s.axis.z);
  const auto usable = [](double v) { return v > 1e-100 && v < 1e100; };
  const bool box = s.kind == ShapeKind::box, flat = s.kind == ShapeKind::rectangle || s.kind == ShapeKind::plane;
  if ((box || flat) && !(usable(s.size.x) && usable(s.size.z) && (flat || usable(s.size.y))))
    return usage_error({}, "the size of a {} must be positive and finite, not ({}, {}, {})", kind, s.size.x, s.size.y,
                       s.size.z);
  if (!box && !flat && !usable(s.radius))
    return usage_error({}, "the radius of a {} must be positive and finite, not {}", kind, s.radius);
  if ((s.kind == ShapeKind::cylinder || s.kind == ShapeKind::capsule) && !usable(s.height))
    return usage_error({}, "the height of a {} must be positive and finite, not {}", kind, s.height);
  if (s.kind == ShapeKind::torus && !usable(s.minor_radius))
    return usage_error({}, "the minor radius of a torus must be positive and finite, not {}", s.minor_radius);
  if (s.kind == ShapeKind::torus && !(s.minor_radius < s.radius))
    return usage_error({}, "the minor radius of a torus must be smaller than its radius, but {} is not below {}",
                       s.minor_radius, s.radius);
  return Shape(s);
}

Shape::Shape(const ShapeSettings& settings) : settings_(settings) {
  settings_.axis = normalized(settings.axis);
  frame_ = frame_of(settings_.axis);
}

Vec3d Shape::to_local(const Vec3d& x) const { return frame_ * (x - settings_.center); }
Vec3d Shape::turn_to_world(const Vec3d& v) const {
  return frame_.row[0] * v.x + frame_.row[1] * v.y + frame_.row[2] * v.z;
}
Vec3d Shape::to_world(const Vec3d& p) const { return settings_.center + turn_to_world(p); }

double Shape::distance(const Vec3d& x) const { return local_distance(to_local(x)); }
Vec3d Shape::normal(const Vec3d& x) const { return turn_to_world(local_normal(to_local(x))); }

double Shape::local_distance(const Vec3d& p) const {
  const ShapeSettings& s = settings_;
  const double around = std::hypot(p.x, p.z);
  switch (s.kind) {
    case ShapeKind::sphere:
      return length(p) - s.radius;
    case ShapeKind::box:
      return box_distance(absolute(p) - s.size * 0.5);
    case ShapeKind::plane:
      return p.y;
    case ShapeKind::cylinder:
      return box_distance({around - s.radius, std::abs(p.y) - 0.5 * s.height, -infinity});
    case ShapeKind::capsule:
      return std::hypot(around, std::max(std::abs(p.y) - 0.5 * s.height, 0.0)) - s.radius;
    case ShapeKind::torus:
      return std::hypot(around - s.radius, p.y) - s.minor_radius;
    case ShapeKind::disc:
      return std::hypot(std::max(around - s.radius, 0.0), p.y);
    case ShapeKind::rectangle:
      return length(
          Vec3d{std::max(std::abs(p.x) - 0.5 * s.size.x, 0.0), p.y, std::max(std::abs(p.z) - 0.5 * s.size.z, 0.0)});
  }
  return 0;
}

Vec3d Shape::local_normal(const Vec3d& p) const {
  const ShapeSettings& s = settings_;
  const double around = std::hypot(p.x, p.z);
  const Vec3d outward = around > 0 ? Vec3d{p.x / around, 0, p.z / around} : Vec3d{1, 0, 0};
  switch (s.kind) {
    case ShapeKind::sphere:
      return or_up(p);
    case ShapeKind::box:
      return box_normal(absolute(p) - s.size * 0.5, p);
    case ShapeKind::plane:
      return {0, 1, 0};
    case ShapeKind::cylinder: {
      const Vec3d n = box_normal({around - s.radius, std::abs(p.y) - 0.5 * s.height, -infinity}, {1, p.y, 1});
      return outward * n.x + Vec3d{0, n.y, 0};
    }
    case ShapeKind::capsule: {
      const Vec3d v{p.x, p.y - std::clamp(p.y, -0.5 * s.height, 0.5 * s.height), p.z};
      return dot(v, v) > 0 ? normalized(v) : outward;
    }
    case ShapeKind::torus:
      return or_up(outward * (around - s.radius) + Vec3d{0, p.y, 0});
    case ShapeKind::disc:
      return or_up(outward * std::max(around - s.radius, 0.0) + Vec3d{0, p.y, 0});
    case ShapeKind::rectangle: {
      const Vec3d half = s.size * 0.5;
      return or_up({p.x - std::clamp(p.x, -half.x, half.x), p.y, p.z - std::clamp(p.z, -half.z, half.z)});
    }
  }
  return {0, 1, 0};
}

Box Shape::bounds() const {
  const ShapeSettings& s = settings_;
  Vec3d half;
  for (int i = 0; i < 3; ++i) {
    const Vec3d along{std::abs(frame_(0, i)), std::abs(frame_(1, i)), std::abs(frame_(2, i))};
    const double across = std::sqrt(std::max(0.0, 1 - along.y * along.y));  // half width of a unit disc
    switch (s.kind) {
      case ShapeKind::sphere:
        half[i] = s.radius;
        break;
      case ShapeKind::box:
        half[i] = 0.5 * dot(along, s.size);
        break;
      case ShapeKind::plane:
        half[i] = 1e300;
        break;
      case ShapeKind::cylinder:
        half[i] = 0.5 * s.height * along.y + s.radius * across;
        break;
      case ShapeKind::capsule:
        half[i] = 0.5 * s.height * along.y + s.radius;
        break;
      case ShapeKind::torus:
        half[i] = s.radius * across + s.minor_radius;
        break;
      case ShapeKind::disc:
        half[i] = s.radius * across;
        break;
      case ShapeKind::rectangle:
        half[i] = 0.5 * (along.x * s.size.x + along.z * s.size.z);
        break;
    }
  }
  if (bounded()) return {s.center - half, s.center + half};
  Box box{-half, half};
  for (int i = 0; i < 3; ++i) {
    if (s.axis[i] == 1) box.max[i] = s.center[i];
    if (s.axis[i] == -1) box.min[i] = s.center[i];
  }
  return box;
}

double Shape::volume() const {
  const ShapeSettings& s = settings_;
  const double r = s.radius;
  switch (s.kind) {
    case ShapeKind::sphere:
      return 4.0 / 3.0 * pi * r * r * r;
    case ShapeKind::box:
      return s.size.x * s.size.y * s.size.z;
    case ShapeKind::plane:
      return infinity;
    case ShapeKind::cylinder:
      return pi * r * r * s.height;
    case ShapeKind::capsule:
      return pi * r * r * (s.height + 4.0 / 3.0 * r);
    case ShapeKind::torus:
      return 2 * pi * pi * r * s.minor_radius * s.minor_radius;
    case ShapeKind::disc:
    case ShapeKind::rectangle:
      return 0;
  }
  return 0;
}

double Shape::area() const {
  const ShapeSettings& s = settings_;
  const double r = s.radius;
  switch (s.kind) {
    case ShapeKind::sphere:
      return 4 * pi * r * r;
    case ShapeKind::box:
      return 2 * (s.size.x * s.size.y + s.size.y * s.size.z + s.size.z * s.size.x);
    case ShapeKind::plane:
      return infinity;
    case ShapeKind::cylinder:
      return 2 * pi * r * (s.height + r);
    case ShapeKind::capsule:
      return 2 * pi * r * (s.height + 2 * r);
    case ShapeKind::torus:
      return 4 * pi * pi * r * s.minor_radius;
    case ShapeKind::disc:
      return pi * r * r;
    case ShapeKind::rectangle:
      return s.size.x * s.size.z;
  }
  return 0;
}

double Shape::tolerance() const {
  const ShapeSettings& s = settings_;
  const double size = std::max({s.size.x, s.size.y, s.size.z, s.radius, s.minor_radius, s.height});
  const Vec3d far = absolute(s.center);
  return 1e-12 * (bounded() ? size : 1.0) + 1e-15 * std::max({far.x, far.y, far.z});
}

}  // namespace aegir
