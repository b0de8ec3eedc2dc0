// Smooth normals of a mesh.
//
//   std::vector<Vec3f> normals = vertex_normals(mesh);
#pragma once

#include <vector>

#include "geometry/mesh.h"

namespace aegir {

/// Normals at vertices, weighted by the area of the triangles around them; zero where there is none.
std::vector<Vec3f> vertex_normals(const TriangleMesh& mesh);

}  // namespace aegir
