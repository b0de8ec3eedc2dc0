#include "numerics/solids/mesh_band.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "domain/grid/topology.h"
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

/// The nodes that a triangle is compared with: corners of the cells its box touches.
struct NodeRange {
  Vec3i low, high;
  explicit NodeRange(const std::array<Vec3d, 3>& t)
      : low(floor_of(min(min(t[0], t[1]), t[2]))), high(floor_of(max(max(t[0], t[1]), t[2])) + Vec3i(1)) {}
};

}  // namespace

MeshBand::MeshBand(const SolidTriangles& mesh, double spacing, std::span<const BucketKey> buckets)
    : mesh_(mesh), spacing_(spacing) {
  const std::vector<BucketKey> keys = padded(buckets, 1);
  buckets_.resize(keys.size());
  index_.reserve(keys.size());
  for (std::size_t b = 0; b < keys.size(); ++b) index_.emplace(packed(keys[b].coord), static_cast<std::int32_t>(b));
  std::vector<std::uint32_t> first;
  std::vector<std::int32_t> triangles;
  bin(first, triangles);
  parallel_for(0, keys.size(), 4, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b) {
      buckets_[b].key = keys[b];
      for (int n = 0; n < 27; ++n)
        buckets_[b].around[static_cast<std::size_t>(n)] = find(keys[b].coord + neighbour_offset(n));
      const auto own = std::span(triangles).subspan(first[b], first[b + 1] - first[b]);
      draw(buckets_[b], own);
      list_cells(buckets_[b], own);
    }
  });
  bound_neighbours();
  bound_neighbours();
  parallel_for(0, keys.size(), 2, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b) settle(buckets_[b]);
  });
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

/// Lists the triangles that each bucket's nodes are compared with.
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
        const NodeRange nodes(t);
        const Vec3i low{nodes.low.x >> 3, nodes.low.y >> 3, nodes.low.z >> 3};
        const Vec3i high{nodes.high.x >> 3, nodes.high.y >> 3, nodes.high.z >> 3};
        const bool large = high.x - low.x > 1 || high.y - low.y > 1 || high.z - low.z > 1;
        for (int x = low.x; x <= high.x; ++x)
          for (int y = low.y; y <= high.y; ++y)
            for (int z = low.z; z <= high.z; ++z) {
              const Vec3i coord{x, y, z};
              if (coord != last) last = coord, last_bucket = find(coord);
              if (last_bucket < 0) continue;
              // Nodes are up to 6.1 cells from the middle of theirs, and those within one cell of the mesh matter.
              if (large) {
                const Vec3d middle = Vec3d(coord) * double{bucket_size} + Vec3d(3.5);
                if (closest_on_triangle(middle, t[0], t[1], t[2]).distance2 > 7.2 * 7.2) continue;
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
constexpr double bound_slack = 0.4;

/// Whether a disc may be within `reach` of a place at `height` above its plane, a squared distance from its middle:
/// height and the way to the rim are no longer than that.
template <class T>
bool disc_within(T distance2, T height, T radius, T reach) {
  if (distance2 > (reach + radius) * (reach + radius)) return false;
  const T beside = std::max(T(0), std::sqrt(std::max(T(0), distance2 - height * height)) - radius);
  return height * height + beside * beside <= reach * reach;
}

/// A disc around a triangle, in its plane.
struct Disc {
  Vec3d middle, normal;
  double radius;
  explicit Disc(const std::array<Vec3d, 3>& t)
      : middle((t[0] + t[1] + t[2]) / 3), normal(normalized(cross(t[1] - t[0], t[2] - t[0]))) {
    double r2 = 0;
    for (const Vec3d& p : t) r2 = std::max(r2, dot(p - middle, p - middle));
    radius = std::sqrt(r2);
  }
  /// Whether the triangle may be within `reach` of a place.
  bool within(const Vec3d& x, double reach) const {
    const Vec3d apart = x - middle;
    return disc_within(dot(apart, apart), dot(apart, normal), radius, reach + 1e-9);
  }
};

Vec3i first_node(const BucketKey& key) {
  return {key.coord.x * bucket_size, key.coord.y * bucket_size, key.coord.z * bucket_size};
}

}  // namespace

/// About 5 flops for each pair of a triangle and a node that the disc around the triangle excludes, 60 for the others.
void MeshBand::draw(Bucket& bucket, std::span<const std::int32_t> triangles) const {
  bucket.distance.fill(unbounded), bucket.triangle.fill(-1);
  const Vec3i origin = first_node(bucket.key);
  for (const std::int32_t i : triangles) {
    const auto t = corners(i);
    const NodeRange nodes(t);
    const Disc disc(t);
    const Vec3i low = max(nodes.low - origin, Vec3i(0)), high = min(nodes.high - origin, Vec3i(bucket_size - 1));
    for (int x = low.x; x <= high.x; ++x)
      for (int y = low.y; y <= high.y; ++y)
        for (int z = low.z; z <= high.z; ++z) {
          const auto n = static_cast<std::size_t>(cell_offset(x, y, z));
          const Vec3d node(origin + Vec3i(x, y, z));
          if (!disc.within(node, bucket.distance[n])) continue;
          const double d = std::sqrt(closest_on_triangle(node, t[0], t[1], t[2]).distance2);
          if (d < bucket.distance[n] || (d == bucket.distance[n] && i < bucket.triangle[n]))
            bucket.distance[n] = d, bucket.triangle[n] = i, bucket.any = true;
        }
  }
}

void MeshBand::list_cells(Bucket& bucket, std::span<const std::int32_t> triangles) const {
  const Vec3i origin = first_node(bucket.key);
  const auto visit = [&](auto put) {
    for (const std::int32_t i : triangles) {
      const auto t = corners(i);
      const NodeRange nodes(t);
      const Vec3i low = max(nodes.low - origin, Vec3i(0));
      const Vec3i high = min(nodes.high - Vec3i(1) - origin, Vec3i(bucket_size - 1));
      const bool large = high.x - low.x > 2 || high.y - low.y > 2 || high.z - low.z > 2;
      for (int x = low.x; x <= high.x; ++x)
        for (int y = low.y; y <= high.y; ++y)
          for (int z = low.z; z <= high.z; ++z) {
            if (large) {
              const Vec3d middle = Vec3d(origin + Vec3i(x, y, z)) + Vec3d(0.5);
              if (closest_on_triangle(middle, t[0], t[1], t[2]).distance2 > 0.76) continue;
            }
            put(static_cast<std::size_t>(cell_offset(x, y, z)), i, t);
          }
    }
  };
  bucket.first.fill(0), bucket.occupied.fill(0);
  visit([&](std::size_t cell, std::int32_t, const auto&) {
    ++bucket.first[cell + 1];
    bucket.occupied[cell >> 3] |= static_cast<std::uint8_t>(1u << (cell & 7));
  });
  for (std::size_t c = 0; c < bucket_cells; ++c) bucket.first[c + 1] += bucket.first[c];
  bucket.listed.resize(bucket.first.back());
  auto next = bucket.first;
  visit([&](std::size_t cell, std::int32_t i, const std::array<Vec3d, 3>& t) {
    const Disc disc(t);
    bucket.listed[next[cell]++] = {Vec3f(disc.middle - Vec3d(origin)), static_cast<float>(disc.radius) + 1e-4f,
                                   Vec3f(disc.normal), i};
  });
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
      for (std::size_t c = 0; c < bucket_cells; ++c) {
        const auto at = static_cast<std::size_t>(
            node_at(static_cast<int>(c >> 6), static_cast<int>(c >> 3 & 7), static_cast<int>(c & 7)));
        double best = nodes.distance[at];
        std::size_t from = at;
        if (best > 1)
          for (const NodeStep& step : steps) {
            const std::size_t other = at + static_cast<std::size_t>(step.index);
            if (const double bound = nodes.distance[other] + step.way; bound < best) best = bound, from = other;
          }
        bounds[b]->distance[c] = best, bounds[b]->triangle[c] = nodes.triangle[from];
      }
    }
  });
  for (std::size_t b = 0; b < buckets_.size(); ++b)
    if (bounds[b]) {
      buckets_[b].distance = bounds[b]->distance, buckets_[b].triangle = bounds[b]->triangle;
      buckets_[b].any = *std::min_element(bounds[b]->distance.begin(), bounds[b]->distance.end()) < unbounded;
    }
}

/// Visits the triangles listed in cells that are closer to a node than `reach`, which may shrink meanwhile: the visitor
/// gets each one's disc and where the node is as seen from its middle.
template <class Visit>
void MeshBand::visit_around(const Bucket& bucket, const Vec3i& node, const double& reach, Visit visit) const {
  const auto gap = [](int cell) { return static_cast<double>(std::max({cell, -1 - cell, 0})); };  // from 0 to [c, c+1]
  const int cells = static_cast<int>(std::ceil(reach));
  for (int dx = -cells; dx < cells; ++dx)
    for (int dy = -cells; dy < cells; ++dy) {
      const double side = gap(dx) * gap(dx) + gap(dy) * gap(dy);
      if (side > reach * reach) continue;
      const int x = node.x + dx, y = node.y + dy;
      const auto row = static_cast<std::size_t>((x & 7) << 3 | (y & 7));
      for (int dz = -cells; dz < cells; ++dz) {
        const int z = node.z + dz;
        const int b = bucket.around[static_cast<std::size_t>(neighbour_index(x >> 3, y >> 3, z >> 3))];
        const Bucket* other = b < 0 ? nullptr : &buckets_[static_cast<std::size_t>(b)];
        if (!other || !other->occupied[row]) {
          dz += 7 - (z & 7);  // the rest of this row
          continue;
        }
        if (!(other->occupied[row] >> (z & 7) & 1) || side + gap(dz) * gap(dz) > reach * reach) continue;
        const std::size_t cell = row << 3 | static_cast<std::size_t>(z & 7);
        const Vec3f local(Vec3i((x & 7) - dx, (y & 7) - dy, (z & 7) - dz));
        for (std::uint32_t l = other->first[cell]; l < other->first[cell + 1]; ++l) {
          const Vec3f apart = local - other->listed[l].middle;
          visit(other->listed[l], apart);
        }
      }
    }
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
    const Vec3d place(origin + node);
    best = solid_band;
    const auto compare = [&](std::int32_t i) {
      const double d = distance(i, place);
      if (d < best || (d == best && i < closest)) best = d, closest = i;
    };
    compare(std::exchange(closest, -1));
    if (best > exact_band) continue;
    visit_around(bucket, node, best, [&](const Listed& disc, const Vec3f& apart) {
      const float reach = static_cast<float>(best) + 1e-4f;
      if (disc_within(dot(apart, apart), dot(apart, disc.normal), disc.radius, reach)) compare(disc.triangle);
    });
  }
}

bool MeshBand::load(const BucketKey& key, BandNodes& nodes) const {
  const int b = find(key.coord);
  if (b < 0 || !near_mesh(buckets_[static_cast<std::size_t>(b)])) return false;
  gather(buckets_[static_cast<std::size_t>(b)], nodes);
  for (double& d : nodes.distance) d = std::min(d, solid_band);
  return true;
}

}  // namespace aegir
