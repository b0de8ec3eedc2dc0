// Surface meshes to files, whole or not at all.
//
//   Status written = write_surface_mesh("skin.mesh.0012.ply", mesh, points, {"age"});
//
// PLY is binary: float positions, `vx vy vz`, then attributes by name, vectors as `name_x name_y name_z`, `Cd` as `red
// green blue`. OBJ is text: colours stand behind the position, as many programs read them; everything else stands in
// comments `#v x y z` and `#name values` behind the vertex that it belongs to.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "io/point_set.h"
#include "surfacing/surface_mesh.h"

namespace aegir {

enum class MeshFormat { none, ply, obj };

/// "ply" or "obj".
const char* extension_of(MeshFormat format);

/// The format follows from the extension. Velocity is written where the points have `v`; attributes that they do not
/// have are a usage error.
Status write_surface_mesh(const std::string& path, const SurfaceMesh& mesh, const PointSet& points,
                          const std::vector<std::string>& attributes);

}  // namespace aegir
