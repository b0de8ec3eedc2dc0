#include "numerics/solids/mesh_band.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <utility>

#include "domain/grid/topology.h"
#include "domain/volume/tile.h"
#include "geometry/triangle.h"
#include "numerics/solids/solid_bucket.h"
#include "parallel/threads.h"

namespace aegir {
namespace {

std::uint64_t packed(const Vec3i& c) {
  const auto part = [](std::int32_t x) { return static_cast<std::uint64_t>(x + coordinate_limit) & 0x1fffff; };
  return part(c.x) << 42 | part(c.y) << 21 | part(c.z);
}
Vec3i floor_of(const Vec3d& x) {
  return {static_cast<std::int32_t>(std::floor(x.x)), static_cast<std::int32_t>(std::floor(x.y)),
          static_cast<std::int32_t>(std::floor(x.z))};
}

/// Triangles count for cells whose boxes they come this close to, so that centres see all within centre_band.
constexpr double overlap = 0.002;

/// The cells that a triangle's box touches.
struct CellRange {
  Vec3i low, high;
  explicit CellRange(const std::array<Vec3d, 3>& t)
      : low(floor_of(min(min(t[0], t[1]), t[2]) - Vec3d(overlap))),
        high(floor_of(max(max(t[0], t[1]), t[2]) + Vec3d(overlap))) {}
  bool wide(int most) const { return high.x - low.x > most || high.y - low.y > most || high.z - low.z > most; }
};

}  // namespace

void MeshBand::draw(const SolidTriangles& mesh, double spacing, std::span<const BucketKey> buckets) {
  mesh_ = mesh, spacing_ = spacing;
  const std::vector<BucketKey> keys = padded(buckets, 1);
  buckets_.resize(keys.size());
  index_.clear(), index_.reserve(keys.size());
  for (std::size_t b = 0; b < keys.size(); ++b) index_.emplace(packed(keys[b].coord), static_cast<std::int32_t>(b));
  std::vector<std::uint32_t> first;
  std::vector<std::int32_t> triangles;
  bin(first, triangles);
  const auto each = [&](auto work) {
    parallel_for(0, buckets_.size(), 2, [&](std::size_t begin, std::size_t end) {
      for (std::size_t b = begin; b < end; ++b) work(b);
    });
  };
  each([&](std::size_t b) {
    buckets_[b].key = keys[b], buckets_[b].any = false, buckets_[b].ways.fill({});
    for (int n = 0; n < 27; ++n)
      buckets_[b].around[static_cast<std::size_t>(n)] = find(keys[b].coord + neighbour_offset(n));
    list_cells(buckets_[b], std::span(triangles).subspan(first[b], first[b + 1] - first[b]));
  });
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

/// Lists the triangles that touch each bucket. About 100 bytes and 40 flops per triangle.
void MeshBand::bin(std::vector<std::uint32_t>& first, std::vector<std::int32_t>& triangles) const {
  struct Entry {
    std::int32_t bucket, triangle;
  };
  constexpr std::size_t chunk = 8192;
  std::vector<std::vector<Entry>> entries((mesh_.triangles.size() + chunk - 1) / chunk);
  parallel_for(0, entries.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t part = begin; part < end; ++part) {
      std::vector<Entry>& out = entries[part];
      Vec3i last(coordinate_limit);
      int last_bucket = -1;
      for (std::size_t i = part * chunk; i < std::min(mesh_.triangles.size(), (part + 1) * chunk); ++i) {
        const auto t = corners(static_cast<std::int32_t>(i));
        if (!is_finite(t[0]) || !is_finite(t[1]) || !is_finite(t[2])) continue;
        const CellRange cells(t);
        const Vec3i low{cells.low.x >> 3, cells.low.y >> 3, cells.low.z >> 3};
        const Vec3i high{cells.high.x >> 3, cells.high.y >> 3, cells.high.z >> 3};
        const bool large = high.x - low.x > 1 || high.y - low.y > 1 || high.z - low.z > 1;
        for (int x = low.x; x <= high.x; ++x)
          for (int y = low.y; y <= high.y; ++y)
            for (int z = low.z; z <= high.z; ++z) {
              const Vec3i coord{x, y, z};
              if (coord != last) last = coord, last_bucket = find(coord);
              if (last_bucket < 0) continue;
              if (large) {  // half the diagonal of a bucket is 6.93 cells
                const Vec3d middle = Vec3d(coord) * double{bucket_size} + Vec3d(4);
                if (closest_on_triangle(middle, t[0], t[1], t[2]).distance2 > 7 * 7) continue;
              }
              out.push_back({last_bucket, static_cast<std::int32_t>(i)});
            }
      }
    }
  });
  first.assign(buckets_.size() + 1, 0);
  for (const auto& part : entries)
    for (const Entry& e : part) ++first[static_cast<std::size_t>(e.bucket) + 1];
  for (std::size_t b = 0; b < buckets_.size(); ++b) first[b + 1] += first[b];
  triangles.resize(first.back());
  std::vector<std::uint32_t> next(first.begin(), first.end() - 1);
  for (const auto& part : entries)
    for (const Entry& e : part) triangles[next[static_cast<std::size_t>(e.bucket)]++] = e.triangle;
}

namespace {

constexpr double unbounded = 100;
/// Nodes that a close triangle is farther from than this, in cells, make do with it.
constexpr double exact_band = 2.3;
/// Bounds that go from node to node along the 26 directions are at most this much too large in the band.
constexpr double bound_slack = drawn_slack;

using Row8 = Row<float>;
inline Row8 spread(float value) { return Row8{} + value; }
inline Row8 least(const Row8& a, const Row8& b) { return a < b ? a : b; }
inline Row8 greatest(const Row8& a, const Row8& b) { return a > b ? a : b; }
inline Row8 root(const Row8& a) {
  Row8 r;
  for (int l = 0; l < 8; ++l) r[l] = std::sqrt(a[l]);
  return r;
}
inline float least_of(const Row8& a) {
  float least = a[0];
  for (int l = 1; l < 8; ++l) least = std::min(least, a[l]);
  return least;
}
/// What single precision may get wrong about places in a bucket, in cells.
constexpr float rounding = 1e-4f;

Vec3i first_node(const BucketKey& key) {
  return {key.coord.x * bucket_size, key.coord.y * bucket_size, key.coord.z * bucket_size};
}

}  // namespace

/// The closest triangle so far to a place.
struct MeshBand::Search {
  Vec3d place;  // in cells
  double best;  // no triangle farther away counts
  std::int32_t closest = -1;
};

/// No triangle of a patch is nearer to a place than this.
inline float MeshBand::Patch::bound2(const Vec3f& place) const {
  const Vec3f off = place - middle;
  const float height = dot(off, normal), along = std::sqrt(std::max(0.0f, dot(off, off) - height * height));
  const float beyond = std::max(0.0f, std::abs(height) - half_height), beside = std::max(0.0f, along - radius);
  return beyond * beyond + beside * beside;
}

/// Writes the discs of a bucket's triangles, cell by cell: 32 bytes for each pair of a triangle and a cell.
void MeshBand::list_cells(Bucket& bucket, std::span<const std::int32_t> triangles) const {
  struct Entry {
    std::uint32_t cell, disc;
  };
  struct Disc {
    Vec3f middle, normal;
    float radius;
    std::int32_t triangle;
  };
  bucket.first.fill(0), bucket.occupied.fill(0);
  std::vector<Entry> entries;
  std::vector<Disc> discs;
  entries.reserve(2 * triangles.size()), discs.reserve(triangles.size());
  const Vec3i origin = first_node(bucket.key);
  const double scale = 1 / spacing_;
  for (const std::int32_t i : triangles) {
    const auto t = corners(i);
    const CellRange cells(t);
    Box ways;
    for (int k = 0; k < 3; ++k) {
      const auto v = static_cast<std::size_t>(mesh_.triangles[static_cast<std::size_t>(i)][k]);
      ways.add(has_velocity() ? (mesh_.positions[v] - mesh_.before[v]) * scale : Vec3d{});
    }
    const Vec3i low = max(cells.low - origin, Vec3i(0)), high = min(cells.high - origin, Vec3i(bucket_size - 1));
    const Vec3d middle = (t[0] + t[1] + t[2]) * (1.0 / 3), normal = cross(t[1] - t[0], t[2] - t[0]);
    const double area2 = dot(normal, normal);
    double radius2 = 0;
    for (const Vec3d& p : t) radius2 = std::max(radius2, dot(p - middle, p - middle));
    discs.push_back({Vec3f(middle - Vec3d(origin)), Vec3f(area2 > 0 ? normal * (1 / std::sqrt(area2)) : normal),
                     static_cast<float>(std::sqrt(radius2)) + rounding, i});
    for (int x = low.x; x <= high.x; ++x)
      for (int y = low.y; y <= high.y; ++y)
        for (int z = low.z; z <= high.z; ++z) {
          if (cells.wide(2)) {
            const Vec3d centre = Vec3d(origin + Vec3i(x, y, z)) + Vec3d(0.5);
            if (closest_on_triangle(centre, t[0], t[1], t[2]).distance2 > 0.77) continue;  // half a diagonal: 0.866
          }
          const auto cell = static_cast<std::uint32_t>(cell_offset(x, y, z));
          entries.push_back({cell, static_cast<std::uint32_t>(discs.size() - 1)});
          ++bucket.first[cell + 1];
          bucket.ways[static_cast<std::size_t>((x >> 1) << 4 | (y >> 1) << 2 | z >> 1)].add(ways);
          bucket.occupied[cell >> 3] |= static_cast<std::uint8_t>(1u << (cell & 7));
        }
  }
  for (std::size_t c = 0; c < bucket_cells; ++c) bucket.first[c + 1] += bucket.first[c];
  if (entries.empty()) return;
  Discs& to = bucket.discs;
  for (auto* v : {&to.x, &to.y, &to.z, &to.radius, &to.nx, &to.ny, &to.nz})
    v->resize(entries.size() + 8), std::fill(v->end() - 8, v->end(), 1e6f);
  to.triangle.resize(entries.size());
  auto next = bucket.first;
  for (const Entry& e : entries) {
    const std::size_t at = next[e.cell]++;
    const Disc& d = discs[e.disc];
    to.x[at] = d.middle.x, to.y[at] = d.middle.y, to.z[at] = d.middle.z, to.radius[at] = d.radius;
    to.nx[at] = d.normal.x, to.ny[at] = d.normal.y, to.nz[at] = d.normal.z, to.triangle[at] = d.triangle;
  }
  bucket.patches.resize(bucket_cells);
  for (std::size_t c = 0; c < bucket_cells; ++c)
    if (bucket.first[c] != bucket.first[c + 1]) bucket.patches[c] = patch_of(to, bucket.first[c], bucket.first[c + 1]);
}

/// A disc around those of a cell, as thick as they need.
MeshBand::Patch MeshBand::patch_of(const Discs& d, std::size_t begin, std::size_t end) {
  Vec3f middle, normal;
  for (std::size_t i = begin; i < end; ++i)
    middle += Vec3f(d.x[i], d.y[i], d.z[i]), normal += Vec3f(d.nx[i], d.ny[i], d.nz[i]);
  Patch patch{middle / static_cast<float>(end - begin), normalized(normal), 0, 0};
  for (std::size_t i = begin; i < end; ++i) {
    const Vec3f off = Vec3f(d.x[i], d.y[i], d.z[i]) - patch.middle;
    const float along = dot(Vec3f(d.nx[i], d.ny[i], d.nz[i]), patch.normal);
    const float tilted = d.radius[i] * std::sqrt(std::max(0.0f, 1 - along * along)) + rounding;
    patch.radius = std::max(patch.radius, length(off) + d.radius[i]);
    patch.half_height = std::max(patch.half_height, std::abs(dot(off, patch.normal)) + tilted);
  }
  return patch;
}

/// Compares a place with the triangles of a cell: no triangle is farther than its middle, none nearer than its disc.
/// 32 bytes from the cache and 25 flops per triangle, and 60 more for the few whose discs are near enough.
void MeshBand::scan(const Bucket& bucket, std::size_t cell, const Vec3f& local, Search& search) const {
  constexpr std::size_t chunk = 256;
  const Discs& d = bucket.discs;
  const Row8 px = spread(local.x), py = spread(local.y), pz = spread(local.z), none{};
  float bounds2[chunk];
  for (std::size_t first = bucket.first[cell]; first < bucket.first[cell + 1]; first += chunk) {
    const std::size_t count = std::min<std::size_t>(chunk, bucket.first[cell + 1] - first);
    Row8 middles2 = spread(1e12f), lowest2 = middles2;
    for (std::size_t n = 0; n < count; n += 8) {
      const std::size_t i = first + n;
      const Row8 x = px - load_row(&d.x[i]), y = py - load_row(&d.y[i]), z = pz - load_row(&d.z[i]);
      const Row8 distance2 = x * x + y * y + z * z;
      const Row8 height = x * load_row(&d.nx[i]) + y * load_row(&d.ny[i]) + z * load_row(&d.nz[i]);
      const Row8 along = greatest(distance2 - height * height, none);
      const Row8 beside = greatest(root(along) - load_row(&d.radius[i]), none);
      const Row8 bound2 = height * height + beside * beside;
      middles2 = least(middles2, distance2), lowest2 = least(lowest2, bound2);
      store_row(&bounds2[n], bound2);
    }
    const auto reach_of = [](double best) { return static_cast<float>(best) + rounding; };
    float reach = std::min(reach_of(search.best), std::sqrt(least_of(middles2)) + rounding);
    if (!(least_of(lowest2) <= reach * reach)) continue;
    for (std::size_t n = 0; n < count;) {
      std::array<std::int32_t, 4> near{};
      std::size_t lanes = 0;
      for (; n < count && lanes < 4; ++n)
        if (bounds2[n] <= reach * reach) near[lanes++] = d.triangle[first + n];
      if (lanes > 0) compare(std::span(near).first(lanes), search), reach = std::min(reach, reach_of(search.best));
    }
  }
}

/// Takes the closest of up to four triangles, if it is closer than what there was.
void MeshBand::compare(std::span<const std::int32_t> triangles, Search& search) const {
  using Four [[gnu::vector_size(32)]] = double;
  const auto in_all = [](const Vec3d& v) { return Vec3<Four>(Four{} + v.x, Four{} + v.y, Four{} + v.z); };
  std::array<Vec3i, 4> t;
  for (std::size_t l = 0; l < 4; ++l)
    t[l] = mesh_.triangles[static_cast<std::size_t>(triangles[std::min(l, triangles.size() - 1)])];
  const auto corner = [&](int k) {
    const auto at = [&](std::size_t l) -> const Vec3d& { return mesh_.positions[static_cast<std::size_t>(t[l][k])]; };
    const Vec3d &a = at(0), &b = at(1), &c = at(2), &d = at(3);
    return Vec3<Four>(Four{a.x, b.x, c.x, d.x}, Four{a.y, b.y, c.y, d.y}, Four{a.z, b.z, c.z, d.z}) *
           (Four{} + 1 / spacing_);
  };
  const Four exact2 = distance2_to_triangle(in_all(search.place), corner(0), corner(1), corner(2));
  for (std::size_t l = 0; l < triangles.size(); ++l) {
    const double exact = std::sqrt(exact2[l]);
    const std::int32_t triangle = triangles[l];
    if (exact < search.best || (exact == search.best && (search.closest < 0 || triangle < search.closest)))
      search.best = exact, search.closest = triangle;
  }
}

/// Looks through the cells up to some from a node that are closer to it than what was found so far, the likeliest
/// first.
void MeshBand::scan_around(const Bucket& bucket, const Vec3i& node, int cells, Search& search) const {
  struct Near {
    float bound2;
    std::uint16_t neighbour, cell;
  };
  std::array<Near, 216> list;  // of 2 * solid_band along each axis at most
  std::size_t count = 0, likely = 0;
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
        for (unsigned bits = other.occupied[row]; bits; bits &= bits - 1) {
          const int z = std::countr_zero(bits), dz = z + oz * bucket_size - node.z;
          if (dz < -cells || dz >= cells || gap2(dx) + gap2(dy) + gap2(dz) > search.best * search.best) continue;
          const std::size_t in = row << 3 | static_cast<std::size_t>(z);
          list[count] = {other.patches[in].bound2(Vec3f(node - o * bucket_size)), static_cast<std::uint16_t>(neighbour),
                         static_cast<std::uint16_t>(in)};
          if (list[count].bound2 < list[likely].bound2) likely = count;
          ++count;
        }
      }
    }
  for (std::size_t n = 0; n < count; ++n) {
    const Near& at = list[n == 0 ? likely : n == likely ? 0 : n];
    const float reach = static_cast<float>(search.best) + rounding;
    if (at.bound2 > reach * reach) continue;
    scan(buckets_[static_cast<std::size_t>(bucket.around[at.neighbour])], at.cell,
         Vec3f(node - neighbour_offset(at.neighbour) * bucket_size), search);
  }
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
            buckets_[static_cast<std::size_t>(b)].occupied[static_cast<std::size_t>((i & 7) << 3 | (j & 7))];
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
      Search search{Vec3d(origin + node), unbounded};
      scan_around(bucket, node, 1, search);
      bucket.distance[at] = search.best, bucket.triangle[at] = search.closest, bucket.any = true;
    }
    for (unsigned bits = bucket.occupied[static_cast<std::size_t>(row)]; bits; bits &= bits - 1) {
      const Vec3i cell{row >> 3, row & 7, std::countr_zero(bits)};
      const auto at = static_cast<std::size_t>(cell_offset(cell.x, cell.y, cell.z));
      Search centre{Vec3d(origin + cell) + Vec3d(0.5), double{centre_band}};
      scan(bucket, at, Vec3f(cell) + Vec3f(0.5f), centre);
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
  const Vec3i origin = first_node(bucket.key);
  for (int n = 0; n < bucket_cells; ++n) {
    double& best = bucket.distance[static_cast<std::size_t>(n)];
    std::int32_t& closest = bucket.triangle[static_cast<std::size_t>(n)];
    if (best <= 1 && closest >= 0) continue;
    if (best > solid_band + bound_slack) {
      closest = -1;
      continue;
    }
    const Vec3i node{n >> 6, n >> 3 & 7, n & 7};
    Search search{Vec3d(origin + node), solid_band};
    if (const double d = distance(closest, search.place); d < search.best) search.best = d, search.closest = closest;
    if (search.best <= exact_band) scan_around(bucket, node, static_cast<int>(std::ceil(search.best)), search);
    best = search.best, closest = search.closest;
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

std::size_t MeshBand::memory_bytes() const {
  std::size_t bytes = buckets_.capacity() * sizeof(Bucket);
  for (const Bucket& b : buckets_)
    bytes += b.discs.x.capacity() * 7 * sizeof(float) + b.discs.triangle.capacity() * sizeof(std::int32_t) +
             b.patches.capacity() * sizeof(Patch);
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
