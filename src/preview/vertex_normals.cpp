#include "preview/vertex_normals.h"

namespace aegir {

std::vector<Vec3f> vertex_normals(const TriangleMesh& mesh) {
  std::vector<Vec3d> sum(mesh.positions.size());
  for (const Vec3i& t : mesh.triangles) {
    const Vec3d& a = mesh.positions[static_cast<std::size_t>(t.x)];
    const Vec3d normal = cross(mesh.positions[static_cast<std::size_t>(t.y)] - a,
                               mesh.positions[static_cast<std::size_t>(t.z)] - a);  // weighted by area
    if (is_finite(normal))
      for (int i = 0; i < 3; ++i) sum[static_cast<std::size_t>(t[i])] += normal;
  }
  std::vector<Vec3f> normals(sum.size());
  for (std::size_t i = 0; i < sum.size(); ++i) normals[i] = Vec3f(normalized(sum[i]));
  return normals;
}

}  // namespace aegir
