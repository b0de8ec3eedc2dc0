// A network in which some cells are held at a value: they are no unknowns any more, and their links become sinks of
// their neighbours.
#pragma once

#include <vector>

#include "solvers/linear/level.h"

namespace aegir {

/// Turns the links to held cells into sinks. `held` is 1 for a held cell and 0 for others, laid out like the tile.
void hold(NetworkTile& tile, const float* held);

/// What the buckets of a level become when cells are held.
struct HeldOutline {
  std::vector<BucketShape> shapes;
  std::vector<std::uint8_t> changed;  ///< buckets with held cells in or beside them, ghosts included
};

/// `held` has 512 values per bucket, with ghosts that are up to date. Collective.
HeldOutline outline_held(Exec& exec, const Level& level, const BucketField& held);

}  // namespace aegir
