// Collider: a kinematic Object that offers distance, velocity and friction at a point. Every phenomenon uses only that.
//
// A particle that meets it bounces with `restitution` and loses tangential speed to Coulomb friction:
//   u_n' = -e u_n,   |Δu_t| ≤ μ (1 + e) |u_n|        u: velocity relative to the surface, e: restitution, μ: friction
#pragma once

#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "geometry/motion.h"
#include "geometry/shapes.h"
#include "geometry/surface.h"
#include "pipeline/model/object.h"
#include "pipeline/schema/parameter.h"

namespace aegir {

/// What a collider is at a point, at the end of the substep.
struct SurfaceSample {
  double distance = 0;  ///< negative inside
  Vec3d normal;         ///< away from the solid
  Vec3d velocity;       ///< of the material there
  double friction = 0, restitution = 0;
};

/// The first touch of a moving point.
struct Contact {
  double fraction = 0;  ///< of the way
  Vec3d point, normal, surface_velocity;
  Vec3d resting_point, normal_at_end;  ///< where the touched place is at the end of the substep, and its normal there
  double friction = 0, restitution = 0;
};

class Collider : public Object {
 public:
  using Form = std::variant<Shape, std::shared_ptr<const Surface>>;
  Collider(std::string path, Form form, Motion motion, Parameter<double> friction, Parameter<double> restitution);

  bool simulated() const override { return false; }
  void plan(TaskList& tasks) override;

  /// Goes to the stretch of time that the next queries are about.
  void set_time(double begin, double end, double frame);
  SurfaceSample sample(const Vec3d& x) const;
  /// First touch of a point that goes straight from x0 at time t0 to x1 at the end of the substep.
  std::optional<Contact> sweep(const Vec3d& x0, const Vec3d& x1, double t0, double clearance) const;
  /// The surface at a time in seconds, for pictures; empty for an endless plane.
  TriangleMesh mesh(double time) const;
  /// Whether the collider, as it stands at the end of the substep, is between two points.
  bool blocks(const Vec3d& x0, const Vec3d& x1) const;
  /// Whether the collider turns in this substep.
  bool turning() const { return turning_; }
  /// Everything the collider touches during the substep.
  const Box& swept_bounds() const { return swept_; }
  /// A point this far from the surface is certainly on its side.
  double tolerance() const;
  bool thin() const;

 private:
  Form form_;
  Motion motion_;
  Parameter<double> friction_, restitution_;
  double begin_ = 0, end_ = 0, frame_ = 0;
  std::vector<MotionPiece> pieces_;
  Box swept_;
  bool turning_ = false;
};

class Catalog;
void register_collider(Catalog& catalog);

}  // namespace aegir
