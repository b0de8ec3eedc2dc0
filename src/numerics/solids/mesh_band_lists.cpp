// How a mesh is sorted into the buckets and cells that it touches; mesh_band.cpp searches what is listed here.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "geometry/triangle.h"
#include "numerics/solids/band_rows.h"
#include "numerics/solids/mesh_band.h"
#include "parallel/threads.h"

namespace aegir {
namespace {

/// Triangles count for cells whose boxes they come this close to, so that centres see all within centre_band.
constexpr double overlap = 0.002;
/// Where discs are that fill a row up: beyond all bounds.
constexpr float nowhere = 1e6f;

using Four [[gnu::vector_size(32)]] = double;  // a triangle in each
using Four32 [[gnu::vector_size(16)]] = float;
using Four32i [[gnu::vector_size(16)]] = std::int32_t;

inline Four least(const Four& a, const Four& b) { return a < b ? a : b; }
inline Four greatest(const Four& a, const Four& b) { return a > b ? a : b; }
inline Four root(const Four& a) {
  Four r;
  for (int l = 0; l < 4; ++l) r[l] = std::sqrt(a[l]);
  return r;
}
inline Four32 single(const Four& a) { return __builtin_convertvector(a, Four32); }

/// One corner of four triangles.
inline Vec3<Four> corner_of(std::span<const Vec3d> places, const std::array<Vec3i, 4>& t, int k) {
  const auto at = [&](std::size_t l) -> const Vec3d& { return places[static_cast<std::size_t>(t[l][k])]; };
  const Vec3d &a = at(0), &b = at(1), &c = at(2), &d = at(3);
  return {Four{a.x, b.x, c.x, d.x}, Four{a.y, b.y, c.y, d.y}, Four{a.z, b.z, c.z, d.z}};
}
struct FourBoxes {
  Vec3<Four> low, high;
};
inline FourBoxes boxes_of(const std::array<Vec3<Four>, 3>& corners) {
  FourBoxes box{corners[0], corners[0]};
  for (const Vec3<Four>& c : {corners[1], corners[2]})
    for (int a = 0; a < 3; ++a) box.low[a] = least(box.low[a], c[a]), box.high[a] = greatest(box.high[a], c[a]);
  return box;
}
/// Rounded down; only for what 32 bits hold.
inline Four32i floor_of(const Four& x) {
  const Four32i whole = __builtin_convertvector(x, Four32i);
  return whole + __builtin_convertvector(__builtin_convertvector(whole, Four) > x, Four32i);
}

}  // namespace

/// Lists the triangles that touch each bucket, chunk by chunk of the mesh. About 100 bytes and 40 flops per triangle.
void MeshBand::bin() {
  constexpr std::size_t least_chunk = 8192, most_chunks = 64;
  const std::size_t count = mesh_.triangles.size();
  const std::size_t chunk = std::max(least_chunk, (count + most_chunks - 1) / most_chunks);
  const std::size_t chunks = (count + chunk - 1) / chunk;
  const std::size_t buckets = buckets_.size();
  auto& [entries, next, first, triangles] = lists_;
  entries.resize(std::max(entries.size(), chunks));
  next.assign(chunks * buckets, 0), first.assign(buckets + 1, 0);
  const auto each = [&](auto work) {
    parallel_for(0, chunks, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t c = begin; c < end; ++c) work(entries[c], std::span(next).subspan(c * buckets, buckets), c);
    });
  };
  each([&](std::vector<Lists::Entry>& of_chunk, std::span<std::uint32_t> places, std::size_t c) {
    of_chunk.clear();
    list_chunk(c * chunk, std::min(count, (c + 1) * chunk), of_chunk);
    for (const Lists::Entry& e : of_chunk) ++places[static_cast<std::size_t>(e.bucket)];
  });
  std::uint32_t place = 0;
  for (std::size_t b = 0; b < buckets; ++b) {
    first[b] = place;
    for (std::size_t c = 0; c < chunks; ++c) place += std::exchange(next[c * buckets + b], place);
  }
  first[buckets] = place;
  triangles.resize(place);
  each([&](const std::vector<Lists::Entry>& of_chunk, std::span<std::uint32_t> places, std::size_t) {
    for (const Lists::Entry& e : of_chunk) triangles[places[static_cast<std::size_t>(e.bucket)]++] = e.triangle;
  });
}

void MeshBand::list_chunk(std::size_t begin, std::size_t end, std::vector<Lists::Entry>& entries) const {
  // Places beyond all buckets are not told apart.
  constexpr double most = double{coordinate_limit} * bucket_size;
  const Four scale = Four{} + 1 / spacing_;
  Vec3i last(coordinate_limit);
  int last_bucket = -1;
  for (std::size_t i = begin; i < end; i += 4) {
    std::array<Vec3i, 4> t;
    for (std::size_t l = 0; l < 4; ++l) t[l] = mesh_.triangles[std::min(i + l, end - 1)];
    std::array<Vec3<Four>, 3> corners;
    for (int k = 0; k < 3; ++k) corners[static_cast<std::size_t>(k)] = corner_of(mesh_.positions, t, k) * scale;
    const FourBoxes box = boxes_of(corners);
    std::array<Four32i, 3> low, high;
    Four finite{};
    for (int a = 0; a < 3; ++a) {
      for (const Vec3<Four>& c : corners) finite += c[a] - c[a];  // anything that is not finite leaves a mark
      const auto bucket_of = [&](const Four& x) {
        return floor_of(least(greatest(x, Four{} - most), Four{} + most)) >> 3;
      };
      low[static_cast<std::size_t>(a)] = bucket_of(box.low[a] - overlap);
      high[static_cast<std::size_t>(a)] = bucket_of(box.high[a] + overlap);
    }
    for (std::size_t l = 0; l < std::min<std::size_t>(4, end - i); ++l) {
      if (finite[l] != 0) continue;
      const Vec3i from{low[0][l], low[1][l], low[2][l]}, to{high[0][l], high[1][l], high[2][l]};
      const bool large = to.x - from.x > 1 || to.y - from.y > 1 || to.z - from.z > 1;
      for (int x = from.x; x <= to.x; ++x)
        for (int y = from.y; y <= to.y; ++y)
          for (int z = from.z; z <= to.z; ++z) {
            const Vec3i coord{x, y, z};
            if (coord != last) last = coord, last_bucket = find(coord);
            if (last_bucket < 0) continue;
            if (large) {  // half the diagonal of a bucket is 6.93 cells
              const Vec3d middle = Vec3d(coord) * double{bucket_size} + Vec3d(4);
              if (distance(static_cast<std::int32_t>(i + l), middle) > 7) continue;
            }
            entries.push_back({last_bucket, static_cast<std::int32_t>(i + l)});
          }
    }
  }
}

/// What is known of the triangles of a bucket before they are sorted by its cells; its memory is used again.
struct MeshBand::CellLists {
  struct Discs {
    std::vector<float> x, y, z, radius, nx, ny, nz;
    void resize(std::size_t count) {
      for (auto* v : {&x, &y, &z, &radius, &nx, &ny, &nz}) v->resize(count);
    }
  };
  Discs discs;
  struct Range {
    std::array<std::uint8_t, 3> low, high;  // cells of the bucket that the box touches
    bool wide;                              // so large that some of these may not be touched
  };
  std::vector<Range> ranges;
  std::vector<Row8> ways;  // of a box around each one's ways: least x, y, z, then the greatest with changed signs
  struct Pair {
    std::uint32_t part, triangle;  // cell and eighth of it; place in the bucket's list
  };
  std::vector<Pair> pairs;
  std::vector<std::int32_t> sorted;                    // triangles of the pairs, by parts, in whole rows; -1: none
  std::array<std::uint32_t, 8 * bucket_cells> counts;  // of each part
  std::array<Row8, bucket_cells> cell_ways;            // of occupied cells
};

void MeshBand::list_cells() {
  parallel_for(0, buckets_.size(), 4, [&](std::size_t begin, std::size_t end) {
    static thread_local CellLists lists;
    for (std::size_t b = begin; b < end; ++b) {
      Bucket& bucket = buckets_[b];
      bucket.patches.occupied.fill(0), bucket.patches.list.clear(), bucket.parts.clear(), bucket.ways.fill({});
      const std::span<const std::int32_t> triangles = lists_.of(b);
      if (triangles.empty()) continue;
      make_discs(bucket, triangles, lists);
      list_pairs(bucket, triangles, lists);
      make_patches(bucket, triangles, lists);
    }
  });
}

/// 144 bytes gathered and about 120 flops per triangle, four at a time.
void MeshBand::make_discs(const Bucket& bucket, std::span<const std::int32_t> triangles, CellLists& lists) const {
  const std::size_t count = triangles.size();
  lists.discs.resize(count + 4), lists.ranges.resize(count + 4), lists.ways.resize(count + 4);
  const Four scale = Four{} + 1 / spacing_;
  const Vec3d first = Vec3d(bucket.key.coord) * double{bucket_size};
  const Vec3<Four> origin(Four{} + first.x, Four{} + first.y, Four{} + first.z);
  CellLists::Discs& d = lists.discs;
  for (std::size_t i = 0; i < count; i += 4) {
    std::array<Vec3i, 4> t;
    for (std::size_t l = 0; l < 4; ++l)
      t[l] = mesh_.triangles[static_cast<std::size_t>(triangles[std::min(i + l, count - 1)])];
    // Corners lie anywhere in memory; those of triangles to come are on their way meanwhile.
    constexpr std::size_t ahead = 16;
    for (std::size_t l = i + ahead; l < std::min(i + ahead + 4, count); ++l) {
      const Vec3i next = mesh_.triangles[static_cast<std::size_t>(triangles[l])];
      for (int k = 0; k < 3; ++k) {
        __builtin_prefetch(&mesh_.positions[static_cast<std::size_t>(next[k])]);
        if (has_velocity()) __builtin_prefetch(&mesh_.before[static_cast<std::size_t>(next[k])]);
      }
    }
    std::array<Vec3<Four>, 3> corners, ways{};
    for (int k = 0; k < 3; ++k) {
      const Vec3<Four> place = corner_of(mesh_.positions, t, k);
      corners[static_cast<std::size_t>(k)] = place * scale - origin;
      if (has_velocity()) ways[static_cast<std::size_t>(k)] = (place - corner_of(mesh_.before, t, k)) * scale;
    }
    const Vec3<Four> middle = (corners[0] + corners[1] + corners[2]) * (Four{} + 1.0 / 3);
    const Vec3<Four> normal = cross(corners[1] - corners[0], corners[2] - corners[0]);
    const Four area2 = dot(normal, normal), inverse = area2 > 0 ? 1 / root(area2) : Four{} + 1;
    Four radius2{};
    for (const Vec3<Four>& c : corners) radius2 = greatest(radius2, dot(c - middle, c - middle));
    const auto put = [&](std::vector<float>& to, const Four32& values) { std::memcpy(&to[i], &values, sizeof values); };
    put(d.x, single(middle.x)), put(d.y, single(middle.y)), put(d.z, single(middle.z));
    put(d.nx, single(normal.x * inverse)), put(d.ny, single(normal.y * inverse)), put(d.nz, single(normal.z * inverse));
    put(d.radius, single(root(radius2)) + band_rounding);
    const FourBoxes box = boxes_of(corners), way = boxes_of(ways);
    Four wide{};
    for (int a = 0; a < 3; ++a) {
      wide = greatest(wide, box.high[a] - box.low[a]);
      const auto cell_of = [&](const Four& x) {
        return __builtin_convertvector(least(greatest(x, Four{}), Four{} + (bucket_size - 0.5)), Four32i);
      };
      const Four32i low = cell_of(box.low[a] - overlap), high = cell_of(box.high[a] + overlap);
      // Rounded away from each other.
      const auto beyond = [](const Four32& x) {
        return x - ((x < 0 ? -x : x) * 1.2e-7f + std::numeric_limits<float>::min());
      };
      const Four32 least_way = beyond(single(way.low[a])), most_way = beyond(-single(way.high[a]));
      for (std::size_t l = 0; l < 4; ++l) {
        lists.ranges[i + l].low[static_cast<std::size_t>(a)] = static_cast<std::uint8_t>(low[l]);
        lists.ranges[i + l].high[static_cast<std::size_t>(a)] = static_cast<std::uint8_t>(high[l]);
        lists.ways[i + l][a] = least_way[l], lists.ways[i + l][a + 4] = most_way[l];
      }
    }
    for (std::size_t l = 0; l < 4; ++l) lists.ranges[i + l].wide = wide[l] > 2;
  }
}

/// Pairs of a triangle and a cell that it touches.
void MeshBand::list_pairs(Bucket& bucket, std::span<const std::int32_t> triangles, CellLists& lists) const {
  lists.pairs.clear(), lists.counts.fill(0);
  const Vec3d first = Vec3d(bucket.key.coord) * double{bucket_size};
  for (std::size_t i = 0; i < triangles.size(); ++i) {
    const CellLists::Range& range = lists.ranges[i];
    const Vec3f middle(lists.discs.x[i], lists.discs.y[i], lists.discs.z[i]);
    for (int x = range.low[0]; x <= range.high[0]; ++x)
      for (int y = range.low[1]; y <= range.high[1]; ++y)
        for (int z = range.low[2]; z <= range.high[2]; ++z) {
          if (range.wide) {  // half the diagonal of a cell is 0.866
            const Vec3d centre = first + Vec3d(Vec3i(x, y, z)) + Vec3d(0.5);
            if (distance(triangles[i], centre) > 0.875) continue;
          }
          const auto cell = static_cast<std::uint32_t>(cell_offset(x, y, z));
          const Vec3f in = middle - Vec3f(Vec3i(x, y, z));
          const std::uint32_t eighth =
              std::uint32_t{in.x > 0.5f} << 2 | std::uint32_t{in.y > 0.5f} << 1 | std::uint32_t{in.z > 0.5f};
          lists.pairs.push_back({cell << 3 | eighth, static_cast<std::uint32_t>(i)});
          ++lists.counts[cell << 3 | eighth];
          std::uint8_t& row = bucket.patches.occupied[cell >> 3];
          const auto bit = static_cast<std::uint8_t>(1u << (cell & 7));
          lists.cell_ways[cell] = row & bit ? least(lists.cell_ways[cell], lists.ways[i]) : lists.ways[i];
          row |= bit;
        }
  }
}

/// Sorts the discs by parts of cells, 32 bytes for each pair, and bounds what is in each.
void MeshBand::make_patches(Bucket& bucket, std::span<const std::int32_t> triangles, CellLists& lists) {
  DrawnPatches& patches = bucket.patches;
  std::size_t occupied = 0;
  for (std::size_t row = 0; row < 64; ++row) {
    patches.first[row] = static_cast<std::uint16_t>(occupied);
    occupied += static_cast<std::size_t>(std::popcount(patches.occupied[row]));
  }
  patches.list.resize(occupied), bucket.parts.resize(occupied);
  const auto each_cell = [&](auto work) {
    for (std::size_t row = 0, n = 0; row < 64; ++row)
      for (unsigned bits = patches.occupied[row]; bits; bits &= bits - 1, ++n)
        work(row << 3 | static_cast<std::size_t>(std::countr_zero(bits)), patches.list[n], bucket.parts[n]);
  };
  std::uint32_t rows = 0;
  each_cell([&](std::size_t cell, DrawnPatch&, Parts& parts) {
    for (std::size_t p = 0; p < 8; ++p) {
      parts.first[p] = rows;
      rows += (std::exchange(lists.counts[cell << 3 | p], 8 * rows) + 7) / 8;
    }
    parts.first[8] = rows;
  });
  // Sorted by number first: what is written then is written in order.
  lists.sorted.assign(8 * rows, -1);
  for (const CellLists::Pair& pair : lists.pairs)
    lists.sorted[lists.counts[pair.part]++] = static_cast<std::int32_t>(pair.triangle);
  const CellLists::Discs& from = lists.discs;
  bucket.discs.resize(rows);
  for (std::size_t row = 0; row < rows; ++row) {
    DiscRow& to = bucket.discs[row];
    for (std::size_t l = 0; l < 8; ++l) {
      const bool used = lists.sorted[8 * row + l] >= 0;
      const auto i = static_cast<std::size_t>(used ? lists.sorted[8 * row + l] : 0);
      to.x[l] = used ? from.x[i] : nowhere;
      to.y[l] = from.y[i], to.z[l] = from.z[i], to.radius[l] = from.radius[i];
      to.nx[l] = from.nx[i], to.ny[l] = from.ny[i], to.nz[l] = from.nz[i], to.triangle[l] = triangles[i];
    }
  }
  const std::span<const DiscRow> discs(bucket.discs);
  const auto between = [&](std::uint32_t begin, std::uint32_t end) { return discs.subspan(begin, end - begin); };
  each_cell([&](std::size_t cell, DrawnPatch& patch, Parts& parts) {
    for (std::size_t p = 0; p < 8; ++p) {
      DrawnPatch part;
      part.middle = Vec3f(nowhere);
      if (parts.first[p] != parts.first[p + 1]) part = patch_of(between(parts.first[p], parts.first[p + 1]));
      parts.x[p] = part.middle.x, parts.y[p] = part.middle.y, parts.z[p] = part.middle.z;
      parts.nx[p] = part.normal.x, parts.ny[p] = part.normal.y, parts.nz[p] = part.normal.z;
      parts.radius[p] = part.radius, parts.half_height[p] = part.half_height;
    }
    patch = patch_of(between(parts.first[0], parts.first[8]));
    const Row8& ways = lists.cell_ways[cell];
    const Box box{{ways[0], ways[1], ways[2]}, {-ways[4], -ways[5], -ways[6]}};
    patch.way = Vec3f(box.center()), patch.way_spread = Vec3f(box.size() * 0.5);
    bucket.ways[(cell >> 7) << 4 | (cell >> 4 & 3) << 2 | (cell >> 1 & 3)].add(box);
  });
}

/// A disc around some, as thick as they need.
DrawnPatch MeshBand::patch_of(std::span<const DiscRow> discs) {
  Row8 sums[6]{}, count{};
  for (const DiscRow& d : discs) {
    const Row<std::int32_t> used = load_row(d.x.data()) < nowhere;
    int n = 0;
    for (const auto* v : {&d.x, &d.y, &d.z, &d.nx, &d.ny, &d.nz}) sums[n++] += used ? load_row(v->data()) : Row8{};
    count += used ? spread(1) : Row8{};
  }
  DrawnPatch patch;
  patch.middle = Vec3f(sum_of(sums[0]), sum_of(sums[1]), sum_of(sums[2])) / sum_of(count);
  patch.normal = normalized(Vec3f(sum_of(sums[3]), sum_of(sums[4]), sum_of(sums[5])));
  const Vec3f &m = patch.middle, &n = patch.normal;
  Row8 radius{}, half_height{};
  for (const DiscRow& d : discs) {
    const Row<std::int32_t> used = load_row(d.x.data()) < nowhere;
    const Row8 x = load_row(d.x.data()) - m.x, y = load_row(d.y.data()) - m.y, z = load_row(d.z.data()) - m.z;
    const Row8 along = load_row(d.nx.data()) * n.x + load_row(d.ny.data()) * n.y + load_row(d.nz.data()) * n.z;
    const Row8 r = load_row(d.radius.data()), tilted = r * root(greatest(1 - along * along, Row8{})) + band_rounding;
    const Row8 far = root(x * x + y * y + z * z) + r, high = size_of(x * n.x + y * n.y + z * n.z) + tilted;
    radius = used & (far > radius) ? far : radius, half_height = used & (high > half_height) ? high : half_height;
  }
  patch.radius = greatest_of(radius), patch.half_height = greatest_of(half_height);
  return patch;
}

}  // namespace aegir
