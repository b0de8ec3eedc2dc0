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
  /// Whether any cell of the bucket or of the 26 around it is near a sheet.
  virtual bool around(int bucket) const { return near(bucket); }
  /// Whether a sheet closes the lower face of a cell along an axis, so that the face has the sheet's velocity on both
  /// sides. Cells count from the bucket's first and may lie in the buckets around it.
  virtual bool closes(int /*bucket*/, int /*axis*/, const Vec3i& /*cell*/) const { return false; }
  /// Whether a sheet stands between two points of the world, at the end of the substep.
  virtual bool blocks(const Vec3d& a, const Vec3d& b) const = 0;
};

}  // namespace aegir
