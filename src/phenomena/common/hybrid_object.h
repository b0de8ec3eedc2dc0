// Hybrid Object: liquid as particles that carry mass and momentum, and a grid on which forces and pressure act [Lesser
// et al. 2022, §6.1; Zhu 2005 (thesis), chapter 3].
//
// One substep, by stage:
//   rebucket         sort                particles into buckets; the grid follows, one bucket beyond the liquid
//   to_grid          solids, to grid     open areas and sheets; face velocities and masses from particles; kept for
//   FLIP evaluate_forces  forces              face by face, where there is liquid boundaries       surface, extend the
//   liquid's distance, velocities for faces that no particle reaches solve            (materials)         viscosity,
//   pressure to_particles     extend velocity,    beyond the surface and into solids; then PIC, FLIP or APIC
//                    to particles
//   move             move                RK3 through the grid's velocity, colliding with the true surfaces
//   remove           remove              what left through open limits
//   frame_end        first frame         what volumes of the first frame show, which no substep has made
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/function_ref.h"
#include "domain/channel/buffer.h"
#include "domain/particles/load_balance.h"
#include "domain/particles/particle_system.h"
#include "domain/volume/discrete_volume.h"
#include "io/point_set.h"
#include "numerics/solids/solid_grid.h"
#include "numerics/surface/surface_census.h"
#include "numerics/transfer/transfer.h"
#include "phenomena/common/channels.h"
#include "phenomena/common/collider.h"
#include "phenomena/common/crowding.h"
#include "phenomena/common/derived_channels.h"
#include "phenomena/common/face_attributes.h"
#include "phenomena/common/hybrid_channels.h"
#include "phenomena/common/inflow.h"
#include "phenomena/common/limits.h"
#include "phenomena/common/region.h"
#include "phenomena/common/reseed.h"
#include "phenomena/common/volume_source.h"
#include "pipeline/model/action.h"
#include "pipeline/model/object.h"
#include "pipeline/schema/parameter.h"

namespace aegir {

struct HybridSettings {
  double voxel_size = 0.05;
  double density = 1000;
  int particles_per_axis = 2;  ///< per cell
  double jitter = 0.5;
  std::optional<TransferMethod> transfer;  ///< not given: as its material asks, or else FLIP
  Parameter<double> flip_ratio = 0.99;
  std::optional<double> transfer_viscosity;  ///< kinematic, m²/s; decides the ratio instead
  int integrator = 3;                        ///< order of Runge–Kutta
  std::int64_t seed = 1;
  std::map<std::string, double> attributes;  ///< more float channels of particles, and their defaults
  bool rest = false;                         ///< particles remember where they were born
  std::optional<ReseedSettings> reseed;      ///< particles per cell, inside; not looked at where not given
};

/// What else is known about liquid that is put into a Hybrid Object.
struct Pour {
  double age = 0;
  std::function<bool(const Vec3d&)> also = {};    ///< places that are taken; all if not given
  std::map<std::string, double> attributes = {};  ///< instead of the Object's defaults
  const Inflow* inflow = nullptr;                 ///< whose region is filled; others keep out of it
  Pose pose = {};                                 ///< of the region
};

class FarFromSolids;
struct SolidsNearby;

/// How pictures show an Object: as something clear that mirrors and bends light, or as grains.
enum class Appearance { water, matte };

class HybridObject final : public Object, public ForceTarget, public VolumeSource, public DerivedSource {
 public:
  static constexpr int padding = 1;  ///< layers of empty buckets around the liquid

  HybridObject(std::string path, const HybridSettings& settings, const Partition& partition);

  void plan(TaskList& tasks) override;
  ObjectAudit audit(Exec& exec) override;
  double substeps_per_second(double cfl) const override {
    return std::max(max_speed_ / cfl, solid_speed_ / solid_cfl(cfl)) / particles_.spacing();
  }
  /// Cells that solids may move in a substep. The grid sees them where they end, particles are where they began: behind
  /// one that went farther than a cell stands an empty layer, into which the pressure of the depth would shoot.
  static double solid_cfl(double cfl) { return std::min(cfl, 1.0); }
  std::size_t memory_bytes() const override;
  std::size_t forecast_bytes(const Comm& comm) const override;
  ParticleSystem* particles() override { return &particles_; }
  std::vector<VolumeDescription> volumes() override;
  void want_volume(const std::string& name) override;
  bool derive(std::string_view name, Asked when) override;
  /// `neighbours` in every substep, of those alone that `who` flags: counting is dear, and most particles are inside.
  /// It is asked when the other derived channels are there.
  void count_neighbours(std::function<WantedOf(const ParticleSystem&)> who);

  void add_force(std::unique_ptr<Force> force) override { forces_.push_back(std::move(force)); }
  void add_collider(const Collider& collider) { colliders_.push_back(&collider); }
  Status set_limits(const Limits& limits);
  /// Announces particles that will certainly exist, for the forecast of memory.
  void expect(double count) { expected_ += count; }

  const HybridSettings& settings() const { return s_; }
  /// Decides the transfer where the settings do not; the first to ask is heard.
  void use_transfer(TransferMethod transfer);
  DiscreteVolume& grid() { return grid_; }
  double spacing() const { return particles_.spacing(); }
  double particle_mass() const;
  double particle_radius() const;
  const std::vector<const Collider*>& colliders() const { return colliders_; }
  const Limits* limits() const { return limits_; }
  const SolidGrid& solids() const { return solids_; }
  SolidChannels solid_channels() const { return {grid::solid_distance, grid::open_area, grid::solid_velocity}; }
  /// Of the forces that are the same everywhere: gravity.
  Vec3d uniform_acceleration(const StepContext& c) const;
  double particles_per_cell() const { return std::pow(s_.particles_per_axis, 3); }
  /// Volume that the particles take up over what they should: 0.01 is one per cent more. 0 where too little liquid has
  /// an inside for the pressure to tell.
  double volume_drift = 0;
  /// Takes what the pressure has found.
  void measured(const Crowding& crowding);
  /// Regions in which continuous sources say how liquid moves.
  Inflows& inflows() { return inflows_; }
  /// Where the scratch of solves and transfers is kept between substeps.
  BufferPool& memory() { return memory_; }
  /// Pressure channel to pascals: density Δx / dt of the step it was solved in.
  double pressure_scale() const { return pressure_dt_ > 0 ? s_.density * spacing() / pressure_dt_ : 0; }
  /// The dt of the solve that the pressure channel comes from; 0 before the first.
  double& pressure_dt() { return pressure_dt_; }
  /// Solids that stop all of a liquid's velocity, not only the part towards them: colliders by number, then the limits;
  /// empty where none does.
  std::vector<std::uint8_t> sticking;
  /// Solids that a liquid may leave, in the same way.
  std::vector<std::uint8_t> letting_go;
  /// Colliders are asked about every particle, also where the grid's distances say that none is near; for tests.
  bool ask_about_all = false;
  /// A pressure acts on it.
  bool has_pressure = false;
  /// Set by its material.
  Appearance appearance = Appearance::water;
  /// Full names of the tasks of Stage::solve that let the pressure act.
  std::string pressure_task;
  /// A material bounds friction at solids itself, after the pressure.
  bool own_friction = false;
  /// Pressure only pushes: the material may open everywhere.
  bool opens = false;
  /// Pressure only pushes at solids with friction, where nothing else is said of them: the material may leave them.
  /// What lies beside them has their velocity along their normal all the same. If it could move off by itself (as with
  /// `letting_go`), the half of all trembling that leads away would lift what rests, and heaps would creep.
  bool leaves_rough = false;
  /// Friction or cohesion hold it together.
  bool holds = false;
  /// The restoring pressure spreads crowds in this substep.
  bool spreads = false;
  /// Velocities of the air beside it are not its own, in this substep: it is at rest where friction holds it.
  bool forgets_air = false;

  /// Fills a region with liquid that moves with `velocity(x)`; returns how many particles. Collective.
  std::int64_t fill(Exec& exec, const Region& region, const SeedSettings& seeding,
                    FunctionRef<Vec3d(const Vec3d&)> velocity, const Pour& pour = {});
  /// Puts particles at given places, moving with `velocity` and what the points' `v` says; `pscale` decides their mass.
  /// Returns the mass of those that are not in a solid or beyond the limits. Collective.
  double fill(Exec& exec, const PointSet& points, const Vec3d& velocity, const Pour& pour = {});
  /// Fails, with a remedy, for an attribute that the Object does not declare.
  Status check_attributes(const std::map<std::string, double>& attributes) const;
  SeedSettings seeding() const;
  /// Gives out `count` ids that were never used; every rank asks for the same number.
  std::int64_t take_ids(std::int64_t count) { return std::exchange(next_id_, next_id_ + count); }
  /// Whether a place is inside a solid or beyond the limits.
  bool obstructed(const Vec3d& x) const;
  /// Tasks that pour or drain in one stage take turns: the names of those before, to which `name` is added.
  std::vector<std::string> pours_so_far(const std::string& name) { return add_turn(pours_, name); }
  std::vector<std::string> drains_so_far(const std::string& name) { return add_turn(drains_, name); }
  /// Full names of tasks that solve before the pressure does.
  std::vector<std::string>& solves_before_pressure() { return solves_before_pressure_; }
  /// Full names of tasks in which materials rub under the pressure just solved.
  std::vector<std::string>& frictions() { return frictions_; }
  /// Set by a material that solves before the pressure: whether it is so stiff in this substep that the pressure has to
  /// act before it as well.
  std::function<bool(const StepContext&)> stiff;
  /// Full name of the task that lets the pressure act for the first time; empty where there is no pressure.
  std::string first_pressure;
  /// Removes the particles of a part of space, counts them, and adds their mass to `removed`. Collective.
  Status take_out(Exec& exec, const Box& reach, FunctionRef<bool(const Vec3d&)> gone, double& removed);
  /// Names what adds to the liquid or takes from it, and where its mass is counted; told in the statistics.
  void book_added(std::string name, const double& mass) { added_.emplace_back(std::move(name), &mass); }
  void book_removed(std::string name, const double& mass) { removed_by_.emplace_back(std::move(name), &mass); }
  /// Names a number that a material wants in the statistics; `value` outlives the Object's steps.
  void book_figure(const char* name, const double& value) { figures_.emplace_back(name, &value); }
  /// Particles may have different masses.
  bool uneven = false;

 private:
  Status sort(StepContext& c);
  void look_ahead(StepContext& c);
  double speed_beside_liquid(Exec& exec, double begin, double end, std::vector<double>& speeds) const;
  Status to_grid(StepContext& c);
  Status apply_forces(StepContext& c);
  Status update_solids(StepContext& c);
  Status count(StepContext& c);
  Status update_surface(StepContext& c);
  Status extend(StepContext& c);
  Status close_inflows(StepContext& c);
  Status extend_velocity(StepContext& c);
  Status to_particles(StepContext& c);
  Status move(StepContext& c);
  Status remove(StepContext& c);
  void plan_reseeding(TaskList& tasks);
  Status reseed(StepContext& c);
  Status settle(StepContext& c);
  Status show_first_frame(StepContext& c);
  std::vector<ChannelAccess> force_accesses();
  void declare_derived_cells(std::string_view name);
  void offer_derived(std::vector<VolumeDescription>& volumes);
  void plan_derived(TaskList& tasks);
  Status update_derived(StepContext& c);
  void count_wanted_neighbours(StepContext& c);
  TransferChannels transfer_channels() const;
  struct Closeness {
    const FarFromSolids& far;
    const float* nodes;                         // solid distances of the bucket
    FunctionRef<const SolidsNearby&()> nearby;  // and around it
  };
  void collide(const StepContext& c, const Bucket& bucket, const Closeness& closeness, std::size_t count,
               const float* const from[3], float* const to[3], float* const velocity[3]) const;

  static std::vector<std::string> add_turn(std::vector<std::string>& turns, const std::string& name) {
    std::vector<std::string> before = turns;
    return turns.push_back(name), before;
  }

  HybridSettings s_;
  std::optional<TransferMethod> transfer_;
  ParticleSystem particles_;
  DiscreteVolume grid_;
  SolidGrid solids_;
  BufferPool memory_;
  std::optional<SurfaceCensus> census_;  // between counting and distances
  std::vector<std::unique_ptr<Force>> forces_;
  FaceAttributes face_attributes_;  // that forces read
  std::map<std::string, Asked, std::less<>> derived_;
  std::set<std::string, std::less<>> derived_volumes_;
  std::vector<std::function<WantedOf(const ParticleSystem&)>> neighbours_of_;  // who asks for some of them only
  std::vector<const Collider*> colliders_;
  const Limits* limits_ = nullptr;
  Inflows inflows_;
  std::vector<std::string> pours_, drains_, solves_before_pressure_, frictions_;
  LoadBalance balance_;
  std::int64_t next_id_ = 0, removed_ = 0;
  std::vector<std::pair<std::string, const double*>> added_, removed_by_;
  std::vector<std::pair<const char*, const double*>> figures_;
  double left_ = 0;           // mass that left through the limits
  double inside_cells_ = -1;  // in which the volume was measured; -1 before the first solve
  bool reseeded_ = false;     // in this substep
  double pressure_dt_ = 0, max_speed_ = 0, solid_speed_ = 0, expected_ = 0;
};

class Catalog;
void register_hybrid(Catalog& catalog);

}  // namespace aegir
