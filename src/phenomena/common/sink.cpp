// Sink: takes liquid away.
#include "phenomena/common/liquid_region.h"
#include "phenomena/common/source.h"
#include "phenomena/common/source_targets.h"
#include "pipeline/schema/catalog.h"

namespace aegir {
namespace {

class SinkOperator final : public Operator {
 public:
  SinkOperator(std::string behavior, HybridObject& object, Region region, Motion motion)
      : Operator(std::move(behavior)), object_(object), body_(std::move(region)), motion_(std::move(motion)) {
    object.state().child(this->behavior()).record("removed", &removed_);
    object.book_removed(this->behavior(), removed_);
  }
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
    const Pose pose = motion_.at(c.time + c.dt);
    const double reach = object_.spacing();
    const auto gone = [&](const Vec3d& x) {
      const Vec3d place = pose.apply_inverse(x);
      return body_.bounds.contains(place) && body_.distance(place, reach) < 0;
    };
    return object_.take_out(c.exec, moved(body_.bounds, pose), gone, removed_);
  }

  HybridObject& object_;
  Region body_;
  Motion motion_;
  double removed_ = 0;  // kg
};

class Sink final : public Behavior {
 public:
  struct Settings : RegionSettings {
    Parameter<Vec3d> translate = Vec3d{}, rotate = Vec3d{};
    ObjectList from;
  };
  static TypeInfo info() {
    return {"sink", Category::operator_, "Sink", "Takes away the liquid that enters a region.",
            "Particles inside at the end of a substep are removed and counted in the statistics: how many by liquid "
            "(`removed_particles`), their mass by sink (`removed`). The pressure does not know of a sink: it does not "
            "suck."};
  }
  static void describe(Schema<Settings>& s) {
    describe_region(s);
    s.field("translate", &Settings::translate).unit("m").doc("Where the region is moved to; keyframes make it move.");
    s.field("rotate", &Settings::rotate).unit("rad").doc("Rotation about the world's x, then y, then z axis.");
    s.field("from", &Settings::from).doc("Liquids that it takes from; all in the group if not given.");
    s.check([](const Settings& v) -> std::string {
      return v.given() == 1 ? v.trouble() : "give one of 'input', 'shape' and 'level_set'";
    });
  }
  explicit Sink(Scoped<Settings> s) : settings_(std::move(s)) {}
  Status create_actions(Builder& build) override {
    return for_each_target(
        build, settings_, settings_.base.from,
        [&](HybridObject& object, const Settings& s, const Motion& motion) -> Status {
          Result<Region> region = load_region(build, s);
          if (!region) return region.error();
          build.add(std::make_unique<SinkOperator>(build.path(), object, std::move(*region), motion));
          return {};
        });
  }

 private:
  Scoped<Settings> settings_;
};

}  // namespace

void register_sink(Catalog& catalog) { catalog.add<Sink>(); }

}  // namespace aegir
