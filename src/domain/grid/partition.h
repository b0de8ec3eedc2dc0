// Which rank owns which stretch of the space-filling curve.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "parallel/comm.h"

namespace aegir {

/// Rank r owns the curve from begin(r) up to begin(r + 1); every place in space has exactly one owner.
class Partition {
 public:
  /// One rank owns everything.
  Partition() = default;

  /// Equal stretches of the curve; where nothing is known yet.
  static Partition even(int ranks);

  /// Cuts the curve so that every rank gets about the same weight. Each rank passes its own buckets; all get the same
  /// cuts.
  static Partition by_weight(Comm& comm, std::span<const std::uint64_t> positions,
                             std::span<const std::int64_t> weights);

  int owner(std::uint64_t position) const;
  int ranks() const { return static_cast<int>(cuts_.size()) + 1; }
  bool operator==(const Partition&) const = default;

 private:
  std::vector<std::uint64_t> cuts_;  // first position of ranks 1, 2, …
};

}  // namespace aegir
