#include "surfacing/surface_mesh.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "parallel/threads.h"
#include "surfacing/marching_table.h"

namespace aegir {
namespace {

constexpr std::size_t grain = 16;

/// Which edges of a bucket cross the surface: bit = voxel, one plane of bits per axis.
struct BucketEdges {
  std::uint32_t base = 0;                  // number of its first vertex
  std::array<std::uint64_t, 24> bits{};    // 8 words per axis
  std::array<std::uint16_t, 24> before{};  // vertices of the bucket before each word

  std::uint32_t vertex(int axis, int voxel) const {
    const auto word = static_cast<std::size_t>(axis * 8 + (voxel >> 6));
    const std::uint64_t below = bits[word] & ((std::uint64_t{1} << (voxel & 63)) - 1);
    return base + before[word] + static_cast<std::uint32_t>(__builtin_popcountll(below));
  }
};

/// One bit per voxel of 9×9×9: whether it is inside. The ninth layers belong to the neighbours above.
struct Signs {
  std::uint16_t row[9][9];

  Signs(const BandGrid& grid, std::size_t slot) {
    const std::int32_t* near = grid.around(slot);
    for (int i = 0; i < 9; ++i)
      for (int j = 0; j < 9; ++j) {
        const std::int32_t* line = near + 13 + (i >> 3) * 9 + (j >> 3) * 3;
        const int offset = ((i & 7) * 8 + (j & 7)) * 8;
        row[i][j] = static_cast<std::uint16_t>(eight(grid, line[0], offset) | (eight(grid, line[1], offset) & 1) << 8);
      }
  }

  int corners(int i, int j, int k) const {
    // Corner c lies at (c >> 2, c >> 1 & 1, c & 1).
    return (row[i][j] >> k & 3) | (row[i][j + 1] >> k & 3) << 2 | (row[i + 1][j] >> k & 3) << 4 |
           (row[i + 1][j + 1] >> k & 3) << 6;
  }

 private:
  static int eight(const BandGrid& grid, std::int32_t slot, int offset) {
    if (slot < 0) return slot == BandGrid::inside ? 0xff : 0;
    const float* v = grid.bucket(static_cast<std::size_t>(slot)) + offset;
    int bits = 0;
    for (int k = 0; k < 8; ++k) bits |= (v[k] < 0) << k;
    return bits;
  }
};

class Mesher {
 public:
  explicit Mesher(const BandGrid& grid) : grid_(grid), edges_(grid.size()), triangles_(grid.size() + 1, 0) {}

  SurfaceMesh run() {
    find_edges();
    std::uint32_t vertices = 0;
    for (std::size_t s = 0; s < edges_.size(); ++s) {
      edges_[s].base = vertices;
      vertices += edges_[s].before[23] + static_cast<std::uint32_t>(__builtin_popcountll(edges_[s].bits[23]));
    }
    for (std::size_t s = 0; s < grid_.size(); ++s) triangles_[s + 1] += triangles_[s];
    mesh_.positions.resize(vertices);
    if (grid_.has_owners()) mesh_.owner.resize(vertices);
    mesh_.triangles.resize(triangles_.back());
    if (grid_.size() > 0) mesh_.origin = Vec3d(grid_.keys()[grid_.size() / 2] * 8) * grid_.voxel();
    parallel_for(0, grid_.size(), grain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t s = begin; s < end; ++s) {
        if (triangles_[s] != triangles_[s + 1]) write_triangles(s);
        write_vertices(s);
      }
    });
    return std::move(mesh_);
  }

 private:
  void find_edges() {
    const MarchingTable& table = marching_table();
    parallel_for(0, grid_.size(), grain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t s = begin; s < end; ++s) {
        const Signs signs(grid_, s);
        BucketEdges& e = edges_[s];
        std::uint32_t triangles = 0;
        for (int i = 0; i < 8; ++i)
          for (int j = 0; j < 8; ++j) {
            const unsigned here = signs.row[i][j] & 0xff;
            const auto put = [&](std::size_t axis, unsigned crossed) {
              e.bits[axis * 8 + static_cast<std::size_t>(i)] |= static_cast<std::uint64_t>(crossed & 0xff) << (j * 8);
            };
            put(0, here ^ signs.row[i + 1][j]), put(1, here ^ signs.row[i][j + 1]), put(2, here ^ signs.row[i][j] >> 1);
            const unsigned any = signs.row[i][j] | signs.row[i][j + 1] | signs.row[i + 1][j] | signs.row[i + 1][j + 1];
            const unsigned all = signs.row[i][j] & signs.row[i][j + 1] & signs.row[i + 1][j] & signs.row[i + 1][j + 1];
            if (any == 0 || all == 0x1ff) continue;
            for (int k = 0; k < 8; ++k) triangles += table.count[static_cast<std::size_t>(signs.corners(i, j, k))];
          }
        triangles_[s + 1] = triangles;
        std::uint16_t sum = 0;
        for (std::size_t w = 0; w < 24; ++w) {
          e.before[w] = sum;
          sum = static_cast<std::uint16_t>(sum + __builtin_popcountll(e.bits[w]));
        }
      }
    });
  }

  /// Value and owner of a voxel that may lie in a neighbour above.
  std::pair<float, std::int32_t> at(std::size_t s, const Vec3i& v) const {
    const std::int32_t slot = grid_.around(s)[13 + (v.x >> 3) * 9 + (v.y >> 3) * 3 + (v.z >> 3)];
    const int offset = ((v.x & 7) * 8 + (v.y & 7)) * 8 + (v.z & 7);
    if (slot < 0) return {slot == BandGrid::inside ? -grid_.band() : grid_.band(), -1};
    const auto o = static_cast<std::size_t>(slot);
    return {grid_.bucket(o)[offset], grid_.has_owners() ? grid_.owners(o)[offset] : -1};
  }

  void write_vertices(std::size_t s) {
    const Vec3d corner = Vec3d(grid_.keys()[s] * 8) + Vec3d(0.5) - mesh_.origin / grid_.voxel();
    std::uint32_t vertex = edges_[s].base;
    for (int axis = 0; axis < 3; ++axis)
      for (int w = 0; w < 8; ++w)
        for (std::uint64_t bits = edges_[s].bits[static_cast<std::size_t>(axis * 8 + w)]; bits != 0; bits &= bits - 1) {
          const int voxel = w * 64 + __builtin_ctzll(bits);
          Vec3i low{voxel >> 6, voxel >> 3 & 7, voxel & 7}, high = low;
          ++high[axis];
          const auto [a, first] = at(s, low);
          const auto [b, second] = at(s, high);
          // Kept off the ends, so that no two vertices fall together.
          const float t = std::clamp(a / (a - b), 0.001f, 0.999f);
          Vec3d p = corner + Vec3d(low);
          p[axis] += static_cast<double>(t);
          mesh_.positions[vertex] = Vec3f(p * grid_.voxel());
          if (grid_.has_owners()) mesh_.owner[vertex] = second < 0 || (first >= 0 && t < 0.5f) ? first : second;
          ++vertex;
        }
  }

  void write_triangles(std::size_t s) {
    const MarchingTable& table = marching_table();
    const Signs signs(grid_, s);
    std::uint32_t next = triangles_[s];
    for (int i = 0; i < 8; ++i)
      for (int j = 0; j < 8; ++j)
        for (int k = 0; k < 8; ++k) {
          const auto c = static_cast<std::size_t>(signs.corners(i, j, k));
          if (table.count[c] == 0) continue;
          for (std::size_t t = 0; t < table.count[c]; ++t) {
            Vec3i triangle;
            for (int corner = 0; corner < 3; ++corner)
              triangle[corner] =
                  vertex_of(s, {i, j, k}, table.edge[c][3 * t + static_cast<std::size_t>(corner)], table);
            mesh_.triangles[next++] = triangle;
          }
        }
  }

  std::int32_t vertex_of(std::size_t s, Vec3i v, int edge, const MarchingTable& table) const {
    const int low = table.corner[static_cast<std::size_t>(edge)][0];
    v += Vec3i{low >> 2, low >> 1 & 1, low & 1};
    const std::int32_t slot = grid_.around(s)[13 + (v.x >> 3) * 9 + (v.y >> 3) * 3 + (v.z >> 3)];
    AEGIR_ASSERT(slot >= 0, "the surface leaves its band");
    const int voxel = ((v.x & 7) * 8 + (v.y & 7)) * 8 + (v.z & 7);
    return static_cast<std::int32_t>(edges_[static_cast<std::size_t>(slot)].vertex(edge / 4, voxel));
  }

  const BandGrid& grid_;
  std::vector<BucketEdges> edges_;
  std::vector<std::uint32_t> triangles_;  // first of each bucket
  SurfaceMesh mesh_;
};

}  // namespace

double SurfaceMesh::area() const {
  double sum = 0;
  for (const Vec3i& t : triangles) {
    const Vec3d a(positions[static_cast<std::size_t>(t.x)]), b(positions[static_cast<std::size_t>(t.y)]),
        c(positions[static_cast<std::size_t>(t.z)]);
    sum += 0.5 * length(cross(b - a, c - a));
  }
  return sum;
}

double SurfaceMesh::volume() const {
  double sum = 0;
  for (const Vec3i& t : triangles) {
    const Vec3d a(positions[static_cast<std::size_t>(t.x)]), b(positions[static_cast<std::size_t>(t.y)]),
        c(positions[static_cast<std::size_t>(t.z)]);
    sum += dot(a, cross(b, c)) / 6;
  }
  return sum;
}

EdgeCount count_edges(const SurfaceMesh& mesh) {
  std::vector<std::uint64_t> edges;
  edges.reserve(mesh.triangles.size() * 3);
  for (const Vec3i& t : mesh.triangles)
    for (int c = 0; c < 3; ++c) {
      const auto a = static_cast<std::uint32_t>(t[c]), b = static_cast<std::uint32_t>(t[(c + 1) % 3]);
      edges.push_back(static_cast<std::uint64_t>(std::min(a, b)) << 32 | std::max(a, b));
    }
  std::sort(edges.begin(), edges.end());
  EdgeCount count;
  for (std::size_t i = 0; i < edges.size();) {
    std::size_t end = i + 1;
    while (end < edges.size() && edges[end] == edges[i]) ++end;
    ++count.edges;
    count.open += end - i == 1;
    count.non_manifold += end - i > 2;
    i = end;
  }
  return count;
}

SurfaceMesh mesh_surface(const BandGrid& grid) { return Mesher(grid).run(); }

}  // namespace aegir
