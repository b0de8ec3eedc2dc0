// Which sphere or triangle is seen at every pixel of a View, and how deep.
//
//   Visibility seen = find_visible(view, {positions, radius, solids});
//   if (seen.item[pixel] != nothing_seen) shade(seen.item[pixel], seen.depth[pixel]);
//
// Rows are worked on in bands, each by one thread and in the order of the items: the result does not depend on threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "geometry/mesh.h"
#include "preview/view.h"

namespace aegir {

/// Everything that can be seen; spheres first, then the triangles of the solids in order.
struct VisibleThings {
  std::span<const Vec3d> positions;
  std::span<const float> radius;  ///< empty: none, one: for all, otherwise one per position
  std::span<const TriangleMesh> solids;

  float radius_of(std::size_t i) const { return radius.empty() ? 0 : radius[radius.size() == 1 ? 0 : i]; }
};

inline constexpr std::uint32_t nothing_seen = 0xffffffffu;

/// Per pixel by rows: the item (sphere index, or number of spheres + triangle index) and its depth.
struct Visibility {
  std::vector<std::uint32_t> item;
  std::vector<float> depth;  ///< huge where nothing is
};

/// Draws spheres, at least `least_radius` pixels large, and triangles into a depth buffer.
Visibility find_visible(const View& view, const VisibleThings& things, float least_radius);

}  // namespace aegir
