// What can be drawn of a VDB file: level sets as meshes, and the names of everything else in it.
//
//   Result<VdbShapes> shapes = read_vdb_shapes("skin/skin.volumes.0012.vdb");
//   for (const TriangleMesh& surface : shapes->surfaces) draw(surface);     // scalars "vx" "vy" "vz" where there is
//   `vel`
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "geometry/mesh.h"

namespace aegir {

struct VdbShapes {
  /// One per level set, counter-clockwise seen from outside. Values of the file's other volumes at each vertex are its
  /// scalars: `vx vy vz` of a velocity, other scalar volumes under their name.
  std::vector<TriangleMesh> surfaces;
  std::vector<std::string> densities;  ///< scalar volumes that are no level sets
  std::vector<std::string> vectors;
  bool has_points = false;
};

/// Reads a file once; with `meshes` false level sets are not meshed and `surfaces` holds an empty mesh for each.
Result<VdbShapes> read_vdb_shapes(const std::string& path, bool meshes = true);

}  // namespace aegir
