// Particles of a bucket in blocks, and in a block the runs that share a cell.
#pragma once

#include <cstddef>
#include <cstdint>

#include "numerics/barrier.h"

namespace aegir {

/// Particles that are worked on at once; their scratch stays in the first cache.
inline constexpr int block_size = 128;

/// Particles [begin, end) of a block, all in one cell.
struct CellRun {
  std::uint16_t cell, begin, end;
};

/// The runs of one block in order: those that vectors handle, and those next to a barrier.
struct CellRuns {
  int count = 0, near_count = 0;
  CellRun run[block_size + 1];  // one more, so that writing the next needs no branch
  CellRun near[block_size];

  /// Finds the runs of `n` particles; `bucket` and `barrier` sort out those next to it. False when a position lies
  /// outside the bucket.
  bool find(const float* x, const float* y, const float* z, int n, int bucket, const Barrier* barrier);
};

}  // namespace aegir
