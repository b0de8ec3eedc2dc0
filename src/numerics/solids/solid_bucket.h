// Solids as one bucket sees them. A function of the bucket's place and the solids alone, so it can be kept, and is the
// same whichever rank works it out.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "domain/grid/bucket_key.h"
#include "numerics/solids/drawn_patches.h"
#include "numerics/solids/solid.h"

namespace aegir {

/// Node distances are exact up to this many cells from a surface (from meshes that are drawn, up to two), and held at
/// it beyond.
inline constexpr double solid_band = 3;
/// Drawn distances are exact up to this many cells, and beyond too large by no more than the slack.
inline constexpr double drawn_exact = 2, drawn_slack = 0.4;
/// Face areas below this are closed.
inline constexpr double least_open_area = 1e-3;
/// Nodes this close to a surface, in cells, lie on it: what rounding may do to a plane that is meant to hold a face.
inline constexpr double on_surface = 2e-7;

class MeshBand;

/// A solid and what SolidGrid remembers of it.
struct ListedSolid {
  const Solid* solid = nullptr;
  Box bounds;
  bool thin = false;
  const MeshBand* band = nullptr;  ///< distances that were drawn already
};

/// A bit for each cell of a bucket, z fastest.
using CellMask = std::array<std::uint64_t, bucket_cells / 64>;

/// What a bucket's channels hold where a solid is near, in their layout.
struct SolidBlock {
  std::array<float, bucket_cells> distance;                                  ///< at lower corners, cells
  std::array<std::array<float, bucket_cells>, 3> area;                       ///< of lower faces
  std::unique_ptr<std::array<std::array<float, bucket_cells>, 3>> velocity;  ///< none: all zero
  std::array<std::uint16_t, bucket_cells> nearest;  ///< number of the solid closest to each cell
  CellMask near_thin{};                             ///< cells that a solid marked thin comes close to
  std::array<CellMask, 3> parted{};         ///< cells that a sheet keeps apart from their lower neighbour along an axis
  std::unique_ptr<DrawnWays> drawn_ways;    ///< none: no drawn mesh is near
  std::vector<DrawnPatches> drawn_patches;  ///< of drawn meshes that touch the bucket
  bool cut = false;                         ///< some face is closed or cut
  bool any_near = false;                    ///< near_thin holds a cell
  bool any_parted = false;                  ///< parted holds a cell
};

/// Works out a bucket; nothing where all solids are far away.
std::unique_ptr<SolidBlock> evaluate_bucket(std::span<const ListedSolid> solids, const BucketKey& key, double spacing);

}  // namespace aegir
