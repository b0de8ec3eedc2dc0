#include "surfacing/stamp_lists.h"

#include <algorithm>
#include <cmath>

#include "parallel/threads.h"

namespace aegir {
namespace {

struct BucketRange {
  Vec3i low, high;  // both included
};

/// Buckets, counted from the one that holds the block's lower corner, with a sample inside the shape's box.
BucketRange range_of(const ParticleBlocks& blocks, const Shapes& shapes, std::uint32_t k, const Vec3i& corner,
                     const StampReach& reach) {
  const float c[3] = {shapes.x[k], shapes.y[k], shapes.z[k]};
  BucketRange r;
  for (int a = 0; a < 3; ++a) {
    const float own = shapes.spheres() ? shapes.radius[k] : shapes.extent[a][k];
    const float half = (reach.own_shape ? own : reach.radii * blocks.radius[shapes.particle[k]]) +
                       (shapes.filler[k] ? 0 : reach.voxels);
    const auto first = static_cast<int>(std::ceil(c[a] - half - 0.5f)),
               last = static_cast<int>(std::floor(c[a] + half - 0.5f));
    r.low[a] = (first + (corner[a] & 7)) >> 3;
    r.high[a] = (last + (corner[a] & 7)) >> 3;
  }
  return r;
}

struct BlockParts {
  std::vector<Vec3i> key;
  std::vector<std::uint32_t> begin;  // one more than keys
};

/// Sorts the shapes of a block by the buckets that they reach: counts, then fills.
void list_block(const ParticleBlocks& blocks, const Shapes& shapes, std::size_t b, const StampReach& reach,
                BlockParts& parts, std::vector<std::uint32_t>& entries) {
  const std::uint32_t begin = shapes.first[b], end = shapes.first[b + 1];
  if (begin == end) return;
  const Vec3i corner = blocks.key[b] * blocks.lattice.block_voxels();
  std::vector<BucketRange> ranges(end - begin);
  BucketRange window = range_of(blocks, shapes, begin, corner, reach);
  for (std::uint32_t k = begin; k < end; ++k) {
    const BucketRange r = ranges[k - begin] = range_of(blocks, shapes, k, corner, reach);
    window.low = min(window.low, r.low), window.high = max(window.high, r.high);
  }
  const Vec3i size = window.high - window.low + Vec3i(1);
  const auto cell = [&](int i, int j, int k) {
    return static_cast<std::size_t>(i - window.low.x) * static_cast<std::size_t>(size.y * size.z) +
           static_cast<std::size_t>((j - window.low.y) * size.z + (k - window.low.z));
  };
  const auto each = [&](const BucketRange& r, const auto& f) {
    for (int i = r.low.x; i <= r.high.x; ++i)
      for (int j = r.low.y; j <= r.high.y; ++j)
        for (int k = r.low.z; k <= r.high.z; ++k) f(cell(i, j, k));
  };
  std::vector<std::uint32_t> next(static_cast<std::size_t>(size.x) * static_cast<std::size_t>(size.y * size.z), 0);
  for (const BucketRange& r : ranges) each(r, [&](std::size_t c) { ++next[c]; });
  const Vec3i base{corner.x >> 3, corner.y >> 3, corner.z >> 3};
  std::uint32_t sum = 0;
  for (int i = window.low.x; i <= window.high.x; ++i)
    for (int j = window.low.y; j <= window.high.y; ++j)
      for (int k = window.low.z; k <= window.high.z; ++k) {
        std::uint32_t& count = next[cell(i, j, k)];
        if (count > 0) parts.key.push_back(base + Vec3i{i, j, k}), parts.begin.push_back(sum);
        const std::uint32_t start = sum;
        sum += count, count = start;
      }
  parts.begin.push_back(sum);
  entries.resize(sum);
  for (std::uint32_t k = begin; k < end; ++k) each(ranges[k - begin], [&](std::size_t c) { entries[next[c]++] = k; });
}

}  // namespace

StampLists list_stamps(const ParticleBlocks& blocks, const Shapes& shapes, const StampReach& reach) {
  StampLists lists;
  const std::size_t n = blocks.blocks();
  lists.entries.resize(n);
  std::vector<BlockParts> found(n);
  parallel_for(0, n, 4, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b) list_block(blocks, shapes, b, reach, found[b], lists.entries[b]);
  });
  BucketMap seen(4 * n);
  for (const BlockParts& parts : found)
    for (const Vec3i& key : parts.key)
      if (seen.insert(key, 0).second) lists.key.push_back(key);
  std::sort(lists.key.begin(), lists.key.end(), key_less);
  BucketMap order(lists.key.size());
  for (std::size_t k = 0; k < lists.key.size(); ++k) order.insert(lists.key[k], static_cast<std::int32_t>(k));

  lists.first.assign(lists.key.size() + 1, 0);
  std::vector<std::int32_t> bucket;
  for (const BlockParts& parts : found)
    for (const Vec3i& key : parts.key) {
      bucket.push_back(order.find(key));
      ++lists.first[static_cast<std::size_t>(bucket.back()) + 1];
    }
  for (std::size_t k = 0; k < lists.key.size(); ++k) lists.first[k + 1] += lists.first[k];
  std::vector<std::uint32_t> next(lists.first.begin(), lists.first.end() - 1);
  lists.parts.resize(bucket.size());
  std::size_t at = 0;
  for (std::size_t b = 0; b < n; ++b)
    for (std::size_t p = 0; p < found[b].key.size(); ++p)
      lists.parts[next[static_cast<std::size_t>(bucket[at++])]++] = {static_cast<std::uint32_t>(b), found[b].begin[p],
                                                                     found[b].begin[p + 1] - found[b].begin[p]};
  return lists;
}

}  // namespace aegir
