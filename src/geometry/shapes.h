// Analytic shapes: exact distances, exact crossings, uniform random points, and meshes to look at.
//
//   Result<Shape> ball = Shape::create({.kind = ShapeKind::sphere, .center = {0, 1, 0}, .radius = 0.25});
//   if (!ball) return ball.error();
//   double d = ball->distance({0, 2, 0});   // 0.75
#pragma once

#include <optional>
#include <string_view>

#include "base/result.h"
#include "geometry/mesh.h"

namespace aegir {

/// Disc and rectangle are thin sheets; plane is the half space below the plane through `center`.
enum class ShapeKind { sphere, box, plane, cylinder, capsule, torus, disc, rectangle };

/// The word for a kind in setups and messages.
std::string_view name(ShapeKind kind);

/// What a user says about a shape; lengths in metres. The shape's own y axis is turned onto `axis` by the shortest way.
struct ShapeSettings {
  ShapeKind kind = ShapeKind::sphere;
  Vec3d center{0, 0, 0};
  Vec3d size{1, 1, 1};        ///< whole edge lengths: box; rectangle and the mesh of a plane use x and z
  double radius = 0.5;        ///< sphere, cylinder, capsule, disc; torus: of the ring's centre line
  double minor_radius = 0.1;  ///< torus: of the tube
  double height = 1;          ///< cylinder; capsule: of the part between the two half spheres
  Vec3d axis{0, 1, 0};        ///< normal of plane, disc, rectangle; axis of symmetry of the round ones
};

/// Answer of Shape::ray.
struct ShapeHit {
  double t = 0;  ///< in multiples of the direction, in [0, t_max]
  Vec3d point;
  Vec3d normal;  ///< outward; of thin sheets along the axis
};

/// A valid shape; all queries may be called from many threads.
class Shape {
 public:
  /// Refuses sizes that are not positive and finite, a zero axis, and a torus without hole.
  static Result<Shape> create(const ShapeSettings& settings);

  /// Euclidean distance, negative inside; thin sheets: never negative.
  double distance(const Vec3d& x) const;
  /// Gradient of the distance, of unit length; where it is undefined one of the possible directions.
  Vec3d normal(const Vec3d& x) const;
  /// Smallest box; where the shape goes on for ever the box ends at 1e300.
  Box bounds() const;
  /// Zero for thin sheets, infinite for a plane.
  double volume() const;
  /// Thin sheets count one side; infinite for a plane.
  double area() const;
  /// Uniform inside from three numbers in [0, 1); on thin sheets a point of the sheet. Only for bounded shapes.
  Vec3d sample_volume(double u, double v, double w) const;
  /// Uniform by area from three numbers in [0, 1). Only for bounded shapes.
  SurfacePoint sample_surface(double u, double v, double w) const;
  /// True for disc and rectangle.
  bool thin() const { return settings_.kind == ShapeKind::disc || settings_.kind == ShapeKind::rectangle; }
  /// False for a plane only.
  bool bounded() const { return settings_.kind != ShapeKind::plane; }
  /// The surface in triangles, `resolution` (at least 3) around or along an edge; a plane becomes a patch of `size`.
  TriangleMesh mesh(int resolution) const;

  /// First crossing of the surface, in or out, of the segment from `origin` to `origin + t_max * direction`. Whether
  /// the segment starts inside is decided by the sign of `distance` there; a crossing within `tolerance() +
  /// extra_tolerance` of the end counts.
  std::optional<ShapeHit> ray(const Vec3d& origin, const Vec3d& direction, double t_max,
                              double extra_tolerance = 0) const;
  /// The side of the surface on which a point lies is certain at this distance and beyond.
  double tolerance() const;

  const ShapeSettings& settings() const { return settings_; }

 private:
  explicit Shape(const ShapeSettings& settings);
  Vec3d to_local(const Vec3d& x) const;
  Vec3d to_world(const Vec3d& local) const;
  Vec3d turn_to_world(const Vec3d& local) const;
  double local_distance(const Vec3d& p) const;
  Vec3d local_normal(const Vec3d& p) const;
  SurfacePoint local_surface_sample(double u, double v, double w) const;
  Vec3d local_volume_sample(double u, double v, double w) const;

  ShapeSettings settings_;
  Mat3d frame_;  // rows: the shape's own axes in the world
};

}  // namespace aegir
