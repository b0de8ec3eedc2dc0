// A VDB file whose points or voxels a program changes, leaf by leaf on all threads, while everything else in it stays
// as it was: other grids, attributes of unknown types, codecs, groups, transforms, metadata.
//
//   Result<VdbEdit> file = VdbEdit::open("splash.0012.vdb");
//   const int grid = …;                                             // of file->grids()
//   std::vector<VdbColumn> columns = {{.name = "P", .type = "vec3s", .written = true}, {.name = "age", .type =
//   "float"}}; Status done = file->edit_points(grid, columns, [&](const VdbLeaf& leaf) {
//     float* x = static_cast<float*>(leaf.planes[0]); …             // leaf.count values per plane
//     return Status();
//   });
//   Status saved = file->save("out/splash.0012.vdb");
//
// Planes: one per component, in the order of the columns. float and half are seen as float, double as double, int64
// as int64, all other integers and bool as int32. Points that end up in another voxel are sorted in anew.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace aegir {

/// An attribute of points.
struct VdbAttribute {
  std::string name;
  std::string type;      ///< OpenVDB's name of the value: float, vec3s, int64, …; "group", or "string"
  std::string codec;     ///< null, trnc, fxpt8, …
  bool editable = true;  ///< its values can be a column
};

/// A grid of the file.
struct VdbGrid {
  enum Kind { points, voxels, other };
  std::string name;
  Kind kind = other;
  std::string type;                      ///< of a volume's values
  std::vector<VdbAttribute> attributes;  ///< of points, in the order they are stored
  std::int64_t count = 0;                ///< points, or active voxels
  double voxel_size = 1;                 ///< of cubes along the axes
  bool uniform = true;                   ///< its voxels are cubes along the axes
  bool linear = true;                    ///< no frustum

  const VdbAttribute* find(const std::string& attribute) const;
};

/// What an edit reads and writes. `group:NAME` is a group, seen as 0 and 1; `P` is the position, relative to
/// VdbLeaf::origin; the type "number" gives each point's `id`, or its place in the file where there is none.
struct VdbColumn {
  std::string name;
  std::string type;      ///< as in VdbAttribute; decides what is made where `created`
  bool written = false;  ///< what is in its planes afterwards is stored, in the codec that it has
  bool created = false;  ///< it does not exist yet: it is made where it is written, else all its values are 0
};

/// Elements [begin, end).
struct VdbRange {
  std::int64_t begin = 0, end = 0;
};

/// One leaf in work.
struct VdbLeaf {
  void* const* planes = nullptr;
  std::int64_t count = 0;            ///< elements in a plane: points, or 512 voxels
  const VdbRange* ranges = nullptr;  ///< those to work on: all points, or the active voxels
  std::size_t range_count = 0;
  double voxel_size = 1;         ///< of cubes along the axes
  double origin[3] = {0, 0, 0};  ///< world position of its first voxel's centre
  std::int32_t first_voxel[3] = {0, 0, 0};
  std::uint8_t* deleted = nullptr;  ///< one byte per point; not 0: it goes
};

/// Works on one leaf; called on many threads at once, the first failure ends the edit.
using VdbKernel = std::function<Status(const VdbLeaf&)>;

/// What an edit did.
struct VdbEditReport {
  std::int64_t elements = 0;  ///< worked on
  std::int64_t deleted = 0;   ///< points
};

class VdbEdit {
 public:
  /// Reads a file; a damaged one is an io error.
  static Result<VdbEdit> open(const std::string& path);
  ~VdbEdit();
  VdbEdit(VdbEdit&&) noexcept;
  VdbEdit& operator=(VdbEdit&&) noexcept;

  const std::vector<VdbGrid>& grids() const;

  /// Runs a kernel over the points of a grid. After a failure the grid is half done: save nothing.
  Result<VdbEditReport> edit_points(int grid, const std::vector<VdbColumn>& columns, const VdbKernel& kernel);
  /// Runs a kernel over the active voxels of the volumes that are written, all of which have one transform. A volume of
  /// another transform is read at the nearest voxel; one that is created has the voxels of all those that exist and
  /// have that transform; where none that exists is written, the first that is read counts.
  Result<VdbEditReport> edit_voxels(const std::vector<VdbColumn>& columns, const VdbKernel& kernel);

  /// Some of the grids as an openvdb::GridPtrVec, for what works on grids themselves; take_back() afterwards, which
  /// keeps those that were added to it.
  void* lend(const std::vector<int>& grids);
  Status take_back();

  /// Writes all grids, whole or not at all, with the metadata that the file had and one text more.
  Status save(const std::string& path, const std::string& note_name, const std::string& note) const;

 private:
  struct Content;
  explicit VdbEdit(std::unique_ptr<Content> content);
  std::unique_ptr<Content> content_;
};

/// A text in the metadata of a VDB file; empty where it has none or is no VDB file.
std::string read_vdb_note(const std::string& path, const std::string& name);

}  // namespace aegir
