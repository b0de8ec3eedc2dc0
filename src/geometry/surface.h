// An immutable triangle mesh that answers questions: closest point, rays, inside or outside, random points.
//
//   auto surface = Surface::create(std::move(mesh));
//   if (!surface) return surface.error();
//   double d = (*surface)->signed_distance({0, 1, 0});          // every query may be called from many threads
//   auto hit = (*surface)->ray(x0, x1 - x0, 1);                  // first crossing of the segment
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "geometry/mesh.h"

namespace aegir {

/// Answer of Surface::closest.
struct ClosestPoint {
  bool found = false;
  Vec3d point;
  Vec3d normal;         ///< of the triangle
  double distance = 0;  ///< never negative
  int triangle = -1;
  Vec3d barycentric;
};

/// Answer of Surface::ray.
struct RayHit {
  double t = 0;  ///< in multiples of the direction, in [0, t_max]
  Vec3d point;
  Vec3d normal;  ///< of the triangle, not turned towards the ray
  int triangle = -1;
  Vec3d barycentric;
};

/// A mesh with search trees. The trees propose triangles in single precision with a safety margin; every answer is
/// decided in double precision relative to the mesh's own centre, so neither distance from the origin nor long rays
/// cost precision.
///
/// Inside: a part of the mesh whose holes are smaller than `sheet_hole_fraction` of its area is solid where the
/// generalised winding number of all such parts has |w| > 0.5; turned-around, overlapping and nested parts are
/// therefore solid too. Other parts are thin sheets: they have no inside, unless `thickness` gives them one (all points
/// within half of it).
class Surface {
 public:
  /// Builds the trees; refuses invalid meshes, meshes without area, and a negative thickness.
  static Result<std::shared_ptr<const Surface>> create(TriangleMesh mesh, double thickness = 0);
  ~Surface();
  Surface(const Surface&) = delete;
  Surface& operator=(const Surface&) = delete;

  /// The closest point within `max_distance`; among equally close triangles the lowest number wins.
  /// Cheap near the surface; far away a finite `max_distance` spares most of the work.
  ClosestPoint closest(const Vec3d& x, double max_distance = std::numeric_limits<double>::infinity()) const;

  /// The first crossing of the segment from `origin` to `origin + t_max * direction`. A crossing at the very start does
  /// not count, one within `tolerance() + extra_tolerance` of the end does: of two segments that share an end, at least
  /// one is hit.
  std::optional<RayHit> ray(const Vec3d& origin, const Vec3d& direction, double t_max,
                            double extra_tolerance = 0) const;

  /// Generalised winding number of the whole mesh, sheets included; fast and wrong by about 0.01 at most.
  double winding(const Vec3d& x) const;
  /// Whether x is in the solid (see above).
  bool inside(const Vec3d& x) const;
  /// Distance to the surface, negative inside; for sheets the distance minus half the thickness.
  /// Beyond `max_distance` only the sign counts: plus or minus `max_distance` comes back.
  double signed_distance(const Vec3d& x, double max_distance = std::numeric_limits<double>::infinity()) const;

  /// A random point, uniform by area, from three numbers in [0, 1).
  SurfacePoint sample(double u, double v, double w) const;
  /// Whether the mesh carries a painted attribute of this name.
  bool has_attribute(const std::string& name) const { return mesh_.scalars.contains(name); }
  /// A painted attribute inside a triangle; asking for one that is not there is a bug.
  float attribute(const std::string& name, int triangle, const Vec3d& barycentric) const;

  /// What was found out about the mesh, self-intersection included (looked for along at most 200 000 edges, so a tiny
  /// one in a huge mesh may go unnoticed; overlapping coplanar triangles are not noticed).
  const MeshReport& report() const { return report_; }
  const Box& bounds() const { return bounds_; }
  double area() const { return cumulative_area_.back(); }
  double thickness() const { return thickness_; }
  /// True if no part of the mesh has an inside.
  bool thin() const { return report_.sheets == report_.components; }
  /// The side of the surface on which a point lies is certain at this distance and beyond.
  double tolerance() const { return tolerance_; }
  /// The stored mesh in world coordinates, triangles turned to agree about the outside.
  TriangleMesh mesh() const;

 private:
  struct Trees;
  Surface(TriangleMesh mesh, double thickness);
  Status build();
  Status build_scene();
  bool find_self_intersection(const std::vector<int>& merged) const;
  Vec3d unit_normal(int triangle) const;
  Vec3d interpolate(int triangle, const Vec3d& barycentric) const;

  TriangleMesh mesh_;  // positions relative to center_
  double thickness_ = 0;
  Vec3d center_;
  Box bounds_;            // world
  double extent_ = 0;     // half the diagonal
  double margin_ = 0;     // what single precision may get wrong
  double tolerance_ = 0;  // what double precision may get wrong
  MeshReport report_;
  std::vector<int> active_;              // triangles with area
  std::vector<double> cumulative_area_;  // over active_
  std::vector<std::uint8_t> sheet_;      // triangle belongs to a part without inside
  std::unique_ptr<Trees> trees_;
};

}  // namespace aegir
