// What is in a file, for people: the data behind `aegir info FILE`.
//
//   Result<FileInfo> info = inspect_file("water.points.1001.vdb");
//   info->grids[0].points;   // 14200000
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/vec.h"

namespace aegir {

/// One attribute of points or vertices, or the values of a volume.
struct AttributeInfo {
  std::string name;
  std::string type;                 ///< as the file calls it: "float", "vec3s", "int64"
  int components = 1;               ///< numbers per element of which the range is known (0: not a number)
  std::array<double, 3> minimum{};  ///< per component, over finite values; 0 when there are none
  std::array<double, 3> maximum{};
};

/// One grid, mesh or stored array of a file.
struct GridInfo {
  std::string name;
  std::string type;                 ///< "points", "float", "vec3s", "mesh", "f64", "text", …
  std::string grid_class;           ///< "level set", "staggered", "fog volume" or empty
  std::uint64_t points = 0;         ///< points, vertices or rows
  std::uint64_t active_voxels = 0;  ///< active voxels, or triangles of a mesh, or columns of an array
  Vec3d voxel_size;
  Box bounds;  ///< world space; empty when there is nothing
  std::vector<AttributeInfo> attributes;
};

/// A neutral description of a file.
struct FileInfo {
  enum Kind { vdb, mesh, piece, other };
  Kind kind = other;
  std::string path;
  std::uint64_t bytes = 0;
  std::map<std::string, std::string> metadata;
  std::vector<GridInfo> grids;
};

/// Describes a VDB file, a mesh or a checkpoint piece; a file of another kind has only path and size.
Result<FileInfo> inspect_file(const std::string& path);

}  // namespace aegir
