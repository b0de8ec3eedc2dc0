// Distances of grid nodes near a mesh, drawn triangle by triangle: for meshes that are new every substep, where asking
// a search tree node by node would cost more than everything else.
//
//   MeshBand band;
//   band.draw(solid.triangles(), spacing, buckets);   // every substep; its memory is used again
//   band.load(key, nodes);            // nodes -1 … 8 of a bucket
//
// Triangles are listed by the cells that their boxes touch, in each by its eighths. A node looks through the eight
// cells around it, so nodes up to one cell from the mesh know their distance; a cell's centre looks through its own.
// From node to node this bounds the others' distances, and within its bound each looks through the cells around it.
// What a node gets depends on its place and the mesh alone, not on the buckets asked for, threads or ranks.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "domain/grid/bucket_key.h"
#include "numerics/solids/drawn_patches.h"
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
  /// What it has in the cells of one of those buckets; nothing where it does not touch the bucket.
  const DrawnPatches* patches(const BucketKey& key) const;
  /// Whether surely no triangle is between two places in a cell of one of those buckets, or of the layer around it;
  /// all from the bucket's first node.
  bool leaves_free(const BucketKey& key, const Vec3i& cell, const Vec3f& a, const Vec3f& b) const;

  /// Distance in cells of a place, given in cells, from one triangle.
  double distance(std::int32_t triangle, const Vec3d& cells) const;
  /// Velocity of the place of a triangle that is closest to a place given in cells; only for meshes with `before`.
  Vec3d velocity(std::int32_t triangle, const Vec3d& cells) const;
  /// Says that a triangle will be asked about soon: its corners lie anywhere in memory.
  void expect(std::int32_t triangle) const;
  bool has_velocity() const { return !mesh_.before.empty(); }
  std::size_t memory_bytes() const;

 private:
  /// Discs around eight triangles, in their planes: cells from the bucket's first node. Lanes without one are far away.
  struct DiscRow {
    alignas(32) std::array<float, 8> x, y, z, radius, nx, ny, nz;
    std::array<std::int32_t, 8> triangle;
  };
  /// The triangles of a cell by eighths of it, as their middles lie; of each a disc of some height that holds them.
  struct Parts {
    alignas(32) std::array<float, 8> x, y, z, nx, ny, nz, radius, half_height;
    std::array<std::uint32_t, 9> first;  // of their rows of discs
  };
  struct Bucket {
    BucketKey key;
    std::array<std::int32_t, 27> around;
    std::array<double, bucket_cells> distance;        // exact up to 1; a bound beyond until it is settled
    std::array<std::int32_t, bucket_cells> triangle;  // the closest; of nodes with a bound, a close one
    std::array<float, bucket_cells> centre;           // of cells
    std::vector<DiscRow> discs;                       // by cells and their parts
    DrawnPatches patches;
    std::vector<Parts> parts;  // as the patches
    std::array<Box, 64> ways;  // of the triangles in each block of 2 × 2 × 2 cells alone
    bool any = false;          // some node is bounded
  };
  /// The triangles that touch each bucket, in the order of the mesh.
  struct Lists {
    struct Entry {
      std::int32_t bucket, triangle;
    };
    std::vector<std::vector<Entry>> entries;  // of each chunk of the mesh
    std::vector<std::uint32_t> next;          // places of each chunk's entries of each bucket
    std::vector<std::uint32_t> first;
    std::vector<std::int32_t> triangles;
    std::span<const std::int32_t> of(std::size_t bucket) const {
      return std::span(triangles).subspan(first[bucket], first[bucket + 1] - first[bucket]);
    }
  };
  struct CellLists;
  struct Search;
  int find(const Vec3i& coord) const;
  std::array<Vec3d, 3> corners(std::int32_t triangle) const;
  void bin();
  void list_chunk(std::size_t begin, std::size_t end, std::vector<Lists::Entry>& entries) const;
  void list_cells();
  void make_discs(const Bucket& bucket, std::span<const std::int32_t> triangles, CellLists& lists) const;
  void list_pairs(Bucket& bucket, std::span<const std::int32_t> triangles, CellLists& lists) const;
  static void make_patches(Bucket& bucket, std::span<const std::int32_t> triangles, CellLists& lists);
  static DrawnPatch patch_of(std::span<const DiscRow> discs);
  void scan(const Bucket& bucket, std::size_t cell, const Vec3f& local, Search& search) const;
  void scan_discs(std::span<const DiscRow> discs, const Vec3f& local, Search& search) const;
  using Four [[gnu::vector_size(32)]] = double;
  Four distances(const Vec3<Four>& places, const std::array<std::int32_t, 4>& triangles) const;
  void compare(std::array<std::int32_t, 4> triangles, std::size_t count, Search& search) const;
  void compare(Search& search) const;
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
  Lists lists_;
  std::unordered_map<std::uint64_t, std::int32_t> index_;  // looked up, never walked
};

}  // namespace aegir
