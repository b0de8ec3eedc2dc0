// Droplet Collisions, the Behavior: gives an operator to every Particle Object in its group.
#include "phenomena/droplets/register.h"

#include "phenomena/droplets/collisions.h"
#include "pipeline/model/behavior.h"
#include "pipeline/schema/catalog.h"

namespace aegir {
namespace {

constexpr const char* page =
    "Every particle is a droplet: a ball of liquid of radius `pscale`. Two that meet within a substep merge, or pass "
    "and "
    "draw a ligament that breaks into satellites, or merge, bulge and fly apart again; three numbers decide:\n\n"
    "- We = 2 ρ r_j |u|² / σ, the Weber number, with the smaller radius r_j and the relative velocity u\n"
    "- X = distance of the paths / (r_i + r_j), from 0 (head-on) to 1 (grazing)\n- δ = r_j / r_i\n\n"
    "Thresholds are those of Ashgriz & Poo 1990, extended to all We, X and δ; ligaments break as in Munnannur & Reitz "
    "2007 (Jones 2018, chapter 4). Mass, volume and momentum are kept; what kinetic energy is lost is heat and "
    "surface.\n\n"
    "**When.** After sorting and before forces, droplets are followed straight through the substep. Each looks for the "
    "one it "
    "touches first; two that name each other collide, the others look again, `rounds` times. A pair is resolved when "
    "it is "
    "closest, and taken back along its new velocities, so that the flight through the substep brings it where it "
    "belongs (not where a solid may be in between). A droplet that has collided waits for `delay`.\n\n"
    "**Sizes.** What would leave [`smallest_radius`, `largest_radius`] does not happen: fewer satellites, none, or no "
    "collision. "
    "Real drops that fall through air break above 3 mm radius; larger \"droplets\" stand for what an artist wants to "
    "see as one.\n\n"
    "**Attributes.** What merges keeps those of the larger droplet, satellites take those of the parent with the "
    "smaller id, `age` "
    "included.\n\n"
    "**Limits.** Droplets see those in their own and the 26 neighbouring buckets: relative to each other they may move "
    "eight "
    "cells in a substep, beyond that a warning is given (`substeps.cfl: 3` is always enough). In dense sprays, where "
    "most "
    "droplets have several partners, this is not a liquid: couple it to one. Statistics count outcomes and satellites "
    "since the "
    "start, and the change of surface energy in J.";

class DropletCollisionsBehavior final : public Behavior {
 public:
  using Settings = DropletCollisionSettings;
  static TypeInfo info() {
    return {"droplet_collisions", Category::operator_, "Droplet collisions",
            "Droplets that meet merge, stretch, break up or shatter, by their Weber number.", page};
  }
  static void describe(Schema<Settings>& s) {
    s.field("surface_tension", &Settings::surface_tension)
        .unit("N/m")
        .above(0)
        .soft(0.007, 0.7)
        .doc("σ of the liquid in air; water at 20 °C. Less gives finer spray, more gives fewer, larger drops.");
    s.field("density", &Settings::density).unit("kg/m^3").above(0).doc("Of the liquid, for the Weber number.");
    s.field("smallest_radius", &Settings::smallest_radius)
        .unit("m")
        .above(0)
        .soft(5e-5, 5e-4)
        .doc("No collision makes a smaller droplet.");
    s.field("largest_radius", &Settings::largest_radius)
        .unit("m")
        .above(0)
        .soft(0.01, 0.1)
        .doc("No collision makes a larger droplet.");
    s.field("perturbation", &Settings::perturbation)
        .min(0)
        .max(1)
        .soft(0, 0.1)
        .doc("How much the satellites' velocities turn, times their number: 0.01 is lively, 0.1 shatters.");
    s.field("most_satellites", &Settings::most_satellites)
        .min(0)
        .max(satellite_capacity)
        .doc("New droplets per collision at most.");
    s.field("delay", &Settings::delay).unit("s").min(0).doc("Time between two collisions of a droplet at least.");
    s.field("bounce", &Settings::bounce)
        .doc("Whether slow droplets may bounce off the air between them (Estrade et al. 1999) instead of merging.");
    s.field("restitution", &Settings::restitution)
        .min(0)
        .max(1)
        .advanced()
        .doc("Speed kept along the line of centres.");
    s.field("neighbourhood", &Settings::neighbourhood)
        .choices({{"trajectory", Neighbourhood::trajectory, "Everyone that may meet during the substep."},
                  {"overlap", Neighbourhood::overlap,
                   "Only those nearer than r_i + r_max when it begins; fast droplets may pass through each other."}})
        .advanced()
        .doc("Which droplets look at each other.");
    s.field("rounds", &Settings::rounds)
        .min(1)
        .max(64)
        .advanced()
        .doc("How often those that found no partner look again; what is left over may collide in the next substep.");
    s.field("most_tests", &Settings::most_tests)
        .min(64)
        .max(1e6)
        .advanced()
        .doc("Others in one bucket that a droplet is compared with at most; bounds the cost of crowds.");
    s.field("seed", &Settings::seed).doc("Another seed gives other random numbers.");
    s.check([](const Settings& v) -> std::string {
      return v.largest_radius < v.smallest_radius ? "'largest_radius' is below 'smallest_radius'" : "";
    });
  }
  explicit DropletCollisionsBehavior(Scoped<Settings> s) : settings_(std::move(s)) {}

  Status create_actions(Builder& build) override {
    int acting = 0;
    for (Object* o : build.objects())
      if (auto* particles = dynamic_cast<ParticleObject*>(o))
        build.add(std::make_unique<DropletCollisions>(build.path(), *particles, settings_.of(o->path()))), ++acting;
    if (!acting) build.switch_off("no particle Object in its group");
    return {};
  }

 private:
  Scoped<Settings> settings_;
};

}  // namespace

void register_droplets(Catalog& catalog) { catalog.add<DropletCollisionsBehavior>(); }

}  // namespace aegir
