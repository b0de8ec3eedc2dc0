#include "geometry/mesh.h"

#include <limits>

#include "geometry/mesh_topology.h"

namespace aegir {

Box TriangleMesh::bounds() const {
  Box box;
  for (const Vec3d& p : positions) box.add(p);
  return box;
}

double TriangleMesh::area() const {
  double sum = 0;
  for (const Vec3i& t : triangles) {
    const Vec3d a = positions[t.x];
    sum += 0.5 * length(cross(positions[t.y] - a, positions[t.z] - a));
  }
  return sum;
}

double TriangleMesh::signed_volume() const {
  if (positions.empty()) return 0;
  const Vec3d origin = bounds().center();  // keeps meshes far from the origin precise
  double sum = 0;
  for (const Vec3i& t : triangles)
    sum += dot(positions[t.x] - origin, cross(positions[t.y] - origin, positions[t.z] - origin));
  return sum / 6;
}

Status validate(const TriangleMesh& mesh) {
  constexpr std::size_t most = std::numeric_limits<std::int32_t>::max() / 3;
  if (mesh.positions.empty()) return usage_error({}, "the mesh has no vertices");
  if (mesh.triangles.empty()) return usage_error({}, "the mesh has no triangles");
  if (mesh.positions.size() > most || mesh.triangles.size() > most)
    return usage_error({}, "the mesh has more than {} vertices or triangles", most);
  for (std::size_t i = 0; i < mesh.positions.size(); ++i) {
    const Vec3d& p = mesh.positions[i];
    // Beyond 1e15 m neighbouring numbers are half a metre apart; beyond 1e100 squared lengths overflow.
    if (!is_finite(p) || std::max({std::abs(p.x), std::abs(p.y), std::abs(p.z)}) > 1e15)
      return usage_error({}, "vertex {} of the mesh is at ({}, {}, {}), which is no usable position", i, p.x, p.y, p.z);
  }
  const auto count = static_cast<std::int32_t>(mesh.positions.size());
  for (std::size_t i = 0; i < mesh.triangles.size(); ++i)
    for (int k = 0; k < 3; ++k)
      if (mesh.triangles[i][k] < 0 || mesh.triangles[i][k] >= count)
        return usage_error({}, "triangle {} of the mesh refers to vertex {}, but there are only {} vertices", i,
                           mesh.triangles[i][k], count);
  for (const auto& [name, values] : mesh.scalars)
    if (values.size() != mesh.positions.size())
      return usage_error({}, "attribute '{}' of the mesh has {} values for {} vertices", name, values.size(), count);
  return {};
}

std::string describe_assumption(const MeshReport& r) {
  std::string text;
  const auto say = [&](std::string sentence) {
    if (!text.empty()) text += "; ";
    text += std::move(sentence);
  };
  if (r.degenerate_triangles > 0)
    say(fmt::format("has {} triangles without area, which are ignored", r.degenerate_triangles));
  if (r.inconsistent_edges > 0)
    say(fmt::format("has {} edges whose triangles disagree about the outside; the triangles are turned to agree",
                    r.inconsistent_edges));
  if (r.non_manifold_edges > 0 && r.sheets < r.components)
    say(fmt::format(
        "has {} edges shared by more than two triangles; its inside is where the winding number exceeds one half",
        r.non_manifold_edges));
  if (r.open_edges > 0) {
    if (r.sheets == r.components)
      say(fmt::format("has {} open edges; treated as a thin sheet without inside", r.open_edges));
    else if (r.sheets > 0)
      say(fmt::format("has {} open edges; {} of its {} parts are treated as thin sheets without inside", r.open_edges,
                      r.sheets, r.components));
    else
      say(fmt::format("has {} open edges; its small holes are treated as closed", r.open_edges));
  }
  if (r.inside_out) say("is inside out; its inside is taken as solid");
  if (r.self_intersecting && r.sheets < r.components)
    say("intersects itself; its overlapping parts are taken as one solid");
  return text;
}

MeshReport inspect(const TriangleMesh& mesh) { return analyse(mesh).report; }

}  // namespace aegir
