// Triangle meshes and what can be said about them.
//
//   MeshReport report = inspect(mesh);
//   if (!report.assumption.empty()) warn("statue " + report.assumption);   // "has 12 open edges; treated as ..."
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/vec.h"

namespace aegir {

/// Triangles over shared vertices, counter-clockwise seen from outside.
struct TriangleMesh {
  std::vector<Vec3d> positions;
  std::vector<Vec3i> triangles;
  std::map<std::string, std::vector<float>> scalars;  ///< painted attributes, one value per vertex

  /// Smallest box around all positions.
  Box bounds() const;
  /// Sum of the triangles' areas.
  double area() const;
  /// Enclosed volume of a closed mesh; negative if it is inside out.
  double signed_volume() const;
};

/// A place on a surface; meshes also say which triangle and where in it.
struct SurfacePoint {
  Vec3d position{};
  Vec3d normal{};
  int triangle = -1;
  Vec3d barycentric{};  ///< weights of the triangle's three vertices
};

/// What a mesh is like. Vertices at equal positions count as one, so that texture seams are no openings.
struct MeshReport {
  int vertices = 0;                ///< as stored, before equal positions are merged
  int triangles = 0;               ///< as stored, with the degenerate ones
  int degenerate_triangles = 0;    ///< without area; ignored by every query
  int open_edges = 0;              ///< used by one triangle
  int non_manifold_edges = 0;      ///< used by more than two triangles
  int inconsistent_edges = 0;      ///< used by two triangles that disagree about the outside
  int components = 0;              ///< parts connected by edges
  int sheets = 0;                  ///< parts without inside: their holes exceed `sheet_hole_fraction` of their area
  double hole_fraction = 0;        ///< area of all holes over area of the mesh
  bool closed = false;             ///< every edge is used by an even number of triangles
  bool inside_out = false;         ///< closed, with negative volume
  bool self_intersecting = false;  ///< filled by Surface::create, which has the tree to find it; inspect leaves false
  std::string assumption;          ///< what Aegir assumes, for a warning; empty for a clean closed outward mesh
};

/// A part whose holes together are larger than this fraction of its area is a thin sheet without inside.
inline constexpr double sheet_hole_fraction = 0.05;

/// Refuses what no query could work on: nothing in it, non-finite positions, indices out of range, attributes of wrong
/// length.
Status validate(const TriangleMesh& mesh);

/// Looks at the topology of a valid mesh.
MeshReport inspect(const TriangleMesh& mesh);

/// The sentence for a report's `assumption`.
std::string describe_assumption(const MeshReport& report);

}  // namespace aegir
