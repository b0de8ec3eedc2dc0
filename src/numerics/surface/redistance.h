// True signed distances in a band around the surface, for output and for expressions.
//
//   redistance(exec, volume, surface_distance, 3);
#pragma once

#include "domain/exec.h"
#include "domain/volume/discrete_volume.h"

namespace aegir {

/// Replaces a distance in cells by the signed distance to its zero level, up to `band` (1 to 3) cells; beyond, ±band
/// by its sign. Every cell beside the zero level gives one closest point and a normal; each cell in the band takes its
/// distance to the tangent plane of the nearest one: exact for planes, second order at the zero level. `open`: share
/// of cells outside solids; surfaces of cells that have none do not count. Reads with halo 4. Collective; same bits for
/// any threads and ranks.
void redistance(Exec& exec, DiscreteVolume& volume, const CellChannel<float>& distance, int band,
                BufferPool* pool = nullptr, const CellChannel<float>* open = nullptr);

}  // namespace aegir
