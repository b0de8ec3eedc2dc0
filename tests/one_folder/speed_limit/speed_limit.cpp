// Speed limit: no particle is faster than allowed after forces.
#include "speed_limit/speed_limit.h"

#include "domain/for_each_bucket.h"
#include "phenomena/common/channels.h"
#include "pipeline/model/action.h"
#include "pipeline/model/behavior.h"
#include "pipeline/model/object.h"
#include "pipeline/schema/catalog.h"

namespace aegir {
namespace {

class SpeedLimitOperator final : public Operator {
 public:
  SpeedLimitOperator(std::string behavior, Object& object, double limit)
      : Operator(std::move(behavior)), object_(object), limit_(static_cast<float>(limit)) {}
  void plan(TaskList& tasks) override {
    tasks.add({.name = "limit",
               .stage = Stage::after_forces,
               .behavior = behavior(),
               .accesses = {writes(object_.path(), "v")},
               .after = {},
               .acting = {},
               .run = [this](StepContext& c) {
                 ParticleSystem& particles = *object_.particles();
                 for_each_bucket(
                     c.exec, "speed limit", particles.topology(),
                     [&](const Bucket&, auto& v) {
                       for (std::size_t i = 0; i < v.count; ++i)
                         if (const float speed = length(v[i]); speed > limit_) v.set(i, v[i] * (limit_ / speed));
                     },
                     particles.write(particle::velocity));
                 return Status();
               }});
  }

 private:
  Object& object_;
  float limit_;
};

class SpeedLimit final : public Behavior {
 public:
  struct Settings {
    double limit = 10;
  };
  static TypeInfo info() {
    return {"speed_limit", Category::operator_, "Speed limit", "Keeps particles below a speed.",
            "`v' = v min(1, limit / |v|)`; not physical."};
  }
  static void describe(Schema<Settings>& s) {
    s.field("limit", &Settings::limit).unit("m/s").above(0).doc("The greatest speed.");
  }
  explicit SpeedLimit(Scoped<Settings> s) : settings_(std::move(s)) {}
  Status create_actions(Builder& build) override {
    for (Object* o : build.objects())
      if (o->particles())
        build.add(std::make_unique<SpeedLimitOperator>(build.path(), *o, settings_.of(o->path()).limit));
    return {};
  }

 private:
  Scoped<Settings> settings_;
};

}  // namespace

void register_speed_limit(Catalog& catalog) { catalog.add<SpeedLimit>(); }

}  // namespace aegir
