// Particles per cell, and where each cell's particles start: a table per bucket, made from particles that are sorted by
// cell. Valid between rebucket() and the next change of positions.
//
//   CellCounts counts(exec, particles, pool);
//   for (auto p = counts.first(b, cell); p < counts.first(b, cell + 1); ++p) use(x[p]);
#pragma once

#include <cstdint>

#include "domain/particles/particle_system.h"

namespace aegir {

class CellCounts {
 public:
  /// How far from local buckets particles of ghosts are counted, in cells.
  static constexpr int reach = 1;

  /// Counts in all buckets, ghosts too; brings the positions' ghosts up to date. Reads "P" with a halo of a bucket.
  CellCounts(Exec& exec, ParticleSystem& particles, BufferPool* pool);

  /// Index in the bucket of the first particle of the cell; `cell` may be 512.
  std::uint32_t first(int bucket, int cell) const { return table(bucket)[cell]; }
  const std::uint32_t* table(int bucket) const {
    return reinterpret_cast<const std::uint32_t*>(first_.data()) + static_cast<std::size_t>(bucket) * stride;
  }
  /// Counts as numbers, 512 per bucket.
  const float* plane() const { return reinterpret_cast<const float*>(count_.data()); }
  /// Mean over the cells of all ranks that hold a particle.
  float typical() const { return typical_; }

 private:
  static constexpr std::size_t stride = 528;  // 513 in whole cache lines
  PooledBuffer first_, count_;
  float typical_ = 0;
};

}  // namespace aegir
