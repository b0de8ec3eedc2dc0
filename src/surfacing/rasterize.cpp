#include "surfacing/rasterize.h"

#include <algorithm>
#include <cmath>

#include "parallel/threads.h"
#include "surfacing/bucket_tiles.h"
#include "surfacing/stamp_lists.h"
#include "surfacing/surface_shares.h"

namespace aegir {
namespace {

/// Bits of the voxels of a bucket that lie in interior search cells, one byte per row along z.
class InteriorVoxels {
 public:
  InteriorVoxels(const ParticleBlocks& blocks, const NearSurface& near, const Vec3i& bucket) {
    const int m = blocks.lattice.cell_voxels;
    const Vec3i base = bucket * 8;
    const auto cell = [&](int v) { return floor_divide(v, m); };
    Vec3i last{INT32_MIN, 0, 0};
    std::uint64_t word = 0;
    for (int i = cell(base.x); i <= cell(base.x + 7); ++i)
      for (int j = cell(base.y); j <= cell(base.y + 7); ++j)
        for (int k = cell(base.z); k <= cell(base.z + 7); ++k) {
          const Vec3i block{i >> 2, j >> 2, k >> 2};
          if (block != last) {
            const std::int32_t b = blocks.map.find(block);
            const auto known = static_cast<std::size_t>(b);
            word = b == BucketMap::none || known >= near.interior.size() ? 0 : near.interior[known];
            last = block;
          }
          if (word >> (((i & 3) * 4 + (j & 3)) * 4 + (k & 3)) & 1) set(Vec3i{i, j, k} * m - base, m);
        }
  }
  std::uint8_t row(int x, int y) const { return rows_[x * 8 + y]; }
  bool any() const { return voxels_ > 0; }
  bool all() const { return voxels_ == 512; }

 private:
  void set(const Vec3i& low, int m) {
    const auto from = [](int v) { return std::max(0, v); };
    const auto to = [m](int v) { return std::min(8, v + m); };
    const auto bits = static_cast<std::uint8_t>((1 << to(low.z)) - (1 << from(low.z)));
    for (int x = from(low.x); x < to(low.x); ++x)
      for (int y = from(low.y); y < to(low.y); ++y) rows_[x * 8 + y] |= bits;
    voxels_ += (to(low.x) - from(low.x)) * (to(low.y) - from(low.y)) * (to(low.z) - from(low.z));
  }

  std::uint8_t rows_[64]{};
  int voxels_ = 0;
};

/// Buckets that overlap an interior cell and that nothing reaches: all of them is inside.
std::vector<Vec3i> interior_buckets(const ParticleBlocks& blocks, const NearSurface& near, const BucketMap& reached,
                                    SurfaceShares* shares) {
  const int m = blocks.lattice.cell_voxels;
  std::vector<std::vector<Vec3i>> found(near.interior.size());
  parallel_for(0, found.size(), 16, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b) {
      if (near.interior[b] == 0) continue;
      BucketMap seen(64);
      for (int c = 0; c < 64; ++c) {
        if (!(near.interior[b] >> c & 1)) continue;
        const Vec3i low = (blocks.key[b] * 4 + Vec3i{c >> 4, c >> 2 & 3, c & 3}) * m, high = low + Vec3i(m - 1);
        for (int i = low.x >> 3; i <= high.x >> 3; ++i)
          for (int j = low.y >> 3; j <= high.y >> 3; ++j)
            for (int k = low.z >> 3; k <= high.z >> 3; ++k)
              if (const Vec3i key{i, j, k}; seen.insert(key, 0).second && reached.find(key) == BucketMap::none)
                found[b].push_back(key);
      }
    }
  });
  std::vector<Vec3i> keys;
  for (auto& part : found) keys.insert(keys.end(), part.begin(), part.end());
  std::sort(keys.begin(), keys.end(), key_less);
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  if (shares) std::erase_if(keys, [&](const Vec3i& key) { return !shares->mine(key); });
  return keys;
}

/// What is left of the buckets after those that are of one sign, and have no neighbour of another, are set aside.
class Rasterizer {
 public:
  Rasterizer(const ParticleBlocks& blocks, const NearSurface& near, Shapes shapes, const RasterSettings& settings)
      : blocks_(blocks), near_(near), shapes_(std::move(shapes)), s_(settings) {}

  BandGrid run() {
    const bool averages = s_.method == SurfaceMethod::zhu_bridson || s_.method == SurfaceMethod::solenthaler;
    const StampReach reach{
        .own_shape = !averages, .radii = s_.search_radius, .voxels = averages ? 0.0f : StampTile::beyond};
    if (s_.shares) shapes_ = share_shapes(blocks_.lattice, std::move(shapes_), reach, *s_.shares);
    const StampLists lists = list_stamps(blocks_.lattice, shapes_, reach, s_.shares.get());
    BucketMap reached(lists.key.size());
    for (const Vec3i& key : lists.key) reached.insert(key, 0);
    BandGrid grid(blocks_.lattice.voxel, s_.band, lists.key, interior_buckets(blocks_, near_, reached, s_.shares.get()),
                  s_.owners, s_.pool, s_.shares);
    parallel_for(0, grid.size(), 8, [&](std::size_t begin, std::size_t end) {
      for (std::size_t slot = begin; slot < end; ++slot) {
        if (averages)
          average(lists, slot, grid);
        else
          stamp(lists, slot, grid);
        fill_inside(slot, grid);
      }
    });
    grid.update_values();
    return grid;
  }

 private:
  Vec3f offset(std::uint32_t block, const Vec3i& bucket) const {
    return Vec3f(shapes_.key[block] * blocks_.lattice.block_voxels() - bucket * 8);
  }

  void stamp(const StampLists& lists, std::size_t slot, BandGrid& grid) const {
    StampTile tile(grid.band());
    std::uint32_t last = UINT32_MAX;
    Vec3f at;
    lists.for_each(slot, [&](std::uint32_t k, std::uint32_t block) {
      if (block != last) at = offset(block, grid.keys()[slot]), last = block;
      const Vec3f centre = Vec3f{shapes_.x[k], shapes_.y[k], shapes_.z[k]} + at;
      const std::int32_t owner = shapes_.owner[k];
      if (!shapes_.stretched || shapes_.filler[k])
        tile.add_sphere(centre, shapes_.radius[k], shapes_.filler[k] ? 0 : StampTile::beyond, owner, s_.owners);
      else
        tile.add_ellipsoid(centre, shapes_, k, owner, s_.owners);
    });
    tile.store(grid.bucket(slot), s_.owners ? grid.owners(slot) : nullptr);
  }

  void average(const StampLists& lists, std::size_t slot, BandGrid& grid) const {
    AverageTile tile;
    const bool slopes = s_.method == SurfaceMethod::solenthaler;
    std::uint32_t last = UINT32_MAX;
    Vec3f at;
    lists.for_each(slot, [&](std::uint32_t k, std::uint32_t block) {
      if (block != last) at = offset(block, grid.keys()[slot]), last = block;
      const Vec3f centre = Vec3f{shapes_.x[k], shapes_.y[k], shapes_.z[k]} + at;
      tile.add(centre, shapes_.radius[k], s_.search_radius * shapes_.given[k], slopes, shapes_.owner[k]);
    });
    tile.store(grid.band(), slopes, grid.bucket(slot), s_.owners ? grid.owners(slot) : nullptr);
  }

  /// Interior cells are inside whatever the shapes say: gaps between particles in the depth are no surface.
  void fill_inside(std::size_t slot, BandGrid& grid) const {
    const InteriorVoxels interior(blocks_, near_, grid.keys()[slot]);
    float* values = grid.bucket(slot);
    if (interior.any())
      for (int x = 0; x < 8; ++x)
        for (int y = 0; y < 8; ++y)
          for (int z = 0; z < 8; ++z)
            if (interior.row(x, y) >> z & 1) {
              float& v = values[(x * 8 + y) * 8 + z];
              v = std::min(v, -1.0f);
            }
    for (int i = 0; i < 512; ++i) values[i] = std::clamp(values[i], -grid.band(), grid.band());
  }

  const ParticleBlocks& blocks_;
  const NearSurface& near_;
  Shapes shapes_;
  const RasterSettings& s_;
};

}  // namespace

BandGrid rasterize(const ParticleBlocks& blocks, const NearSurface& near, Shapes shapes,
                   const RasterSettings& settings) {
  return Rasterizer(blocks, near, std::move(shapes), settings).run();
}

}  // namespace aegir
