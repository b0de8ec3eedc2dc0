#include "phenomena/common/collider.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "geometry/sweep.h"
#include "phenomena/common/inputs.h"
#include "phenomena/common/shape_settings.h"
#include "pipeline/model/behavior.h"
#include "pipeline/schema/catalog.h"
#include "pipeline/schema/sections.h"

namespace aegir {
namespace {

/// A parameter at a place of a surface: painted where the mesh carries its attribute, else its value at this frame.
double at_surface(const Parameter<double>& p, double frame, const Collider::Form& form, int triangle,
                  const Vec3d& barycentric) {
  if (p.attribute() && triangle >= 0)
    if (const auto* surface = std::get_if<std::shared_ptr<const Surface>>(&form);
        surface && (*surface)->has_attribute(p.attribute()->name))
      return p.attribute()->map((*surface)->attribute(p.attribute()->name, triangle, barycentric));
  return p.at(frame);
}

Box moved(const Box& box, const Pose& pose) {
  Box out;
  for (int corner = 0; corner < 8; ++corner)
    out.add(pose.apply(
        {corner & 1 ? box.max.x : box.min.x, corner & 2 ? box.max.y : box.min.y, corner & 4 ? box.max.z : box.min.z}));
  return out;
}

}  // namespace

Collider::Collider(std::string path, Form form, Motion motion, Parameter<double> friction,
                   Parameter<double> restitution)
    : Object(std::move(path)),
      form_(std::move(form)),
      motion_(std::move(motion)),
      friction_(std::move(friction)),
      restitution_(std::move(restitution)) {
  set_time(0, 0, 0);
}

void Collider::plan(TaskList& tasks) {
  tasks.add({.name = "follow",
             .stage = Stage::move_inputs,
             .behavior = path(),
             .accesses = {writes(path(), "surface")},
             .after = {},
             .acting = {},
             .run = [this](StepContext& step) {
               set_time(step.time, step.time + step.dt, step.frame_time);
               return Status();
             }});
}

void Collider::set_time(double begin, double end, double frame) {
  begin_ = begin, end_ = end, frame_ = frame;
  pieces_ = motion_.pieces(begin, end);
  const Box body = std::visit(
      [](const auto& f) {
        if constexpr (requires { f->bounds(); })
          return Box(f->bounds());
        else
          return Box(f.bounds());
      },
      form_);
  swept_ = {};
  turning_ = std::any_of(pieces_.begin(), pieces_.end(), [](const MotionPiece& p) {
    return p.begin.rotation.row[0] != p.end.rotation.row[0] || p.begin.rotation.row[1] != p.end.rotation.row[1];
  });
  if (body.size().x > 1e200 || body.size().y > 1e200 || body.size().z > 1e200) {
    swept_ = {Vec3d(-1e300), Vec3d(1e300)};
    return;
  }
  swept_.add(moved(body, motion_.at(begin)));
  for (const MotionPiece& p : pieces_) swept_.add(moved(body, p.end));
  // Between two poses 3 degrees apart a corner bulges by R (1 - cos 1.5°) at most.
  double reach = 0;
  for (int corner = 0; corner < 8; ++corner)
    reach = std::max(reach, length(Vec3d{corner & 1 ? body.max.x : body.min.x, corner & 2 ? body.max.y : body.min.y,
                                         corner & 4 ? body.max.z : body.min.z}));
  swept_ = swept_.grown(3.5e-4 * reach + 1e-6 * length(swept_.size()));
}

double Collider::tolerance() const {
  return std::visit(
      [](const auto& f) {
        if constexpr (requires { f->tolerance(); })
          return f->tolerance();
        else
          return f.tolerance();
      },
      form_);
}

bool Collider::thin() const {
  if (const auto* shape = std::get_if<Shape>(&form_)) return shape->thin();
  const Surface& surface = *std::get<std::shared_ptr<const Surface>>(form_);
  return surface.thin() && surface.thickness() == 0;
}

SurfaceSample Collider::sample(const Vec3d& x) const {
  const Pose pose = motion_.at(end_);
  const Vec3d body = pose.apply_inverse(x);
  SurfaceSample s;
  int triangle = -1;
  Vec3d barycentric;
  if (const auto* shape = std::get_if<Shape>(&form_)) {
    s.distance = shape->distance(body);
    s.normal = shape->normal(body);
  } else {
    const auto& surface = std::get<std::shared_ptr<const Surface>>(form_);
    const ClosestPoint c = surface->closest(body);
    s.distance = surface->signed_distance(body);
    const Vec3d away = c.distance > 0 ? (body - c.point) / c.distance : c.normal;
    // Inside a solid the way out leads through the closest point; inside the thickness of a sheet, away from its
    // middle.
    const bool in_solid = s.distance < 0 && std::abs(s.distance + c.distance) < 1e-9 * (1 + c.distance);
    s.normal = in_solid ? -away : away;
    triangle = c.triangle, barycentric = c.barycentric;
  }
  s.distance *= pose.scale;
  s.normal = pose.direction(s.normal);
  s.velocity = motion_.velocity(x, begin_, end_);
  s.friction = at_surface(friction_, frame_, form_, triangle, barycentric);
  s.restitution = at_surface(restitution_, frame_, form_, triangle, barycentric);
  return s;
}

namespace {
std::optional<SweepHit> sweep_form(const Collider::Form& form, std::span<const MotionPiece> pieces, const Vec3d& x0,
                                   const Vec3d& x1, double clearance) {
  if (const auto* shape = std::get_if<Shape>(&form)) return sweep(*shape, pieces, x0, x1, clearance);
  return sweep(*std::get<std::shared_ptr<const Surface>>(form), pieces, x0, x1, clearance);
}
}  // namespace

std::optional<Contact> Collider::sweep(const Vec3d& x0, const Vec3d& x1, double t0, double clearance) const {
  std::vector<MotionPiece> later;
  if (t0 > begin_ && !motion_.is_static()) later = motion_.pieces(t0, end_);
  const auto hit = sweep_form(form_, later.empty() ? std::span<const MotionPiece>(pieces_) : later, x0, x1, clearance);
  if (!hit) return {};
  return Contact{hit->fraction,
                 hit->point,
                 hit->normal,
                 hit->surface_velocity,
                 hit->resting_point,
                 hit->normal_at_end,
                 at_surface(friction_, frame_, form_, hit->triangle, hit->barycentric),
                 at_surface(restitution_, frame_, form_, hit->triangle, hit->barycentric)};
}

TriangleMesh Collider::mesh(double time) const {
  constexpr int resolution = 48;
  TriangleMesh mesh;
  if (const auto* shape = std::get_if<Shape>(&form_)) {
    if (!shape->bounded()) return mesh;
    mesh = shape->mesh(resolution);
  } else {
    mesh = std::get<std::shared_ptr<const Surface>>(form_)->mesh();
  }
  const Pose pose = motion_.at(time);
  for (Vec3d& x : mesh.positions) x = pose.apply(x);
  return mesh;
}

bool Collider::blocks(const Vec3d& x0, const Vec3d& x1) const {
  const Pose pose = motion_.at(end_);
  const MotionPiece still{end_, end_, pose, pose};
  return sweep_form(form_, {&still, 1}, x0, x1, tolerance()).has_value();
}

namespace {

class ColliderBehavior final : public Behavior {
 public:
  struct Settings {
    Located<std::string> input;
    std::optional<ShapeSettings> shape;
    Parameter<Vec3d> translate = Vec3d{};
    Parameter<Vec3d> rotate = Vec3d{};
    Parameter<double> friction = 0.3;
    Parameter<double> restitution = 0.0;
    double thickness = 0;
  };
  static TypeInfo info() {
    return {"collider", Category::collider, "Collider",
            "A solid that moves as told and is not moved: a shape, or a mesh from a file.",
            "A particle that meets the surface keeps `-restitution` times its normal velocity relative to the surface. "
            "Its tangential velocity falls by at most\n"
            "`friction · (1 + restitution) · |u_n|` (Coulomb). Contacts are found along the path, so nothing passes a "
            "thin plate at any speed.\n\n"
            "Meshes may be open, self-intersecting or inside out: a part whose holes are small is solid where its "
            "generalised winding number exceeds one half; other parts\n"
            "are thin sheets. A warning says what was assumed. Rigid motion comes from `translate` and `rotate`; "
            "deforming meshes are not there yet."};
  }
  static void describe(Schema<Settings>& s) {
    s.field("input", &Settings::input).doc("Name of the input that holds the mesh.");
    s.field("shape", &Settings::shape).doc("A shape instead of a mesh.");
    s.field("translate", &Settings::translate).unit("m").doc("Where the collider is moved to; keyframes make it move.");
    s.field("rotate", &Settings::rotate).unit("rad").doc("Rotation about the world's x, then y, then z axis.");
    s.field("friction", &Settings::friction)
        .from_attribute()
        .min(0)
        .soft(0, 1)
        .doc("Coulomb friction coefficient; may be painted per vertex.");
    s.field("restitution", &Settings::restitution)
        .from_attribute()
        .min(0)
        .max(1)
        .doc("Share of the normal speed that a bounce keeps; may be painted per vertex.");
    s.field("thickness", &Settings::thickness)
        .unit("m")
        .min(0)
        .advanced()
        .doc("Gives open sheets an inside: all points within half of it.");
    s.check([](const Settings& v) {
      if (v.input.value.empty() == !v.shape.has_value()) return std::string("give either 'input' or 'shape'");
      return std::string();
    });
  }
  explicit ColliderBehavior(Scoped<Settings> settings) : settings_(std::move(settings)) {}

  Status create_objects(Builder& build) override {
    const Settings& s = settings_.of(build.path());
    const Result<Motion> motion = keyed_motion(s.translate, s.rotate, build.timeline());
    if (!motion) return motion.error();
    if (s.shape) {
      if (s.friction.attribute() || s.restitution.attribute())
        return usage_error({}, "a shape carries no attributes; paint a mesh, or give values");
      const Result<Shape> shape = Shape::create(*s.shape);
      if (!shape) return shape.error();
      build.add(std::make_unique<Collider>(build.path(), *shape, *motion, s.friction, s.restitution));
      return {};
    }
    auto surface = load_surface(build, s.input, s.thickness);
    if (!surface) return surface.error();
    for (const Parameter<double>* p : {&s.friction, &s.restitution})
      if (p->attribute() && !(*surface)->has_attribute(p->attribute()->name))
        build.warn(fmt::format("mesh of '{}' carries no attribute '{}'; its default {} is used", s.input.value,
                               p->attribute()->name, p->constant()));
    build.add(std::make_unique<Collider>(build.path(), *surface, *motion, s.friction, s.restitution));
    return {};
  }

  Status create_actions(Builder& build) override {
    const auto objects = build.objects();
    if (std::none_of(objects.begin(), objects.end(), [](Object* o) { return o->simulated() && o->particles(); }))
      build.switch_off("nothing in its group can touch it");
    return {};
  }

 private:
  Scoped<Settings> settings_;
};

}  // namespace

void register_collider(Catalog& catalog) { catalog.add<ColliderBehavior>(); }

}  // namespace aegir
