// A network in which some cells are held at a value: they are no unknowns any more, and their links become sinks of
// their neighbours.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "solvers/linear/level.h"

namespace aegir {

/// Below this a bound is none.
inline constexpr float no_bound = -1e30f;

/// Turns the links to held cells into sinks. `held` is 1 for a held cell and 0 for others, laid out like the tile.
void hold(NetworkTile& tile, const float* held);

/// What the buckets of a level become when cells are held.
struct HeldOutline {
  std::vector<BucketShape> shapes;
  std::vector<ChangeBox> changed;  ///< cells held or beside a held one, ghosts included
};

/// `held` has 512 values per bucket, with ghosts that are up to date.
HeldOutline outline_held(const Level& level, const BucketField& held);

/// Held cells as bits, for hierarchies that hold them on their coarse levels only.
///
///   HeldSet held(topology);
///   held.rows(bucket)[8 * i + j] = …;   // bit k for cell (i, j, k)
///   held.prepare(exec);
///   Multigrid cycle(exec, base, held.cells(), load, settings);
class HeldSet {
 public:
  explicit HeldSet(const Topology& topology);
  HeldSet(const HeldSet&) = delete;
  HeldSet& operator=(const HeldSet&) = delete;

  /// The 64 rows of a local bucket.
  std::uint8_t* rows(int b) { return bits_[static_cast<std::size_t>(b)].data(); }
  /// Brings the ghosts and sees where cells are held. Collective.
  void prepare(Exec& exec);
  /// What prepare() found; lives as long as this.
  HeldCells cells() const { return {changed_, hold_}; }

 private:
  using Rows = std::array<std::uint8_t, bucket_size * bucket_size>;
  struct Hold {
    const HeldSet& set;
    void operator()(int bucket, NetworkTile& tile) const;
  };

  const Topology& topology_;
  std::vector<Rows> bits_;
  std::vector<ChangeBox> changed_;
  Hold hold_{*this};
};

}  // namespace aegir
