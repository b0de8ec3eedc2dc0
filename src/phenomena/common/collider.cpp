#include "phenomena/common/collider.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "geometry/sweep.h"
#include "phenomena/common/inputs.h"
#include "phenomena/common/shape_settings.h"
#include "pipeline/model/behavior.h"
#include "pipeline/schema/catalog.h"
#include "pipeline/schema/sections.h"

namespace aegir {
namespace {

bool same(const Pose& a, const Pose& b) {
  return a.rotation.row[0] == b.rotation.row[0] && a.rotation.row[1] == b.rotation.row[1] &&
         a.rotation.row[2] == b.rotation.row[2] && a.translation == b.translation && a.scale == b.scale;
}

Box placed(const Box& box, const Pose& pose) {
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
      restitution_(std::move(restitution)) {}

void Collider::plan(TaskList& tasks) {
  tasks.add({.name = "follow",
             .stage = Stage::move_inputs,
             .behavior = path(),
             .accesses = {writes(path(), "surface")},
             .after = {},
             .acting = {},
             .run = [this](StepContext& step) {
               return step.exec.comm.agree(set_time(step.time, step.time + step.dt, step.frame_time));
             }});
}

std::size_t Collider::memory_bytes() const {
  const auto* form = std::get_if<DeformingForm>(&form_);
  // Places at begin and end here, two samples of the sequence and its first mesh.
  return form ? form->surface->memory_bytes() + 5 * form->surface->vertices() * sizeof(Vec3d) +
                    form->surface->mesh().triangles.size() * sizeof(Vec3i)
              : 0;
}

Status Collider::set_time(double begin, double end, double frame) {
  begin_ = begin, end_ = end;
  friction_now_ = friction_.at(frame), restitution_now_ = restitution_.at(frame);
  pieces_ = motion_.pieces(begin, end);
  const Pose before = end_pose_;
  begin_pose_ = pieces_.front().begin, end_pose_ = motion_.at(end);
  moving_ = turning_ = false;
  for (const MotionPiece& p : pieces_) {
    moving_ |= !same(p.begin, p.end);
    turning_ |= p.begin.rotation.row[0] != p.end.rotation.row[0] || p.begin.rotation.row[1] != p.end.rotation.row[1];
  }
  moved_ = !known_ || moving_ || !same(before, end_pose_);
  if (const auto* form = std::get_if<DeformingForm>(&form_)) return deform(*form, before);
  known_ = true;
  if (const auto* shape = std::get_if<Shape>(&form_))
    bound_body(shape->bounds());
  else
    bound_body(std::get<std::shared_ptr<const Surface>>(form_)->bounds());
  return {};
}

double Collider::way_of(const Box& body) const {
  if (!moving_) return 0;
  const Vec3d size = body.size();
  const bool endless = std::max({size.x, size.y, size.z}) > 1e200;
  double far = 0, reach = 0;
  for (const MotionPiece& p : pieces_)
    for (const Pose* pose : {&p.begin, &p.end}) {
      if (endless && (turning_ || pose->scale != end_pose_.scale)) return std::numeric_limits<double>::infinity();
      for (int corner = 0; corner < (endless ? 1 : 8); ++corner) {
        const Vec3d x = endless ? Vec3d{}
                                : Vec3d{corner & 1 ? body.max.x : body.min.x, corner & 2 ? body.max.y : body.min.y,
                                        corner & 4 ? body.max.z : body.min.z};
        far = std::max(far, length(pose->apply(x) - end_pose_.apply(x))), reach = std::max(reach, length(x));
      }
    }
  // Between two poses 3 degrees apart a corner bulges by R (1 - cos 1.5°) at most.
  return far + (endless ? 0 : 3.5e-4 * reach * end_pose_.scale);
}

void Collider::bound_body(const Box& body) {
  way_ = way_of(body);
  bounds_ = swept_ = {Vec3d(-1e300), Vec3d(1e300)};
  if (body.size().x > 1e200 || body.size().y > 1e200 || body.size().z > 1e200) return;
  bounds_ = placed(body, end_pose_);
  swept_ = placed(body, begin_pose_);
  for (const MotionPiece& p : pieces_) swept_.add(placed(body, p.end));
  // Between two poses 3 degrees apart a corner bulges by R (1 - cos 1.5°) at most.
  double reach = 0;
  for (int corner = 0; corner < 8; ++corner)
    reach = std::max(reach, length(Vec3d{corner & 1 ? body.max.x : body.min.x, corner & 2 ? body.max.y : body.min.y,
                                         corner & 4 ? body.max.z : body.min.z}));
  swept_ = swept_.grown(3.5e-4 * reach + 1e-6 * length(swept_.size()));
}

Outlook Collider::outlook(double begin, double end) const {
  Outlook look;
  if (const auto* form = std::get_if<DeformingForm>(&form_)) {
    look.speed = std::max(form->sequence->fastest(begin, end), end_ > begin_ ? way_ / (end_ - begin_) : 0.0);
    look.swept = swept_.grown(look.speed * (end - begin));
    return look;
  }
  const auto* shape = std::get_if<Shape>(&form_);
  const Box body = shape ? shape->bounds() : std::get<std::shared_ptr<const Surface>>(form_)->bounds();
  const bool endless = body.size().x > 1e200 || body.size().y > 1e200 || body.size().z > 1e200;
  look.swept = endless ? Box{Vec3d(-1e300), Vec3d(1e300)} : placed(body, motion_.at(begin));
  if (motion_.is_static()) return look;
  for (const MotionPiece& p : motion_.pieces(begin, end)) {
    if (!endless) look.swept.add(placed(body, p.end));
    if (!(p.t1 > p.t0)) continue;
    // Of an endless body only the speed of its origin is known.
    for (int corner = 0; corner < 8; ++corner) {
      const Vec3d x = endless ? Vec3d{}
                              : Vec3d{corner & 1 ? body.max.x : body.min.x, corner & 2 ? body.max.y : body.min.y,
                                      corner & 4 ? body.max.z : body.min.z};
      look.speed = std::max(look.speed, length(p.end.apply(x) - p.begin.apply(x)) / (p.t1 - p.t0));
    }
  }
  return look;
}

// The node's motion moves the vertices; in between both are straight.
Status Collider::deform(const DeformingForm& form, const Pose& before) {
  MeshSequence& sequence = *form.sequence;
  const auto place = [&](double time, const Pose& pose, std::vector<Vec3d>& places) -> Status {
    if (Status read = sequence.positions(time, places); !read) return read;
    parallel_for(0, places.size(), 16384, [&](std::size_t first, std::size_t last) {
      for (std::size_t v = first; v < last; ++v) places[v] = pose.apply(places[v]);
    });
    return {};
  };
  // Where it rested in the substep before and holds on, nothing is to be done.
  const double first = sequence.time(0), last = sequence.time(sequence.samples() - 1);
  const bool holds = (places_at_ <= first && end_ <= first) || (places_at_ >= last && begin_ >= last);
  if (known_ && !moved_ && holds && !form.surface->moving()) {
    places_at_ = end_, way_ = 0;
    return {};
  }
  if (known_ && places_at_ == begin_ && same(before, begin_pose_))
    begin_places_.swap(end_places_);
  else if (Status read = place(begin_, begin_pose_, begin_places_); !read)
    return read;
  if (end_ == begin_)
    end_places_ = begin_places_;
  else if (Status read = place(end_, end_pose_, end_places_); !read)
    return read;
  places_at_ = end_;
  if (Status moved = form.surface->move(begin_places_, end_places_, end_ - begin_); !moved) return moved;
  way_ = form.surface->way();
  bounds_ = form.surface->bounds();
  swept_ = form.surface->swept_bounds().grown(4 * form.surface->tolerance());
  turning_ = form.surface->moving();
  moved_ = true, known_ = true;
  return {};
}

double Collider::tolerance() const {
  if (const auto* shape = std::get_if<Shape>(&form_)) return shape->tolerance();
  if (const auto* form = std::get_if<DeformingForm>(&form_)) return form->surface->tolerance();
  return std::get<std::shared_ptr<const Surface>>(form_)->tolerance();
}

bool Collider::thin() const {
  if (const auto* shape = std::get_if<Shape>(&form_)) return shape->thin();
  if (const auto* form = std::get_if<DeformingForm>(&form_))
    return form->surface->thin() && form->surface->thickness() == 0;
  const Surface& surface = *std::get<std::shared_ptr<const Surface>>(form_);
  return surface.thin() && surface.thickness() == 0;
}

bool Collider::may_be_thin() const {
  const auto* shape = std::get_if<Shape>(&form_);
  return !shape || shape->thin() || shape->settings().kind == ShapeKind::box;
}

Vec3d Collider::rigid_velocity(const Vec3d& x) const {
  if (!moving_) return end_ > begin_ ? Vec3d{} : motion_.velocity(x, begin_, end_);
  return (x - begin_pose_.apply(end_pose_.apply_inverse(x))) / (end_ - begin_);
}

double Collider::painted(const Parameter<double>& p, double otherwise, int triangle, const Vec3d& barycentric) const {
  if (!p.attribute() || triangle < 0) return otherwise;
  const std::string& name = p.attribute()->name;
  if (const auto* form = std::get_if<DeformingForm>(&form_); form && form->surface->has_attribute(name))
    return p.attribute()->map(form->surface->attribute(name, triangle, barycentric));
  if (const auto* surface = std::get_if<std::shared_ptr<const Surface>>(&form_);
      surface && (*surface)->has_attribute(name))
    return p.attribute()->map((*surface)->attribute(name, triangle, barycentric));
  return otherwise;
}

// The closest place of a mesh, in the frame of its vertices; nothing for shapes.
ClosestPoint Collider::closest(const Vec3d& x) const {
  if (const auto* form = std::get_if<DeformingForm>(&form_)) return form->surface->closest(x);
  if (const auto* surface = std::get_if<std::shared_ptr<const Surface>>(&form_))
    return (*surface)->closest(end_pose_.apply_inverse(x));
  return {};
}

double Collider::distance(const Vec3d& x, double max) const {
  if (const auto* form = std::get_if<DeformingForm>(&form_)) return form->surface->signed_distance(x, max);
  const Vec3d body = end_pose_.apply_inverse(x);
  if (const auto* shape = std::get_if<Shape>(&form_)) return shape->distance(body) * end_pose_.scale;
  return std::get<std::shared_ptr<const Surface>>(form_)->signed_distance(body, max / end_pose_.scale) *
         end_pose_.scale;
}

Vec3d Collider::velocity(const Vec3d& x) const {
  const auto* form = std::get_if<DeformingForm>(&form_);
  if (!form) return rigid_velocity(x);
  if (!form->surface->moving()) return {};
  const ClosestPoint c = form->surface->closest(x);
  return c.found ? form->surface->velocity(c.triangle, c.barycentric) : Vec3d{};
}

double Collider::friction(const Vec3d& x) const {
  if (!friction_.attribute()) return friction_now_;
  const ClosestPoint c = closest(x);
  return painted(friction_, friction_now_, c.triangle, c.barycentric);
}

SurfaceSample Collider::sample(const Vec3d& x) const {
  SurfaceSample s;
  const auto* form = std::get_if<DeformingForm>(&form_);
  const Pose pose = form ? Pose() : end_pose_;
  const Vec3d body = pose.apply_inverse(x);
  const ClosestPoint c = closest(x);
  if (const auto* shape = std::get_if<Shape>(&form_)) {
    s.distance = shape->distance(body);
    s.normal = shape->normal(body);
  } else {
    s.distance = form ? form->surface->signed_distance(x, c, c.distance)
                      : std::get<std::shared_ptr<const Surface>>(form_)->signed_distance(body);
    const Vec3d away = c.distance > 0 ? (body - c.point) / c.distance : c.normal;
    // Inside a solid the way out leads through the closest point; inside the thickness of a sheet, away from its
    // middle.
    const bool in_solid = s.distance < 0 && std::abs(s.distance + c.distance) < 1e-9 * (1 + c.distance);
    s.normal = in_solid ? -away : away;
  }
  s.distance *= pose.scale;
  s.normal = pose.direction(s.normal);
  s.velocity = !form ? rigid_velocity(x) : c.found ? form->surface->velocity(c.triangle, c.barycentric) : Vec3d{};
  s.friction = painted(friction_, friction_now_, c.triangle, c.barycentric);
  s.restitution = painted(restitution_, restitution_now_, c.triangle, c.barycentric);
  return s;
}

namespace {
std::optional<SweepHit> sweep_body(const Collider::Form& form, std::span<const MotionPiece> pieces, const Vec3d& x0,
                                   const Vec3d& x1, double clearance) {
  if (const auto* shape = std::get_if<Shape>(&form)) return sweep(*shape, pieces, x0, x1, clearance);
  return sweep(*std::get<std::shared_ptr<const Surface>>(form), pieces, x0, x1, clearance);
}
}  // namespace

std::optional<Contact> Collider::sweep(const Vec3d& x0, const Vec3d& x1, double t0, double clearance) const {
  std::optional<SweepHit> hit;
  if (const auto* form = std::get_if<DeformingForm>(&form_)) {
    const double from = end_ > begin_ ? std::clamp((t0 - begin_) / (end_ - begin_), 0.0, 1.0) : 1.0;
    hit = aegir::sweep(*form->surface, from, x0, x1, clearance);
  } else {
    std::vector<MotionPiece> later;
    if (t0 > begin_ && !motion_.is_static()) later = motion_.pieces(t0, end_);
    hit = sweep_body(form_, later.empty() ? std::span<const MotionPiece>(pieces_) : later, x0, x1, clearance);
  }
  if (!hit) return {};
  return Contact{hit->fraction,
                 hit->point,
                 hit->normal,
                 hit->surface_velocity,
                 hit->resting_point,
                 hit->normal_at_end,
                 painted(friction_, friction_now_, hit->triangle, hit->barycentric),
                 painted(restitution_, restitution_now_, hit->triangle, hit->barycentric)};
}

bool Collider::in_reach(const Vec3d& from, const Vec3d& to, double clearance) const {
  Box way;
  way.add(from), way.add(to);
  return swept_bounds().overlaps(way.grown(4 * clearance + 4 * tolerance()));
}

SolidTriangles Collider::triangles() const {
  const auto* deforming = std::get_if<DeformingForm>(&form_);
  if (!deforming || deforming->surface->thickness() > 0) return {};
  const DeformingSurface& surface = *deforming->surface;
  return {surface.mesh().positions, surface.mesh().triangles, surface.begin(), surface.duration()};
}

TriangleMesh Collider::mesh(double time) const {
  constexpr int resolution = 48;
  TriangleMesh mesh;
  if (const auto* shape = std::get_if<Shape>(&form_)) {
    if (!shape->bounded()) return mesh;
    mesh = shape->mesh(resolution);
  } else if (const auto* form = std::get_if<DeformingForm>(&form_)) {
    if (!form->sequence->positions(time, mesh.positions)) return {};
    mesh.triangles = form->surface->mesh().triangles;
  } else {
    mesh = std::get<std::shared_ptr<const Surface>>(form_)->mesh();
  }
  const Pose pose = motion_.at(time);
  for (Vec3d& x : mesh.positions) x = pose.apply(x);
  return mesh;
}

bool Collider::blocks(const Vec3d& a, const Vec3d& b) const {
  if (const auto* form = std::get_if<DeformingForm>(&form_)) return form->surface->blocks(a, b);
  const MotionPiece still{end_, end_, end_pose_, end_pose_};
  return sweep_body(form_, {&still, 1}, a, b, tolerance()).has_value();
}

Vec3d Collider::way_around(const Vec3d& a, const Vec3d& b) const {
  if (const auto* form = std::get_if<DeformingForm>(&form_)) {
    const DeformingSurface& surface = *form->surface;
    if (surface.report().sheets > 0) return {};
    const auto there = surface.first_touch(a, b, 1), back = surface.first_touch(b, a, 1);
    return there && back ? (surface.normal(there->triangle, 1) + surface.normal(back->triangle, 1)) * 0.5 : Vec3d{};
  }
  const Vec3d from = end_pose_.apply_inverse(a), to = end_pose_.apply_inverse(b);
  const auto mean = [&](const auto& body) {
    const auto there = body.ray(from, to - from, 1), back = body.ray(to, from - to, 1);
    return there && back ? end_pose_.direction((there->normal + back->normal) * 0.5) : Vec3d{};
  };
  if (const auto* shape = std::get_if<Shape>(&form_)) return shape->thin() ? Vec3d{} : mean(*shape);
  const Surface& surface = *std::get<std::shared_ptr<const Surface>>(form_);
  return surface.report().sheets > 0 ? Vec3d{} : mean(surface);
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
    return {
        "collider", Category::collider, "Collider",
        "A solid that moves as told and is not moved: a shape, or a mesh from a file.",
        "A particle that meets the surface keeps `-restitution` times its normal velocity relative to the surface. "
        "Its tangential velocity falls by at most\n"
        "`friction · (1 + restitution) · |u_n|` (Coulomb). Contacts are found along the path, so nothing passes a "
        "thin plate at any speed.\n\n"
        "Meshes may be open, self-intersecting or inside out: a part whose holes are small is solid where its "
        "generalised winding number exceeds one half; other parts\n"
        "are thin sheets. A warning says what was assumed.\n\n"
        "Motion comes from `translate` and `rotate`, on top of that of the input: `motion: rigid` follows the keys of "
        "a glTF file, `motion: deforming` a sequence of\n"
        "meshes, an MDD or a PC2 file. Vertices of a deforming mesh go straight from the begin to the end of a "
        "substep; their velocity is the difference of both places.\n"
        "Painted values of a sequence are those of its first file."};
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
    if (s.shape) {
      const Result<Motion> motion = keyed_motion(s.translate, s.rotate, build.timeline());
      if (!motion) return motion.error();
      if (s.friction.attribute() || s.restitution.attribute())
        return usage_error({}, "a shape carries no attributes; paint a mesh, or give values");
      const Result<Shape> shape = Shape::create(*s.shape);
      if (!shape) return shape.error();
      return add(build, *shape, *motion, s);
    }
    auto mesh = load_moving_mesh(build, s.input, s.thickness);
    if (!mesh) return mesh.error();
    const Result<Motion> whole = composed_motion(s.translate, s.rotate, mesh->motion, build.timeline());
    if (!whole) return whole.error();
    for (const Parameter<double>* p : {&s.friction, &s.restitution}) {
      if (!p->attribute()) continue;
      const std::string& name = p->attribute()->name;
      if (mesh->deforming ? !mesh->deforming->has_attribute(name) : !mesh->surface->has_attribute(name))
        build.warn(fmt::format("mesh of '{}' carries no attribute '{}'; its default {} is used", s.input.value, name,
                               p->constant()));
    }
    return add(build,
               mesh->deforming ? Collider::Form(DeformingForm{mesh->deforming, mesh->sequence})
                               : Collider::Form(mesh->surface),
               *whole, s);
  }

  Status create_actions(Builder& build) override {
    const auto objects = build.objects();
    if (std::none_of(objects.begin(), objects.end(), [](Object* o) { return o->simulated() && o->particles(); }))
      build.switch_off("nothing in its group can touch it; expressions can ask where it is");
    return {};
  }

 private:
  static Status add(Builder& build, Collider::Form form, const Motion& motion, const Settings& s) {
    auto collider = std::make_unique<Collider>(build.path(), std::move(form), motion, s.friction, s.restitution);
    const Status ready = collider->set_time(0, 0, build.timeline().first());
    build.add(std::move(collider));
    return ready;
  }

  Scoped<Settings> settings_;
};

}  // namespace

void register_collider(Catalog& catalog) { catalog.add<ColliderBehavior>(); }

}  // namespace aegir
