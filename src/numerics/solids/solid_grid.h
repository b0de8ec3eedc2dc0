// Solids on the grid: distances at nodes, open shares and velocities of faces, sheets thinner than a cell.
//
//   SolidGrid solids;                                            // lives as long as the Object
//   solids.update(exec, volume, list, walls, {distance, area, velocity});   // each substep, after the grid has moved
//   constrain_velocity(exec, volume, solids, velocity, …);       // wall_velocity.h
//
// Node distance (cells): the least over all solids, exact up to three cells from a surface and held there beyond
// (meshes that change every substep: exact up to two, mesh_band.h); buckets far from all solids keep the background.
// Face area: from the four node distances (face_area.h). Face velocity (m/s): that of the nearest solid along the
// face's axis, on faces up to about 1.5 cells outside and 2.5 inside it.
//
// Sheets. Node distances do not see what lies between two nodes. Where a solid may be thin, every cell has a place to
// stand outside the solid: its centre, or else its corner that is farthest outside. A face is closed if the solid
// blocks the way between the places of its two cells, so a chain of cells joined by open faces is a chain of free
// segments: whatever a segment cannot pass, no path of cells passes. A bulge that only stands in a segment's way is
// gone around. Transfers look out for sheets in the cells around faces that are closed this way, and nowhere else: near
// a solid that is thicker than a cell there are none.
//
// What does not change is kept: an update works out buckets that are new, and buckets near solids that moved. The three
// channels belong to SolidGrid: nobody else writes them. They may be Keep::scratch, and better are.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "domain/exec.h"
#include "domain/volume/discrete_volume.h"
#include "numerics/barrier.h"
#include "numerics/solids/drawn_patches.h"
#include "numerics/solids/solid.h"

namespace aegir {

/// The limits of a domain: the solid is what lies beyond its closed sides.
struct Walls {
  Box box;
  std::array<bool, 6> closed{true, true, true, true, true, true};  ///< -x +x -y +y -z +z
  double friction = 0;                                             ///< Coulomb's coefficient
};

/// Where solids are written; read by nobody during the update.
struct SolidChannels {
  NodeChannel<float> distance;  ///< cells, negative inside; background: far away
  FaceChannel<float> area;      ///< open share [0, 1]; background 1
  FaceChannel<float> velocity;  ///< m/s along the face's axis; background 0
};

struct SolidBlock;
struct ListedSolid;
class MeshBand;

/// What drawn meshes have in the cells of a bucket and of those around it, as far as this rank knows.
class DrawnAround {
 public:
  /// Calls visit(patch, place of its bucket in cells) for the patches in a box of cells from the bucket's first, as
  /// long as it says true. False where it did not, and where some cell is not known.
  template <class Visit>
  bool all_of(const Vec3i& low, const Vec3i& high, Visit&& visit) const;

 private:
  friend class SolidGrid;
  std::array<bool, 27> known_{};
  std::array<std::span<const DrawnPatches>, 27> patches_;
};

class SolidGrid : public Barrier {
 public:
  SolidGrid();
  ~SolidGrid() override;
  SolidGrid(const SolidGrid&) = delete;
  SolidGrid& operator=(const SolidGrid&) = delete;

  /// Brings the channels (written, no halo) to the end of this substep. Solids must live until the next update, which
  /// is told of the same ones in the same order, or starts anew. Collective.
  void update(Exec& exec, DiscreteVolume& volume, std::span<const Solid* const> solids,
              const std::optional<Walls>& walls, const SolidChannels& channels);

  bool near(int bucket, int cell) const override;
  bool near(int bucket) const override;
  bool around(int bucket) const override;
  bool closes(int bucket, int axis, const Vec3i& cell) const override;
  bool blocks(const Vec3d& a, const Vec3d& b) const override;

  /// Whether any face of the bucket is closed or cut.
  bool cut(int bucket) const;
  /// Local buckets with closed or cut faces, or with solids up to solid_band cells away.
  std::span<const int> touched() const { return touched_; }
  /// Number of the solid closest to a cell of a touched bucket, walls last; -1 in others.
  int nearest(int bucket, int cell) const;
  /// Friction coefficient of the solid closest to a cell of a touched bucket, 0 in others.
  double friction(int bucket, int cell) const;

  /// What drawn meshes have in the cells of a bucket and of those around it.
  DrawnAround drawn_around(int bucket) const;
  /// Ways of drawn meshes near a bucket; nothing where there are none, or all solids are beyond solid_band.
  const DrawnWays* drawn_ways(int bucket) const;

  /// Whether any solid has a velocity anywhere in the grid, on any rank.
  bool moving() const { return moving_; }

  /// How many buckets the last update worked out.
  int evaluated() const { return evaluated_; }
  std::size_t memory_bytes() const;

 private:
  class WallSolid;
  const SolidBlock* block(int bucket) const;
  void list_solids(std::span<const Solid* const> solids, const std::optional<Walls>& walls);
  void follow_topology(std::shared_ptr<const Topology> topology);
  std::vector<int> outdated() const;
  void draw_meshes(std::span<const int> work);
  void write(DiscreteVolume& volume, const SolidChannels& channels, std::span<const int> buckets) const;
  void find_sheets(Exec& exec);

  struct Changing {
    bool moved = true;  // in the last update
    bool now = true;    // in this one
    Box before;         // bounds in the last update
  };
  std::vector<ListedSolid> list_;   // walls last
  std::vector<Changing> changing_;  // as list_
  std::unique_ptr<WallSolid> wall_;
  std::shared_ptr<const Topology> topology_;
  std::vector<std::unique_ptr<SolidBlock>> blocks_;  // of local buckets; none: all solids are far
  std::vector<std::unique_ptr<MeshBand>> bands_;     // of meshes that are drawn; kept for their memory
  std::vector<std::uint8_t> known_;                  // the block, or its absence, is up to date
  std::vector<std::uint8_t> stale_;                  // the channels may hold something else than the background
  // Where sheets are; all empty where there is none.
  using Cells = std::array<std::uint64_t, bucket_cells / 64>;  // a bit each
  std::vector<std::array<Cells, 3>> parted_;  // cells that a sheet parts from their lower neighbours; of ghosts too
  std::vector<std::uint8_t> sheets_around_;   // a sheet parts cells of the bucket or of one beside it
  std::vector<std::int32_t> sheet_cells_;     // of each bucket, in near_sheets_; -1: it has none
  std::vector<Cells> near_sheets_;
  std::vector<int> touched_;
  int evaluated_ = 0;
  bool moving_ = false;
};

template <class Visit>
bool DrawnAround::all_of(const Vec3i& low, const Vec3i& high, Visit&& visit) const {
  if (std::min({low.x, low.y, low.z}) < -bucket_size || std::max({high.x, high.y, high.z}) >= 2 * bucket_size)
    return false;
  for (int x = low.x; x <= high.x; ++x)
    for (int y = low.y; y <= high.y; ++y)
      for (int z = low.z; z <= high.z; ++z) {
        const Vec3i o{x >> 3, y >> 3, z >> 3};
        const auto n = static_cast<std::size_t>(neighbour_index(o.x, o.y, o.z));
        if (!known_[n]) return false;
        for (const DrawnPatches& patches : patches_[n])
          if (const DrawnPatch* patch = patches.at(static_cast<std::size_t>(cell_offset(x & 7, y & 7, z & 7)));
              patch && !visit(*patch, Vec3f(o * bucket_size)))
            return false;
      }
  return true;
}

}  // namespace aegir
