// Transition: particles that change their nature go from one Object to another. Which way is told by the Objects: from
// a liquid to particles they break away, from particles to a liquid they rejoin.
#include <algorithm>
#include <array>
#include <cmath>

#include "phenomena/coupling/break_away.h"
#include "phenomena/coupling/register.h"
#include "phenomena/coupling/rejoin.h"
#include "phenomena/coupling/swallow.h"
#include "phenomena/coupling/when.h"
#include "pipeline/model/behavior.h"
#include "pipeline/schema/catalog.h"
#include "pipeline/schema/suggest.h"

namespace aegir {
namespace {

using Range = std::array<double, 2>;

struct SplitSettings {
  SizeLaw distribution = SizeLaw::inverse_cubic;
  std::optional<Range> radius;
  Parameter<double> amount = 1.0;
  int most = 16;
  Parameter<double> spread = 0.25;
  double weighting = 1;
};
void describe(Schema<SplitSettings>& s) {
  s.field("distribution", &SplitSettings::distribution)
      .choices({{"inverse_cubic", SizeLaw::inverse_cubic, "`p(r) ∝ 1/r³`: every size brings the same volume."},
                {"uniform", SizeLaw::uniform, "All radii alike."}})
      .doc("How many droplets of which radius.");
  s.field("radius", &SplitSettings::radius)
      .unit("m")
      .min(1e-6)
      .doc(
          "Smallest and greatest radius; 0.3 and 0.8 of the radius of the liquid's particles if not given. All "
          "droplets "
          "of a particle are scaled alike so that they hold its volume: where `most` of them would hold less, they are "
          "greater than asked for.");
  s.field("amount", &SplitSettings::amount)
      .min(0)
      .max(2)
      .doc("0 leaves particles whole, 1 splits them into the sizes of `radius`, more into finer ones.");
  s.field("most", &SplitSettings::most).min(1).max(1000).soft(1, 64).doc("Droplets per particle, at most.");
  s.field("spread", &SplitSettings::spread)
      .unit("m/s")
      .min(0)
      .soft(0, 2)
      .doc(
          "Random velocity between the droplets of a particle, uniform in a ball of this radius, less their mean. The "
          "default is about the speed `√(2 σ / (ρ r))` at which water contracts into drops of 2 mm.");
  s.field("weighting", &SplitSettings::weighting)
      .min(0)
      .max(1)
      .doc(
          "How much the metric beyond its threshold counts: with 1, particles that just reach it make the greatest "
          "droplets without spread, those with a metric of 1 the smallest with all of it; with 0 all are alike.");
  s.check([](const SplitSettings& v) -> std::string {
    return v.radius && (*v.radius)[1] < (*v.radius)[0] ? "'radius' gives the smallest first" : "";
  });
}

struct TransitionSettings {
  Located<std::string> from, to;
  std::optional<Range> speed, surface_distance, neighbours, pressure_gradient;
  std::optional<Parameter<double>> threshold;
  std::optional<SplitSettings> split;
  std::optional<double> density;
  std::optional<double> depth;
  Located<std::string> when;
  double delay = 0.05;
  std::int64_t seed = 1;

  /// Names of what is given and is only for liquid that breaks away.
  const char* of_breaking() const {
    return speed               ? "speed"
           : surface_distance  ? "surface_distance"
           : neighbours        ? "neighbours"
           : pressure_gradient ? "pressure_gradient"
           : threshold         ? "threshold"
           : split             ? "split"
           : density           ? "density"
                               : nullptr;
  }
};

/// Shares of what the inside of a liquid has, and of ρ g: where criteria that nobody gives begin and are met.
constexpr Range few_neighbours{0.4, 0.15}, small_gradient{0.5, 0.1};
constexpr double ball = 4.1887902047863905, earth = 9.81;

BreakingCriteria criteria_of(const TransitionSettings& s, const HybridObject* liquid, const std::string& when) {
  const auto ramp = [](const std::optional<Range>& r) {
    return r ? std::optional(Ramp{(*r)[0], (*r)[1]}) : std::nullopt;
  };
  BreakingCriteria c{ramp(s.speed), ramp(s.surface_distance), ramp(s.neighbours), ramp(s.pressure_gradient), when};
  if (!c.none()) return c;
  const double inside = ball * (liquid ? liquid->particles_per_cell() : 8.0);
  c.neighbours = Ramp{few_neighbours[0] * inside, few_neighbours[1] * inside};
  if (!liquid) return c;
  const double weight = liquid->settings().density * earth;
  c.pressure_gradient = Ramp{small_gradient[0] * weight, small_gradient[1] * weight};
  return c;
}

class Transition final : public Behavior {
 public:
  using Settings = TransitionSettings;
  static TypeInfo info() {
    return {
        "transition", Category::operator_, "Transition",
        "Liquid that breaks away becomes droplets, droplets that fall back become liquid.",
        "The Objects say which way it goes: from a `hybrid` (or a `cached` run) to `particles`, or from `particles` to "
        "a `hybrid`.\n\n"
        "**Breaking away.** Each criterion that is given is a ramp `[from, to]`, upwards or downwards: 0 where the "
        "quantity is `from`, 1 where it is `to`, smooth between. The metric is their product, and a particle leaves "
        "when it reaches `threshold`. Quantities are those of the last substep. Without any criterion, `neighbours` "
        "from 40 to 15 per cent of those inside the liquid and `pressure_gradient` from a half to a tenth of `ρ g` "
        "decide. The particle's mass goes to droplets by `split`.\n\n"
        "`when` is an [expression](../expressions.md) over the particles of `from`, true or false or a number, that "
        "the "
        "metric is multiplied with; without ramps it is the metric: `when: \"@pressure_gradient < 0.15 * $density * $g "
        "&& @neighbours < 12\"`. It is evaluated when a substep ends. `$density` is that of the liquid, `$g` the size "
        "of the gravity that acts on it (9.81 m/s² if there is none); `distance('object')` and `sample()` look at "
        "other Objects.\n\n"
        "**Rejoining.** A droplet deeper than `depth`, or for which `when` holds, joins the nearest particle of the "
        "liquid; one that has thereby "
        "become twice as heavy as it was made divides.\n\n"
        "Mass and momentum are kept to the rounding of floats and told in the statistics: `removed` of one Object and "
        "`added` of the other, and `<path>:momentum_error`, the momentum lost so far over all that was handed over. "
        "Kinetic energy is not kept: `spread` adds some, joining takes some. Attributes of the liquid do not go along "
        "with droplets.\n\n"
        "A cached run stays as it was read: droplets are made and nothing is taken from it, droplets that fall into it "
        "are taken away and it is given nothing."};
  }
  static void describe(Schema<Settings>& s) {
    s.field("from", &Settings::from).required().doc("What changes: a liquid, or particles.");
    s.field("to", &Settings::to).required().doc("What it changes into: particles, or a liquid.");
    s.field("speed", &Settings::speed).unit("m/s").group("breaking away").doc("Ramp of the particle's speed.");
    s.field("surface_distance", &Settings::surface_distance)
        .unit("m")
        .group("breaking away")
        .doc("Ramp of the distance to the liquid's surface, negative inside.");
    s.field("neighbours", &Settings::neighbours)
        .group("breaking away")
        .doc("Ramp of the number of other particles within one cell size; downwards: `[14, 5]`.");
    s.field("pressure_gradient", &Settings::pressure_gradient)
        .unit("Pa/m")
        .group("breaking away")
        .doc("Ramp of the size of the pressure's gradient; small where liquid falls freely: `[5000, 1000]`.");
    s.field("threshold", &Settings::threshold)
        .above(0)
        .max(1)
        .group("breaking away")
        .doc("Metric at which a particle leaves; 0.5 if not given.");
    s.field("split", &Settings::split).group("breaking away").doc("What a particle that leaves falls into.");
    s.field("density", &Settings::density)
        .unit("kg/m^3")
        .above(0)
        .advanced()
        .group("breaking away")
        .doc("Of droplets from a cached run, whose particles have a radius only; 1000 if not given.");
    s.field("depth", &Settings::depth)
        .min(0)
        .max(1)
        .group("rejoining")
        .doc("Cells of the liquid that a droplet must be below its surface; 0.5 if not given.");
    s.field("when", &Settings::when)
        .doc(
            "Expression that decides about each particle of `from`. Breaking away: a factor of the metric, where true "
            "is 1 and false 0. Rejoining: instead of `depth`, droplets join where it is true or at least a half; "
            "`@surface_distance` is their distance to the liquid.");
    s.field("delay", &Settings::delay)
        .unit("s")
        .min(0)
        .doc(
            "Particles younger than this stay what they are: nothing goes to and fro from substep to substep. New "
            "droplets do not collide for as long, so that they part first.");
    s.field("seed", &Settings::seed).advanced().doc("Another seed gives other random numbers.");
    s.check([](const Settings& v) -> std::string {
      const auto flat = [](const std::optional<Range>& r) { return r && (*r)[0] == (*r)[1]; };
      for (const auto& [name, range] :
           {std::pair("speed", v.speed), std::pair("surface_distance", v.surface_distance),
            std::pair("neighbours", v.neighbours), std::pair("pressure_gradient", v.pressure_gradient)})
        if (flat(range)) return fmt::format("the two numbers of '{}' must differ: [from, to]", name);
      if (v.depth && v.of_breaking())
        return fmt::format("'depth' is for droplets that rejoin a liquid, '{}' for liquid that breaks away",
                           v.of_breaking());
      if (v.depth && !v.when->empty()) return "give one of 'depth' and 'when'";
      return "";
    });
  }
  explicit Transition(Scoped<Settings> s) : settings_(std::move(s)) {}

  Status create_actions(Builder& build) override {
    const Settings& base = settings_.base;
    const auto to = find(build, *base.to, base.to.where, "to");
    if (!to) return to.error();
    const auto from = find(build, *base.from, base.from.where, "from");
    if (!from) return from.error();
    return connect(build, **from, **to);
  }

 private:
  static Result<Object*> find(Builder& build, const std::string& name, const Location& where, const char* field) {
    std::vector<std::string> known;
    for (Object* o : build.objects()) {
      if (!o->particles()) continue;
      if (o->named(name)) return o;
      known.push_back(o->path());
    }
    return usage_error(where, "'{}' names '{}', but there is no Object with particles of that name in this group{}",
                       field, name, suggestion(name, known));
  }

  Status connect(Builder& build, Object& from, Object& to) const {
    auto* droplets = dynamic_cast<ParticleObject*>(&to);
    if (droplets && (dynamic_cast<HybridObject*>(&from) || !from.simulated()))
      return break_away(build, from, *droplets);
    auto *liquid = dynamic_cast<HybridObject*>(&to), *other = dynamic_cast<HybridObject*>(&from);
    droplets = dynamic_cast<ParticleObject*>(&from);
    if (liquid && droplets) return rejoin(build, *droplets, *liquid);
    if (droplets && !to.simulated()) return swallow(build, *droplets, to);
    return usage_error(settings_.base.to.where,
                       "'{}' and '{}' are both {}; a transition goes from a liquid to particles or from particles to a "
                       "liquid",
                       from.path(), to.path(), other || !from.simulated() ? "liquids" : "particles");
  }

  Status break_away(Builder& build, Object& from, ParticleObject& to) const {
    const Settings& s = settings_.of(from.path());
    if (s.depth) return usage_error({}, "'depth' is for droplets that rejoin a liquid; '{}' breaks away", from.path());
    const auto* liquid = dynamic_cast<HybridObject*>(&from);
    const SplitSettings split = s.split.value_or(SplitSettings{});
    if (!liquid && !split.radius)
      return usage_error({}, "'{}' is a cached run, whose particles may have any size; give 'split: {{radius: …}}'",
                         from.path());
    const double own = liquid ? liquid->particle_radius() : 1;
    const Range radius = split.radius.value_or(Range{0.3 * own, 0.8 * own});
    if (!liquid)
      build.warn(fmt::format(
          "'{}' is a cached run: droplets are made beside its particles, and nothing is taken from it", from.path()));
    const std::string when = channel_of_when(build, from, s);
    if (!when.empty())
      if (Status ok = add_when(build, from, when, {s.when, liquid, s.density.value_or(1000), s.seed}); !ok) return ok;
    BreakAwaySettings settings;
    settings.criteria = criteria_of(s, liquid, when);
    settings.split.law = split.distribution, settings.split.smallest = radius[0], settings.split.greatest = radius[1];
    settings.split.most = split.most, settings.split.weighting = split.weighting;
    settings.threshold = s.threshold.value_or(0.5), settings.amount = split.amount, settings.spread = split.spread;
    settings.delay = s.delay, settings.density = s.density.value_or(1000), settings.seed = s.seed;
    build.add(std::make_unique<BreakAway>(build.path(), from, to, settings));
    return {};
  }

  Status rejoin(Builder& build, ParticleObject& from, HybridObject& to) const {
    const Settings& s = settings_.of(from.path());
    if (const char* name = s.of_breaking())
      return usage_error({}, "'{}' is for liquid that breaks away; '{}' rejoins '{}'", name, from.path(), to.path());
    const std::string when = channel_of_when(build, from, s);
    build.add(std::make_unique<Rejoin>(build.path(), from, to,
                                       RejoinSettings{s.depth.value_or(0.5) * to.spacing(), when, s.delay, s.seed}));
    // After the distance to the liquid, which it may read.
    return when.empty() ? Status() : add_when(build, from, when, {s.when, &to, to.settings().density, s.seed});
  }

  Status swallow(Builder& build, ParticleObject& from, Object& to) const {
    const Settings& s = settings_.of(from.path());
    if (const char* name = s.of_breaking())
      return usage_error({}, "'{}' is for liquid that breaks away; '{}' falls into '{}'", name, from.path(), to.path());
    build.warn(fmt::format("'{}' is a cached run: droplets that fall into it are taken away, and it is given nothing",
                           to.path()));
    const std::string when = channel_of_when(build, from, s);
    if (!when.empty())
      if (Status ok = add_when(build, from, when, {s.when, nullptr, s.density.value_or(1000), s.seed}); !ok) return ok;
    build.add(std::make_unique<Swallow>(build.path(), from, to, SwallowSettings{s.depth.value_or(0.5), s.delay, when}));
    return {};
  }

  static std::string channel_of_when(const Builder& build, Object& from, const Settings& s) {
    return s.when->empty() ? "" : when_channel(*from.particles(), build.path());
  }

  Scoped<Settings> settings_;
};

}  // namespace

void register_coupling(Catalog& catalog) { catalog.add<Transition>(); }

}  // namespace aegir
