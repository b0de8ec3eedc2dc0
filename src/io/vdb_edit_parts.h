// How VdbEdit works on points and on volumes; each part stands in a file of its own because every file that sees
// OpenVDB's trees costs many seconds to compile. Internal to this room.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "io/vdb_edit.h"

namespace aegir {

/// Fills in attributes, count and transform of an openvdb::points::PointDataGrid; an error where it is damaged.
Status describe_points(const std::string& path, const void* grid, VdbGrid& description);
/// Whether a volume of this type can be a column; fills in type, count and transform of an openvdb::GridBase.
Status describe_volume(const void* grid, VdbGrid& description);

/// See VdbEdit::edit_points; the grid is an openvdb::points::PointDataGrid. OpenVDB's exceptions go through.
Result<VdbEditReport> edit_point_grid(void* grid, const std::vector<VdbColumn>& columns, const VdbKernel& kernel);
/// See VdbEdit::edit_voxels; the grids are an openvdb::GridPtrVec. OpenVDB's exceptions go through.
Result<VdbEditReport> edit_volume_grids(void* grids, const std::vector<VdbColumn>& columns, const VdbKernel& kernel);

/// What became of the points of a leaf: those that have another voxel, and those that go.
struct LeafChange {
  struct Moved {
    std::uint32_t point;
    std::int32_t voxel[3];
  };
  std::vector<Moved> moved;         ///< ascending
  std::vector<std::uint32_t> gone;  ///< ascending
  bool any() const { return !moved.empty() || !gone.empty(); }
};

/// Makes one value of equal ones in an openvdb::points::AttributeArray, where that cannot change it: OpenVDB decodes
/// the value and encodes it again, which lossy codecs do not always survive.
void compact_points(void* array);

/// Puts the points of an openvdb::points::PointDataTree where they belong. `changes` has one entry for each of its
/// leaves, in their order. Inside a voxel those that were in the leaf come first, then those from other leaves, each
/// in the order they had. OpenVDB's exceptions go through.
void sort_points_in(void* tree, const std::vector<LeafChange>& changes);

}  // namespace aegir
