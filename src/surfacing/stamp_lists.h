// Which shapes reach which buckets of the surface: gathered, so that a bucket is written by one thread and in a fixed
// order.
//
//   StampLists lists = list_stamps(lattice, shapes, {.radii = 1, .voxels = 2});
//   lists.for_each(bucket, [&](std::uint32_t shape, const Vec3f& block_corner) { … });
#pragma once

#include <cstdint>
#include <vector>

#include "surfacing/shapes.h"

namespace aegir {

/// How far a shape reaches: its own size, or a multiple of its radius, and some voxels more.
struct StampReach {
  bool own_shape = true;
  float radii = 1;   ///< of the particle as it was given; where the shape itself does not count
  float voxels = 2;  ///< beyond, for shapes that do not only fill
};

/// Entries are made per block, in the block's window of buckets; the table of buckets holds parts, not entries.
struct StampLists {
  struct Part {
    std::uint32_t block, begin, count;
  };
  std::vector<Vec3i> key;                           ///< buckets that something reaches, ascending
  std::vector<std::uint32_t> first;                 ///< per bucket, into `parts`; and the end
  std::vector<Part> parts;                          ///< per bucket in the order of blocks
  std::vector<std::vector<std::uint32_t>> entries;  ///< per block: shapes, by bucket

  /// Calls f(shape, block) for every shape that reaches a bucket.
  template <class F>
  void for_each(std::size_t bucket, const F& f) const {
    for (std::uint32_t p = first[bucket]; p < first[bucket + 1]; ++p) {
      const std::uint32_t* entry = entries[parts[p].block].data() + parts[p].begin;
      for (std::uint32_t i = 0; i < parts[p].count; ++i) f(entry[i], parts[p].block);
    }
  }
};

/// How many voxels wide a particle may be: half a gigabyte of level set for one. Larger ones are refused before.
inline constexpr double most_voxels_across = 512;

/// About ten entries of four bytes per shape. Where ranks share a surface, only this rank's buckets are listed.
StampLists list_stamps(const SurfaceLattice& lattice, const Shapes& shapes, const StampReach& reach,
                       SurfaceShares* shares = nullptr);

/// Sends every shape to the ranks in whose buckets it is stamped, and adds those of the others. Collective.
Shapes share_shapes(const SurfaceLattice& lattice, Shapes shapes, const StampReach& reach, SurfaceShares& shares);

}  // namespace aegir
