// The triangles of a cube for each of the 256 ways in which its corners can be inside: made by tracing, not typed in.
//
//   const MarchingTable& table = marching_table();
//   for (int t = 0; t < table.count[signs]; ++t) … table.edge[signs][3 * t] …
//
// Corner c lies at (c >> 2, c >> 1 & 1, c & 1). Edge e = 4·axis + n joins the two corners that differ along the axis;
// n counts the other two coordinates, lower axis first.
#pragma once

#include <array>
#include <cstdint>

namespace aegir {

struct MarchingTable {
  std::array<std::uint8_t, 256> count;                 ///< triangles
  std::array<std::array<std::uint8_t, 36>, 256> edge;  ///< three edges per triangle
  std::array<std::array<std::uint8_t, 2>, 12> corner;  ///< of each edge: lower, upper
};

/// On every face, crossings are joined so that inside corners are cut off one by one: neighbours agree, so that meshes
/// are closed. Polygons are cut into triangles along diagonals that lie on no face: every edge of a mesh has exactly
/// two triangles.
const MarchingTable& marching_table();

}  // namespace aegir
