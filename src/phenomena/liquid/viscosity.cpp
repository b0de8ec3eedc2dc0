// Viscosity Material: liquids that resist shear, from oil to honey.
#include <algorithm>
#include <cmath>

#include "phenomena/common/cell_attribute.h"
#include "phenomena/common/hybrid_object.h"
#include "phenomena/liquid/register.h"
#include "pipeline/model/behavior.h"
#include "pipeline/schema/catalog.h"
#include "solvers/linear/viscosity.h"

namespace aegir {
namespace {

enum class WallContact { no_slip, free_slip };

struct ViscositySetup {
  Parameter<double> dynamic = 1.0;
  WallContact walls = WallContact::no_slip;
  double tolerance = 1e-4;
};

constexpr CellChannel<float> cell_viscosity{"cell_viscosity", unit::pascal* unit::second};
/// Of cells with particles; below 0 in others.
constexpr CellChannel<float> mean_viscosity{"mean_viscosity", unit::pascal* unit::second, -1.0f};

class ViscosityOperator final : public Operator {
 public:
  ViscosityOperator(std::string behavior, HybridObject& object, ViscositySetup settings)
      : Operator(std::move(behavior)), object_(object), s_(std::move(settings)) {
    if (attribute()) object.grid().declare(cell_viscosity), object.grid().declare(mean_viscosity);
    object.solves_before_pressure().push_back(full_name());
    object.stiff = [this](const StepContext& c) { return stiff(c.dt, s_.dynamic.at(c.frame_time)); };
  }

  void plan(TaskList& tasks) override {
    const std::string& o = object_.path();
    std::vector<ChannelAccess> accesses{writes(o, "vel"),
                                        reads(o, "vel", 1),
                                        reads(o, "face_mass"),
                                        writes(o, "face_mass"),
                                        reads(o, "surface_distance", 2),
                                        reads(o, "solid_distance", 2),
                                        reads(o, "solid_velocity"),
                                        reads(o, "open_area", 2)};
    if (attribute())
      for (ChannelAccess a :
           {writes(o, cell_viscosity.name), reads(o, cell_viscosity.name, 1), reads(o, "P"),
            writes(o, mean_viscosity.name), reads(o, mean_viscosity.name, 1), reads(o, s_.dynamic.attribute()->name)})
        accesses.push_back(std::move(a));
    tasks.add({.name = "viscosity of " + o,
               .stage = Stage::solve,
               .behavior = behavior(),
               .accesses = std::move(accesses),
               .after = object_.has_pressure ? std::vector{object_.first_pressure} : std::vector<std::string>{},
               .acting = {},
               .run = [this](StepContext& c) { return solve(c); }});
  }

 private:
  std::string full_name() const { return behavior() + ":viscosity of " + object_.path(); }
  bool attribute() const { return from_particles(s_.dynamic, object_); }

  /// ν dt / Δx²; where it is small viscosity hardly reaches the next cell within a substep.
  bool stiff(double dt, double mu) const {
    return attribute() || mu * dt / (object_.settings().density * object_.spacing() * object_.spacing()) > 0.1;
  }

  Status solve(StepContext& c) {
    const double mu = s_.dynamic.at(c.frame_time);
    ViscosityChannels channels{.velocity = grid::velocity,
                               .known = grid::face_mass,
                               .liquid_distance = grid::surface_distance,
                               .solid_distance = grid::solid_distance,
                               .solid_velocity = grid::solid_velocity,
                               .open_area = grid::open_area};
    if (attribute())
      cell_attribute(c.exec, object_, *s_.dynamic.attribute(), {mean_viscosity, cell_viscosity}, mu,
                     [](double v) { return v; }),
          channels.viscosity = cell_viscosity;
    else if (mu == 0)
      return {};
    const SolveReport report = solve_viscosity(c.exec, object_.grid(), channels,
                                               {.dt = c.dt,
                                                .density = object_.settings().density,
                                                .constant_viscosity = mu,
                                                .free_slip = s_.walls == WallContact::free_slip,
                                                .forget_others = true,
                                                .tolerance = s_.tolerance,
                                                .memory = &object_.memory()});
    if (c.solves)
      c.solves->push_back(
          {object_.path() + " viscosity", report.unknowns, report.iterations, report.residual, report.seconds});
    if (!report.converged) c.warn(fmt::format("viscosity of '{}': {}", object_.path(), report.trouble));
    if (!std::isfinite(report.residual))
      return simulation_error("the viscosity of '{}' has no solution: {}", object_.path(), report.trouble);
    return {};
  }

  HybridObject& object_;
  ViscositySetup s_;
};

class Viscosity final : public Behavior {
 public:
  using Settings = ViscositySetup;
  static TypeInfo info() {
    return {
        "viscosity", Category::material, "Viscosity", "Resistance to shear, from oil to honey.",
        "`ρ ∂u/∂t = ∇·(μ (∇u + ∇uᵀ))`, implicit, in the variational form of Batty & Bridson (2008): the free "
        "surface bears no traction, so threads coil and buckle.\n\n"
        "`walls` says whether solids and closed limits bear shear: with `no_slip` they hold the liquid beside them, "
        "with `free_slip` they only stop it from entering. That is a matter of the liquid's inside. How particles "
        "themselves pass along a solid is said by `solids` of `pressure`: for thick liquids that stick give "
        "`no_slip` to both; for thin ones (water) `free_slip` there, because the layer that clings to a wall is "
        "thinner than a cell. Sheets thinner than a cell always let slip.\n\n"
        "Water has 0.001 Pa s, olive oil 0.08, honey 2 to 10. Use it with `transfer: apic` or a `flip_ratio` below "
        "1: FLIP's noise is not seen by the grid."};
  }
  static void describe(Schema<Settings>& s) {
    s.field("dynamic", &Settings::dynamic)
        .from_attribute()
        .unit("Pa s")
        .min(0)
        .soft(0, 100)
        .doc("Dynamic viscosity; may come from an attribute of particles.");
    s.field("walls", &Settings::walls)
        .choices({{"no_slip", WallContact::no_slip, "Solids hold the liquid beside them."},
                  {"free_slip", WallContact::free_slip, "Solids bear no shear."}})
        .doc("What the liquid feels at solids.");
    s.field("tolerance", &Settings::tolerance)
        .min(1e-10)
        .max(0.1)
        .advanced()
        .doc("True relative residual of the solve.");
  }
  explicit Viscosity(Scoped<Settings> s) : settings_(std::move(s)) {}
  Status create_actions(Builder& build) override {
    int acting = 0;
    for (Object* o : build.objects())
      if (auto* hybrid = dynamic_cast<HybridObject*>(o)) {
        const Settings& s = settings_.of(o->path());
        if (s.dynamic.attribute() && !o->particles()->has(s.dynamic.attribute()->name))
          build.warn(fmt::format("'{}' has no attribute '{}'; the default {} Pa s is used", o->path(),
                                 s.dynamic.attribute()->name, s.dynamic.constant()));
        build.add(std::make_unique<ViscosityOperator>(build.path(), *hybrid, s)), ++acting;
      }
    if (!acting) build.switch_off("no liquid in its group");
    return {};
  }

 private:
  Scoped<Settings> settings_;
};

}  // namespace

void register_liquid(Catalog& catalog) { catalog.add<Viscosity>(); }

}  // namespace aegir
