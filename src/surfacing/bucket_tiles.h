// One bucket of the surface while shapes are stamped into it: 512 voxels in rows of eight along z.
//
//   StampTile tile(3);
//   tile.add_sphere({4, 4, 4}, 2, 2, particle, true);
//   tile.store(values, owners);
#pragma once

#include <cstdint>

#include "numerics/transfer/lanes.h"
#include "surfacing/shapes.h"

namespace aegir {

/// The least of what shapes say, and who said it. Positions are relative to the bucket's lower corner, in voxels.
class StampTile {
 public:
  /// Voxels outside of a shape that it is stamped to, unless it only fills.
  static constexpr float beyond = 2;

  /// Values start at `band`; what is not less is not seen.
  explicit StampTile(float band);
  /// φ = |x - c| - r: 9 flops and a root per voxel of a row that it reaches.
  /// `beyond`: voxels outside of the sphere that it is stamped to.
  void add_sphere(const Vec3f& centre, float radius, float beyond, std::int32_t owner, bool owners);
  /// φ = ‖G (x - c)‖ - r, with x along a row a parabola under a root: 6 flops and a root per voxel.
  void add_ellipsoid(const Vec3f& centre, const Shapes& shapes, std::uint32_t shape, std::int32_t owner, bool owners);
  void store(float* values, std::int32_t* owners) const;

 private:
  template <bool Owners>
  void ellipsoid(const Vec3f& centre, const float (&m)[6], float radius, const Vec3f& extent, std::int32_t owner);

  float band_;
  alignas(32) float value_[512];
  alignas(32) std::int32_t owner_[512];
};

/// Sums of weights, offsets and radii, and of their derivatives where they are wanted.
class AverageTile {
 public:
  AverageTile();
  void add(const Vec3f& centre, float radius, float reach, bool slopes, std::int32_t owner);
  void store(float band, bool slopes, float* values, std::int32_t* owners) const;

 private:
  enum { w, x, y, z, r, gx, gy, gz, gxx, gxy, gxz, gyy, gyz, gzz, count };
  /// How far a row of voxels is from the surface: |x - x̄| - f r̄.
  lanes::Line field(int row, bool slopes) const;

  alignas(32) float sum_[count][512];
  alignas(32) float nearest_[512];
  alignas(32) std::int32_t owner_[512];
};

}  // namespace aegir
