// A narrow band of signed distances in buckets of 8×8×8 voxels; what is not stored is known to be inside or outside.
//
//   PaddedTile<float, 1> tile;
//   grid.load(grid.values(), slot, tile);                // missing neighbours count as ± the band
//   if (grid.find(key) == BandGrid::inside) …
//
// Values are in voxels, negative inside. Sample (i,j,k) lies at ((i,j,k) + ½)·voxel.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "domain/channel/buffer.h"
#include "domain/volume/tile.h"
#include "surfacing/bucket_map.h"
#include "surfacing/surface_halo.h"

namespace aegir {

class SurfaceShares;

/// A voxel of a bucket has another owner than before.
struct OwnerChange {
  std::uint16_t voxel;
  std::int32_t owner;
};

class BandGrid {
 public:
  static constexpr std::int32_t outside = BucketMap::none, inside = -2;
  static constexpr std::size_t bucket_values = 512;

  BandGrid() = default;
  /// Buckets in ascending order of their keys; `inside_keys` are wholly inside and store nothing. Values are not set.
  /// Memory comes from the pool, where one is given, and goes back to it. Where ranks share a surface, keys are this
  /// rank's, and the buckets of others around them are kept as copies; collective then.
  BandGrid(double voxel, int band, std::vector<Vec3i> keys, std::vector<Vec3i> inside_keys, bool owners,
           std::shared_ptr<BufferPool> pool = nullptr, std::shared_ptr<SurfaceShares> shares = nullptr);

  double voxel() const { return voxel_; }
  float band() const { return band_; }
  /// Buckets of this rank; slots from here on are copies.
  std::size_t size() const { return keys_.size(); }
  const std::vector<Vec3i>& keys() const { return keys_; }
  const std::vector<Vec3i>& inside_keys() const { return inside_keys_; }
  /// Slot of a bucket, or inside, or outside.
  std::int32_t find(const Vec3i& key) const { return map_.find(key); }
  /// Slots of the 27 buckets around one, x slowest, itself in the middle.
  const std::int32_t* around(std::size_t slot) const { return &around_[slot * 27]; }

  float* values() { return reinterpret_cast<float*>(values_.data()); }
  const float* values() const { return reinterpret_cast<const float*>(values_.data()); }
  float* bucket(std::size_t slot) { return values() + slot * bucket_values; }
  const float* bucket(std::size_t slot) const { return values() + slot * bucket_values; }
  /// Memory for other values of the same layout, not set.
  PooledBuffer more_values() const { return {bytes(), pool_.get()}; }
  /// Exchanges the values for others of the same layout, of which copies need not be set. Collective where ranks share
  /// the surface, as is all that brings copies up to date.
  void swap_values(PooledBuffer& other);
  void update_values();
  void update_owners();
  /// The same where only some owners have changed; per own bucket.
  void update_owners(const std::vector<std::vector<OwnerChange>>& changed);
  const std::shared_ptr<SurfaceShares>& shares() const { return shares_; }
  const SurfaceHalo& halo() const { return halo_; }
  const std::shared_ptr<BufferPool>& pool() const { return pool_; }

  bool has_owners() const { return has_owners_; }
  /// The input particle whose shape is nearest to each voxel, -1 where none is known.
  std::int32_t* owners(std::size_t slot) {
    return reinterpret_cast<std::int32_t*>(owners_.data()) + slot * bucket_values;
  }
  const std::int32_t* owners(std::size_t slot) const { return const_cast<BandGrid*>(this)->owners(slot); }

  /// A bucket and `Width` voxels around it, from values of this layout.
  template <int Width>
  void load(const float* from, std::size_t slot, PaddedTile<float, Width>& tile) const;

 private:
  std::size_t bytes() const { return std::max<std::size_t>(1, keys_.size() + copies_) * bucket_values * sizeof(float); }
  void add_copies();

  double voxel_ = 1;
  float band_ = 3;
  std::vector<Vec3i> keys_, inside_keys_;
  BucketMap map_;
  std::vector<std::int32_t> around_;
  std::shared_ptr<SurfaceShares> shares_;
  SurfaceHalo halo_;
  std::size_t copies_ = 0;
  std::shared_ptr<BufferPool> pool_;
  PooledBuffer values_, owners_;
  bool has_owners_ = false;
};

template <int Width>
void BandGrid::load(const float* from, std::size_t slot, PaddedTile<float, Width>& tile) const {
  const std::int32_t* near = around(slot);
  const auto data = [&](std::int32_t s) {
    return s < 0 ? nullptr : from + static_cast<std::size_t>(s) * bucket_values;
  };
  for (int bi = -1; bi <= 1; ++bi)
    for (int bj = -1; bj <= 1; ++bj) {
      const std::int32_t* line = near + 13 + bi * 9 + bj * 3;
      const float* part[3] = {data(line[-1]), data(line[0]), data(line[1])};
      float otherwise[3];
      for (int k = 0; k < 3; ++k) otherwise[k] = line[k - 1] == inside ? -band_ : band_;
      const int i0 = bi < 0 ? -Width : bi * 8, i1 = bi < 0 ? 0 : bi == 0 ? 8 : 8 + Width;
      const int j0 = bj < 0 ? -Width : bj * 8, j1 = bj < 0 ? 0 : bj == 0 ? 8 : 8 + Width;
      for (int i = i0; i < i1; ++i)
        for (int j = j0; j < j1; ++j) {
          const int offset = (i & 7) * 64 + (j & 7) * 8;
          float* row = tile.row(i, j);
          for (int k = 0; k < Width; ++k) row[k - Width] = part[0] ? part[0][offset + 8 - Width + k] : otherwise[0];
          if (part[1])
            store_row(row, load_row(part[1] + offset));
          else
            std::fill_n(row, 8, otherwise[1]);
          for (int k = 0; k < Width; ++k) row[8 + k] = part[2] ? part[2][offset + k] : otherwise[2];
        }
    }
}

}  // namespace aegir
