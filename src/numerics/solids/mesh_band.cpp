#include "numerics/solids/mesh_band.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <utility>

#include "domain/grid/topology.h"
#include "geometry/triangle.h"
#include "numerics/solids/band_rows.h"
#include "numerics/solids/solid_bucket.h"
#include "parallel/threads.h"

namespace aegir {
namespace {

std::uint64_t packed(const Vec3i& c) {
  const auto part = [](std::int32_t x) { return static_cast<std::uint64_t>(x + coordinate_limit) & 0x1fffff; };
  return part(c.x) << 42 | part(c.y) << 21 | part(c.z);
}
}  // namespace

void MeshBand::draw(const SolidTriangles& mesh, double spacing, std::span<const BucketKey> buckets) {
  mesh_ = mesh, spacing_ = spacing;
  const std::vector<BucketKey> keys = padded(buckets, 1);
  buckets_.resize(keys.size());
  index_.clear(), index_.reserve(keys.size());
  for (std::size_t b = 0; b < keys.size(); ++b) index_.emplace(packed(keys[b].coord), static_cast<std::int32_t>(b));
  bin();
  const auto each = [&](auto work) {
    parallel_for(0, buckets_.size(), 2, [&](std::size_t begin, std::size_t end) {
      for (std::size_t b = begin; b < end; ++b) work(b);
    });
  };
  each([&](std::size_t b) {
    buckets_[b].key = keys[b], buckets_[b].any = false;
    for (int n = 0; n < 27; ++n)
      buckets_[b].around[static_cast<std::size_t>(n)] = find(keys[b].coord + neighbour_offset(n));
  });
  list_cells();
  each([&](std::size_t b) { look_near(buckets_[b]); });
  bound_neighbours();
  bound_neighbours();
  each([&](std::size_t b) { settle(buckets_[b]); });
}

int MeshBand::find(const Vec3i& coord) const {
  const auto at = index_.find(packed(coord));
  return at == index_.end() ? -1 : at->second;
}

std::array<Vec3d, 3> MeshBand::corners(std::int32_t triangle) const {
  const Vec3i t = mesh_.triangles[static_cast<std::size_t>(triangle)];
  const double scale = 1 / spacing_;
  const auto corner = [&](std::int32_t v) { return mesh_.positions[static_cast<std::size_t>(v)] * scale; };
  return {corner(t.x), corner(t.y), corner(t.z)};
}
double MeshBand::distance(std::int32_t triangle, const Vec3d& cells) const {
  const auto t = corners(triangle);
  return std::sqrt(closest_on_triangle(cells, t[0], t[1], t[2]).distance2);
}
void MeshBand::expect(std::int32_t triangle) const {
  const Vec3i t = mesh_.triangles[static_cast<std::size_t>(triangle)];
  for (int k = 0; k < 3; ++k) {
    __builtin_prefetch(&mesh_.positions[static_cast<std::size_t>(t[k])]);
    if (has_velocity()) __builtin_prefetch(&mesh_.before[static_cast<std::size_t>(t[k])]);
  }
}
Vec3d MeshBand::velocity(std::int32_t triangle, const Vec3d& cells) const {
  const auto t = corners(triangle);
  const Vec3d weights = closest_on_triangle(cells, t[0], t[1], t[2]).barycentric;
  const Vec3i vertices = mesh_.triangles[static_cast<std::size_t>(triangle)];
  Vec3d way;
  for (int k = 0; k < 3; ++k) {
    const auto v = static_cast<std::size_t>(vertices[k]);
    way += (mesh_.positions[v] - mesh_.before[v]) * weights[k];
  }
  return mesh_.duration > 0 ? way / mesh_.duration : Vec3d{};
}

namespace {

constexpr double unbounded = 100;
/// Nodes that a close triangle is farther from than this, in cells, make do with it.
constexpr double exact_band = 2.3;
/// Bounds that go from node to node along the 26 directions are at most this much too large in the band.
constexpr double bound_slack = drawn_slack;

Vec3i first_node(const BucketKey& key) {
  return {key.coord.x * bucket_size, key.coord.y * bucket_size, key.coord.z * bucket_size};
}

}  // namespace

/// The closest triangle so far to a place, and those that may be closer.
struct MeshBand::Search {
  struct Near {
    float bound2;
    std::int32_t triangle;
  };
  Vec3d place;  // in cells
  double best;  // no triangle farther away counts
  std::int32_t closest = -1;
  float reach;  // what is certain not to be beaten, with room for rounding
  std::size_t count = 0;
  std::array<Near, 64> near;

  Search(const Vec3d& at, double farthest)
      : place(at), best(farthest), reach(static_cast<float>(farthest) + band_rounding) {}
  bool reaches(float bound2) const { return bound2 <= reach * reach; }
  void limit(float distance) { reach = std::min(reach, distance + band_rounding); }
  void take(double distance, std::int32_t triangle) {
    if (distance < best || (distance == best && (closest < 0 || triangle < closest)))
      best = distance, closest = triangle, limit(static_cast<float>(best));
  }
};

/// Looks at the parts of a cell that are near enough to a place, the likeliest first.
/// 300 bytes from the cache and 25 flops for each of the eight parts.
void MeshBand::scan(const Bucket& bucket, std::size_t cell, const Vec3f& local, Search& search) const {
  const Parts& p = bucket.parts[bucket.patches.place(cell)];
  const Row8 x = local.x - load_row(p.x.data()), y = local.y - load_row(p.y.data()), z = local.z - load_row(p.z.data());
  const Row8 height = x * load_row(p.nx.data()) + y * load_row(p.ny.data()) + z * load_row(p.nz.data());
  const Row8 along = root(greatest(x * x + y * y + z * z - height * height, Row8{}));
  const Row8 beside = greatest(along - load_row(p.radius.data()), Row8{});
  const Row8 beyond = greatest(size_of(height) - load_row(p.half_height.data()), Row8{});
  const Row8 bounds2 = beside * beside + beyond * beyond;
  const auto look = [&](unsigned bits) {
    for (; bits; bits &= bits - 1) {
      const auto part = static_cast<std::size_t>(std::countr_zero(bits));
      if (search.reaches(bounds2[part]))
        scan_discs(std::span(bucket.discs).subspan(p.first[part], p.first[part + 1] - p.first[part]), local, search);
    }
  };
  const unsigned likely = bits_of(bounds2 == least_of(bounds2)),
                 reached = bits_of(bounds2 <= search.reach * search.reach);
  look(reached & likely), look(reached & ~likely);
}

/// No triangle is farther than its middle, none nearer than its disc: notes those that may be the closest.
/// 32 bytes from the cache and 25 flops per triangle.
void MeshBand::scan_discs(std::span<const DiscRow> discs, const Vec3f& local, Search& search) const {
  constexpr std::size_t chunk = 8;
  const Row8 px = spread(local.x), py = spread(local.y), pz = spread(local.z), none{};
  std::array<Row8, chunk> bounds2;
  for (; !discs.empty(); discs = discs.subspan(std::min(chunk, discs.size()))) {
    const std::size_t count = std::min(chunk, discs.size());
    Row8 middles2 = spread(1e12f);
    for (std::size_t n = 0; n < count; ++n) {
      const DiscRow& d = discs[n];
      const Row8 x = px - load_row(d.x.data()), y = py - load_row(d.y.data()), z = pz - load_row(d.z.data());
      const Row8 distance2 = x * x + y * y + z * z;
      const Row8 height = x * load_row(d.nx.data()) + y * load_row(d.ny.data()) + z * load_row(d.nz.data());
      const Row8 along = greatest(distance2 - height * height, none);
      const Row8 beside = greatest(root(along) - load_row(d.radius.data()), none);
      middles2 = least(middles2, distance2);
      bounds2[n] = height * height + beside * beside;
    }
    search.limit(std::sqrt(least_of(middles2)));
    for (std::size_t n = 0; n < count; ++n)
      for (unsigned bits = bits_of(bounds2[n] <= search.reach * search.reach); bits; bits &= bits - 1) {
        if (search.count == search.near.size()) compare(search);
        const auto at = static_cast<std::size_t>(std::countr_zero(bits));
        const std::int32_t triangle = discs[n].triangle[at];
        __builtin_prefetch(&mesh_.triangles[static_cast<std::size_t>(triangle)]);
        search.near[search.count++] = {bounds2[n][at], triangle};
      }
  }
}

/// Compares all that were noted and are still near enough, four at a time.
void MeshBand::compare(Search& search) const {
  for (std::size_t n = 0; n < search.count; ++n) {
    const Vec3i t = mesh_.triangles[static_cast<std::size_t>(search.near[n].triangle)];
    for (int k = 0; k < 3; ++k) __builtin_prefetch(&mesh_.positions[static_cast<std::size_t>(t[k])]);
  }
  std::array<std::int32_t, 4> four{};
  std::size_t lanes = 0;
  for (std::size_t n = 0; n < search.count; ++n) {
    if (search.reaches(search.near[n].bound2)) four[lanes++] = search.near[n].triangle;
    if (lanes == 4 || (lanes > 0 && n + 1 == search.count)) compare(four, lanes, search), lanes = 0;
  }
  search.count = 0;
}

/// Distances of four places from a triangle each. 144 bytes from anywhere in the mesh, 200 flops each.
MeshBand::Four MeshBand::distances(const Vec3<Four>& places, const std::array<std::int32_t, 4>& triangles) const {
  std::array<Vec3i, 4> t;
  for (std::size_t l = 0; l < 4; ++l) t[l] = mesh_.triangles[static_cast<std::size_t>(triangles[l])];
  const auto corner = [&](int k) {
    const auto at = [&](std::size_t l) -> const Vec3d& { return mesh_.positions[static_cast<std::size_t>(t[l][k])]; };
    const Vec3d &a = at(0), &b = at(1), &c = at(2), &d = at(3);
    return Vec3<Four>(Four{a.x, b.x, c.x, d.x}, Four{a.y, b.y, c.y, d.y}, Four{a.z, b.z, c.z, d.z}) *
           (Four{} + 1 / spacing_);
  };
  const Four exact2 = distance2_to_triangle(places, corner(0), corner(1), corner(2));
  Four exact;
  for (int l = 0; l < 4; ++l) exact[l] = std::sqrt(exact2[l]);
  return exact;
}

/// Takes the closest of up to four triangles, if it is closer than what there was.
void MeshBand::compare(std::array<std::int32_t, 4> triangles, std::size_t count, Search& search) const {
  std::fill(triangles.begin() + static_cast<std::ptrdiff_t>(count), triangles.end(), triangles[0]);
  const Vec3d& at = search.place;
  const Four exact = distances({Four{} + at.x, Four{} + at.y, Four{} + at.z}, triangles);
  for (std::size_t l = 0; l < count; ++l) search.take(exact[l], triangles[l]);
}

/// Looks through the cells up to some from a node that are closer to it than what was found so far, the nearest first.
void MeshBand::scan_around(const Bucket& bucket, const Vec3i& node, int cells, Search& search) const {
  struct Near {
    float bound2;
    std::uint16_t neighbour, cell;
  };
  std::array<Near, 216> list;  // of 2 * solid_band along each axis at most
  std::size_t count = 0;
  const auto gap2 = [](int cell) { return static_cast<double>(cell < 0 ? (cell + 1) * (cell + 1) : cell * cell); };
  for (int dx = -cells; dx < cells; ++dx)
    for (int dy = -cells; dy < cells; ++dy) {
      if (gap2(dx) + gap2(dy) > search.best * search.best) continue;
      const Vec3i cell = node + Vec3i(dx, dy, 0);
      const auto row = static_cast<std::size_t>((cell.x & 7) << 3 | (cell.y & 7));
      for (int oz = (node.z - cells) >> 3; oz <= (node.z + cells - 1) >> 3; ++oz) {
        const Vec3i o{cell.x >> 3, cell.y >> 3, oz};
        const int neighbour = neighbour_index(o.x, o.y, o.z), b = bucket.around[static_cast<std::size_t>(neighbour)];
        if (b < 0) continue;
        const Bucket& other = buckets_[static_cast<std::size_t>(b)];
        for (unsigned bits = other.patches.occupied[row]; bits; bits &= bits - 1) {
          const int z = std::countr_zero(bits), dz = z + oz * bucket_size - node.z;
          if (dz < -cells || dz >= cells || gap2(dx) + gap2(dy) + gap2(dz) > search.best * search.best) continue;
          const std::size_t in = row << 3 | static_cast<std::size_t>(z);
          list[count] = {other.patches.at(in)->bound2(Vec3f(node - o * bucket_size)),
                         static_cast<std::uint16_t>(neighbour), static_cast<std::uint16_t>(in)};
          ++count;
        }
      }
    }
  while (count > 0) {
    Near& nearest = *std::min_element(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(count),
                                      [](const Near& a, const Near& b) { return a.bound2 < b.bound2; });
    if (!search.reaches(nearest.bound2)) break;
    scan(buckets_[static_cast<std::size_t>(bucket.around[nearest.neighbour])], nearest.cell,
         Vec3f(node - neighbour_offset(nearest.neighbour) * bucket_size), search);
    nearest = list[--count];
  }
  compare(search);
}

/// Nodes of a row along z, a bit each, that have triangles in one of the eight cells around them.
unsigned MeshBand::nodes_beside(const Bucket& bucket, int x, int y) const {
  unsigned bits = 0;
  for (const int i : {x - 1, x})
    for (const int j : {y - 1, y})
      for (const int oz : {-1, 0}) {
        const int b = bucket.around[static_cast<std::size_t>(neighbour_index(i >> 3, j >> 3, oz))];
        if (b < 0) continue;
        const unsigned cells =
            buckets_[static_cast<std::size_t>(b)].patches.occupied[static_cast<std::size_t>((i & 7) << 3 | (j & 7))];
        bits |= oz < 0 ? cells >> 7 : cells | cells << 1;
      }
  return bits & 0xff;
}

/// Nodes look through the eight cells around them, centres through their own.
void MeshBand::look_near(Bucket& bucket) const {
  bucket.distance.fill(unbounded), bucket.triangle.fill(-1), bucket.centre.fill(centre_band);
  const Vec3i origin = first_node(bucket.key);
  for (int row = 0; row < 64; ++row) {
    for (unsigned bits = nodes_beside(bucket, row >> 3, row & 7); bits; bits &= bits - 1) {
      const Vec3i node{row >> 3, row & 7, std::countr_zero(bits)};
      const auto at = static_cast<std::size_t>(cell_offset(node.x, node.y, node.z));
      Search search(Vec3d(origin + node), unbounded);
      scan_around(bucket, node, 1, search);
      bucket.distance[at] = search.best, bucket.triangle[at] = search.closest, bucket.any = true;
    }
    for (unsigned bits = bucket.patches.occupied[static_cast<std::size_t>(row)]; bits; bits &= bits - 1) {
      const Vec3i cell{row >> 3, row & 7, std::countr_zero(bits)};
      const auto at = static_cast<std::size_t>(cell_offset(cell.x, cell.y, cell.z));
      Search centre(Vec3d(origin + cell) + Vec3d(0.5), double{centre_band});
      scan(bucket, at, Vec3f(cell) + Vec3f(0.5f), centre);
      compare(centre);
      bucket.centre[at] = static_cast<float>(centre.best);
    }
  }
}

bool MeshBand::near_mesh(const Bucket& bucket) const {
  return std::any_of(bucket.around.begin(), bucket.around.end(),
                     [&](int n) { return n >= 0 && buckets_[static_cast<std::size_t>(n)].any; });
}

/// The bucket's nodes with one layer around.
void MeshBand::gather(const Bucket& bucket, BandNodes& nodes) const {
  for (int n = 0; n < 27; ++n) {
    const Vec3i o = neighbour_offset(n);
    const int other = bucket.around[static_cast<std::size_t>(n)];
    const Bucket* source = other < 0 ? nullptr : &buckets_[static_cast<std::size_t>(other)];
    const auto first = [](int d) { return d < 0 ? -1 : d * bucket_size; };
    const auto count = [](int d) { return d == 0 ? bucket_size : 1; };
    for (int i = first(o.x); i < first(o.x) + count(o.x); ++i)
      for (int j = first(o.y); j < first(o.y) + count(o.y); ++j)
        for (int k = first(o.z); k < first(o.z) + count(o.z); ++k) {
          const auto to = static_cast<std::size_t>(node_at(i, j, k));
          const auto from = static_cast<std::size_t>(cell_offset(i & 7, j & 7, k & 7));
          nodes.distance[to] = source ? source->distance[from] : unbounded;
          nodes.triangle[to] = source ? source->triangle[from] : -1;
        }
  }
}

/// A node is no farther from the mesh than a neighbour and the way there; what is close to the neighbour is close to
/// it.
void MeshBand::bound_neighbours() {
  struct Bounds {
    std::array<double, bucket_cells> distance;
    std::array<std::int32_t, bucket_cells> triangle;
  };
  static constexpr auto steps = node_steps();
  std::vector<std::unique_ptr<Bounds>> bounds(buckets_.size());
  parallel_for(0, buckets_.size(), 2, [&](std::size_t begin, std::size_t end) {
    BandNodes nodes;
    for (std::size_t b = begin; b < end; ++b) {
      if (!near_mesh(buckets_[b])) continue;
      bounds[b] = std::make_unique<Bounds>();
      gather(buckets_[b], nodes);
      std::array<unsigned, node_side * node_side> bounded{};  // a bit for each node along z
      for (std::size_t n = 0; n < nodes.distance.size(); ++n)
        bounded[n / node_side] |= unsigned{nodes.distance[n] < unbounded} << n % node_side;
      bounds[b]->distance = buckets_[b].distance, bounds[b]->triangle = buckets_[b].triangle;
      for (int row = 0; row < 64; ++row) {
        const int at_row = node_at(row >> 3, row & 7, 0);
        unsigned near = 0;
        for (int n = 0; n < 9; ++n)
          near |= bounded[static_cast<std::size_t>(at_row / node_side + (n / 3 - 1) * node_side + n % 3 - 1)];
        for (unsigned bits = (near | near << 1 | near >> 1) >> 1 & 0xff; bits; bits &= bits - 1) {
          const int z = std::countr_zero(bits);
          const auto at = static_cast<std::size_t>(at_row + z);
          double best = nodes.distance[at];
          if (best <= 1) continue;
          std::size_t from = at;
          for (const NodeStep& step : steps) {
            const std::size_t other = at + static_cast<std::size_t>(step.index);
            if (const double bound = nodes.distance[other] + step.way; bound < best) best = bound, from = other;
          }
          const auto c = static_cast<std::size_t>(row << 3 | z);
          bounds[b]->distance[c] = best, bounds[b]->triangle[c] = nodes.triangle[from];
        }
      }
    }
  });
  parallel_for(0, buckets_.size(), 8, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b) {
      if (!bounds[b]) continue;
      buckets_[b].distance = bounds[b]->distance, buckets_[b].triangle = bounds[b]->triangle;
      buckets_[b].any = *std::min_element(bounds[b]->distance.begin(), bounds[b]->distance.end()) < unbounded;
    }
  });
}

/// Nodes up to two cells or so look through the cells that their bound reaches; those beyond the band are given up.
void MeshBand::settle(Bucket& bucket) const {
  if (!bucket.any) return;
  std::array<std::uint16_t, bucket_cells + 3> open;
  std::size_t count = 0;
  for (std::size_t n = 0; n < bucket_cells; ++n) {
    if (bucket.distance[n] <= 1 && bucket.triangle[n] >= 0) continue;
    if (bucket.distance[n] > solid_band + bound_slack)
      bucket.triangle[n] = -1;
    else
      open[count++] = static_cast<std::uint16_t>(n);
  }
  for (std::size_t l = 0; l < 3 && count > 0; ++l) open[count + l] = open[count - 1];
  const Vec3i origin = first_node(bucket.key);
  const auto node_of = [](int n) { return Vec3i{n >> 6, n >> 3 & 7, n & 7}; };
  for (std::size_t first = 0; first < count; first += 4) {
    Vec3<Four> places;
    std::array<std::int32_t, 4> triangles;
    for (std::size_t l = 0; l < 4; ++l) {
      const Vec3i at = origin + node_of(open[first + l]);
      for (int a = 0; a < 3; ++a) places[a][l] = at[a];
      triangles[l] = bucket.triangle[open[first + l]];
    }
    const Four known = distances(places, triangles);
    for (std::size_t l = 0; l < std::min<std::size_t>(4, count - first); ++l) {
      const std::size_t n = open[first + l];
      const Vec3i node = node_of(open[first + l]);
      Search search(Vec3d(origin + node), solid_band);
      search.take(known[l], triangles[l]);
      if (search.best <= exact_band) scan_around(bucket, node, static_cast<int>(std::ceil(search.best)), search);
      bucket.distance[n] = search.best, bucket.triangle[n] = search.closest;
    }
  }
}

bool DrawnWays::empty() const {
  return std::all_of(eighths.begin(), eighths.end(), [](const Box& b) { return b.empty(); });
}
void DrawnWays::add(const DrawnWays& other) {
  for (std::size_t e = 0; e < eighths.size(); ++e) eighths[e].add(other.eighths[e]);
  for (std::size_t b = 0; b < blocks.size(); ++b) blocks[b].add(other.blocks[b]);
}

namespace {

/// A cube of boxes, `side` along each axis, z fastest.
template <int side>
struct Boxes {
  std::array<Box, side * side * side> box;
  Box& operator()(int x, int y, int z) { return box[static_cast<std::size_t>((x * side + y) * side + z)]; }
};

/// Each of the inner boxes with the 26 around it, axis by axis.
template <int side>
std::array<Box, (side - 2) * (side - 2) * (side - 2)> with_neighbours(Boxes<side>& own) {
  for (int axis = 0; axis < 3; ++axis) {
    Boxes<side> from = own;
    for (int x = 0; x < side; ++x)
      for (int y = 0; y < side; ++y)
        for (int z = 0; z < side; ++z) {
          const int at = axis == 0 ? x : axis == 1 ? y : z;
          if (at > 0) own(x, y, z).add(from(x - (axis == 0), y - (axis == 1), z - (axis == 2)));
          if (at < side - 1) own(x, y, z).add(from(x + (axis == 0), y + (axis == 1), z + (axis == 2)));
        }
  }
  std::array<Box, (side - 2) * (side - 2) * (side - 2)> inner;
  std::size_t n = 0;
  for (int x = 1; x < side - 1; ++x)
    for (int y = 1; y < side - 1; ++y)
      for (int z = 1; z < side - 1; ++z) inner[n++] = own(x, y, z);
  return inner;
}

}  // namespace

DrawnWays MeshBand::ways(const BucketKey& key) const {
  const int b = find(key.coord);
  if (b < 0) return {};
  const auto& around = buckets_[static_cast<std::size_t>(b)].around;
  Boxes<6> blocks;   // from one before the bucket to one behind it
  Boxes<4> eighths;  // likewise
  for (int x = -2; x < 6; ++x)
    for (int y = -2; y < 6; ++y)
      for (int z = -2; z < 6; ++z) {
        const int other = around[static_cast<std::size_t>(neighbour_index(x >> 2, y >> 2, z >> 2))];
        if (other < 0) continue;
        const Box& box = buckets_[static_cast<std::size_t>(other)]
                             .ways[static_cast<std::size_t>((x & 3) << 4 | (y & 3) << 2 | (z & 3))];
        if (box.empty()) continue;
        eighths((x >> 1) + 1, (y >> 1) + 1, (z >> 1) + 1).add(box);
        if (std::min({x, y, z}) >= -1 && std::max({x, y, z}) <= 4) blocks(x + 1, y + 1, z + 1).add(box);
      }
  return {with_neighbours(eighths), with_neighbours(blocks)};
}

const DrawnPatches* MeshBand::patches(const BucketKey& key) const {
  const int b = find(key.coord);
  if (b < 0 || buckets_[static_cast<std::size_t>(b)].patches.list.empty()) return nullptr;
  return &buckets_[static_cast<std::size_t>(b)].patches;
}

bool MeshBand::leaves_free(const BucketKey& key, const Vec3i& cell, const Vec3f& a, const Vec3f& b) const {
  const int own = find(key.coord);
  if (own < 0) return false;
  const Bucket& bucket = buckets_[static_cast<std::size_t>(own)];
  const Vec3i o{cell.x >> 3, cell.y >> 3, cell.z >> 3};
  const int other = bucket.around[static_cast<std::size_t>(neighbour_index(o.x, o.y, o.z))];
  if (other < 0) return false;
  const DrawnPatch* patch = buckets_[static_cast<std::size_t>(other)].patches.at(
      static_cast<std::size_t>(cell_offset(cell.x & 7, cell.y & 7, cell.z & 7)));
  const Vec3f shift(o * bucket_size);
  return !patch || patch->leaves_free(a - shift, b - shift);
}

std::size_t MeshBand::memory_bytes() const {
  std::size_t bytes = buckets_.capacity() * sizeof(Bucket) + lists_.next.capacity() * sizeof(std::uint32_t) +
                      lists_.triangles.capacity() * sizeof(std::int32_t);
  for (const auto& entries : lists_.entries) bytes += entries.capacity() * sizeof(Lists::Entry);
  for (const Bucket& b : buckets_)
    bytes += b.discs.capacity() * sizeof(DiscRow) + b.patches.list.capacity() * sizeof(DrawnPatch) +
             b.parts.capacity() * sizeof(Parts);
  return bytes;
}

bool MeshBand::load(const BucketKey& key, BandNodes& nodes) const {
  const int b = find(key.coord);
  if (b < 0 || !near_mesh(buckets_[static_cast<std::size_t>(b)])) return false;
  const Bucket& bucket = buckets_[static_cast<std::size_t>(b)];
  gather(bucket, nodes);
  for (double& d : nodes.distance) d = std::min(d, solid_band);
  for (int i = -1; i < bucket_size; ++i)
    for (int j = -1; j < bucket_size; ++j)
      for (int k = -1; k < bucket_size; ++k) {
        const int n = bucket.around[static_cast<std::size_t>(neighbour_index(i >> 3, j >> 3, k >> 3))];
        nodes.centre[static_cast<std::size_t>(cell_at(i, j, k))] =
            n < 0 ? centre_band
                  : buckets_[static_cast<std::size_t>(n)]
                        .centre[static_cast<std::size_t>(cell_offset(i & 7, j & 7, k & 7))];
      }
  return true;
}

}  // namespace aegir
