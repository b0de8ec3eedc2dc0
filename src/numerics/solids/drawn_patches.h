// What a drawn mesh has in each cell of a bucket, as one flat piece: enough to tell, without asking a single triangle,
// that nothing stands between two places or comes into a particle's way.
//
//   if (const DrawnPatch* patch = patches.at(cell); !patch || patch->misses(to, way)) …   // no triangle of this cell
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/vec.h"
#include "domain/grid/bucket_key.h"

namespace aegir {

/// A disc of some height that holds all triangles of a cell. Lengths are in cells, places from the bucket's first node.
struct DrawnPatch {
  Vec3f middle, normal;
  float radius = 0, half_height = 0;
  Vec3f way, way_spread;  ///< middle and half the size of a box around the ways that its triangles go in this substep

  /// What counts as a touch, with all that single precision may get wrong.
  static constexpr float room = 1e-3f;

  /// No triangle is nearer to a place than the root of this.
  float bound2(const Vec3f& place) const {
    const Vec3f off = place - middle;
    const float height = dot(off, normal), along = std::sqrt(std::max(0.0f, dot(off, off) - height * height));
    const float beyond = std::max(0.0f, std::abs(height) - half_height), beside = std::max(0.0f, along - radius);
    return beyond * beyond + beside * beside;
  }
  /// Whether a point that goes a way to a place during the substep surely touches none of the triangles, which go their
  /// ways at the same time.
  bool misses(const Vec3f& to, const Vec3f& gone) const {
    return passes(to - middle, gone - way,
                  dot(Vec3f(std::abs(normal.x), std::abs(normal.y), std::abs(normal.z)), way_spread),
                  length(way_spread));
  }
  /// Whether none of the triangles, as they end, is between two places.
  bool leaves_free(const Vec3f& a, const Vec3f& b) const { return passes(b - middle, b - a, 0, 0); }

 private:
  /// Seen from the patch a point came straight to `end` by `relative`, up to a spread where it started. It stays above,
  /// stays below, or stays out of the ball around the patch.
  bool passes(const Vec3f& end, const Vec3f& relative, float spread_of_height, float spread) const {
    const float last = dot(normal, end), first = last - dot(normal, relative);
    const float limit = half_height + room, first_limit = limit + spread_of_height;
    if ((last > limit && first > first_limit) || (last < -limit && first < -first_limit)) return true;
    const float along = dot(end, relative), whole = dot(relative, relative), reach = radius + spread + room;
    const float part = along > 0 && whole > 0 ? std::min(1.0f, along / whole) : 0;
    const Vec3f nearest = end - relative * part;
    return dot(nearest, nearest) > reach * reach;
  }
};

/// The patches of a bucket.
struct DrawnPatches {
  std::array<std::uint8_t, 64> occupied{};  ///< cells with a patch, a bit each along z
  std::array<std::uint16_t, 64> first{};    ///< the first patch of each row
  std::vector<DrawnPatch> list;             ///< in the order of cells

  /// Place in the list of an occupied cell.
  std::size_t place(std::size_t cell) const {
    const unsigned before = occupied[cell >> 3] & ((1u << (cell & 7)) - 1);
    return first[cell >> 3] + static_cast<std::size_t>(std::popcount(before));
  }
  const DrawnPatch* at(std::size_t cell) const {
    return occupied[cell >> 3] >> (cell & 7) & 1 ? &list[place(cell)] : nullptr;
  }
};

}  // namespace aegir
