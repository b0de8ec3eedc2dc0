// Shapes as triangles: profiles turned about the axis, and grids.
#include <numbers>

#include "geometry/shapes.h"

namespace aegir {
namespace {

struct ProfilePoint {
  double radius, y;
};

// Turns a profile, listed with the outside on its right hand (radius to the right, y up: bottom to top), about the y
// axis.
TriangleMesh revolve(const std::vector<ProfilePoint>& profile, bool ring, int segments) {
  TriangleMesh mesh;
  std::vector<int> first(profile.size());
  for (std::size_t i = 0; i < profile.size(); ++i) {
    first[i] = static_cast<int>(mesh.positions.size());
    const int count = profile[i].radius == 0 ? 1 : segments;
    for (int k = 0; k < count; ++k) {
      const double angle = 2 * std::numbers::pi * k / segments;
      mesh.positions.push_back(
          {profile[i].radius * std::cos(angle), profile[i].y, profile[i].radius * std::sin(angle)});
    }
  }
  const auto vertex = [&](std::size_t i, int k) { return profile[i].radius == 0 ? first[i] : first[i] + k % segments; };
  for (std::size_t i = 0; i + (ring ? 0 : 1) < profile.size(); ++i) {
    const std::size_t j = (i + 1) % profile.size();
    for (int k = 0; k < segments; ++k) {
      const int a = vertex(i, k), b = vertex(i, k + 1), c = vertex(j, k + 1), d = vertex(j, k);
      if (a != b) mesh.triangles.push_back({a, c, b});
      if (c != d) mesh.triangles.push_back({a, d, c});
    }
  }
  return mesh;
}

// A quarter-circle-by-quarter-circle arc from bottom pole to top pole; `offset` moves the halves apart.
std::vector<ProfilePoint> arc(double radius, double offset, int steps) {
  std::vector<ProfilePoint> profile{{0, -radius - offset}};
  for (int i = 1; i < steps; ++i) {
    const double angle = std::numbers::pi * (static_cast<double>(i) / steps - 0.5);
    if (offset > 0 && 2 * i == steps) profile.push_back({radius, -offset});
    profile.push_back({radius * std::cos(angle), radius * std::sin(angle) + (2 * i < steps ? -offset : offset)});
  }
  profile.push_back({0, radius + offset});
  return profile;
}

// A grid of n by n cells on the parallelogram from `corner`; the normal is along cross(u, v).
void add_grid(TriangleMesh& mesh, const Vec3d& corner, const Vec3d& u, const Vec3d& v, int n) {
  const int first = static_cast<int>(mesh.positions.size());
  for (int j = 0; j <= n; ++j)
    for (int i = 0; i <= n; ++i)
      mesh.positions.push_back(corner + u * (static_cast<double>(i) / n) + v * (static_cast<double>(j) / n));
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) {
      const int a = first + j * (n + 1) + i, b = a + 1, d = a + n + 1, c = d + 1;
      mesh.triangles.push_back({a, b, c});
      mesh.triangles.push_back({a, c, d});
    }
}

TriangleMesh box_mesh(const Vec3d& size, int n) {
  // Faces have vertices of their own, so that shading keeps its edges; equal positions are computed equally. A
  // coordinate is the same function of its index on every face.
  TriangleMesh mesh;
  for (int axis = 0; axis < 3; ++axis)
    for (const double side : {-0.5, 0.5}) {
      Vec3d corner = size * -0.5, u, v;
      corner[axis] = side * size[axis];
      u[(axis + 1) % 3] = size[(axis + 1) % 3], v[(axis + 2) % 3] = size[(axis + 2) % 3];
      if (side > 0)
        add_grid(mesh, corner, u, v, n);
      else
        add_grid(mesh, corner, v, u, n);
    }
  // The far end of a grid is corner + size, which rounding may keep from being exactly half the size.
  for (Vec3d& p : mesh.positions)
    for (int k = 0; k < 3; ++k)
      if (std::abs(std::abs(p[k]) - 0.5 * size[k]) < 1e-9 * size[k]) p[k] = std::copysign(0.5 * size[k], p[k]);
  return mesh;
}

}  // namespace

TriangleMesh Shape::mesh(int resolution) const {
  const ShapeSettings& s = settings_;
  const int n = std::max(resolution, 3), half = std::max(n / 4 * 2, 2);  // an even number of steps from pole to pole
  const double h = 0.5 * s.height;
  TriangleMesh mesh;
  switch (s.kind) {
    case ShapeKind::sphere:
      mesh = revolve(arc(s.radius, 0, half), false, n);
      break;
    case ShapeKind::capsule:
      mesh = revolve(arc(s.radius, h, half), false, n);
      break;
    case ShapeKind::box:
      mesh = box_mesh(s.size, n);
      break;
    case ShapeKind::cylinder:
      mesh = revolve({{0, -h}, {s.radius, -h}, {s.radius, h}, {0, h}}, false, n);
      break;
    case ShapeKind::torus: {
      std::vector<ProfilePoint> profile;
      for (int i = 0; i < n; ++i) {
        const double angle = 2 * std::numbers::pi * i / n;
        profile.push_back({s.radius + s.minor_radius * std::cos(angle), s.minor_radius * std::sin(angle)});
      }
      mesh = revolve(profile, true, n);
      break;
    }
    case ShapeKind::disc:
      mesh = revolve({{s.radius, 0}, {0, 0}}, false, n);
      break;
    case ShapeKind::plane:
    case ShapeKind::rectangle:
      add_grid(mesh, {-0.5 * s.size.x, 0, -0.5 * s.size.z}, {0, 0, s.size.z}, {s.size.x, 0, 0}, n);
      break;
  }
  for (Vec3d& p : mesh.positions) p = to_world(p);
  return mesh;
}

}  // namespace aegir
