// Triangle meshes from and to files.
//
//   Result<TriangleMesh> statue = read_mesh("geo/statue.glb", {.up = MeshImportOptions::y, .metres_per_unit = 0.01});
//   Status written = write_ply("skin.mesh.1001.ply", mesh);
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "base/vec.h"
#include "geometry/mesh.h"

namespace aegir {

/// How the file's space becomes ours: y up, metres.
struct MeshImportOptions {
  enum Up { y, z };
  Up up = y;                   ///< axis that points up in the file; z up turns (x,y,z) into (x,z,-y)
  double metres_per_unit = 1;  ///< length of one unit of the file
};

/// A point of a file in our space.
inline Vec3d imported(const Vec3d& p, const MeshImportOptions& options) {
  return (options.up == MeshImportOptions::z ? Vec3d{p.x, p.z, -p.y} : p) * options.metres_per_unit;
}

/// Reads .ply with every scalar vertex property (kept as it is), everything else through assimp.
///
/// Polygons become fans. Vertices of other formats that share the same position are joined. A mesh without triangles
/// is an error.
Result<TriangleMesh> read_mesh(const std::string& path, const MeshImportOptions& options = {});

/// The same, with as many vertices as the file has, in its order: for files that belong together. Formats other than
/// .ply and .obj have the vertices that assimp makes of them, which is the same for files of the same topology.
Result<TriangleMesh> read_mesh_in_order(const std::string& path, const MeshImportOptions& options = {});

/// Writes binary little-endian PLY with float positions, all scalars, and `vx vy vz` when velocities are given.
Status write_ply(const std::string& path, const TriangleMesh& mesh, std::span<const Vec3f> velocity = {});

}  // namespace aegir
