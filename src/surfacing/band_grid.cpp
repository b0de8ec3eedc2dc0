#include "surfacing/band_grid.h"

#include "base/assert.h"
#include "parallel/threads.h"

namespace aegir {

BandGrid::BandGrid(double voxel, int band, std::vector<Vec3i> keys, std::vector<Vec3i> inside_keys, bool owners,
                   std::shared_ptr<BufferPool> pool)
    : voxel_(voxel),
      band_(static_cast<float>(band)),
      keys_(std::move(keys)),
      inside_keys_(std::move(inside_keys)),
      map_(keys_.size() + inside_keys_.size()),
      around_(keys_.size() * 27),
      pool_(std::move(pool)),
      values_(bytes(), pool_.get()),
      has_owners_(owners) {
  for (std::size_t s = 0; s < keys_.size(); ++s)
    AEGIR_ASSERT(map_.insert(keys_[s], static_cast<std::int32_t>(s)).second, "a bucket of the surface is there twice");
  for (const Vec3i& key : inside_keys_)
    AEGIR_ASSERT(map_.insert(key, inside).second, "a bucket is inside and in the band");
  if (owners) owners_ = PooledBuffer(bytes(), pool_.get());
  parallel_for(0, keys_.size(), 64, [&](std::size_t begin, std::size_t end) {
    for (std::size_t s = begin; s < end; ++s)
      for (int n = 0; n < 27; ++n)
        around_[s * 27 + static_cast<std::size_t>(n)] =
            n == 13 ? static_cast<std::int32_t>(s) : find(keys_[s] + Vec3i{n / 9 - 1, n / 3 % 3 - 1, n % 3 - 1});
  });
}

}  // namespace aegir
