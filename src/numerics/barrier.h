// What transfers between particles and grid must not reach through: sheets thinner than a cell.
#pragma once

#include "domain/for_each_bucket.h"

namespace aegir {

/// Thin solids as seen by transfers. Queries may come from many threads.
class Barrier {
 public:
  virtual ~Barrier() = default;
  /// Whether a sheet comes near the cell (within about a cell and a half): only then need blocks() be asked.
  virtual bool near(int bucket, int cell) const = 0;
  /// Whether any cell of the bucket is near a sheet.
  virtual bool near(int bucket) const = 0;
  /// Whether a sheet stands between two points of the world, at the end of the substep.
  virtual bool blocks(const Vec3d& a, const Vec3d& b) const = 0;
};

}  // namespace aegir
