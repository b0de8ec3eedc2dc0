// Sets of cells that are joined across faces, over buckets and ranks.
//
//   std::vector<std::uint8_t> cells(512 * topology.local_count());   // cell_member | cell_joined << axis …
//   const ConnectedCells sets = connect_cells(exec, topology, cells, 8);
//   if (const int s = sets.of(bucket, cell); s >= 0) use(sets.sizes[s]);
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "domain/exec.h"
#include "domain/grid/topology.h"

namespace aegir {

/// The cell belongs to a set.
inline constexpr std::uint8_t cell_member = 1;
/// Shifted by an axis: its lower neighbour along that axis, if a member too, belongs to the same set.
inline constexpr std::uint8_t cell_joined = 2;

struct ConnectedCells {
  std::vector<std::int32_t> set;    ///< by local cell; -1: none
  std::vector<std::int64_t> sizes;  ///< cells of each set, over all ranks

  std::int32_t of(int bucket, int cell) const {
    return set[static_cast<std::size_t>(bucket) * bucket_cells + static_cast<std::size_t>(cell)];
  }
};

/// Finds the sets with at least `least` cells, numbered along the curve by their first cells: the same on any number of
/// ranks. `cells` holds the flags of every local cell. Collective.
ConnectedCells connect_cells(Exec& exec, const Topology& topology, std::span<const std::uint8_t> cells,
                             std::int64_t least = 1);

}  // namespace aegir
