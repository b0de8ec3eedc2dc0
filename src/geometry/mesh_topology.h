// How the triangles of a mesh hang together: merged vertices, parts, holes, orientation. Used inside this room.
//
//   MeshTopology topology = analyse(mesh);
//   if (topology.is_sheet(triangle)) ...
#pragma once

#include <cstdint>
#include <vector>

#include "geometry/mesh.h"

namespace aegir {

/// Everything `analyse` finds out; vectors are indexed by vertex, triangle or component.
struct MeshTopology {
  MeshReport report;
  std::vector<int> merged;               ///< vertex → the lowest vertex at exactly the same position
  std::vector<int> component;            ///< triangle → part, -1 for degenerate triangles
  std::vector<std::uint8_t> sheet;       ///< component → has no inside
  std::vector<std::uint8_t> turned;      ///< triangle → must be turned so that neighbours agree about the outside
  std::vector<std::uint8_t> degenerate;  ///< triangle → has no area

  bool is_sheet(int triangle) const { return component[triangle] < 0 || sheet[component[triangle]] != 0; }
};

/// Looks at a valid mesh; the result depends on the mesh alone.
MeshTopology analyse(const TriangleMesh& mesh);

}  // namespace aegir
