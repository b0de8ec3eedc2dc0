// The liquid's surface near solids: a plane fitted to the distances of free cells nearby.
//
//   SurfaceFit fit(tile);                        // distances of free cells around a bucket, not_free elsewhere
//   SurfacePlane plane;
//   if (fit.evaluate({i, j, k}, plane)) …
//
// Moving least squares: weights fall off with the distance from the target and with the distance from the surface,
// where values are less certain. Exact for planes.
#pragma once

#include <vector>

#include "base/vec.h"
#include "domain/volume/tile.h"
#include "numerics/surface/sides.h"
#include "numerics/surface/wall_offset.h"

namespace aegir {

/// Stands for the distance of a cell whose weights a solid cuts, or that is far from the surface.
inline constexpr float not_free = -1000.0f;

class SurfaceFit {
 public:
  /// Collects the free cells of a tile; with sides given, only those of one side.
  void collect(const PaddedTile<float, 4>& free, const Sides* sides = nullptr, int side = 0);
  bool empty() const { return value_.empty(); }
  /// The plane at a cell, if the cells nearby tell it: false where there are too few, or where they are no plane.
  bool evaluate(const Vec3i& cell, SurfacePlane& plane) const;

 private:
  std::vector<float> x_, y_, z_, value_, certainty_;
  std::size_t first_[18];  // of each layer along x
  Vec3i low_, high_;       // of the cells
};

}  // namespace aegir
