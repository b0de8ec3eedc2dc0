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
  std::vector<ChangeBox> changed;  ///< cells held or beside a held one, ghosts included
};

/// `held` has 512 values per bucket, with ghosts that are up to date.
HeldOutline outline_held(const Level& level, const BucketField& held);

}  // namespace aegir
