#include "phenomena/common/hybrid_object.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "domain/for_each_bucket.h"
#include "numerics/solids/wall_velocity.h"
#include "numerics/surface/extrapolate.h"
#include "numerics/surface/liquid_distance.h"
#include "phenomena/common/crowding.h"
#include "phenomena/common/particle_audit.h"
#include "phenomena/common/projection.h"
#include "phenomena/common/slide.h"

namespace aegir {
namespace {

constexpr int reach = 4;            // faces that velocities are extended by
constexpr float sliver = 0.25f;     // faces that are less open are not trusted where friction holds
constexpr double clearance = 1e-3;  // cells that particles are kept off solids
constexpr InflowChannels inflow_channels{grid::velocity, grid::open_area, grid::solid_velocity};

}  // namespace

HybridObject::HybridObject(std::string path, const HybridSettings& settings, const Partition& partition)
    : Object(std::move(path)),
      s_(settings),
      particles_(this->path(), settings.voxel_size, partition),
      grid_(this->path(), particles_.shared_topology()) {
  uneven = s_.reseed.has_value();
  for (const auto& c : {particle::radius, particle::mass, particle::age}) particles_.declare(c);
  particles_.declare(particle::velocity);
  if (s_.rest) particles_.declare(particle::rest);
  for (const auto& [name, value] : s_.attributes)
    particles_.declare(channel_info(ParticleChannel<float>{name.c_str(), {}, static_cast<float>(value)}));
  for (const auto& c : {grid::velocity, grid::face_mass, grid::open_area, grid::solid_velocity}) grid_.declare(c);
  if (s_.transfer) use_transfer(*s_.transfer);
  grid_.declare(grid::solid_distance);
  grid_.declare(grid::surface_distance);
  grid_.declare(cell_fill);
  grid_.declare(cell_room);
  grid_.declare(surface_crowding);
  state()
      .add("particles", particles_)
      .add("grid", grid_)
      .record("next_id", &next_id_)
      .record("removed", &removed_)
      .record("left", &left_)
      .record("pressure_dt", &pressure_dt_)
      .record("volume_drift", &volume_drift)
      .record("inside_cells", &inside_cells_)
      .record("solid_speed", &solid_speed_);
}

void HybridObject::use_transfer(TransferMethod transfer) {
  if (transfer_) return;
  transfer_ = transfer;
  if (transfer == TransferMethod::apic)
    for (const auto& c : particle::affine) particles_.declare(c);
  if (transfer == TransferMethod::flip) grid_.declare(grid::velocity_before);
}

double HybridObject::particle_mass() const {
  const double share = spacing() / s_.particles_per_axis;
  return s_.density * share * share * share;
}

double HybridObject::particle_radius() const { return std::cbrt(particle_mass() / s_.density / 4.1887902047863905); }

Status HybridObject::set_limits(const Limits& limits) {
  if (limits_)
    return usage_error({}, "'{}' lies in two domains, '{}' and '{}'; give it one, or put it into another group", path(),
                       limits_->path(), limits.path());
  limits_ = &limits;
  book_removed(limits.path(), left_);
  return {};
}

std::size_t HybridObject::memory_bytes() const { return particles_.memory_bytes() + grid_.memory_bytes(); }

void HybridObject::plan(TaskList& tasks) {
  use_transfer(TransferMethod::flip);
  const std::string& me = path();
  std::vector<std::string> forces, colliders;
  std::vector<ChannelAccess> surfaces;
  for (const auto& f : forces_) forces.push_back(f->behavior());
  for (const Collider* c : colliders_) colliders.push_back(c->path()), surfaces.push_back(reads(c->path(), "surface"));
  const auto add = [&](const char* name, Stage stage, std::vector<ChannelAccess> accesses, auto member,
                       std::vector<std::string> after = {}, std::vector<std::string> acting = {}) {
    for (std::string& a : after) a = me + ":" + a;
    tasks.add({.name = name,
               .stage = stage,
               .behavior = me,
               .accesses = std::move(accesses),
               .after = std::move(after),
               .acting = std::move(acting),
               .run = [this, member](StepContext& c) { return (this->*member)(c); }});
  };
  const auto joined = [](std::vector<ChannelAccess> a, const std::vector<ChannelAccess>& b) {
    return a.insert(a.end(), b.begin(), b.end()), a;
  };
  std::vector<ChannelAccess> affine_reads, affine_writes, before;
  if (transfer_ == TransferMethod::apic)
    for (const auto& a : particle::affine)
      affine_reads.push_back(reads(me, a.name)), affine_writes.push_back(writes(me, a.name));
  if (transfer_ == TransferMethod::flip) before = {reads(me, "vel_before", 1)};

  add("sort", Stage::rebucket, {writes(me, "*")}, &HybridObject::sort);
  std::vector<ChannelAccess> to_grid_accesses{reads(me, "P"),          reads(me, "v"),           reads(me, "mass"),
                                              adds(me, "vel", 1),      adds(me, "face_mass", 1), writes(me, "vel"),
                                              writes(me, "face_mass"), reads(me, "vel")};
  if (transfer_ == TransferMethod::flip) to_grid_accesses.push_back(writes(me, "vel_before"));
  // Before the transfer: particles and sheets are looked up by the buckets of this substep.
  add("solids", Stage::to_grid,
      joined({writes(me, "solid_distance"), reads(me, "solid_distance", 1), writes(me, "open_area"),
              writes(me, "solid_velocity")},
             surfaces),
      &HybridObject::update_solids, {}, colliders);
  // Also before it: all ranks have just sorted, and need not wait for each other again until distances are known.
  add("count", Stage::to_grid,
      {reads(me, "P", bucket_size), reads(me, "solid_distance", 4), reads(me, "mass"), writes(me, "cell_fill"),
       writes(me, "cell_room")},
      &HybridObject::count, {"solids"});
  add("to grid", Stage::to_grid, joined(to_grid_accesses, affine_reads), &HybridObject::to_grid, {"solids", "count"});
  add("forces", Stage::evaluate_forces, force_accesses(), &HybridObject::apply_forces, {}, forces);
  add("surface", Stage::boundaries,
      {reads(me, "P", bucket_size), reads(me, "solid_distance", 4), writes(me, "surface_distance"),
       reads(me, "surface_distance", 4), reads(me, "open_area", 4), reads(me, "cell_fill", 1),
       reads(me, "cell_room", 1), writes(me, "surface_crowding")},
      &HybridObject::update_surface);
  add("extend", Stage::boundaries,
      {writes(me, "vel"), reads(me, "vel", 4), reads(me, "face_mass", 4), reads(me, "open_area", 4)},
      &HybridObject::extend);
  std::vector<ChannelAccess> inflow_accesses;
  if (!inflows_.empty()) {
    inflow_accesses = {writes(me, "open_area"), writes(me, "solid_velocity")};
    add("inflow", Stage::boundaries, joined({reads(me, "open_area", 1), reads(me, "solid_velocity")}, inflow_accesses),
        &HybridObject::close_inflows, {"surface", "extend"});
  }
  add("extend velocity", Stage::to_particles,
      joined({writes(me, "vel"), reads(me, "vel", 4), reads(me, "face_mass", 4), writes(me, "face_mass"),
              reads(me, "open_area", 4), reads(me, "solid_velocity", 1), reads(me, "cell_room"),
              reads(me, "solid_distance", 2), reads(me, "surface_distance", 2), writes(me, "divergence"),
              reads(me, "divergence", 1)},
             inflow_accesses),
      &HybridObject::extend_velocity);
  add("to particles", Stage::to_particles,
      joined(joined({reads(me, "P"), reads(me, "surface_distance"), writes(me, "v"), reads(me, "vel", 1)}, before),
             affine_writes),
      &HybridObject::to_particles, {"extend velocity"});
  plan_derived(tasks);
  std::vector<ChannelAccess> spreading;
  if (holds) {
    grid_.declare(grid::restoring_pressure), grid_.declare(grid::way_velocity), grid_.declare(grid::shear_rate);
    spreading = {reads(me, grid::restoring_pressure.name, 1), writes(me, grid::way_velocity.name),
                 reads(me, grid::way_velocity.name, 4), reads(me, "surface_distance", 1), reads(me, "open_area")};
  }
  add("move", Stage::move,
      joined(joined({writes(me, "P"), writes(me, "v"), reads(me, "v"), writes(me, "age"), reads(me, "vel", 4),
                     reads(me, "solid_distance", 2), writes(me, particle::travelled.name)},
                    surfaces),
             spreading),
      &HybridObject::move, {}, colliders);
  if (limits_) {
    add("remove", Stage::remove, {writes(me, "*")}, &HybridObject::remove);
    tasks.tasks().back().after = drains_;
  }
  if (s_.reseed) plan_reseeding(tasks);
  add("first frame", Stage::frame_end,
      joined({writes(me, "*"), reads(me, "*", bucket_size), adds(me, "*", 1)}, surfaces),
      &HybridObject::show_first_frame);
}

/// Shares of ranks follow the work that was measured.
Status HybridObject::sort(StepContext& c) {
  const auto cuts = balance_.better(c.exec.comm, particles_);
  balance_.begin(c.exec.comm, Work::particles);
  if (Status ok = particles_.rebucket(c.exec, cuts.value_or(particles_.topology().partition()), padding); !ok)
    return ok;
  if (&grid_.topology() != &particles_.topology()) grid_.adopt(c.exec.comm, particles_.shared_topology());
  look_ahead(c);
  return {};
}

TransferChannels HybridObject::transfer_channels() const {
  return {particle::velocity,
          particle::mass,
          grid::velocity,
          grid::face_mass,
          {particle::affine[0], particle::affine[1], particle::affine[2]}};
}

Status HybridObject::to_grid(StepContext& c) {
  aegir::to_grid(c.exec, particles_, grid_, transfer_channels(), transfer_ == TransferMethod::apic, &solids_, &memory_);
  if (transfer_ == TransferMethod::flip)
    for_each_bucket(
        c.exec, "keep velocity", grid_.topology(),
        [](const Bucket&, auto& now, auto& before) {
          for (std::size_t a = 0; a < 3; ++a) std::copy_n(now[a].values, bucket_cells, before[a].values);
        },
        grid_.read(grid::velocity), grid_.overwrite(grid::velocity_before));
  balance_.begin(c.exec.comm, Work::grid);
  return {};
}

Status HybridObject::update_solids(StepContext& c) {
  const std::vector<const Solid*> solids(colliders_.begin(), colliders_.end());
  std::optional<Walls> walls;
  if (limits_) {
    walls = Walls{limits_->box(), {}, limits_->friction()};
    for (std::size_t side = 0; side < 6; ++side) walls->closed[side] = limits_->sides()[side] == Limit::wall;
  }
  solids_.update(c.exec, grid_, solids, walls, solid_channels());
  return {};
}

Status HybridObject::count(StepContext& c) {
  census_.emplace(c.exec, particles_, grid_, &grid::solid_distance, &memory_);
  if (uneven)
    count_masses(c.exec, particles_, grid_, particle::mass, particles_per_cell() * particle_mass());
  else
    count_particles(c.exec, census_->counts(), grid_, particles_per_cell());
  measure_room(c.exec, grid_, grid::solid_distance);
  return {};
}

Status HybridObject::update_surface(StepContext& c) {
  // Only sheets have two wet sides that must not be taken for one.
  const bool sheets =
      std::any_of(colliders_.begin(), colliders_.end(), [](const Collider* s) { return s->may_be_thin(); });
  liquid_distance(
      c.exec, particles_, grid_, *census_,
      {grid::surface_distance, &grid::solid_distance, sheets ? &grid::open_area : nullptr, sheets ? &solids_ : nullptr,
       has_pressure && !uneven ? &surface_crowding : nullptr, particles_per_cell()},
      &memory_);
  census_.reset();
  if (uneven)  // their numbers tell nothing
    for_each_bucket(
        c.exec, "no crowding", grid_.topology(),
        [](const Bucket&, auto& crowding) { std::fill_n(crowding.values, bucket_cells, 0.0f); },
        grid_.overwrite(surface_crowding));
  close_gaps(c.exec, grid_, grid::surface_distance, solids_);
  if (holds) close_pockets(c.exec, grid_, grid::surface_distance, grid::open_area, solids_.touched());
  return {};
}

Status HybridObject::extend(StepContext& c) {
  extrapolate(c.exec, grid_, {grid::velocity, grid::face_mass, &grid::open_area}, 2, &memory_);
  return {};
}

Status HybridObject::close_inflows(StepContext& c) {
  inflows_.close_faces(c.exec, grid_, inflow_channels);
  return {};
}

Status HybridObject::extend_velocity(StepContext& c) {
  if (forgets_air) {
    // Gravity's kick along a slope is in the air above it as well, and would make its grains creep; at the edges of a
    // block that holds together, where cells are half air, it would draw grains out.
    std::vector<int> all(static_cast<std::size_t>(grid_.topology().local_count()));
    std::iota(all.begin(), all.end(), 0);
    forget_air(c.exec, grid_, {grid::surface_distance, grid::face_mass}, {.corners = true}, all);
  } else if (has_pressure) {
    forget_air(c.exec, grid_, {grid::surface_distance, grid::face_mass}, {.depth = 0.4f}, solids_.touched());
  }
  if (holds) forget_slivers(c.exec, grid_, grid::open_area, grid::face_mass, sliver, solids_.touched());
  extrapolate(c.exec, grid_, {grid::velocity, grid::face_mass, &grid::open_area}, reach, &memory_);
  // What friction holds has no waves that air could slow down, and at its surface stands still or falls.
  if (has_pressure && !holds)
    close_air(c.exec, grid_,
              {grid::velocity, grid::face_mass, grid::open_area, grid::solid_velocity, cell_room,
               grid::surface_distance, grid::divergence, grid::pressure});
  constrain_velocity(c.exec, grid_, solids_, grid::velocity, solid_channels(),
                     {.sticks = sticking, .leaves = opens, .lets_go = letting_go});
  if (!inflows_.empty()) inflows_.open_faces(c.exec, grid_, inflow_channels);
  return {};
}

Status HybridObject::to_particles(StepContext& c) {
  balance_.begin(c.exec.comm, Work::particles);
  const double ratio = s_.transfer_viscosity
                           ? 1 - std::min(1.0, 6 * c.dt * *s_.transfer_viscosity / (spacing() * spacing()))
                           : s_.flip_ratio.at(c.frame_time);
  aegir::to_particles(c.exec, particles_, grid_, transfer_channels(),
                      {.transfer = *transfer_,
                       .flip_ratio = static_cast<float>(ratio),
                       .previous = grid::velocity_before,
                       .barrier = &solids_});
  if (holds && transfer_ == TransferMethod::apic)
    limit_loose_gradients(c.exec, particles_, grid_, grid::surface_distance, transfer_channels());
  return {};
}

namespace {

struct Range {
  float least, most;
  Range with(const Range& b) const { return {std::min(least, b.least), std::max(most, b.most)}; }
};

/// Least and greatest of at least one value. 4 bytes and 2 operations each, eight at a time.
Range range_of(const float* x, std::size_t count) {
  Row<float> least = Row<float>{} + x[0], most = least;
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const Row<float> value = load_row(x + i);
    least = value < least ? value : least, most = value > most ? value : most;
  }
  Range range{least[0], most[0]};
  for (int l = 1; l < 8; ++l) range = range.with({least[l], most[l]});
  for (; i < count; ++i) range = range.with({x[i], x[i]});
  return range;
}

}  // namespace

void HybridObject::collide(const StepContext& c, const Bucket& bucket, const Closeness& closeness, std::size_t count,
                           const float* const from[3], float* const to[3], float* const velocity[3]) const {
  const Vec3d origin = bucket.origin();
  const double dx = bucket.spacing();
  if (count == 0) return;
  if (!colliders_.empty()) {
    Vec3d low, high;  // of all ways, in cells
    for (int a = 0; a < 3; ++a) {
      const Range way = range_of(from[a], count).with(range_of(to[a], count));
      low[a] = way.least, high[a] = way.most;
    }
    const Box ways = Box{origin + low * dx, origin + high * dx}.grown(0.01 * dx);
    std::vector<const Collider*> near;
    for (const Collider* s : colliders_)
      if (s->swept_bounds().overlaps(ways)) near.push_back(s);
    const auto stored = [&](const Vec3d& x) { return origin + Vec3d(Vec3f((x - origin) / dx)) * dx; };
    std::vector<std::uint32_t> doubtful;
    if (!near.empty() && !ask_about_all) closeness.far.list_doubtful(closeness.nodes, count, from, to, doubtful);
    if (!near.empty() && ask_about_all) doubtful.resize(count), std::iota(doubtful.begin(), doubtful.end(), 0u);
    for (const std::size_t i : doubtful) {
      const Vec3f start(from[0][i], from[1][i], from[2][i]), goal(to[0][i], to[1][i], to[2][i]);
      SlideWay path{.begin = origin + Vec3d(start) * dx,
                    .goal = origin + Vec3d(goal) * dx,
                    .velocity = Vec3d(velocity[0][i], velocity[1][i], velocity[2][i]),
                    .time = c.time,
                    .dt = c.dt,
                    .clearance = clearance * dx,
                    .free_place = {}};
      if (!ask_about_all) {
        const SolidsNearby& nearby = closeness.nearby();
        if (closeness.far.surely(nearby, start, goal)) continue;
        const auto outlook = closeness.far.outlook(nearby, goal);
        path.goal_is_free = outlook.clear > 0.01f;
        if (outlook.outside) path.free_place = origin + Vec3d(outlook.node) * dx;
      }
      const Slide end = slide(path, near, stored);
      if (!end.touched) continue;
      const Vec3f cells((end.position - origin) / dx);
      for (int a = 0; a < 3; ++a) to[a][i] = cells[a], velocity[a][i] = static_cast<float>(end.velocity[a]);
    }
  }
  if (!limits_) return;
  for (int a = 0; a < 3; ++a) {
    const auto low = static_cast<float>((limits_->box().min[a] - origin[a]) / dx + clearance);
    const auto high = static_cast<float>((limits_->box().max[a] - origin[a]) / dx - clearance);
    const bool low_wall = limits_->sides()[static_cast<std::size_t>(2 * a)] == Limit::wall,
               high_wall = limits_->sides()[static_cast<std::size_t>(2 * a + 1)] == Limit::wall;
    float* x = to[a];
    float* v = velocity[a];
    const Range goals = range_of(x, count);
    if (low_wall && goals.least < low)
      for (std::size_t i = 0; i < count; ++i)
        if (x[i] < low) x[i] = low, v[i] = std::max(v[i], 0.0f);
    if (high_wall && goals.most > high)
      for (std::size_t i = 0; i < count; ++i)
        if (x[i] > high) x[i] = high, v[i] = std::min(v[i], 0.0f);
  }
}

Status HybridObject::move(StepContext& c) {
  auto velocity = particles_.write(particle::velocity);
  const bool inflow = inflows_.active(), obstacles = limits_ || !colliders_.empty() || inflow;
  auto nodes = grid_.read(grid::solid_distance);
  auto nodes_around = grid_.read<Halo<2>>(grid::solid_distance);
  nodes.prepare(c.exec), nodes_around.prepare(c.exec);
  const FarFromSolids far(colliders_, spacing());
  const bool travels = particles_.has(particle::travelled.name);
  const auto dx = static_cast<float>(spacing());
  std::optional<ParticleWrite<float>> way;
  if (travels) way = particles_.write(particle::travelled), way->prepare(c.exec);
  const auto hook = [&](const Bucket& bucket, std::size_t first, std::size_t count, const float* const from[3],
                        float* const to[3]) {
    ParticleWrite<Vec3f>::View v;
    velocity.load(v, bucket.index);
    float* const planes[3] = {v.span.plane[0] + first, v.span.plane[1] + first, v.span.plane[2] + first};
    GridRead<float, 1>::View distance;
    nodes.load(distance, bucket.index);
    if (inflow) inflows_.move(bucket, count, from, to, planes);
    GridReadHalo<float, 1, Halo<2>>::View around;
    std::optional<SolidsNearby> nearby;
    const auto look = [&]() -> const SolidsNearby& {
      if (!nearby) {
        nodes_around.load(around, bucket.index);
        nearby.emplace(
            SolidsNearby{around.plane[0], solids_.drawn_ways(bucket.index), solids_.drawn_around(bucket.index)});
      }
      return *nearby;
    };
    collide(c, bucket, {far, distance.get().values, look}, count, from, to, planes);
    if (!travels) return;
    ParticleWrite<float>::View gone;
    way->load(gone, bucket.index);
    for (std::size_t i = 0; i < count; ++i)
      gone.span.plane[0][first + i] +=
          dx * length(Vec3f(to[0][i] - from[0][i], to[1][i] - from[1][i], to[2][i] - from[2][i]));
  };
  MoveHook call(hook);
  velocity.prepare(c.exec);
  const bool apart = std::exchange(spreads, false);
  if (apart)
    less_gradient(c.exec, grid_,
                  {grid::velocity, grid::face_mass, grid::open_area, grid::solid_velocity, cell_room,
                   grid::surface_distance, grid::divergence, grid::restoring_pressure},
                  grid::way_velocity);
  move_particles(c.exec, particles_, grid_, apart ? grid::way_velocity : grid::velocity,
                 {.dt = c.dt, .order = s_.integrator, .barrier = &solids_, .own_velocity = &particle::velocity},
                 obstacles || travels ? &call : nullptr);
  const auto dt = static_cast<float>(c.dt);
  for_each_bucket(
      c.exec, "age", particles_.topology(),
      [dt](const Bucket&, auto& age) {
        for (std::size_t i = 0; i < age.count; ++i) age.plane[0][i] += dt;
      },
      particles_.write(particle::age));
  return {};
}

Status HybridObject::remove(StepContext& c) {
  if (std::all_of(limits_->sides().begin(), limits_->sides().end(), [](Limit l) { return l == Limit::wall; }))
    return {};
  const Box box = limits_->box();
  return take_out(
      c.exec, {Vec3d(-1e300), Vec3d(1e300)}, [&](const Vec3d& x) { return !box.contains(x); }, left_);
}

}  // namespace aegir
