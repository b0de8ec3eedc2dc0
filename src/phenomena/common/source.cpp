// Source: puts liquid into Hybrid Objects, once or as a stream. Sink: takes it away.
//
// A stream is a lattice of particles that moves with the source's velocity through its region: whoever enters the
// region between two substeps is born. What flows out is therefore velocity × projected area, without gaps or doubled
// places; where a flux is given the lattice is led so that the volume emitted follows it.
#include "phenomena/common/source.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <utility>

#include "domain/for_each_bucket.h"
#include "phenomena/common/hybrid_object.h"
#include "phenomena/common/inputs.h"
#include "phenomena/common/shape_settings.h"
#include "pipeline/model/behavior.h"
#include "pipeline/schema/catalog.h"

namespace aegir {
namespace {

enum class SourceMode { once, continuous };

struct SourceSettings {
  Located<std::string> input;
  std::optional<ShapeSettings> shape;
  SourceMode mode = SourceMode::once;
  Parameter<Vec3d> velocity = Vec3d{};
  std::optional<Parameter<double>> flux;
  Parameter<bool> emitting = true;
  Parameter<Vec3d> translate = Vec3d{}, rotate = Vec3d{};
  ObjectList into;
  std::int64_t seed = 1;
  std::map<std::string, double> attributes;
};

/// Area of a region seen along a direction: lines on a lattice, counted where they enter.
double projected_area(const Region& region, const Vec3d& along) {
  const Vec3d d = normalized(along), helper = std::abs(d.x) < 0.6 ? Vec3d{1, 0, 0} : Vec3d{0, 1, 0};
  const Vec3d u = normalized(cross(d, helper)), v = cross(d, u), center = region.bounds.center();
  const double half = 0.5 * length(region.bounds.size());
  constexpr int lines = 96, steps = 96;
  std::int64_t entries = 0;
  for (int i = 0; i < lines; ++i)
    for (int j = 0; j < lines; ++j) {
      bool inside = false;
      for (int k = 0; k < steps; ++k) {
        const Vec3d x = center + (u * (2 * (i + 0.5) / lines - 1) + v * (2 * (j + 0.5) / lines - 1) +
                                  d * (2 * (k + 0.5) / steps - 1)) *
                                     half;
        const bool now = region.bounds.contains(x) && region.distance(x, half) < 0;
        entries += now && !inside;
        inside = now;
      }
    }
  return static_cast<double>(entries) * std::pow(2 * half / lines, 2);
}

/// Volume that a stream brings in the whole run, about: for forecasts.
double streamed(const SourceSettings& s, const Region& region, const Timeline& timeline) {
  if (s.mode == SourceMode::once || region.bounds.empty()) return 0;
  const Vec3d size = region.bounds.size();
  double volume = 0;
  for (int frame = timeline.first(); frame < timeline.last(); ++frame) {
    if (!s.emitting.at(frame)) continue;
    const Vec3d v = s.velocity.at(frame);
    const double across =
        std::abs(v.x) * size.y * size.z + std::abs(v.y) * size.z * size.x + std::abs(v.z) * size.x * size.y;
    volume += (s.flux ? s.flux->at(frame + 0.5) : across) / timeline.fps;
  }
  return volume;
}

Region moved(const Region& body, const Pose& pose) {
  Region r;
  for (int corner = 0; corner < 8; ++corner)
    r.bounds.add(pose.apply({corner & 1 ? body.bounds.max.x : body.bounds.min.x,
                             corner & 2 ? body.bounds.max.y : body.bounds.min.y,
                             corner & 4 ? body.bounds.max.z : body.bounds.min.z}));
  r.distance = [&body, pose](const Vec3d& x, double reach) { return body.distance(pose.apply_inverse(x), reach); };
  return r;
}

class SourceOperator final : public Operator {
 public:
  SourceOperator(std::string behavior, HybridObject& object, SourceSettings settings, Region region, Motion motion)
      : Operator(std::move(behavior)),
        object_(object),
        s_(std::move(settings)),
        body_(std::move(region)),
        motion_(std::move(motion)) {
    object.state()
        .child(this->behavior())
        .record("drift_x", &drift_.x)
        .record("drift_y", &drift_.y)
        .record("drift_z", &drift_.z)
        .record("last", &last_)
        .record("last_flux", &last_flux_)
        .record("owed", &owed_);
  }

  void plan(TaskList& tasks) override {
    std::vector<ChannelAccess> accesses{writes(object_.path(), "*")};
    for (const Collider* c : object_.colliders()) accesses.push_back(reads(c->path(), "surface"));
    tasks.add({.name = "pour into " + object_.path(),
               .stage = Stage::emit,
               .behavior = behavior(),
               .accesses = std::move(accesses),
               .after = object_.pours_so_far(behavior() + ":pour into " + object_.path()),
               .acting = {},
               .run = [this](StepContext& c) { return s_.mode == SourceMode::once ? pour_once(c) : stream(c); }});
  }

 private:
  SeedSettings seeding() const {
    SeedSettings s = object_.seeding();
    s.seed = s_.seed + 7919 * s.seed;
    return s;
  }

  Status pour_once(StepContext& c) {
    if (!c.first_frame) return {};
    const Vec3d v = s_.velocity.at(c.frame_time);
    const Region region = moved(body_, motion_.at(c.time));
    if (object_.fill(
            c.exec, region, seeding(), [&](const Vec3d&) { return v; }, Pour{.attributes = s_.attributes}) == 0)
      warn_empty(c);
    return {};
  }

  Status stream(StepContext& c) {
    const double since = c.first_frame ? 0 : c.time - last_;
    last_ = c.time;
    if (!s_.emitting.at(c.frame_time)) return {};
    const Region region = moved(body_, motion_.at(c.time));
    Vec3d v = s_.velocity.at(c.frame_time);
    const double share = object_.particle_mass() / object_.settings().density;
    double pace = 1;
    if (s_.flux) {
      const double wanted = s_.flux->at(c.frame_time), area = projected_area_of(v);
      if (!(area > 0))
        return simulation_error("source '{}': its velocity is zero or its region empty, so no flux can leave it",
                                behavior());
      v = normalized(v) * (wanted / area);
      // Led so that what was emitted catches up with what was asked for.
      owed_ += 0.5 * (std::exchange(last_flux_, wanted) + wanted) * since;
      pace = since > 0 && wanted > 0 ? std::clamp(owed_ / (wanted * since), 0.0, 3.0) : 1.0;
    }
    const Vec3d step = v * (since * pace);
    drift_ += step;
    SeedSettings seeds = seeding();
    seeds.offset = drift_;
    seeds.smooth_surface = false;
    const auto entered = [&](const Vec3d& x) {
      const Vec3d before = x - step;
      return !(region.bounds.contains(before) && region.distance(before, object_.spacing()) < 0);
    };
    std::int64_t born = 0;
    Pour pour{.attributes = s_.attributes};
    if (!c.first_frame) pour.also = entered;
    if (c.first_frame || since > 0)
      born = object_.fill(
          c.exec, region, seeds, [&](const Vec3d&) { return v; }, pour);
    if (c.first_frame && born == 0) warn_empty(c);
    if (s_.flux && !c.first_frame) owed_ -= static_cast<double>(born) * share;
    drive(c.exec, region, v);
    return {};
  }

  double projected_area_of(const Vec3d& v) {
    if (!(length(v) > 0)) return 0;
    const Vec3d d = normalized(v);
    if (!(d == area_direction_))
      area_ = projected_area(body_, transpose(motion_.at(last_).rotation) * d), area_direction_ = d;
    return area_;
  }

  /// What is inside the region moves as the source says.
  void drive(Exec& exec, const Region& region, const Vec3d& v) {
    ParticleSystem& particles = *object_.particles();
    for_each_bucket(
        exec, "drive", particles.topology(),
        [&](const Bucket& b, auto& p, auto& velocity) {
          if (p.count == 0 || !region.bounds.overlaps(b.topology.box(b.index))) return;
          for (std::size_t i = 0; i < p.count; ++i) {
            const Vec3d x = b.origin() + Vec3d(p[i]) * b.spacing();
            if (region.bounds.contains(x) && region.distance(x, b.spacing()) < 0) velocity.set(i, Vec3f(v));
          }
        },
        particles.read(particle::position), particles.write(particle::velocity));
  }

  void warn_empty(StepContext& c) const {
    c.warn(
        fmt::format("source '{}' holds no liquid: it is smaller than a particle, inside a solid, or outside the domain",
                    behavior()));
  }

  HybridObject& object_;
  SourceSettings s_;
  Region body_;
  Motion motion_;
  Vec3d drift_{};
  double last_ = 0, last_flux_ = 0, owed_ = 0;
  Vec3d area_direction_{};
  double area_ = 0;
};

class SinkOperator final : public Operator {
 public:
  SinkOperator(std::string behavior, HybridObject& object, Region region, Motion motion)
      : Operator(std::move(behavior)), object_(object), body_(std::move(region)), motion_(std::move(motion)) {}
  void plan(TaskList& tasks) override {
    tasks.add({.name = "drain " + object_.path(),
               .stage = Stage::remove,
               .behavior = behavior(),
               .accesses = {writes(object_.path(), "*")},
               .after = object_.drains_so_far(behavior() + ":drain " + object_.path()),
               .acting = {},
               .run = [this](StepContext& c) { return drain(c); }});
  }

 private:
  Status drain(StepContext& c) {
    const Region region = moved(body_, motion_.at(c.time + c.dt));
    ParticleSystem& particles = *object_.particles();
    std::int64_t marked = 0;
    std::mutex mutex;
    for_each_bucket(
        c.exec, "drain", particles.topology(),
        [&](const Bucket& b, auto& p, auto& id) {
          if (p.count == 0 || !region.bounds.overlaps(b.topology.box(b.index).grown(4 * b.spacing()))) return;
          std::int64_t here = 0;
          for (std::size_t i = 0; i < p.count; ++i) {
            const Vec3d x = b.origin() + Vec3d(p[i]) * b.spacing();
            if (id[i] >= 0 && region.bounds.contains(x) && region.distance(x, b.spacing()) < 0)
              id.set(i, ~id[i]), ++here;
          }
          if (!here) return;
          std::lock_guard lock(mutex);
          marked += here;
        },
        particles.read(particle::position), particles.write(particle::id));
    return object_.drop_marked(c.exec, marked);
  }

  HybridObject& object_;
  Region body_;
  Motion motion_;
};

bool matches(const std::string& path, const std::string& name) { return path == name || path.ends_with("/" + name); }

/// The Hybrid Objects that a Behavior's `into` or `from` names; all in the group if it names none.
Result<std::vector<HybridObject*>> hybrids_named(Builder& build, const ObjectList& list) {
  std::vector<HybridObject*> found;
  for (Object* o : build.objects())
    if (auto* h = dynamic_cast<HybridObject*>(o);
        h && (list.empty() || std::any_of(list.names.begin(), list.names.end(),
                                          [&](const std::string& n) { return matches(h->path(), n); })))
      found.push_back(h);
  for (const std::string& name : list.names)
    if (std::none_of(found.begin(), found.end(), [&](HybridObject* h) { return matches(h->path(), name); }))
      return usage_error(list.where, "there is no liquid '{}' in this group", name);
  return found;
}

Result<Region> region_of(Builder& build, const std::optional<ShapeSettings>& shape, const Located<std::string>& input) {
  if (shape) {
    const Result<Shape> made = Shape::create(*shape);
    if (!made) return made.error();
    return inside(*made);
  }
  auto surface = load_surface(build, input);
  if (!surface) return surface.error();
  if ((*surface)->thin())
    return usage_error(input.where, "the mesh of '{}' is open and has no inside; close its holes", input.value);
  return inside(*surface);
}

std::string check_form(const Located<std::string>& input, const std::optional<ShapeSettings>& shape) {
  if (input.value.empty() == !shape.has_value()) return "give either 'input' or 'shape'";
  if (shape && (shape->kind == ShapeKind::disc || shape->kind == ShapeKind::rectangle))
    return "a thin sheet has no inside; use a cylinder or a box";
  return "";
}

class Source final : public Behavior {
 public:
  using Settings = SourceSettings;
  static TypeInfo info() {
    return {"source", Category::emitter, "Source", "Puts liquid into Hybrid Objects: a body of it once, or a stream.",
            "`once` fills the region at the first frame. `continuous` keeps it filled with liquid that moves at "
            "`velocity`: a lattice of particles moves through the region, and "
            "those that enter it are born. With `flux` the speed follows from it and the region's area across "
            "`velocity`, and the lattice is led so that the volume emitted follows the "
            "flux to the layer of particles, up to the begin of the substep.\n\nLimits: the stream is driven by "
            "setting velocities inside the region; deep under "
            "the surface of a closed tank the pressure resists."};
  }
  static void describe(Schema<Settings>& s) {
    s.field("input", &Settings::input).doc("Name of the input whose closed mesh is the region.");
    s.field("shape", &Settings::shape).doc("A shape instead of a mesh.");
    s.field("mode", &Settings::mode)
        .choices({{"once", SourceMode::once, "At the first frame."},
                  {"continuous", SourceMode::continuous, "All the time."}})
        .doc("When liquid appears.");
    s.field("velocity", &Settings::velocity)
        .unit("m/s")
        .doc("Velocity of the liquid; with `flux` only its direction counts.");
    s.field("flux", &Settings::flux).unit("m^3/s").min(0).doc("Volume per second.");
    s.field("emitting", &Settings::emitting).doc("Whether the stream runs; keyframes turn it on and off.");
    s.field("translate", &Settings::translate).unit("m").doc("Where the region is moved to; keyframes make it move.");
    s.field("rotate", &Settings::rotate).unit("rad").doc("Rotation about the world's x, then y, then z axis.");
    s.field("into", &Settings::into).doc("Liquids to pour into; all in the group if not given.");
    s.field("attributes", &Settings::attributes).doc("Values of the liquid's `attributes` for what is poured.");
    s.field("seed", &Settings::seed).advanced().doc("Another seed gives another jitter.");
    s.check([](const Settings& v) -> std::string {
      if (const std::string wrong = check_form(v.input, v.shape); !wrong.empty()) return wrong;
      if (v.shape && v.shape->kind == ShapeKind::plane) return "a plane is endless; use a box";
      if (v.flux && v.mode == SourceMode::once) return "'flux' needs 'mode: continuous'";
      if (v.mode == SourceMode::continuous && !v.velocity.animated() && length(v.velocity.constant()) == 0)
        return "a continuous source needs a 'velocity'; with 'flux' its direction";
      return "";
    });
  }
  explicit Source(Scoped<Settings> s) : settings_(std::move(s)) {}
  Status create_actions(Builder& build) override {
    auto targets = hybrids_named(build, settings_.base.into);
    if (!targets) return targets.error();
    if (targets->empty()) return build.switch_off("no liquid in its group"), Status();
    for (HybridObject* object : *targets) {
      const Settings& s = settings_.of(object->path());
      const Result<Motion> motion = keyed_motion(s.translate, s.rotate, build.timeline());
      if (!motion) return motion.error();
      Result<Region> region = region_of(build, s.shape, s.input);
      if (!region) return region.error();
      if (Status ok = object->check_attributes(s.attributes); !ok) return ok;
      object->expect(expected_seeds(*region, object->seeding()));
      object->expect(streamed(s, *region, build.timeline()) * object->settings().density / object->particle_mass());
      build.add(std::make_unique<SourceOperator>(build.path(), *object, s, std::move(*region), *motion));
    }
    return {};
  }

 private:
  Scoped<Settings> settings_;
};

class Sink final : public Behavior {
 public:
  struct Settings {
    Located<std::string> input;
    std::optional<ShapeSettings> shape;
    Parameter<Vec3d> translate = Vec3d{}, rotate = Vec3d{};
    ObjectList from;
  };
  static TypeInfo info() {
    return {"sink", Category::operator_, "Sink", "Takes away the liquid that enters a region.",
            "Particles inside at the end of a substep are removed and counted in the statistics. The pressure does not "
            "know of a sink: it does not suck."};
  }
  static void describe(Schema<Settings>& s) {
    s.field("input", &Settings::input).doc("Name of the input whose closed mesh is the region.");
    s.field("shape", &Settings::shape).doc("A shape instead of a mesh.");
    s.field("translate", &Settings::translate).unit("m").doc("Where the region is moved to; keyframes make it move.");
    s.field("rotate", &Settings::rotate).unit("rad").doc("Rotation about the world's x, then y, then z axis.");
    s.field("from", &Settings::from).doc("Liquids that it takes from; all in the group if not given.");
    s.check([](const Settings& v) { return check_form(v.input, v.shape); });
  }
  explicit Sink(Scoped<Settings> s) : settings_(std::move(s)) {}
  Status create_actions(Builder& build) override {
    auto targets = hybrids_named(build, settings_.base.from);
    if (!targets) return targets.error();
    if (targets->empty()) return build.switch_off("no liquid in its group"), Status();
    for (HybridObject* object : *targets) {
      const Settings& s = settings_.of(object->path());
      const Result<Motion> motion = keyed_motion(s.translate, s.rotate, build.timeline());
      if (!motion) return motion.error();
      Result<Region> region = region_of(build, s.shape, s.input);
      if (!region) return region.error();
      build.add(std::make_unique<SinkOperator>(build.path(), *object, std::move(*region), *motion));
    }
    return {};
  }

 private:
  Scoped<Settings> settings_;
};

}  // namespace

void register_source(Catalog& catalog) { catalog.add<Source>(), catalog.add<Sink>(); }

}  // namespace aegir
