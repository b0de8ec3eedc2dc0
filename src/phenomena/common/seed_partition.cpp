#include "phenomena/common/seed_partition.h"

#include <algorithm>
#include <cmath>

#include "domain/grid/bucket_key.h"

namespace aegir {

Partition seed_partition(Comm& comm, const Region& region, double spacing) {
  std::vector<std::uint64_t> positions;
  std::vector<std::int64_t> weights;
  if (region.bounds.empty()) return Partition::even(comm.size());
  const double width = spacing * bucket_size;
  Vec3i low, high;
  for (int a = 0; a < 3; ++a) {
    low[a] = static_cast<int>(std::floor(region.bounds.min[a] / width));
    high[a] = static_cast<int>(std::floor(region.bounds.max[a] / width));
  }
  // Ranks take turns at looking.
  std::int64_t turn = 0;
  for (int i = low.x; i <= high.x; ++i)
    for (int j = low.y; j <= high.y; ++j)
      for (int k = low.z; k <= high.z; ++k) {
        const BucketKey key{{i, j, k}, 0};
        if (turn++ % comm.size() != comm.rank() || !addressable(key)) continue;
        // About the part of the bucket that is inside, in per cent.
        const double middle = region.distance((Vec3d(key.coord) + Vec3d(0.5)) * width, width) / width;
        const auto filled = static_cast<std::int64_t>(100 * std::clamp(0.5 - middle, 0.0, 1.0));
        if (filled > 0) positions.push_back(curve_position(key)), weights.push_back(filled);
      }
  return Partition::by_weight(comm, positions, weights);
}

}  // namespace aegir
