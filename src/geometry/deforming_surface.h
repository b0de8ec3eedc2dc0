// A triangle mesh whose vertices move: what Surface answers, at the end of a substep, and the first touch of a point
// that moves through the substep.
//
//   auto cloth = DeformingSurface::create(first_frame);
//   if (!cloth) return cloth.error();
//   Status moved = (*cloth)->move(begin, end, dt);                        // every substep
//   double d = (*cloth)->signed_distance({0, 1, 0});                      // at its end
//   if (auto hit = sweep(**cloth, 0, x0, x1, clearance)) …                // see geometry/sweep.h
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "geometry/mesh.h"
#include "geometry/moving_triangle.h"
#include "geometry/surface.h"

namespace aegir {

class DeformingTree;

/// Where a moving point first touches the moving mesh.
struct DeformingTouch : TriangleTouch {
  int triangle = -1;
};

/// Vertices go straight from their places at the begin of a substep to those at its end. Which parts are solid and
/// which are sheets is decided once, from the mesh that is given first, by the rules of Surface; self-intersection is
/// not looked for, because winding numbers bear it.
///
/// Queries may be asked from many threads at once, but not while the mesh moves. Their answers depend on the present
/// positions alone.
class DeformingSurface {
 public:
  /// Analyses the mesh and builds the tree; refuses what Surface refuses.
  static Result<std::shared_ptr<DeformingSurface>> create(TriangleMesh rest, double thickness = 0);
  ~DeformingSurface();
  DeformingSurface(const DeformingSurface&) = delete;
  DeformingSurface& operator=(const DeformingSurface&) = delete;

  /// Goes to a substep of `duration` seconds. Refuses other numbers of vertices and positions that are not finite.
  Status move(std::span<const Vec3d> begin, std::span<const Vec3d> end, double duration);

  /// The closest point at the end, within `max_distance`; among equally close triangles the lowest number wins.
  ClosestPoint closest(const Vec3d& x, double max_distance = std::numeric_limits<double>::infinity()) const;
  /// Whether x is in a solid part at the end.
  bool inside(const Vec3d& x) const;
  /// Distance at the end, negative inside; for sheets the distance minus half the thickness. Beyond `max_distance` only
  /// the sign counts.
  double signed_distance(const Vec3d& x, double max_distance = std::numeric_limits<double>::infinity()) const;
  /// The same for a point whose closest point is known already.
  double signed_distance(const Vec3d& x, const ClosestPoint& nearest, double max_distance) const;
  /// Velocity of the material at a place of a triangle, its mean over the substep.
  Vec3d velocity(int triangle, const Vec3d& barycentric) const;
  /// Whether something is between two points at the end; seen from either side.
  bool blocks(const Vec3d& a, const Vec3d& b) const;
  /// The first touch of a point that goes straight from x0 at `from` (a part of the substep, in [0, 1]) to x1 at its
  /// end; its time is a part of this way, `latest` at most. A touch is a distance of tolerance() or less, so that no
  /// rounding lets a point through.
  std::optional<DeformingTouch> first_touch(const Vec3d& x0, const Vec3d& x1, double from = 0, double latest = 1) const;
  /// Where a place of a triangle is at a part of the substep.
  Vec3d place(int triangle, const Vec3d& barycentric, double part) const;
  /// A triangle's unit normal at a part of the substep; zero without area.
  Vec3d normal(int triangle, double part) const;
  /// Turns a direction with a triangle, from one part of the substep to another.
  Vec3d turned(const Vec3d& direction, int triangle, double from, double to) const;

  bool has_attribute(const std::string& name) const { return mesh_.scalars.contains(name); }
  /// A painted attribute inside a triangle, as the first mesh carries it; asking for one that is not there is a bug.
  float attribute(const std::string& name, int triangle, const Vec3d& barycentric) const;
  const MeshReport& report() const { return report_; }
  /// Boxes around the mesh at the end, and around all that it touches during the substep.
  const Box& bounds() const;
  Box swept_bounds() const;
  double thickness() const { return thickness_; }
  /// True if no part of the mesh has an inside.
  bool thin() const { return report_.sheets == report_.components; }
  /// The side of the surface on which a point lies is certain beyond this distance.
  double tolerance() const { return tolerance_; }
  /// Whether the mesh moves in this substep.
  bool moving() const { return moving_; }
  std::size_t vertices() const { return mesh_.positions.size(); }
  /// The mesh at the end; triangles turned to agree about the outside.
  const TriangleMesh& mesh() const { return mesh_; }
  /// Vertices at the begin of the substep, and how long it is.
  std::span<const Vec3d> begin() const { return begin_; }
  double duration() const { return duration_; }
  /// The longest way of any vertex from begin to end.
  double way() const { return way_; }
  std::size_t memory_bytes() const;

 private:
  DeformingSurface(TriangleMesh rest, double thickness);
  MovingTriangle triangle(int number, double from) const;
  bool in_solid(const Vec3d& x) const;

  TriangleMesh mesh_;  // at the end of the substep
  std::vector<Vec3d> begin_;
  double thickness_ = 0, duration_ = 0, tolerance_ = 0, way_ = 0;
  bool moving_ = false;
  std::uint64_t version_ = 0;  // of the positions; no two surfaces share one
  MeshReport report_;
  std::vector<std::uint8_t> solid_;
  std::unique_ptr<DeformingTree> tree_;
};

}  // namespace aegir
