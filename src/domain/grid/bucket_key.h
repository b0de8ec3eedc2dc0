// The address of a bucket: 8×8×8 cells of one level, anywhere in space.
#pragma once

#include <cstdint>

#include "base/vec.h"

namespace aegir {

inline constexpr int bucket_size = 8;
inline constexpr int bucket_cells = bucket_size * bucket_size * bucket_size;

/// Buckets of level 0 lie in [-coordinate_limit, coordinate_limit) along each axis: 16 million cells, 168 km at 1 cm.
inline constexpr std::int32_t coordinate_limit = 1 << 20;

/// Offset of a cell inside its bucket, the order of an OpenVDB leaf: z runs fastest.
constexpr int cell_offset(int i, int j, int k) { return (i << 6) | (j << 3) | k; }

/// Level and coordinate; a bucket of level l+1 covers eight of level l.
struct BucketKey {
  Vec3i coord;
  std::int32_t level = 0;
  bool operator==(const BucketKey&) const = default;
};

/// True when the bucket can be addressed at all.
constexpr bool addressable(const BucketKey& key) {
  const std::int32_t limit = coordinate_limit >> key.level;
  for (int a = 0; a < 3; ++a)
    if (key.coord[a] < -limit || key.coord[a] >= limit) return false;
  return true;
}

/// Position of the bucket's first finest cell on the Hilbert curve through all of space, 63 bits.
std::uint64_t curve_position(const BucketKey& key);

/// The order of buckets everywhere: along the curve, a coarse bucket before the fine ones that start with it.
struct CurveOrder {
  std::uint64_t position = 0;
  std::int32_t level = 0;
  auto operator<=>(const CurveOrder&) const = default;
};

/// Index of a neighbour by its offset, each in -1…1; 13 is the bucket itself.
constexpr int neighbour_index(int dx, int dy, int dz) { return (dx + 1) * 9 + (dy + 1) * 3 + (dz + 1); }
constexpr Vec3i neighbour_offset(int n) { return {n / 9 - 1, n / 3 % 3 - 1, n % 3 - 1}; }
inline constexpr int neighbour_self = 13;

}  // namespace aegir
