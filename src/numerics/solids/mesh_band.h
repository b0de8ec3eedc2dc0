// Distances of grid nodes near a mesh, drawn triangle by triangle: for meshes that are new every substep, where asking
// a search tree node by node would cost more than everything else.
//
//   MeshBand band;
//   band.draw(solid.triangles(), spacing, buckets);   // every substep; its memory is used again
//   band.load(key, nodes);            // nodes -1 … 8 of a bucket
//
// Triangles are listed by the cells that their boxes touch. A node looks through the eight cells around it, so nodes up
// to one cell from the mesh know their distance; a cell's centre looks through its own. From node to node this bounds
// the others' distances, and within its bound each looks through the cells around it. What a node gets depends on its
// place and the mesh alone, not on the buckets asked for, threads or ranks.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "domain/grid/bucket_key.h"
#include "numerics/solids/solid.h"

namespace aegir {

/// Nodes -1 … 8 of a bucket along each axis, z fastest.
inline constexpr int node_side = bucket_size + 2;
constexpr int node_at(int i, int j, int k) { return ((i + 1) * node_side + j + 1) * node_side + k + 1; }
template <class T>
using Nodes = std::array<T, node_side * node_side * node_side>;

/// The 26 neighbours of a node: six along axes first, then the others.
struct NodeStep {
  int x, y, z, index;
  double way;  ///< in cells
};
constexpr std::array<NodeStep, 26> node_steps() {
  std::array<NodeStep, 26> steps{};
  std::size_t count = 0;
  constexpr std::array<double, 4> way{0, 1, 1.4142135623730951, 1.7320508075688772};
  for (int axes = 1; axes <= 3; ++axes)
    for (int n = 0; n < 27; ++n)
      if (const Vec3i o = neighbour_offset(n); o.x * o.x + o.y * o.y + o.z * o.z == axes)
        steps[count++] = {o.x, o.y, o.z, (o.x * node_side + o.y) * node_side + o.z,
                          way[static_cast<std::size_t>(axes)]};
  return steps;
}

/// Cells -1 … 7 of a bucket along each axis, z fastest.
inline constexpr int cell_side = bucket_size + 1;
constexpr int cell_at(int i, int j, int k) { return ((i + 1) * cell_side + j + 1) * cell_side + k + 1; }

/// Distances of cell centres are known up to this many cells.
inline constexpr float centre_band = 0.502f;

/// What a band knows of a bucket's nodes and cell centres.
struct BandNodes {
  Nodes<double> distance;                                       ///< cells, unsigned, at most solid_band
  Nodes<std::int32_t> triangle;                                 ///< the closest; -1: none in the band
  std::array<float, cell_side * cell_side * cell_side> centre;  ///< of cells, unsigned, at most centre_band
};

class MeshBand {
 public:
  /// Draws a mesh around some buckets of level 0, instead of what was drawn before. All questions are about this mesh,
  /// which must be there then.
  void draw(const SolidTriangles& mesh, double spacing, std::span<const BucketKey> buckets);

  /// Nodes of one of those buckets; false where the mesh is farther away than the band everywhere.
  bool load(const BucketKey& key, BandNodes& nodes) const;

  /// Ways that the mesh goes near one of those buckets.
  DrawnWays ways(const BucketKey& key) const;

  /// Distance in cells of a place, given in cells, from one triangle.
  double distance(std::int32_t triangle, const Vec3d& cells) const;
  /// Velocity of the place of a triangle that is closest to a place given in cells; only for meshes with `before`.
  Vec3d velocity(std::int32_t triangle, const Vec3d& cells) const;
  bool has_velocity() const { return !mesh_.before.empty(); }
  std::size_t memory_bytes() const;

 private:
  /// Discs around the triangles of a bucket, in their planes: cells from the bucket's first node. Eight more than there
  /// are, so that they can be read in rows.
  struct Discs {
    std::vector<float> x, y, z, radius, nx, ny, nz;
    std::vector<std::int32_t> triangle;
  };
  /// What holds all triangles of a cell: a disc of some height.
  struct Patch {
    Vec3f middle, normal;
    float radius, half_height;
    float bound2(const Vec3f& place) const;
  };
  struct Bucket {
    BucketKey key;
    std::array<std::int32_t, 27> around;
    std::array<double, bucket_cells> distance;          // exact up to 1; a bound beyond until it is settled
    std::array<std::int32_t, bucket_cells> triangle;    // the closest; of nodes with a bound, a close one
    std::array<float, bucket_cells> centre;             // of cells
    std::array<std::uint32_t, bucket_cells + 1> first;  // of each cell's discs
    Discs discs;
    std::vector<Patch> patches;             // of each cell, if there are triangles
    std::array<std::uint8_t, 64> occupied;  // cells with triangles, a bit each along z
    bool any = false;                       // some node is bounded
    std::array<Box, 64> ways;               // of the triangles in each block of 2 × 2 × 2 cells alone
  };
  struct Search;
  int find(const Vec3i& coord) const;
  std::array<Vec3d, 3> corners(std::int32_t triangle) const;
  void bin(std::vector<std::uint32_t>& first, std::vector<std::int32_t>& triangles) const;
  void list_cells(Bucket& bucket, std::span<const std::int32_t> triangles) const;
  static Patch patch_of(const Discs& discs, std::size_t begin, std::size_t end);
  void scan(const Bucket& bucket, std::size_t cell, const Vec3f& local, Search& search) const;
  void compare(std::span<const std::int32_t> triangles, Search& search) const;
  void scan_around(const Bucket& bucket, const Vec3i& node, int cells, Search& search) const;
  unsigned nodes_beside(const Bucket& bucket, int x, int y) const;
  void look_near(Bucket& bucket) const;
  bool near_mesh(const Bucket& bucket) const;
  void gather(const Bucket& bucket, BandNodes& nodes) const;
  void bound_neighbours();
  void settle(Bucket& bucket) const;

  SolidTriangles mesh_;
  double spacing_ = 1;
  std::vector<Bucket> buckets_;
  std::unordered_map<std::uint64_t, std::int32_t> index_;  // looked up, never walked
};

}  // namespace aegir
