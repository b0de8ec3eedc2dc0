// Shapes filled with particles as a simulation fills them, and what tests measure of their surfaces.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/random.h"
#include "surfacing/make_surface.h"
#include "surfacing/surface_mesh.h"

namespace aegir::test {

/// One particle at random in every cube of `spacing` between two corners (counted in spacings), eight in a simulation's
/// cell, kept where `inside` says so. Radii are those of the particles' volume.
template <class Inside>
PointSet sample(const Vec3i& low, const Vec3i& high, const Inside& inside, double spacing = 1, std::uint64_t seed = 1) {
  PointSet points;
  std::uint64_t n = 0;
  for (int i = low.x; i < high.x; ++i)
    for (int j = low.y; j < high.y; ++j)
      for (int k = low.z; k < high.z; ++k) {
        const Random r(seed, ++n, 0, Purpose::test);
        const Vec3d x = (Vec3d(Vec3i{i, j, k}) + Vec3d{r.uniform(0), r.uniform(1), r.uniform(2)}) * spacing;
        if (inside(x)) points.position.push_back(x);
      }
  auto radius = points.add("pscale", PointAttribute::float32).as<float>();
  std::fill(radius.begin(), radius.end(), static_cast<float>(radius_per_spacing * spacing));
  return points;
}

inline SurfaceMesh mesh_of(const PointSet& points, const SurfaceSettings& settings = {}) {
  const Result<ParticleSurface> surface = make_surface(points, settings);
  if (!surface) {
    ADD_FAILURE() << surface.error().text();
    return {};
  }
  return mesh_surface(surface->grid);
}

/// Settings of a method without filters.
inline SurfaceSettings unfiltered(SurfaceMethod method) {
  SurfaceSettings s;
  s.method = method;
  s.filters.emplace();
  return s;
}

struct Deviation {
  double mean = 0, rms = 0, largest = 0;  ///< distance of vertices from the true surface
  double normal = 0;                      ///< rms angle between triangles and the true surface, degrees
  int vertices = 0;
};

/// How a mesh differs from a surface whose signed distance is known; only vertices that `where` accepts count.
inline Deviation compare(
    const SurfaceMesh& mesh, const std::function<double(const Vec3d&)>& distance,
    const std::function<bool(const Vec3d&)>& where = [](const Vec3d&) { return true; }) {
  Deviation d;
  for (std::size_t v = 0; v < mesh.positions.size(); ++v) {
    if (!where(mesh.position(v))) continue;
    const double e = distance(mesh.position(v));
    d.mean += e, d.rms += e * e, d.largest = std::max(d.largest, std::abs(e)), ++d.vertices;
  }
  d.mean /= d.vertices, d.rms = std::sqrt(d.rms / d.vertices);
  double sum = 0, area = 0;
  for (const Vec3i& t : mesh.triangles) {
    const Vec3d a = mesh.position(static_cast<std::size_t>(t.x)), b = mesh.position(static_cast<std::size_t>(t.y)),
                c = mesh.position(static_cast<std::size_t>(t.z)), middle = (a + b + c) / 3.0;
    const Vec3d normal = cross(b - a, c - a);
    const double twice = length(normal);
    if (!where(a) || !(twice > 0)) continue;
    const double step = 1e-3;
    Vec3d gradient;
    for (int axis = 0; axis < 3; ++axis) {
      Vec3d more = middle, less = middle;
      more[axis] += step, less[axis] -= step;
      gradient[axis] = distance(more) - distance(less);
    }
    const double angle = std::acos(std::clamp(dot(normal / twice, normalized(gradient)), -1.0, 1.0));
    sum += twice * angle * angle, area += twice;
  }
  d.normal = std::sqrt(sum / area) * 57.29577951308232;
  return d;
}

/// Parts of a mesh that hang together.
inline int components(const SurfaceMesh& mesh) {
  std::vector<std::int32_t> parent(mesh.positions.size());
  for (std::size_t i = 0; i < parent.size(); ++i) parent[i] = static_cast<std::int32_t>(i);
  const auto root = [&](std::int32_t v) {
    while (parent[static_cast<std::size_t>(v)] != v)
      v = parent[static_cast<std::size_t>(v)] = parent[static_cast<std::size_t>(parent[static_cast<std::size_t>(v)])];
    return v;
  };
  for (const Vec3i& t : mesh.triangles) {
    parent[static_cast<std::size_t>(root(t.x))] = root(t.y);
    parent[static_cast<std::size_t>(root(t.y))] = root(t.z);
  }
  int count = 0;
  for (std::size_t i = 0; i < parent.size(); ++i)
    count += root(static_cast<std::int32_t>(i)) == static_cast<std::int32_t>(i);
  return count;
}

/// Signed value of a surface at a place, in voxels, from the nearest sample; ± the band where nothing is stored.
inline float nearest_value(const BandGrid& grid, const Vec3d& x) {
  const Vec3d q = x / grid.voxel();
  const Vec3i v(Vec3d{std::floor(q.x), std::floor(q.y), std::floor(q.z)});
  const std::int32_t slot = grid.find({v.x >> 3, v.y >> 3, v.z >> 3});
  if (slot < 0) return slot == BandGrid::inside ? -grid.band() : grid.band();
  return grid.bucket(static_cast<std::size_t>(slot))[((v.x & 7) * 8 + (v.y & 7)) * 8 + (v.z & 7)];
}

}  // namespace aegir::test
