// Sand Material: what makes a liquid sand.
//
// One substep adds to that of a liquid (Stage::solve):
//   kept friction   the stress of the substep before acts, and the pressure then balances it
//   pressure        as for liquids; with `tension: none` it only pushes
//   friction        stress within the yield surface of that pressure, friction at solids, rigid groups
#include <algorithm>
#include <cmath>
#include <numbers>

#include "domain/for_each_bucket.h"
#include "phenomena/common/cell_attribute.h"
#include "phenomena/common/hybrid_object.h"
#include "phenomena/sand/friction.h"
#include "phenomena/sand/register.h"
#include "phenomena/sand/rigid_groups.h"
#include "phenomena/sand/sand_channels.h"
#include "pipeline/model/behavior.h"
#include "pipeline/schema/catalog.h"

namespace aegir {
namespace {

constexpr double degree = std::numbers::pi / 180;

enum class SandModel { projection, zhu };
enum class Tension { inside, held, none };

struct SandSettings {
  Parameter<double> friction_angle = 30 * degree;
  Parameter<double> cohesion = 0.0;
  double settling = 0.02;
  SandModel model = SandModel::projection;
  Tension tension = Tension::inside;
  int sweeps = 8;
};

constexpr CellAttribute cell_angle{{"mean_tan_angle", {}, -1.0f}, {"cell_tan_angle"}};
constexpr CellAttribute cell_cohesion{{"mean_cohesion", unit::pascal, -1.0f}, {"cell_cohesion", unit::pascal}};

class SandOperator final : public Operator {
 public:
  SandOperator(std::string behavior, HybridObject& object, SandSettings settings)
      : Operator(std::move(behavior)), object_(object), s_(std::move(settings)) {
    object.use_transfer(TransferMethod::apic);
    object.own_friction = true;
    object.appearance = Appearance::matte;
    object.opens = s_.tension == Tension::none;
    object.leaves_rough = s_.tension == Tension::inside;
    for (const Parameter<double>* p : {&s_.friction_angle, &s_.cohesion})
      object.holds |= p->attribute() || p->animated() || p->constant() > 0;
    DiscreteVolume& g = object.grid();
    g.declare(grid::pressure);
    for (const auto& c : {sand::stress, sand::shear, sand::stress_ahead, sand::shear_ahead, sand::span, sand::grip})
      g.declare(c);
    for (const auto& c : {sand::wall, sand::wall_ahead, sand::grip_face, sand::base, sand::ease, sand::edge})
      g.declare(c);
    g.declare(sand::yield);
    g.declare(sand::pace);
    if (from_particles(s_.friction_angle, object)) g.declare(cell_angle.mean), g.declare(cell_angle.value);
    if (from_particles(s_.cohesion, object)) g.declare(cell_cohesion.mean), g.declare(cell_cohesion.value);
    object.solves_before_pressure().push_back(this->behavior() + ":" + kept_name());
    if (s_.model != SandModel::zhu) object.frictions().push_back(this->behavior() + ":friction of " + object.path());
    object.state().record("sand_dt", &stress_dt_).record("friction_work", &work_);
    object.book_figure("friction_work", work_);
    object.book_figure("rigid_cells", rigid_cells_);
  }

  void plan(TaskList& tasks) override {
    const std::string& o = object_.path();
    std::vector<ChannelAccess> own;
    for (const char* name : {"sand_stress", "sand_shear", "sand_wall", "sand_grip", "sand_grip_face", "sand_ease",
                             "sand_edge", "sand_span", "sand_pace"})
      own.push_back(reads(o, name, 1)), own.push_back(writes(o, name));
    const auto with = [&own](std::initializer_list<ChannelAccess> more) {
      std::vector<ChannelAccess> all = own;
      all.insert(all.end(), more);
      return all;
    };
    tasks.add({.name = kept_name(),
               .stage = Stage::solve,
               .behavior = behavior(),
               .accesses = with({reads(o, "vel"), writes(o, "vel"), reads(o, "surface_distance", 1),
                                 reads(o, "solid_distance", 1), reads(o, "open_area")}),
               .after = {},
               .acting = {},
               .run = [this](StepContext& c) { return start(c); }});
    auto accesses =
        with({reads(o, "vel", 1), writes(o, "vel"), reads(o, "surface_distance", 2), reads(o, "open_area", 1),
              reads(o, "solid_velocity", 1), reads(o, "solid_distance", 1), reads(o, "pressure", 2), reads(o, "P")});
    if (object_.holds) accesses.push_back(writes(o, grid::shear_rate.name));
    for (const char* name : {"sand_stress_ahead", "sand_shear_ahead", "sand_wall_ahead", "sand_base", "sand_yield"})
      accesses.push_back(reads(o, name, 1)), accesses.push_back(writes(o, name));
    for (const auto& [parameter, channels] :
         {std::pair(&s_.friction_angle, &cell_angle), std::pair(&s_.cohesion, &cell_cohesion)})
      if (from_particles(*parameter, object_)) {
        accesses.push_back(reads(o, parameter->attribute()->name));
        for (const auto* c : {&channels->mean, &channels->value})
          accesses.push_back(reads(o, c->name, 1)), accesses.push_back(writes(o, c->name));
      }
    tasks.add({.name = "friction of " + o,
               .stage = Stage::solve,
               .behavior = behavior(),
               .accesses = std::move(accesses),
               .after = {object_.has_pressure ? object_.pressure_task : behavior() + ":" + kept_name()},
               .acting = {},
               .run = [this](StepContext& c) { return rub(c); }});
  }

 private:
  static constexpr sand::FrictionInputs in{grid::velocity,         grid::open_area, grid::solid_velocity,
                                           grid::surface_distance, grid::pressure,  grid::solid_distance};
  std::string kept_name() const { return "kept friction of " + object_.path(); }

  /// Friction of the substep before, which the pressure then balances.
  Status start(StepContext& c) {
    DiscreteVolume& g = object_.grid();
    std::vector<std::uint8_t> grains(static_cast<std::size_t>(g.topology().local_count()), 0);
    for (const int b : object_.solids().touched())
      grains[static_cast<std::size_t>(b)] = object_.particles()->count(b) > 0;  // on a floor, too few for a pressure
    buckets_ = sand::find_faces(c.exec, g, in, [&](int b) { return grains[static_cast<std::size_t>(b)] != 0; });
    const double before = std::exchange(stress_dt_, c.dt);
    first_ = !(before > 0);
    sand::scale_stress(c.exec, g, buckets_, s_.model == SandModel::zhu ? 0.0 : before > 0 ? c.dt / before : 1.0);
    sand::apply_kept(c.exec, g, in, buckets_);
    return {};
  }

  Status rub(StepContext& c) {
    if (!object_.has_pressure) {
      if (!std::exchange(warned_, true))
        c.warn(fmt::format("'{}' rubs under pressure, and '{}' has none: add a 'pressure' to its group", behavior(),
                           object_.path()));
      return {};
    }
    DiscreteVolume& g = object_.grid();
    const double h = object_.spacing(), rho = object_.settings().density;
    const Vec3d gained = object_.uniform_acceleration(c) * c.dt;
    double weight = length(gained);
    if (!(weight > 0)) weight = 9.80665 * c.dt;
    const bool zhu = s_.model == SandModel::zhu;
    const sand::Contacts contacts = seek(c, gained, weight);
    if (!zhu) work_ += sand::never_gain(c.exec, g, in, buckets_) * rho * h * h * h;
    // Zhu: rigid is what one cell alone could stop. Otherwise: what friction has stopped.
    const sand::RigidSettings rigid = zhu ? sand::RigidSettings{.slack = 1e-3, .rate = 1e18, .least = 1}
                                          : sand::RigidSettings{.slack = 0.05, .rate = 0.02 * weight, .least = 8};
    const ConnectedCells groups = sand::find_rigid(c.exec, g, in, rigid);
    rigid_cells_ = static_cast<double>(
        sand::make_rigid(c.exec, g, in, rho * h * h * h, groups, zhu ? sand::Contacts{} : contacts).cells);
    if (object_.holds) sand::measure_shear(c.exec, g, in, grid::shear_rate);
    return {};
  }

  /// Seeks stress and friction at solids under the pressure as it is.
  sand::Contacts seek(StepContext& c, const Vec3d& gained, double weight) {
    DiscreteVolume& g = object_.grid();
    const double h = object_.spacing(), rho = object_.settings().density;
    sand::find_yield(c.exec, g, in, strength(c, c.dt / (rho * h), weight));
    sand::take_base(c.exec, g, in, buckets_);
    sand::Contacts contacts{object_.solids().touched(),
                            wall_contacts(c.exec, g, object_.solids(),
                                          {grid::velocity, object_.solid_channels(), grid::pressure,
                                           &grid::surface_distance, &sand::stress, &sand::shear},
                                          {.dt = h, .density = 1, .weight = gained, .along_grid = true})};
    contacts.creep = 1e-5 * weight;
    if (s_.tension != Tension::held) contacts.recede = 0.1 * weight;
    contacts.across = sand::find_contacts(c.exec, g, object_.solids(), in, gained);
    object_.forgets_air =
        strong_ || contacts.across.any ||
        std::any_of(contacts.faces.begin(), contacts.faces.end(), [](const auto& list) { return !list.empty(); });
    object_.forgets_air = c.exec.comm.max(object_.forgets_air ? 1.0 : 0.0) > 0;
    sand::sweep(
        c.exec, g, in, buckets_, contacts,
        s_.model == SandModel::zhu
            ? sand::SweepSettings{.sweeps = 1, .stress_step = 1, .block_step = 0, .bucket_step = 0, .wall_step = 1}
            : sand::SweepSettings{.sweeps = first_ ? 10 * s_.sweeps : s_.sweeps,
                                  .first_inertia = first_ ? 1.0f : 3.0f});
    return contacts;
  }

  /// Friction angle and cohesion, as settings or particles have them.
  sand::Strength strength(StepContext& c, double per_pascal, double weight) {
    const double angle = s_.friction_angle.at(c.frame_time), cohesion = s_.cohesion.at(c.frame_time);
    sand::Strength s{.tan_angle = std::tan(angle),
                     .cohesion = cohesion * per_pascal,
                     .least = angle > 0 || cohesion > 0 ? s_.settling * weight : 0.0,
                     .per_pascal = per_pascal};
    strong_ = angle > 0 || cohesion > 0 || s_.friction_angle.attribute() || s_.cohesion.attribute();
    if (from_particles(s_.friction_angle, object_)) {
      cell_attribute(c.exec, object_, *s_.friction_angle.attribute(), cell_angle, s.tan_angle,
                     [](double a) { return std::tan(std::clamp(a, 0.0, 89 * degree)); });
      s.tan_angles = &cell_angle.value;
    }
    if (from_particles(s_.cohesion, object_)) {
      cell_attribute(c.exec, object_, *s_.cohesion.attribute(), cell_cohesion, cohesion, [](double v) { return v; });
      s.cohesions = &cell_cohesion.value;
    }
    return s;
  }

  HybridObject& object_;
  SandSettings s_;
  std::vector<int> buckets_;  // with sand, in this substep
  bool strong_ = true, warned_ = false;
  bool first_ = true;  // nothing is kept yet: stress is sought for longer
  double stress_dt_ = 0, work_ = 0, rigid_cells_ = 0;
};

class Sand final : public Behavior {
 public:
  using Settings = SandSettings;
  static TypeInfo info() {
    return {
        "sand", Category::material, "Sand", "Friction between grains: makes sand of what would be a liquid.",
        "The stress s between grains, beside the pressure p, obeys `|s|/√2 ≤ p tan φ + c` (|s|: Frobenius norm, φ: "
        "`friction_angle`, c: `cohesion`), and of all such stresses the one acts that leaves the least kinetic energy "
        "[Narain, Golas, Lin 2010]: sand comes to rest where friction can hold it, and resists along the strain rate "
        "where it cannot. A slope fails at φ.\n\n"
        "At colliders and at the walls of a domain Coulomb's law holds with their `friction` and the pressure just "
        "solved. `pressure` is needed in the same group; its `solids: friction` is sand's own matter then.\n\n"
        "Cells that neither yield nor deform are joined into groups that move as rigid bodies [Zhu 2005, thesis], so "
        "that a pile rests without creeping. `rigid_cells` in the statistics counts them, `friction_work` (J) is what "
        "friction has done since the start; it never adds energy.\n\n"
        "`transfer` of the hybrid Object is `apic` where it is not given. Without gravity only impacts press grains "
        "together, and friction acts as long as they do.\n\n"
        "Limits: no dilatancy, no elasticity, one friction angle for rest and flow. Layers thinner than half a cell "
        "feel friction at the floor, not inside."};
  }
  static void describe(Schema<Settings>& s) {
    s.field("friction_angle", &Settings::friction_angle)
        .from_attribute()
        .unit("rad")
        .min(0)
        .max(89 * degree)
        .soft(15 * degree, 45 * degree)
        .doc("Angle of internal friction: the steepest slope that stays; may come from an attribute of particles.");
    s.field("cohesion", &Settings::cohesion)
        .from_attribute()
        .unit("Pa")
        .min(0)
        .soft(0, 500)
        .doc(
            "Shear that grains bear without pressure: damp sand has some 100 Pa; may come from an attribute of "
            "particles.");
    s.field("settling", &Settings::settling)
        .min(0)
        .max(1)
        .advanced()
        .doc(
            "A little more cohesion, as a share of the weight of one cell, against creeping at the surface; finer "
            "grids "
            "have less of it.");
    s.field("model", &Settings::model)
        .choices({{"projection", SandModel::projection, "The stress of least kinetic energy."},
                  {"zhu", SandModel::zhu, "The one-pass rule of Zhu (2005), for comparison."}})
        .advanced()
        .doc("How friction is found.");
    s.field("tension", &Settings::tension)
        .choices(
            {{"inside", Tension::inside,
              "Sand keeps its volume, and leaves solids that have `friction`: they push and never pull. Walls without "
              "any are planes of symmetry, and hold it."},
             {"held", Tension::held, "Sand keeps its volume, at solids too, as liquids do."},
             {"none", Tension::none, "Pressure only pushes: sand opens, and leaves solids; for streams in the air."}})
        .doc(
            "What happens where sand is drawn apart, or off a solid. In no case does tension give strength: friction "
            "counts "
            "pressure from zero up.");
    s.field("sweeps", &Settings::sweeps)
        .min(1)
        .max(1000)
        .advanced()
        .doc("Steps of the search for stress in a substep.");
  }
  explicit Sand(Scoped<Settings> s) : settings_(std::move(s)) {}
  Status create_actions(Builder& build) override {
    int acting = 0;
    for (Object* o : build.objects())
      if (auto* hybrid = dynamic_cast<HybridObject*>(o)) {
        const Settings& s = settings_.of(o->path());
        for (const Parameter<double>* p : {&s.friction_angle, &s.cohesion})
          if (p->attribute() && !o->particles()->has(p->attribute()->name))
            build.warn(fmt::format("'{}' has no attribute '{}'; its default is used", o->path(), p->attribute()->name));
        build.add(std::make_unique<SandOperator>(build.path(), *hybrid, s)), ++acting;
      }
    if (!acting) build.switch_off("no hybrid object in its group");
    return {};
  }

 private:
  Scoped<Settings> settings_;
};

}  // namespace

void register_sand(Catalog& catalog) { catalog.add<Sand>(); }

}  // namespace aegir
