// Collider: a kinematic Object that offers distance, velocity and friction at a point. Every phenomenon uses only that.
//
// A particle that meets it bounces with `restitution` and loses tangential speed to Coulomb friction:
//   u_n' = -e u_n,   |Δu_t| ≤ μ (1 + e) |u_n|        u: velocity relative to the surface, e: restitution, μ: friction
#pragma once

#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "geometry/deforming_surface.h"
#include "geometry/motion.h"
#include "geometry/shapes.h"
#include "geometry/surface.h"
#include "io/mesh_sequence.h"
#include "numerics/solids/solid.h"
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

/// A mesh whose vertices move, and where their places come from.
struct DeformingForm {
  std::shared_ptr<DeformingSurface> surface;  ///< in the world, belongs to one collider
  std::shared_ptr<MeshSequence> sequence;     ///< in the node's own frame
};

/// What a collider will do for a while.
struct Outlook {
  double speed = 0;  ///< m/s, of its fastest place
  Box swept;         ///< everything it touches
};

class Collider : public Object, public Solid {
 public:
  using Form = std::variant<Shape, std::shared_ptr<const Surface>, DeformingForm>;
  Collider(std::string path, Form form, Motion motion, Parameter<double> friction, Parameter<double> restitution);

  bool simulated() const override { return false; }
  void plan(TaskList& tasks) override;
  std::size_t memory_bytes() const override;

  /// Goes to the stretch of time that the next queries are about; reads files of a mesh that deforms.
  Status set_time(double begin, double end, double frame);
  SurfaceSample sample(const Vec3d& x) const;
  /// First touch of a point that goes straight from x0 at time t0 to x1 at the end of the substep.
  std::optional<Contact> sweep(const Vec3d& x0, const Vec3d& x1, double t0, double clearance) const;
  /// The surface at a time in seconds, for pictures; empty for an endless plane and where a file cannot be read.
  TriangleMesh mesh(double time) const;
  /// Whether the collider turns or changes its shape in this substep.
  bool turning() const { return turning_; }
  /// Whether a straight way comes near anything that the collider sweeps in this substep.
  bool in_reach(const Vec3d& from, const Vec3d& to, double clearance) const;
  /// Everything the collider touches during the substep.
  const Box& swept_bounds() const { return swept_; }
  /// How fast the collider is at most between two times, and where; what moves a mesh beside its deformation goes on as
  /// in this substep.
  Outlook outlook(double begin, double end) const;
  /// No place of the collider is during the substep farther from where it ends than this, m; infinite for planes that
  /// turn.
  double way() const { return way_; }
  /// A point this far from the surface is certainly on its side.
  double tolerance() const;
  bool thin() const;

  Box bounds() const override { return bounds_; }
  double distance(const Vec3d& x, double max) const override;
  Vec3d velocity(const Vec3d& x) const override;
  double friction(const Vec3d& x) const override;
  /// Whether it has any friction, anywhere or at any time.
  bool rough() const { return friction_.attribute() || friction_.animated() || friction_.constant() > 0; }
  bool blocks(const Vec3d& a, const Vec3d& b) const override;
  Vec3d way_around(const Vec3d& a, const Vec3d& b) const override;
  /// False for shapes that are thick if they are large: sphere, plane, capsule, torus, cylinder.
  bool may_be_thin() const override;
  SolidTriangles triangles() const override;
  bool moved() const override { return moved_; }

 private:
  Status deform(const DeformingForm& form, const Pose& before);
  void bound_body(const Box& body);
  double way_of(const Box& body) const;
  Vec3d rigid_velocity(const Vec3d& x) const;
  double painted(const Parameter<double>& p, double otherwise, int triangle, const Vec3d& barycentric) const;
  ClosestPoint closest(const Vec3d& x) const;

  Form form_;
  Motion motion_;
  Parameter<double> friction_, restitution_;
  double begin_ = 0, end_ = 0;
  double friction_now_ = 0, restitution_now_ = 0;
  std::vector<MotionPiece> pieces_;
  Pose begin_pose_, end_pose_;
  Box bounds_, swept_;
  double way_ = 0;
  bool known_ = false, moving_ = false, turning_ = false, moved_ = true;
  std::vector<Vec3d> begin_places_, end_places_;  // of a deforming mesh's vertices
  double places_at_ = 0;                          // time of end_places_
};

class Catalog;
void register_collider(Catalog& catalog);

}  // namespace aegir
