// A mesh of the zero level, with the particle that every vertex belongs to.
//
//   SurfaceMesh mesh = mesh_surface(grid);                  // marching cubes: closed, every edge has two triangles
//   Result<SurfaceMesh> coarse = mesh_adaptively(grid, 0.5);  // larger polygons where the surface is flat
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "geometry/mesh.h"
#include "surfacing/band_grid.h"

namespace aegir {

struct SurfaceMesh {
  std::vector<Vec3f> positions;     ///< metres from `origin`
  Vec3d origin;                     ///< near the mesh, so that precision does not depend on the distance from zero
  std::vector<Vec3i> triangles;     ///< counter-clockwise seen from outside
  std::vector<std::int32_t> owner;  ///< particle per vertex, -1 unknown; empty where the grid has no owners

  Vec3d position(std::size_t v) const { return origin + Vec3d(positions[v]); }
  double area() const;
  /// What a closed mesh encloses.
  double volume() const;
};

/// Edges of a mesh that are not shared by exactly two triangles.
struct EdgeCount {
  std::int64_t edges = 0, open = 0, non_manifold = 0;
};
EdgeCount count_edges(const SurfaceMesh& mesh);

/// Marching cubes over the buckets of the band: 36 bytes read per voxel row, about 40 bytes written per triangle. A
/// vertex belongs to the lower end of its edge, so that its number follows from counts and no search is needed.
SurfaceMesh mesh_surface(const BandGrid& grid);

/// OpenVDB's adaptive mesher: `adaptivity` from 0 to 1 says how much polygons may grow where the surface is flat.
Result<SurfaceMesh> mesh_adaptively(const BandGrid& grid, double adaptivity);

}  // namespace aegir
