#include "surfacing/stamp_lists.h"

#include <algorithm>
#include <cmath>

#include "parallel/threads.h"
#include "surfacing/surface_shares.h"

namespace aegir {
namespace {

struct BucketRange {
  Vec3i low, high;  // both included
};

/// Buckets, counted from the one that holds the block's lower corner, with a sample inside the shape's box.
BucketRange range_of(const Shapes& shapes, std::uint32_t k, const Vec3i& corner, const StampReach& reach) {
  const float c[3] = {shapes.x[k], shapes.y[k], shapes.z[k]};
  BucketRange r;
  for (int a = 0; a < 3; ++a) {
    const float own = shapes.stretched ? shapes.extent[a][k] : shapes.radius[k];
    const float half = (reach.own_shape ? own : reach.radii * shapes.given[k]) + (shapes.filler[k] ? 0 : reach.voxels);
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
void list_block(const SurfaceLattice& lattice, const Shapes& shapes, std::size_t b, const StampReach& reach,
                BlockParts& parts, std::vector<std::uint32_t>& entries) {
  const std::uint32_t begin = shapes.first[b], end = shapes.first[b + 1];
  if (begin == end) return;
  const Vec3i corner = shapes.key[b] * lattice.block_voxels();
  std::vector<BucketRange> ranges(end - begin);
  BucketRange window = range_of(shapes, begin, corner, reach);
  for (std::uint32_t k = begin; k < end; ++k) {
    const BucketRange r = ranges[k - begin] = range_of(shapes, k, corner, reach);
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

StampLists list_stamps(const SurfaceLattice& lattice, const Shapes& shapes, const StampReach& reach,
                       SurfaceShares* shares) {
  StampLists lists;
  const std::size_t n = shapes.key.size();
  lists.entries.resize(n);
  std::vector<BlockParts> found(n);
  parallel_for(0, n, 4, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b) list_block(lattice, shapes, b, reach, found[b], lists.entries[b]);
  });
  BucketMap seen(4 * n);
  for (const BlockParts& parts : found)
    for (const Vec3i& key : parts.key)
      if (seen.insert(key, 0).second && (!shares || shares->mine(key))) lists.key.push_back(key);
  std::sort(lists.key.begin(), lists.key.end(), key_less);
  BucketMap order(lists.key.size());
  for (std::size_t k = 0; k < lists.key.size(); ++k) order.insert(lists.key[k], static_cast<std::int32_t>(k));

  lists.first.assign(lists.key.size() + 1, 0);
  std::vector<std::int32_t> bucket;
  for (const BlockParts& parts : found)
    for (const Vec3i& key : parts.key) {
      bucket.push_back(order.find(key));
      if (bucket.back() != BucketMap::none) ++lists.first[static_cast<std::size_t>(bucket.back()) + 1];
    }
  for (std::size_t k = 0; k < lists.key.size(); ++k) lists.first[k + 1] += lists.first[k];
  std::vector<std::uint32_t> next(lists.first.begin(), lists.first.end() - 1);
  lists.parts.resize(lists.first.back());
  std::size_t at = 0;
  for (std::size_t b = 0; b < n; ++b)
    for (std::size_t p = 0; p < found[b].key.size(); ++p)
      if (const std::int32_t k = bucket[at++]; k != BucketMap::none)
        lists.parts[next[static_cast<std::size_t>(k)]++] = {static_cast<std::uint32_t>(b), found[b].begin[p],
                                                            found[b].begin[p + 1] - found[b].begin[p]};
  return lists;
}

namespace {

/// All numbers of a shape, one after the other.
template <class S, class F>
void each_number(S& shapes, const F& f) {
  for (auto* v : {&shapes.x, &shapes.y, &shapes.z, &shapes.radius, &shapes.given}) f(*v);
  if (!shapes.stretched) return;
  for (auto& v : shapes.m) f(v);
  for (auto& v : shapes.extent) f(v);
}

/// The shapes of a block that each other rank needs.
std::vector<std::vector<std::uint32_t>> needed_elsewhere(const SurfaceLattice& lattice, const Shapes& shapes,
                                                         std::size_t b, const StampReach& reach,
                                                         SurfaceShares& shares) {
  std::vector<std::vector<std::uint32_t>> lists(static_cast<std::size_t>(shares.comm().size()));
  const Vec3i corner = shapes.key[b] * lattice.block_voxels(), base{corner.x >> 3, corner.y >> 3, corner.z >> 3};
  const bool deep = shares.deep(shapes.key[b]);
  for (std::uint32_t k = shapes.first[b]; k < shapes.first[b + 1]; ++k) {
    const BucketRange r = range_of(shapes, k, corner, reach);
    const Vec3i first = shares.block_of(base + r.low) - shapes.key[b],
                last = shares.block_of(base + r.high) - shapes.key[b];
    const int far = std::max({-first.x, -first.y, -first.z, last.x, last.y, last.z});
    if (deep && far <= shares.ring()) continue;
    for (int x = r.low.x; x <= r.high.x; ++x)
      for (int y = r.low.y; y <= r.high.y; ++y)
        for (int z = r.low.z; z <= r.high.z; ++z) {
          auto& list = lists[static_cast<std::size_t>(shares.rank_of_bucket(base + Vec3i{x, y, z}))];
          if (list.empty() || list.back() != k) list.push_back(k);
        }
  }
  lists[static_cast<std::size_t>(shares.comm().rank())].clear();
  return lists;
}

/// Appends a block's shapes as they come from another rank.
void take_block(Parcel& parcel, Shapes& to, SurfaceShares& shares) {
  to.key.push_back(parcel.take<Vec3i>());
  const auto count = static_cast<std::size_t>(parcel.take<std::uint32_t>()), before = to.size();
  to.first.push_back(static_cast<std::uint32_t>(before + count));
  to.particle.resize(before + count), to.filler.resize(before + count);
  parcel.take(to.filler.data() + before, count);
  each_number(to, [&](std::vector<float>& v) {
    v.resize(before + count);
    parcel.take(v.data() + before, count * sizeof(float));
  });
  const auto owners = shares.carried.unpack(parcel, count);
  to.owner.insert(to.owner.end(), owners.begin(), owners.end());
}

/// Blocks of both in ascending order.
Shapes joined(const Shapes& a, const Shapes& b) {
  Shapes all;
  all.stretched = a.stretched;
  all.first.push_back(0);
  const auto take = [&](const Shapes& from, std::size_t block) {
    const std::uint32_t begin = from.first[block], end = from.first[block + 1];
    if (begin == end) return;
    const auto copy = [&](const auto& v, auto& to) { to.insert(to.end(), v.begin() + begin, v.begin() + end); };
    all.key.push_back(from.key[block]), all.first.push_back(all.first.back() + end - begin);
    copy(from.particle, all.particle), copy(from.owner, all.owner), copy(from.filler, all.filler);
    copy(from.x, all.x), copy(from.y, all.y), copy(from.z, all.z), copy(from.radius, all.radius);
    copy(from.given, all.given);
    if (!from.stretched) return;
    for (int i = 0; i < 6; ++i) copy(from.m[i], all.m[i]);
    for (int i = 0; i < 3; ++i) copy(from.extent[i], all.extent[i]);
  };
  for (std::size_t i = 0, j = 0; i < a.key.size() || j < b.key.size();)
    if (j == b.key.size() || (i < a.key.size() && key_less(a.key[i], b.key[j])))
      take(a, i++);
    else
      take(b, j++);
  return all;
}

}  // namespace

Shapes share_shapes(const SurfaceLattice& lattice, Shapes shapes, const StampReach& reach, SurfaceShares& shares) {
  Parcels parcels(shares.comm());
  for (std::size_t b = 0; b < shapes.key.size(); ++b) {
    const auto lists = needed_elsewhere(lattice, shapes, b, reach, shares);
    for (int r = 0; r < shares.comm().size(); ++r) {
      const auto& list = lists[static_cast<std::size_t>(r)];
      if (list.empty()) continue;
      parcels.put(r, shapes.key[b]), parcels.put(r, static_cast<std::uint32_t>(list.size()));
      put_picked(parcels.to(r), shapes.filler.data(), 1, list);
      each_number(shapes,
                  [&](const std::vector<float>& v) { put_picked(parcels.to(r), v.data(), sizeof(float), list); });
      std::vector<std::int32_t> owners;
      for (const std::uint32_t k : list) owners.push_back(shapes.owner[k]);
      shares.carried.pack(owners, parcels.to(r));
    }
  }
  // Blocks come in ascending order, and each from one rank.
  const auto none = [&] {
    Shapes s;
    s.stretched = shapes.stretched, s.first.push_back(0);
    return s;
  };
  Shapes others = none();
  for (Parcel& parcel : parcels.exchange()) {
    Shapes more = none();
    while (!parcel.at_end()) take_block(parcel, more, shares);
    others = joined(others, more);
  }
  return joined(shapes, others);
}

}  // namespace aegir
