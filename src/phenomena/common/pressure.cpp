#include "phenomena/common/pressure.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "domain/for_each_bucket.h"
#include "domain/volume/upper_access.h"
#include "numerics/solids/wall_velocity.h"
#include "phenomena/common/crowding.h"
#include "phenomena/common/hybrid_object.h"
#include "phenomena/common/projection.h"
#include "pipeline/model/behavior.h"
#include "pipeline/schema/catalog.h"
#include "solvers/lcp/lcp.h"
#include "solvers/linear/pressure.h"

namespace aegir {
namespace {

enum class SolidContact { free_slip, friction, no_slip, separating };

struct PressureSettings {
  SolidContact solids = SolidContact::free_slip;
  double tolerance = 1e-5;
  int max_iterations = 100;
  bool density_correction = true;
  double correction_time = 0.2;
  bool operator==(const PressureSettings&) const = default;
};

constexpr float no_bound = -1e38f;
constexpr CellChannel<float> least_pressure{"least_pressure", unit::metre_per_second, no_bound};

/// What the first of two solves found, while the second one is at work.
constexpr CellChannel<double> first_pressure{"first_pressure", unit::metre_per_second};

constexpr double restoring_tolerance = 0.01;  // of what friction did to the volume, which is little
constexpr double spreading_tolerance = 0.05;  // of crowds, which are measured again in the next substep

/// The solve for pressure of one Object.
///
/// Where a stiff material (viscosity) acts before the pressure, the pressure acts before that as well, and then again
/// on what is left. Viscosity that has not seen the gradient of pressure cannot hold against it: after the only solve
/// the liquid would move by dt ∇p / ρ more than it should, at walls too where it does not slip, which for ν dt > h²
/// (h: depth of the liquid) is more than all of its true velocity.
///
/// Where friction holds the material (sand), what friction does to the velocity is not free of divergence, and is made
/// so by a rough solve after it. Friction would otherwise stop motions that only pressure can, and hold up what should
/// flow. Crowds are spread by a third solve, which moves particles and gives them no momentum: in the pressure that
/// bounds friction they would give strength to sand, or take it.
class PressureOperator final : public Operator {
 public:
  PressureOperator(std::string behavior, HybridObject& object, const Scoped<PressureSettings>& settings)
      : Operator(std::move(behavior)), object_(object), all_(settings), s_(settings.of(object.path())) {
    object.grid().declare(grid::divergence);
    object.grid().declare(grid::pressure);
    object.has_pressure = true;
    object.first_pressure = this->behavior() + ":first pressure of " + object.path();
    object.pressure_task = this->behavior() + ":pressure of " + object.path();
  }

  void plan(TaskList& tasks) override {
    const std::string& o = object_.path();
    list_contacts();
    std::vector<ChannelAccess> accesses{reads(o, "vel", 1),
                                        writes(o, "vel"),
                                        writes(o, "face_mass"),
                                        reads(o, "open_area", 4),
                                        reads(o, "solid_velocity", 1),
                                        reads(o, "surface_distance", 4),
                                        writes(o, "divergence"),
                                        reads(o, "divergence"),
                                        writes(o, "pressure"),
                                        reads(o, "pressure", 4),
                                        reads(o, "solid_distance", 1),
                                        reads(o, "cell_fill", 1),
                                        reads(o, "cell_room", 1),
                                        reads(o, "surface_crowding", 1)};
    if (bounded()) {
      object_.grid().declare(least_pressure);
      accesses.push_back(writes(o, least_pressure.name));
    }
    if (restores()) {
      std::vector<ChannelAccess> with = accesses;
      with.push_back(writes(o, grid::restoring_pressure.name));
      with.push_back(reads(o, grid::restoring_pressure.name, 4));
      with.push_back(reads(o, grid::shear_rate.name));
      tasks.add({.name = "volume of " + o,
                 .stage = Stage::solve,
                 .behavior = behavior(),
                 .accesses = std::move(with),
                 .after = object_.frictions(),
                 .acting = {},
                 .run = [this](StepContext& c) { return restore(c); }});
    }
    if (object_.stiff) {
      object_.grid().declare(first_pressure);
      accesses.push_back(writes(o, first_pressure.name)), accesses.push_back(reads(o, first_pressure.name));
      tasks.add({.name = "first pressure of " + o,
                 .stage = Stage::solve,
                 .behavior = behavior(),
                 .accesses = accesses,
                 .after = {},
                 .acting = {},
                 .run = [this](StepContext& c) { return balance(c); }});
    }
    tasks.add({.name = "pressure of " + o,
               .stage = Stage::solve,
               .behavior = behavior(),
               .accesses = std::move(accesses),
               .after = object_.solves_before_pressure(),
               .acting = {},
               .run = [this](StepContext& c) { return project(c); }});
  }

 private:
  static constexpr ProjectionChannels channels{grid::velocity,       grid::face_mass, grid::open_area,
                                               grid::solid_velocity, cell_room,       grid::surface_distance,
                                               grid::divergence,     grid::pressure};
  static constexpr PressureChannels system{grid::open_area, grid::surface_distance, grid::divergence, grid::pressure};

  /// What the liquid does at each solid: as `overrides` of the collider or domain say, or else as for the liquid.
  void list_contacts() {
    contacts_.clear(), pushing_.clear();
    const auto list = [&](const std::string& solid, bool rough) {
      const PressureSettings& own = all_.of(solid);
      const bool said = &own != &all_.base;
      contacts_.push_back(said ? own.solids : s_.solids);
      pushing_.push_back(contacts_.back() == SolidContact::separating || (object_.leaves_rough && rough && !said));
    };
    for (const Collider* c : object_.colliders()) list(c->path(), c->rough());
    if (const Limits* limits = object_.limits()) list(limits->path(), limits->friction() > 0);
    object_.sticking = those(SolidContact::no_slip);
    object_.letting_go = those(SolidContact::separating);
    rubbing_ = those(SolidContact::friction);
  }
  /// Whether volume is given back after friction.
  bool restores() const { return object_.holds && !object_.frictions().empty(); }
  bool bounded() const { return object_.opens || std::find(pushing_.begin(), pushing_.end(), 1) != pushing_.end(); }
  bool any(SolidContact kind) const { return std::find(contacts_.begin(), contacts_.end(), kind) != contacts_.end(); }
  /// Which solids are of a kind; empty if none is.
  std::vector<std::uint8_t> those(SolidContact kind) const {
    std::vector<std::uint8_t> is;
    if (any(kind))
      for (const SolidContact c : contacts_) is.push_back(c == kind);
    return is;
  }

  /// Lets the pressure act before a stiff material does.
  Status balance(StepContext& c) {
    balanced_ = object_.stiff(c);
    if (!balanced_) return {};
    DiscreteVolume& grid = object_.grid();
    divergence_of(c.exec, grid, channels);
    if (!object_.inflows().empty()) object_.inflows().add_divergence(c.exec, grid, grid::divergence);
    follow_dt(c);
    if (Status ok = note(c, solve(c.exec), " first pressure"); !ok) return ok;
    subtract_gradient(c.exec, grid, channels);
    for_each_bucket(
        c.exec, "keep pressure", grid.topology(),
        [](const Bucket&, auto& now, auto& before) {
          std::copy_n(now.values, bucket_cells, before.values);
          std::fill_n(now.values, bucket_cells, 0.0);
        },
        grid.write(grid::pressure), grid.overwrite(first_pressure));
    return {};
  }

  Status project(StepContext& c) {
    DiscreteVolume& grid = object_.grid();
    divergence_of(c.exec, grid, channels);
    if (!object_.inflows().empty()) object_.inflows().add_divergence(c.exec, grid, grid::divergence);
    hierarchy_.clear(), bounded_hierarchy_.clear();
    if (!restores()) spread(c);
    if (!balanced_) follow_dt(c);
    SolveReport report;
    if (bounded()) {
      bound_by_solids(c.exec);
      report = solve_lcp(
          c.exec, grid, system, least_pressure,
          {.tolerance = std::max(s_.tolerance, 1e-4), .warm_start = object_.opens, .memory = &object_.memory()},
          restores() ? &bounded_hierarchy_ : nullptr);
    } else {
      report = solve(c.exec, restores() ? &hierarchy_ : nullptr);
    }
    if (Status ok = note(c, report, " pressure"); !ok) return ok;
    subtract_gradient(c.exec, grid, channels);
    if (std::exchange(balanced_, false))
      for_each_bucket(
          c.exec, "whole pressure", grid.topology(),
          [](const Bucket&, auto& p, auto& first) {
            for (int i = 0; i < bucket_cells; ++i) p[i] += first[i];
          },
          grid.write(grid::pressure), grid.read(first_pressure));
    if (rubbing_.empty() || object_.own_friction) return {};
    // The channel is p dt / (ρ Δx) already: with dt = Δx and ρ = 1 friction takes it as it is.
    wall_friction(c.exec, grid, object_.solids(), {grid::velocity, object_.solid_channels(), grid::pressure},
                  {.dt = object_.spacing(), .density = 1, .rubs = rubbing_});
    return {};
  }

  /// Gives back the volume that friction took or gave; then finds what spreads crowds.
  Status restore(StepContext& c) {
    Status status = restore_volume(c);
    if (status && s_.density_correction) {
      if (bounded()) bound_rest(c.exec, 0.0f);  // crowds are pushed apart, and nothing is drawn together
      status = note(c, solve_rest(c.exec, spreading_tolerance), " crowds");
    }
    object_.spreads = s_.density_correction;
    hierarchy_.clear(), bounded_hierarchy_.clear();
    return status;
  }

  /// Leaves the divergence that spreads crowds as the next right-hand side.
  Status restore_volume(StepContext& c) {
    DiscreteVolume& grid = object_.grid();
    divergence_of(c.exec, grid, channels);
    if (!object_.inflows().empty()) object_.inflows().add_divergence(c.exec, grid, grid::divergence);
    if (bounded()) bound_rest(c.exec, 1.0f);
    if (Status ok = note(c, solve_rest(c.exec, restoring_tolerance), " volume"); !ok) return ok;
    ProjectionChannels by = channels;
    by.pressure = grid::restoring_pressure;
    subtract_gradient(c.exec, grid, by);
    for_each_bucket(
        c.exec, "no divergence", grid.topology(),
        [](const Bucket&, auto& d) { std::fill_n(d.values, bucket_cells, 0.0f); }, grid.overwrite(grid::divergence));
    spread(c);
    return {};
  }

  /// Solves for what is left after the pressure.
  SolveReport solve_rest(Exec& exec, double tolerance) {
    PressureChannels rest = system;
    rest.pressure = grid::restoring_pressure;
    if (bounded())
      return solve_lcp(exec, object_.grid(), rest, least_pressure,
                       {.tolerance = tolerance, .warm_start = false, .memory = &object_.memory()}, &bounded_hierarchy_);
    return solve_pressure(
        exec, object_.grid(), rest,
        {.tolerance = tolerance, .max_iterations = s_.max_iterations, .warm_start = false, .memory = &object_.memory()},
        &hierarchy_);
  }

  /// Adds the divergence that spreads crowds, over several substeps, or it would overshoot.
  void spread(StepContext& c) {
    const double correction_time = std::max(s_.correction_time, 8 * c.dt);
    object_.measured(spread_crowds(c.exec, object_.grid(), grid::surface_distance, grid::divergence,
                                   {.rate = s_.density_correction ? object_.spacing() / correction_time : 0.0,
                                    .mean = 1 / (1 + object_.volume_drift),
                                    .opens = object_.opens,
                                    .sheared = restores() ? &grid::shear_rate : nullptr,
                                    .sheets = &object_.solids()}));
  }

  SolveReport solve(Exec& exec, PressureHierarchy* kept = nullptr) {
    return solve_pressure(exec, object_.grid(), system,
                          {.tolerance = s_.tolerance, .max_iterations = s_.max_iterations, .memory = &object_.memory()},
                          kept);
  }

  /// Books a solve; fails where it found no numbers.
  Status note(StepContext& c, const SolveReport& report, const char* name) {
    if (c.solves)
      c.solves->push_back({object_.path() + name, report.unknowns, report.iterations, report.residual, report.seconds});
    if (!report.converged) c.warn(fmt::format("pressure of '{}': {}", object_.path(), report.trouble));
    if (!std::isfinite(report.residual))
      return simulation_error("the pressure of '{}' has no solution: {}", object_.path(), report.trouble);
    return {};
  }

  /// The channel holds p dt / (ρ Δx): another dt, another scale.
  void follow_dt(StepContext& c) {
    const double before = std::exchange(object_.pressure_dt(), c.dt);
    if (before > 0 && before != c.dt) scale_pressure(c.exec, c.dt / before);
  }

  void scale_pressure(Exec& exec, double factor) {
    for_each_bucket(
        exec, "scale pressure", object_.grid().topology(),
        [factor](const Bucket&, auto& p) {
          for (int i = 0; i < bucket_cells; ++i) p[i] *= factor;
        },
        object_.grid().write(grid::pressure));
  }

  /// Where a cell touches a solid that only pushes its pressure may not pull.
  void bound_by_solids(Exec& exec) {
    const SolidGrid& solids = object_.solids();
    const auto pushes = [&](int bucket, int cell) {
      if (object_.opens) return true;
      const int nearest = solids.nearest(bucket, cell);
      return nearest >= 0 && pushing_[static_cast<std::size_t>(nearest)] != 0;
    };
    for_each_bucket(
        exec, "bound pressure", object_.grid().topology(),
        [&](const Bucket& bucket, auto& area, auto& bound) {
          for (int i = 0; i < bucket_size; ++i)
            for (int j = 0; j < bucket_size; ++j) {
              float least[bucket_size];
              std::fill(std::begin(least), std::end(least), 1.0f);
              for (std::size_t a = 0; a < 3; ++a) {
                const auto low = area[a].line(i, j), high = area[a].upper(i, j);
                for (int k = 0; k < bucket_size; ++k) least[k] = std::min({least[k], low[k], high[k]});
              }
              for (int k = 0; k < bucket_size; ++k)
                bound(i, j, k) =
                    (object_.opens || least[k] < 1) && pushes(bucket.index, cell_offset(i, j, k)) ? 0.0f : no_bound;
            }
        },
        read_upper(object_.grid(), grid::open_area), object_.grid().overwrite(least_pressure));
    if (!balanced_) return;
    // The bound is one on the sum of both solves.
    for_each_bucket(
        exec, "bound rest of pressure", object_.grid().topology(),
        [](const Bucket&, auto& first, auto& bound) {
          for (int i = 0; i < bucket_cells; ++i) bound[i] -= bound[i] == 0 ? static_cast<float>(first[i]) : 0.0f;
        },
        object_.grid().read(first_pressure), object_.grid().write(least_pressure));
  }

  /// Where pressure may only push, what is left of it may take back no more than a `share` of what the solve gave.
  void bound_rest(Exec& exec, float share) {
    for_each_bucket(
        exec, "bound rest of pressure", object_.grid().topology(),
        [share](const Bucket&, auto& p, auto& bound) {
          for (int i = 0; i < bucket_cells; ++i)
            bound[i] = bound[i] > no_bound ? -share * static_cast<float>(p[i]) : no_bound;
        },
        object_.grid().read(grid::pressure), object_.grid().write(least_pressure));
  }

  HybridObject& object_;
  Scoped<PressureSettings> all_;
  PressureSettings s_;
  std::vector<SolidContact> contacts_;  // colliders, then the limits
  std::vector<std::uint8_t> pushing_;   // the same: pressure pushes there and never pulls
  std::vector<std::uint8_t> rubbing_;
  PressureHierarchy hierarchy_;     // from the pressure until volume is restored
  LcpHierarchy bounded_hierarchy_;  // the same where pressure is bounded
  bool balanced_ = false;           // the pressure has acted once in this substep
};

class Pressure final : public Behavior {
 public:
  using Settings = PressureSettings;
  static TypeInfo info() {
    return {"pressure", Category::material, "Pressure",
            "Keeps the volume of liquids: the pressure that makes their velocity free of divergence.",
            "`∇·(dt/ρ ∇p) = ∇·u` on the grid, with the open share of faces that solids cut [Ng, Min, Gibou 2009] and "
            "zero pressure at the free surface, "
            "found to second order between cell centres [Gibou et al. 2002]. Solved by multigrid-preconditioned "
            "conjugate gradients to a true relative residual "
            "of `tolerance`. Together with a thick `viscosity` it is solved twice: before it, so that viscosity holds "
            "against the gradient of pressure, and after it.\n\n"
            "`separating` lets liquid leave solids: pressure at solids pushes, never pulls. It is a linear "
            "complementarity problem and costs more.\n\n"
            "`overrides` of a collider or of the domain say what liquid does there: `overrides: {statue: {solids: "
            "no_slip}}`. Faces take what is said of the solid that is nearest to them."};
  }
  static void describe(Schema<Settings>& s) {
    s.field("solids", &Settings::solids)
        .choices({{"free_slip", SolidContact::free_slip, "Liquid slides along solids."},
                  {"friction", SolidContact::friction,
                   "Slides with Coulomb friction: colliders' `friction` times the pressure just solved."},
                  {"no_slip", SolidContact::no_slip, "Liquid moves with solids where it touches them."},
                  {"separating", SolidContact::separating, "Slides, and may leave."}})
        .doc("What liquid does at solids.");
    s.field("tolerance", &Settings::tolerance)
        .min(1e-10)
        .max(0.1)
        .advanced()
        .doc("True relative residual of the solve.");
    s.field("max_iterations", &Settings::max_iterations)
        .min(1)
        .max(10000)
        .advanced()
        .doc("Of conjugate gradients; then a warning is given and the run goes on.");
    s.field("density_correction", &Settings::density_correction)
        .doc("Spreads particles that crowd, so that no volume is lost over time.");
    s.field("correction_time", &Settings::correction_time)
        .unit("s")
        .above(0)
        .advanced()
        .doc("Time in which crowding would be undone; at least eight substeps.");
  }
  explicit Pressure(Scoped<Settings> s) : settings_(std::move(s)) {}
  Status create_actions(Builder& build) override {
    int acting = 0;
    for (Object* o : build.objects())
      if (auto* hybrid = dynamic_cast<HybridObject*>(o)) {
        if (Status ok = check_overrides(build, *hybrid); !ok) return ok;
        build.add(std::make_unique<PressureOperator>(build.path(), *hybrid, settings_)), ++acting;
      }
    if (!acting) build.switch_off("no liquid in its group");
    return {};
  }

 private:
  /// What is said of a solid can only be what liquid does there.
  Status check_overrides(Builder& build, const HybridObject& hybrid) const {
    for (const Object* o : build.objects_acting_on(hybrid)) {
      if (!dynamic_cast<const Collider*>(o) && !dynamic_cast<const Limits*>(o)) continue;
      Settings own = settings_.of(o->path());
      own.solids = settings_.base.solids;
      if (!(own == settings_.base))
        return usage_error(build.where(),
                           "'overrides' of '{}' for the solid '{}' can only say 'solids'; the rest belongs to liquids",
                           build.path(), o->path());
    }
    return {};
  }

  Scoped<Settings> settings_;
};

}  // namespace

void register_pressure(Catalog& catalog) { catalog.add<Pressure>(); }

}  // namespace aegir
