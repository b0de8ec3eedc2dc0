// What the memory of this machine can do at a working-set size: the denominator of every "bandwidth bound".
#pragma once

#include <cstddef>
#include <vector>

#include "benchmarks/harness.h"
#include "domain/channel/buffer.h"

namespace aegir::bench {

/// Copy, triad and axpy over arrays that together hold `working_set` bytes; to be run in turns with what they bound.
class Bandwidth {
 public:
  explicit Bandwidth(std::size_t working_set);

  /// The three loops, for in_turns().
  std::vector<Turn> turns();
  /// Bytes per second of the best loop, write-allocate included, from the seconds of the three in that order.
  double best(const double* seconds) const;

 private:
  void copy();
  void triad();
  void axpy();

  std::size_t bytes_;
  Buffer memory_;
};

/// y = a x + y on plain arrays, threaded as for_each_bucket() threads its buckets.
void plain_axpy(float a, const float* x, float* y, std::size_t count);

/// memcpy on all threads of the enclosing scope.
void plain_copy(const std::byte* from, std::byte* to, std::size_t bytes);

}  // namespace aegir::bench
