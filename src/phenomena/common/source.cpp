// Source: puts liquid into Hybrid Objects, once or as a stream.
//
// A stream is a lattice of particles that moves with the source's velocity through its region: whoever enters the
// region between two substeps is born. What flows out is therefore velocity × projected area, without gaps or doubled
// places. Particles inside, the faces of the grid there and the lattice all move alike (inflow.h).
#include "phenomena/common/source.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "phenomena/common/liquid_region.h"
#include "phenomena/common/source_targets.h"
#include "pipeline/schema/catalog.h"

namespace aegir {
namespace {

enum class SourceMode { once, continuous };

struct SourceSettings : RegionSettings {
  std::optional<PointsReference> point_cloud;
  SourceMode mode = SourceMode::once;
  Parameter<Vec3d> velocity = Vec3d{};
  std::optional<VolumeReference> velocity_field;
  std::optional<Parameter<double>> flux;
  Parameter<bool> emitting = true;
  Parameter<Vec3d> translate = Vec3d{}, rotate = Vec3d{};
  ObjectList into;
  std::int64_t seed = 1;
  std::map<std::string, double> attributes;
};

/// Volume that a stream brings in the whole run, about: for forecasts.
double streamed(const SourceSettings& s, const Region& region, const Timeline& timeline) {
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

/// What all sources have.
class SourceOperator : public Operator {
 public:
  SourceOperator(std::string behavior, HybridObject& object, SourceSettings settings, Motion motion)
      : Operator(std::move(behavior)), object_(object), s_(std::move(settings)), motion_(std::move(motion)) {
    state_ = &object.state().child(this->behavior()).record("added", &added_);
    object.book_added(this->behavior(), added_);
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
               .run = [this](StepContext& c) { return pour(c); }});
  }

 protected:
  virtual Status pour(StepContext& c) = 0;

  SeedSettings seeding() const {
    SeedSettings s = object_.seeding();
    s.seed = s_.seed + 7919 * s.seed;
    return s;
  }
  void warn_empty(StepContext& c) const {
    c.warn(
        fmt::format("source '{}' holds no liquid: it is smaller than a particle, inside a solid, or outside the domain",
                    behavior()));
  }

  HybridObject& object_;
  SourceSettings s_;
  Motion motion_;
  StateTree* state_;
  double added_ = 0;  // kg
};

using Vectors = std::shared_ptr<const VolumeField>;

/// Fills a region at the first frame.
class FillOnce final : public SourceOperator {
 public:
  FillOnce(std::string behavior, HybridObject& object, SourceSettings settings, Motion motion, Region region,
           Vectors velocity)
      : SourceOperator(std::move(behavior), object, std::move(settings), std::move(motion)),
        body_(std::move(region)),
        field_(std::move(velocity)) {}

 private:
  Status pour(StepContext& c) override {
    if (!c.first_frame) return {};
    const Vec3d v = s_.velocity.at(c.frame_time);
    const auto velocity = [&](const Vec3d& x) { return field_ ? v + Vec3d(field_->vector(x)) : v; };
    const Pour how{.attributes = s_.attributes, .pose = motion_.at(c.time)};
    const std::int64_t born = object_.fill(c.exec, body_, seeding(), velocity, how);
    if (born == 0) warn_empty(c);
    added_ += static_cast<double>(born) * object_.particle_mass();
    return {};
  }

  Region body_;
  Vectors field_;
};

/// Puts the points of a file in at the first frame.
class PointsOnce final : public SourceOperator {
 public:
  PointsOnce(std::string behavior, HybridObject& object, SourceSettings settings, Motion motion,
             std::shared_ptr<const PointSet> points)
      : SourceOperator(std::move(behavior), object, std::move(settings), std::move(motion)),
        points_(std::move(points)) {
    object.uneven |= points_->find("pscale") != nullptr;
  }

 private:
  Status pour(StepContext& c) override {
    if (!c.first_frame) return {};
    const double mass = object_.fill(c.exec, *points_, s_.velocity.at(c.frame_time),
                                     Pour{.attributes = s_.attributes, .pose = motion_.at(c.time)});
    if (mass == 0) warn_empty(c);
    added_ += mass;
    return {};
  }

  std::shared_ptr<const PointSet> points_;
};

class Stream final : public SourceOperator {
 public:
  Stream(std::string behavior, HybridObject& object, SourceSettings settings, Motion motion, Region region)
      : SourceOperator(std::move(behavior), object, std::move(settings), std::move(motion)),
        body_(std::move(region)),
        inflow_(object.inflows().add(body_)) {
    state_->record("drift_x", &drift_.x).record("drift_y", &drift_.y).record("drift_z", &drift_.z);
    state_->record("step_x", &step_.x).record("step_y", &step_.y).record("step_z", &step_.z);
    state_->record("due", &due_).record("owed", &owed_);
    inflow_.begin = motion_.at(0);
  }
  /// The region is full from the first frame on.
  void fill_first() { inflow_.fills = true; }

 private:
  Status pour(StepContext& c) override {
    inflow_.active = s_.emitting.at(c.frame_time);
    inflow_.begin = motion_.at(c.time), inflow_.end = motion_.at(c.time + c.dt), inflow_.dt = c.dt;
    if (c.first_frame && !inflow_.active) return {};
    if (Status ok = aim(c); !ok) return ok;
    const std::int64_t born = c.first_frame || !(step_ == Vec3d{}) ? emit(c) : 0;
    if (c.first_frame && born == 0) warn_empty(c);
    added_ += static_cast<double>(born) * object_.particle_mass();
    if (!c.first_frame)
      owed_ += due_ - static_cast<double>(born) * object_.particle_mass() / object_.settings().density;
    due_ = 0, step_ = {};
    if (!inflow_.active) return owed_ = 0, Status();
    // What was born too little or too much is made up for over a few cells of the stream.
    if (s_.flux && area_ > 0) {
      constexpr double catch_up = 4, most = 0.5;
      inflow_.velocity *= 1 + std::clamp(owed_ / (area_ * catch_up * object_.spacing()), -most, most);
      due_ = inflow_.flux * c.dt;
    }
    inflow_.flux = length(inflow_.velocity) * area_;
    inflow_.step = step_ = inflow_.begin.direction_inverse(inflow_.velocity * c.dt) / inflow_.begin.scale;
    return {};
  }

  /// The velocity and flux that are asked for in this substep.
  Status aim(StepContext& c) {
    inflow_.velocity = s_.velocity.at(c.frame_time);
    find_area();
    if (!s_.flux || !inflow_.active) return {};
    inflow_.flux = 0.5 * (s_.flux->at(c.frame_time) + s_.flux->at(c.frame_time + c.dt * c.fps));
    if (!(area_ > 0))
      return simulation_error("source '{}': its velocity is zero or its region empty, so no flux can leave it",
                              behavior());
    inflow_.velocity = normalized(inflow_.velocity) * (inflow_.flux / area_);
    return {};
  }

  /// Births of what has entered the region in the last substep; at the first frame of all that is inside.
  std::int64_t emit(StepContext& c) {
    drift_ += step_;
    SeedSettings seeds = seeding();
    seeds.offset = drift_;
    seeds.smooth_surface = false;
    const Vec3d along = inflow_.begin.direction_inverse(inflow_.velocity);
    if (seeds.jitter > 0) {
      seeds.stagger = 0;
      for (int a = 1; a < 3; ++a)
        if (std::abs(along[a]) > std::abs(along[seeds.stagger])) seeds.stagger = a;
    }
    Pour how{.attributes = s_.attributes, .inflow = &inflow_, .pose = inflow_.begin};
    if (!c.first_frame) how.also = [&](const Vec3d& place) { return !inflow_.holds(place - step_, object_.spacing()); };
    const auto velocity = [&](const Vec3d& x) {
      if (!(c.dt > 0)) return inflow_.velocity;
      return inflow_.velocity + (inflow_.end.apply(inflow_.begin.apply_inverse(x)) - x) / c.dt;
    };
    return object_.fill(c.exec, body_, seeds, velocity, how);
  }

  void find_area() {
    const Vec3d along = inflow_.begin.direction_inverse(inflow_.velocity);
    if (!(length(along) > 0)) return void(area_ = 0);
    if (const Vec3d d = normalized(along); !(d == area_direction_))
      area_ = projected_area(body_, d), area_direction_ = d;
  }

  Region body_;
  Inflow& inflow_;
  Vec3d drift_{}, step_{};     // of the lattice; of the lattice in this substep; in the region's frame
  double due_ = 0, owed_ = 0;  // m³ asked for in this substep; asked for and not yet born
  Vec3d area_direction_{};
  double area_ = 0;
};

class Source final : public Behavior {
 public:
  using Settings = SourceSettings;
  static TypeInfo info() {
    return {"source", Category::emitter, "Source", "Puts liquid into Hybrid Objects: a body of it once, or a stream.",
            "`once` fills the region at the first frame, or puts particles at the points of a file. `continuous` keeps "
            "the region filled with liquid that moves at `velocity`, and with the region where that is moved: a "
            "lattice of particles moves through it, and those that enter are born. On the grid the region is a body "
            "that pushes liquid out on its downstream side and is closed on its other sides, so a stream under water "
            "delivers what one in air does. With `flux` the speed follows from it and the region's area across "
            "`velocity`.\n\nLimits: a region narrower than two cells is not seen by the grid, and its stream is that "
            "of single particles. In a closed tank without a free surface there is no room for a stream."};
  }
  static void describe(Schema<Settings>& s) {
    describe_region(s);
    s.field("point_cloud", &Settings::point_cloud)
        .doc(
            "Points of an OpenVDB file instead of a region: one particle each, with their `v` added to `velocity`, "
            "their `pscale` as radius, which decides the mass, and the liquid's `attributes` of the same name.");
    s.field("mode", &Settings::mode)
        .choices({{"once", SourceMode::once, "At the first frame."},
                  {"continuous", SourceMode::continuous, "All the time."}})
        .doc("When liquid appears.");
    s.field("velocity", &Settings::velocity)
        .unit("m/s")
        .doc("Velocity of the liquid; with `flux` only its direction counts.");
    s.field("velocity_field", &Settings::velocity_field)
        .doc("Velocities of an OpenVDB volume, added to `velocity`; for `once`.");
    s.field("flux", &Settings::flux).unit("m^3/s").min(0).doc("Volume per second.");
    s.field("emitting", &Settings::emitting).doc("Whether the stream runs; keyframes turn it on and off.");
    s.field("translate", &Settings::translate).unit("m").doc("Where the region is moved to; keyframes make it move.");
    s.field("rotate", &Settings::rotate).unit("rad").doc("Rotation about the world's x, then y, then z axis.");
    s.field("into", &Settings::into).doc("Liquids to pour into; all in the group if not given.");
    s.field("attributes", &Settings::attributes).doc("Values of the liquid's `attributes` for what is poured.");
    s.field("seed", &Settings::seed).advanced().doc("Another seed gives another jitter.");
    s.check(check);
  }
  explicit Source(Scoped<Settings> s) : settings_(std::move(s)) {}
  Status create_actions(Builder& build) override {
    return for_each_target(build, settings_, settings_.base.into,
                           [&](HybridObject& object, const Settings& s, const Motion& motion) -> Status {
                             if (Status ok = object.check_attributes(s.attributes); !ok) return ok;
                             if (s.point_cloud) return put_points(build, object, s, motion);
                             return s.mode == SourceMode::once ? put_once(build, object, s, motion)
                                                               : put_stream(build, object, s, motion);
                           });
  }

 private:
  static std::string check(const Settings& v) {
    if (v.given() + (v.point_cloud ? 1 : 0) != 1) return "give one of 'input', 'shape', 'level_set' and 'point_cloud'";
    if (const std::string wrong = v.trouble(); !wrong.empty()) return wrong;
    if (v.shape && v.shape->kind == ShapeKind::plane) return "a plane is endless; use a box";
    if (v.flux && v.mode == SourceMode::once) return "'flux' needs 'mode: continuous'";
    if (v.mode == SourceMode::once)
      return v.point_cloud && v.velocity_field ? "'point_cloud' brings its own velocities" : "";
    if (v.point_cloud) return "'point_cloud' is put in once; a stream needs a region";
    if (v.velocity_field) return "'velocity_field' needs 'mode: once'; a stream has one 'velocity'";
    if (!v.velocity.animated() && length(v.velocity.constant()) == 0)
      return "a continuous source needs a 'velocity'; with 'flux' its direction";
    return "";
  }

  static Status put_points(Builder& build, HybridObject& object, const Settings& s, const Motion& motion) {
    const auto points = load_points(build, *s.point_cloud);
    if (!points) return points.error();
    object.expect(static_cast<double>((*points)->size()));
    build.add(std::make_unique<PointsOnce>(build.path(), object, s, motion, *points));
    return {};
  }
  static Status put_once(Builder& build, HybridObject& object, const Settings& s, const Motion& motion) {
    Result<Region> region = load_region(build, s);
    if (!region) return region.error();
    Vectors field;
    if (s.velocity_field) {
      const auto loaded = load_vectors(build, *s.velocity_field);
      if (!loaded) return loaded.error();
      field = *loaded;
    }
    object.expect(expected_seeds(*region, object.seeding()));
    build.add(std::make_unique<FillOnce>(build.path(), object, s, motion, std::move(*region), std::move(field)));
    return {};
  }
  static Status put_stream(Builder& build, HybridObject& object, const Settings& s, const Motion& motion) {
    Result<Region> region = load_region(build, s);
    if (!region) return region.error();
    const double volume = region->bounds.empty() ? 0 : streamed(s, *region, build.timeline());
    object.expect(expected_seeds(*region, object.seeding()) +
                  volume * object.settings().density / object.particle_mass());
    auto stream = std::make_unique<Stream>(build.path(), object, s, motion, std::move(*region));
    if (s.emitting.at(build.timeline().first())) stream->fill_first();
    build.add(std::move(stream));
    return {};
  }

  Scoped<Settings> settings_;
};

}  // namespace

void register_source(Catalog& catalog) { catalog.add<Source>(); }

}  // namespace aegir
