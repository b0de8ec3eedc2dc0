// Emitter: new particles on a shape or a mesh, all at once or at a rate.
#include "phenomena/common/emitter.h"

#include <cmath>

#include "base/random.h"
#include "phenomena/common/inputs.h"
#include "phenomena/common/particle_object.h"
#include "phenomena/common/shape_settings.h"
#include "phenomena/common/size_distribution.h"
#include "phenomena/common/turbulence.h"
#include "pipeline/model/behavior.h"
#include "pipeline/schema/catalog.h"

namespace aegir {
namespace {

enum class EmitFrom { volume, surface };

struct EmitterSettings {
  Located<std::string> input;
  std::optional<ShapeSettings> shape;
  EmitFrom from = EmitFrom::volume;
  std::int64_t count = 0;
  Parameter<double> rate = 0.0;
  Parameter<Vec3d> velocity = Vec3d{};
  Parameter<double> normal_speed = 0.0;
  Parameter<double> spread = 0.0;
  std::optional<TurbulenceSettings> noise;
  std::array<double, 2> radius{0.001, 0.001};
  SizeSettings sizes;
  double density = 1000;
  Parameter<Vec3d> translate = Vec3d{};
  Parameter<Vec3d> rotate = Vec3d{};
  bool inherit_velocity = true;
  ObjectList into;
  std::int64_t seed = 1;
};

/// Emits into one Object. Particle number k of the emitter is the same particle whatever threads, ranks or substeps do:
/// everything random is drawn from (seed, k).
class EmitterOperator final : public Operator {
 public:
  using Form = std::variant<Shape, std::shared_ptr<const Surface>>;
  EmitterOperator(std::string behavior, ParticleObject& object, EmitterSettings settings, Form form, Motion motion)
      : Operator(std::move(behavior)),
        object_(object),
        s_(std::move(settings)),
        form_(std::move(form)),
        motion_(std::move(motion)),
        sizes_(s_.sizes, s_.radius[0], s_.radius[1]) {
    if (s_.noise) noise_.emplace(*s_.noise);
    object.state().child(this->behavior()).record("emitted", &emitted_).record("owed", &owed_);
  }

  void plan(TaskList& tasks) override {
    tasks.add({.name = "emit into " + object_.path(),
               .stage = Stage::emit,
               .behavior = behavior(),
               .accesses = {adds(object_.path(), "*")},
               .after = {},
               .acting = {},
               .run = [this](StepContext& c) { return emit(c); }});
  }

 private:
  static constexpr double most_at_once = 4e9;

  Status emit(StepContext& c) {
    const bool first_frame = c.first_frame;
    std::int64_t count = first_frame ? s_.count : 0;
    const double begin_owed = owed_;
    if (!first_frame) {
      owed_ += std::max(0.0, s_.rate.at(c.frame_time)) * c.dt;
      if (!(owed_ < most_at_once))
        return simulation_error(
            "emitter '{}' owes {:.3g} particles in one substep of {:.3g} s ; lower 'rate' or take more substeps",
            behavior(), owed_, c.dt);
      count = static_cast<std::int64_t>(std::floor(owed_));
      owed_ -= static_cast<double>(count);
    }
    if (count == 0) return {};
    const std::int64_t first_id = object_.take_ids(count);
    // Every rank numbers the newcomers alike and makes its share of them; rebucket() brings them to their owners.
    const std::int64_t ranks = c.exec.comm.size(), rank = c.exec.comm.rank();
    const std::int64_t begin = count * rank / ranks, end = count * (rank + 1) / ranks;
    ParticleBatch batch = object_.particles()->batch(static_cast<std::size_t>(end - begin));
    const double rate = first_frame ? 0 : s_.rate.at(c.frame_time);
    for (std::int64_t i = begin; i < end; ++i) {
      // The moment at which the rate owed this particle.
      const double moment =
          first_frame || rate <= 0 ? 0 : std::clamp((static_cast<double>(i + 1) - begin_owed) / rate, 0.0, c.dt);
      make(c, static_cast<std::size_t>(i - begin), emitted_ + i, first_id + i, moment, batch);
    }
    object_.particles()->add(batch);
    emitted_ += count;
    return {};
  }

  void make(const StepContext& c, std::size_t slot, std::int64_t number, std::int64_t id, double moment,
            ParticleBatch& batch) const {
    const auto key = static_cast<std::uint64_t>(number);
    const Random where(static_cast<std::uint64_t>(s_.seed), key, 0, Purpose::emission_position);
    const Random how(static_cast<std::uint64_t>(s_.seed), key, 0, Purpose::emission_velocity);
    const Random size(static_cast<std::uint64_t>(s_.seed), key, 0, Purpose::emission_attribute);
    SurfacePoint at;
    if (const auto* shape = std::get_if<Shape>(&form_)) {
      if (s_.from == EmitFrom::volume) {
        at.position = shape->sample_volume(where.uniform(0), where.uniform(1), where.uniform(2));
        at.normal = shape->normal(at.position);
      } else {
        at = shape->sample_surface(where.uniform(0), where.uniform(1), where.uniform(2));
      }
    } else {
      at =
          std::get<std::shared_ptr<const Surface>>(form_)->sample(where.uniform(0), where.uniform(1), where.uniform(2));
    }
    const double born = c.time + moment, frame = c.frame_time + moment * c.fps;
    const Pose pose = motion_.at(born);
    const Vec3d position = pose.apply(at.position), normal = pose.direction(at.normal);
    // Uniform in a ball of radius `spread`.
    const Vec3d scatter = how.direction(0) * (std::cbrt(how.uniform(2)) * s_.spread.at(frame));
    Vec3d velocity = s_.velocity.at(frame) + normal * s_.normal_speed.at(frame) + scatter;
    if (s_.inherit_velocity && !motion_.is_static()) velocity += motion_.velocity(position, born, born + 1e-5);
    if (noise_) velocity += noise_->at(position, born, noise_->speed(frame));
    const double radius = sizes_.radius(size.uniform(0));
    batch.position[slot] = position;
    batch.id[slot] = id;
    batch.set("v", slot, velocity);
    batch.set("pscale", slot, radius);
    batch.set("mass", slot, s_.density * 4.1887902047863905 * radius * radius * radius);
    batch.set("age", slot, -moment);  // not born before; flies only for the rest of the substep
  }

  ParticleObject& object_;
  EmitterSettings s_;
  Form form_;
  Motion motion_;
  SizeDistribution sizes_;
  std::optional<Turbulence> noise_;
  std::int64_t emitted_ = 0;
  double owed_ = 0;
};

class Emitter final : public Behavior {
 public:
  using Settings = EmitterSettings;
  static TypeInfo info() {
    return {
        "emitter", Category::emitter, "Emitter", "Fills a shape or a mesh surface with particles, once or at a rate.",
        "`count` particles exist at the first frame; then `rate` particles per second follow, to the particle: "
        "what a substep owes in fractions is carried on.\n"
        "Positions are uniform in the volume or on the surface. A particle born inside a substep flies for the "
        "rest of it, so that a stream has no gaps.\n"
        "Every particle is drawn from (seed, its number): the same for any number of threads, ranks and substeps.\n\n"
        "`sizes` by the number n(r) of particles per radius between the two radii, m being `median`, s `spread`, q "
        "`exponent`:\n\n"
        "- `uniform`: the same everywhere\n- `inverse_cubic`: n ∝ r⁻³\n- `log_normal`: n ∝ exp(-ln²(r/m) / 2s²) / "
        "r\n- `rosin_rammler`: n ∝ r^(q-4) exp(-ln 2 (r/m)^q), so that the volume in drops larger than r falls as "
        "exp(-ln 2 (r/m)^q)"};
  }
  static void describe(Schema<Settings>& s) {
    s.field("input", &Settings::input).doc("Name of the input whose mesh surface emits.");
    s.field("shape", &Settings::shape).doc("A shape instead of a mesh.");
    s.field("from", &Settings::from)
        .choices({{"volume", EmitFrom::volume, "Anywhere inside."},
                  {"surface", EmitFrom::surface, "On the surface; meshes always."}})
        .doc("Where in the shape.");
    s.field("count", &Settings::count).min(0).max(4e9).doc("Particles at the first frame.");
    s.field("rate", &Settings::rate).unit("1/s").min(0).max(1e12).doc("Particles per second after the first frame.");
    s.field("velocity", &Settings::velocity).unit("m/s").doc("Velocity of new particles.");
    s.field("normal_speed", &Settings::normal_speed).unit("m/s").doc("Added along the surface normal.");
    s.field("spread", &Settings::spread)
        .unit("m/s")
        .min(0)
        .doc("Random velocity added, uniform in a ball of this radius.");
    s.field("noise", &Settings::noise)
        .doc(
            "Curl noise added to the velocity at birth: neighbours start alike, which breaks a stream up into strands "
            "and not into dust; `noise: 20 cm/s` is short for its speed.");
    s.field("radius", &Settings::radius)
        .unit("m")
        .above(0)
        .doc("Smallest and largest particle radius; `sizes` says how often those in between are.");
    s.field("sizes", &Settings::sizes)
        .doc("How often radii between the two are; `sizes: inverse_cubic` is short for its law.");
    s.field("density", &Settings::density).unit("kg/m^3").above(0).doc("Mass per volume of a particle.");
    s.field("translate", &Settings::translate).unit("m").doc("Where the emitter is moved to; keyframes make it move.");
    s.field("rotate", &Settings::rotate).unit("rad").doc("Rotation about the world's x, then y, then z axis.");
    s.field("inherit_velocity", &Settings::inherit_velocity).doc("Whether a moving emitter's velocity is added.");
    s.field("into", &Settings::into).doc("Particle Objects to emit into; all in the group if not given.");
    s.field("seed", &Settings::seed).doc("Another seed gives other random numbers.");
    s.check([](const Settings& v) -> std::string {
      if (v.input.value.empty() == !v.shape.has_value()) return "give either 'input' or 'shape'";
      if (v.shape && v.shape->kind == ShapeKind::plane) return "a plane is endless and cannot emit; use a rectangle";
      if (v.radius[1] < v.radius[0]) return "'radius' gives the smallest first";
      if (std::string wrong = check_sizes(v.sizes, v.radius[0], v.radius[1]); !wrong.empty()) return wrong;
      if (v.count == 0 && v.rate == Parameter<double>(0.0)) return "give 'count', 'rate' or both";
      return "";
    });
  }
  explicit Emitter(Scoped<Settings> s) : settings_(std::move(s)) {}

  Status create_actions(Builder& build) override {
    std::vector<ParticleObject*> targets;
    for (Object* o : build.objects())
      if (auto* p = dynamic_cast<ParticleObject*>(o); p && wanted(*p)) targets.push_back(p);
    for (const std::string& name : settings_.base.into.names) {
      bool found = false;
      for (ParticleObject* t : targets) found |= t->named(name);
      if (!found)
        return usage_error(settings_.base.into.where,
                           "'into' names '{}', but there is no particle Object of that name in the emitter's group",
                           name);
    }
    if (targets.empty()) return build.switch_off("no particle Object in its group"), Status();
    for (ParticleObject* object : targets) {
      const Settings& s = settings_.of(object->path());
      const Result<Motion> motion = keyed_motion(s.translate, s.rotate, build.timeline());
      if (!motion) return motion.error();
      object->expect(static_cast<double>(s.count));
      if (s.shape) {
        const Result<Shape> shape = Shape::create(*s.shape);
        if (!shape) return shape.error();
        build.add(std::make_unique<EmitterOperator>(build.path(), *object, s, *shape, *motion));
      } else {
        auto surface = load_surface(build, s.input);
        if (!surface) return surface.error();
        build.add(std::make_unique<EmitterOperator>(build.path(), *object, s, *surface, *motion));
      }
    }
    return {};
  }

 private:
  bool wanted(const Object& object) const {
    const auto& names = settings_.base.into.names;
    return names.empty() ||
           std::any_of(names.begin(), names.end(), [&](const std::string& n) { return object.named(n); });
  }

  Scoped<Settings> settings_;
};

}  // namespace

void register_emitter(Catalog& catalog) { catalog.add<Emitter>(); }

}  // namespace aegir
