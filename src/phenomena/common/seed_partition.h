// Where the curve is cut before a region is filled, so that no rank ever holds more than its share.
//
//   if (comm.size() > 1 && nothing_there) particles.rebucket(exec, seed_partition(comm, region, spacing), padding);
#pragma once

#include "domain/grid/partition.h"
#include "phenomena/common/region.h"

namespace aegir {

/// Cuts that give every rank about the same part of a region, by what of each bucket is inside. Collective.
Partition seed_partition(Comm& comm, const Region& region, double spacing);

}  // namespace aegir
