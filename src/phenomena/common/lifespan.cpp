// Lifespan: particles older than their span are removed.
#include "phenomena/common/lifespan.h"

#include <mutex>

#include "base/random.h"
#include "domain/for_each_bucket.h"
#include "phenomena/common/channels.h"
#include "pipeline/model/action.h"
#include "pipeline/model/behavior.h"
#include "pipeline/model/object.h"
#include "pipeline/schema/catalog.h"

namespace aegir {
namespace {

struct LifespanSettings {
  Parameter<double> span = 1.0;
  double variation = 0;
  std::int64_t seed = 1;
};

class LifespanOperator final : public Operator {
 public:
  LifespanOperator(std::string behavior, Object& object, LifespanSettings settings)
      : Operator(std::move(behavior)), object_(object), s_(std::move(settings)) {}

  void plan(TaskList& tasks) override {
    std::vector<ChannelAccess> accesses{writes(object_.path(), "*")};
    tasks.add({.name = "remove old of " + object_.path(),
               .stage = Stage::remove,
               .behavior = behavior(),
               .accesses = accesses,
               .after = {},
               .acting = {},
               .run = [this](StepContext& c) { return remove(c); }});
  }

 private:
  Status remove(StepContext& c) {
    ParticleSystem& particles = *object_.particles();
    const double span = s_.span.at(c.frame_time);
    std::int64_t marked = 0;
    std::mutex mutex;
    for_each_bucket(
        c.exec, "lifespan", particles.topology(),
        [&](const Bucket&, auto& id, auto& age) {
          std::int64_t here = 0;
          for (std::size_t i = 0; i < id.count; ++i) {
            const Random draw(static_cast<std::uint64_t>(s_.seed), static_cast<std::uint64_t>(id[i]), 0,
                              Purpose::lifespan);
            const double mine = s_.variation > 0 ? span * (1 + s_.variation * (2 * draw.uniform(0) - 1)) : span;
            if (id[i] >= 0 && static_cast<double>(age[i]) >= mine) id.set(i, ~id[i]), ++here;
          }
          if (here) {
            std::lock_guard lock(mutex);
            marked += here;
          }
        },
        particles.write(particle::id), particles.read(particle::age));
    return c.exec.comm.sum(marked) ? particles.rebucket(c.exec) : Status();
  }

  Object& object_;
  LifespanSettings s_;
};

class Lifespan final : public Behavior {
 public:
  using Settings = LifespanSettings;
  static TypeInfo info() {
    return {"lifespan", Category::operator_, "Lifespan", "Removes particles when they are old enough.",
            "A particle is removed at the end of the substep in which its `age` reaches `span · (1 ± variation)`; the "
            "variation is drawn from its id."};
  }
  static void describe(Schema<Settings>& s) {
    s.field("span", &Settings::span).unit("s").above(0).doc("Age at which a particle goes.");
    s.field("variation", &Settings::variation)
        .min(0)
        .max(1)
        .doc("Spans are spread evenly between (1 - variation) and (1 + variation) times `span`.");
    s.field("seed", &Settings::seed).doc("Another seed gives other random numbers.");
  }
  explicit Lifespan(Scoped<Settings> s) : settings_(std::move(s)) {}
  Status create_actions(Builder& build) override {
    int acting = 0;
    for (Object* o : build.objects())
      if (o->particles() && o->particles()->has(particle::age.name))
        build.add(std::make_unique<LifespanOperator>(build.path(), *o, settings_.of(o->path()))), ++acting;
    if (!acting) build.switch_off("no Object in its group has particles with an age");
    return {};
  }

 private:
  Scoped<Settings> settings_;
};

}  // namespace

void register_lifespan(Catalog& catalog) { catalog.add<Lifespan>(); }

}  // namespace aegir
