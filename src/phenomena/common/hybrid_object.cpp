#include "phenomena/common/hybrid_object.h"

#include <algorithm>
#include <cmath>
#include <mutex>

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

constexpr int padding = 1;          // buckets beyond the liquid
constexpr int reach = 4;            // faces that velocities are extended by
constexpr double clearance = 1e-3;  // cells that particles are kept off solids

}  // namespace

HybridObject::HybridObject(std::string path, const HybridSettings& settings, const Partition& partition)
    : Object(std::move(path)),
      s_(settings),
      particles_(this->path(), settings.voxel_size, partition),
      grid_(this->path(), particles_.shared_topology()) {
  for (const auto& c : {particle::radius, particle::mass, particle::age}) particles_.declare(c);
  particles_.declare(particle::velocity);
  if (s_.transfer == TransferMethod::apic)
    for (const auto& c : particle::affine) particles_.declare(c);
  if (s_.rest) particles_.declare(particle::rest);
  for (const auto& [name, value] : s_.attributes)
    particles_.declare(channel_info(ParticleChannel<float>{name.c_str(), {}, static_cast<float>(value)}));
  for (const auto& c : {grid::velocity, grid::face_mass, grid::open_area, grid::solid_velocity}) grid_.declare(c);
  if (s_.transfer == TransferMethod::flip) grid_.declare(grid::velocity_before);
  grid_.declare(grid::solid_distance);
  grid_.declare(grid::surface_distance);
  grid_.declare(cell_fill);
  grid_.declare(cell_room);
  state()
      .add("particles", particles_)
      .add("grid", grid_)
      .record("next_id", &next_id_)
      .record("removed", &removed_)
      .record("pressure_dt", &pressure_dt_)
      .record("volume_drift", &volume_drift)
      .record("solid_speed", &solid_speed_);
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
  return {};
}

std::size_t HybridObject::memory_bytes() const { return particles_.memory_bytes() + grid_.memory_bytes(); }

void HybridObject::plan(TaskList& tasks) {
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
  if (s_.transfer == TransferMethod::apic)
    for (const auto& a : particle::affine)
      affine_reads.push_back(reads(me, a.name)), affine_writes.push_back(writes(me, a.name));
  if (s_.transfer == TransferMethod::flip) before = {reads(me, "vel_before", 1)};

  add("sort", Stage::rebucket, {writes(me, "*")}, &HybridObject::sort);
  std::vector<ChannelAccess> to_grid_accesses{reads(me, "P"),          reads(me, "v"),           reads(me, "mass"),
                                              adds(me, "vel", 1),      adds(me, "face_mass", 1), writes(me, "vel"),
                                              writes(me, "face_mass"), reads(me, "vel")};
  if (s_.transfer == TransferMethod::flip) to_grid_accesses.push_back(writes(me, "vel_before"));
  // Before the transfer: particles and sheets are looked up by the buckets of this substep.
  add("solids", Stage::to_grid,
      joined({writes(me, "solid_distance"), reads(me, "solid_distance", 1), writes(me, "open_area"),
              writes(me, "solid_velocity")},
             surfaces),
      &HybridObject::update_solids, {}, colliders);
  add("to grid", Stage::to_grid, joined(to_grid_accesses, affine_reads), &HybridObject::to_grid, {"solids"});
  add("forces", Stage::evaluate_forces, {writes(me, "vel"), reads(me, "vel", 1), reads(me, "face_mass")},
      &HybridObject::apply_forces, {}, forces);
  add("surface", Stage::boundaries,
      {reads(me, "P", bucket_size), reads(me, "solid_distance", 4), writes(me, "surface_distance"),
       reads(me, "surface_distance", 4), reads(me, "open_area", 4), writes(me, "cell_fill"), writes(me, "cell_room"),
       reads(me, "cell_fill", 1), reads(me, "cell_room", 1)},
      &HybridObject::update_surface);
  add("extend", Stage::boundaries,
      {writes(me, "vel"), reads(me, "vel", 4), reads(me, "face_mass", 4), reads(me, "open_area", 4)},
      &HybridObject::extend);
  add("extend velocity", Stage::to_particles,
      {writes(me, "vel"), reads(me, "vel", 4), reads(me, "face_mass", 4), writes(me, "face_mass"),
       reads(me, "open_area", 4), reads(me, "solid_velocity", 1), reads(me, "solid_distance", 2),
       reads(me, "surface_distance", 2), writes(me, "divergence"), reads(me, "divergence", 1)},
      &HybridObject::extend_velocity);
  add("to particles", Stage::to_particles,
      joined(joined({reads(me, "P"), writes(me, "v"), reads(me, "vel", 1)}, before), affine_writes),
      &HybridObject::to_particles, {"extend velocity"});
  add("move", Stage::move,
      joined({writes(me, "P"), writes(me, "v"), reads(me, "v"), writes(me, "age"), reads(me, "vel", 4),
              reads(me, "solid_distance")},
             surfaces),
      &HybridObject::move, {}, colliders);
  if (limits_) {
    add("remove", Stage::remove, {writes(me, "*")}, &HybridObject::remove);
    tasks.tasks().back().after = drains_;
  }
  add("first frame", Stage::frame_end,
      joined({writes(me, "*"), reads(me, "*", bucket_size), adds(me, "*", 1)}, surfaces),
      &HybridObject::show_first_frame);
}

Status HybridObject::sort(StepContext& c) {
  Comm& comm = c.exec.comm;
  if (Status ok = particles_.rebucket(c.exec, padding); !ok) return ok;
  if (comm.size() > 1 && particles_.imbalance(comm) > 1.2)
    if (const Partition better = particles_.balanced(comm); !(better == particles_.topology().partition()))
      if (Status ok = particles_.rebucket(c.exec, better, padding); !ok) return ok;
  if (&grid_.topology() != &particles_.topology()) grid_.adopt(comm, particles_.shared_topology());
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
  aegir::to_grid(c.exec, particles_, grid_, transfer_channels(), s_.transfer == TransferMethod::apic, &solids_,
                 &memory_);
  if (s_.transfer == TransferMethod::flip)
    for_each_bucket(
        c.exec, "keep velocity", grid_.topology(),
        [](const Bucket&, auto& now, auto& before) {
          for (std::size_t a = 0; a < 3; ++a) std::copy_n(now[a].values, bucket_cells, before[a].values);
        },
        grid_.read(grid::velocity), grid_.overwrite(grid::velocity_before));
  return {};
}

namespace {

/// Face centres of one axis of a bucket, half of the bucket at a time, and what forces make of them.
struct FaceBlock {
  alignas(64) float x[ForceBlock::capacity], y[ForceBlock::capacity], z[ForceBlock::capacity];
  alignas(64) float v[3][ForceBlock::capacity], a[3][ForceBlock::capacity];
  alignas(64) float damping[ForceBlock::capacity], radius[ForceBlock::capacity], mass[ForceBlock::capacity];
};

/// The velocity of component `b` at a face of axis `a`: the mean of the four faces around it.
template <class Tile>
float across(const Tile& u, int a, int b, int i, int j, int k) {
  if (a == b) return u(i, j, k);
  Vec3i back{}, up{};
  back[a] = -1, up[b] = 1;
  return 0.25f * (u(i, j, k) + u(i + up.x, j + up.y, k + up.z) + u(i + back.x, j + back.y, k + back.z) +
                  u(i + back.x + up.x, j + back.y + up.y, k + back.z + up.z));
}

}  // namespace

Status HybridObject::apply_forces(StepContext& c) {
  if (forces_.empty()) return {};
  bool uniform = true;
  for (const auto& f : forces_) f->begin_substep(c), uniform &= f->uniform();
  const auto dt = static_cast<float>(c.dt);
  if (uniform) {
    FaceBlock one{};
    ForceBlock b;
    b.count = 1, b.time = c.time, b.dt = c.dt, b.spacing = spacing();
    b.ax = one.a[0], b.ay = one.a[1], b.az = one.a[2], b.damping = one.damping;
    for (const auto& f : forces_) f->accumulate(b);
    const float kick[3] = {one.a[0][0] * dt, one.a[1][0] * dt, one.a[2][0] * dt};
    for_each_bucket(
        c.exec, "forces", grid_.topology(),
        [&](const Bucket&, auto& u, auto& mass) {
          for (std::size_t a = 0; a < 3; ++a) {
            float* __restrict to = u[a].values;
            const float* __restrict m = mass[a].values;
            for (int f = 0; f < bucket_cells; ++f) to[f] += m[f] > 0 ? kick[a] : 0.0f;
          }
        },
        grid_.write(grid::velocity), grid_.read(grid::face_mass));
    return {};
  }
  const auto radius = static_cast<float>(particle_radius()), mass = static_cast<float>(particle_mass());
  for_each_bucket(
      c.exec, "forces", grid_.topology(),
      [&](const Bucket& bucket, auto& u, auto& old, auto& face_mass) {
        FaceBlock s;
        std::fill(std::begin(s.radius), std::end(s.radius), radius),
            std::fill(std::begin(s.mass), std::end(s.mass), mass);
        for (int axis = 0; axis < 3; ++axis)
          for (int half = 0; half < 2; ++half) {
            const auto& m = face_mass[static_cast<std::size_t>(axis)];
            const int first = half * 256;
            if (std::none_of(m.values + first, m.values + first + 256, [](float v) { return v > 0; })) continue;
            for (int f = 0; f < 256; ++f) {
              const int cell = first + f, i = cell >> 6, j = cell >> 3 & 7, k = cell & 7;
              s.x[f] = static_cast<float>(i) + (axis == 0 ? 0.0f : 0.5f),
              s.y[f] = static_cast<float>(j) + (axis == 1 ? 0.0f : 0.5f),
              s.z[f] = static_cast<float>(k) + (axis == 2 ? 0.0f : 0.5f);
              for (int b = 0; b < 3; ++b)
                s.v[b][f] = across(old[static_cast<std::size_t>(b)], axis, b, i, j, k), s.a[b][f] = 0;
              s.damping[f] = 0;
            }
            ForceBlock b;
            b.count = 256, b.time = c.time, b.dt = c.dt, b.origin = bucket.origin(), b.spacing = bucket.spacing();
            b.x = s.x, b.y = s.y, b.z = s.z, b.vx = s.v[0], b.vy = s.v[1], b.vz = s.v[2], b.radius = s.radius,
            b.mass = s.mass;
            b.ax = s.a[0], b.ay = s.a[1], b.az = s.a[2], b.damping = s.damping;
            for (const auto& f : forces_) f->accumulate(b);
            float* to = u[static_cast<std::size_t>(axis)].values + first;
            for (int f = 0; f < 256; ++f) {
              const float damp = s.damping[f] * dt;
              if (m.values[first + f] > 0)
                to[f] += dt * s.a[axis][f] * (1 + 0.5f * damp) / (1 + damp + 0.5f * damp * damp);
            }
          }
      },
      grid_.write(grid::velocity), grid_.read<Halo<1>>(grid::velocity), grid_.read(grid::face_mass));
  return {};
}

Status HybridObject::update_solids(StepContext& c) {
  const std::vector<const Solid*> solids(colliders_.begin(), colliders_.end());
  std::optional<Walls> walls;
  if (limits_) {
    walls = Walls{limits_->box(), {}};
    for (std::size_t side = 0; side < 6; ++side) walls->closed[side] = limits_->sides()[side] == Limit::wall;
  }
  solids_.update(c.exec, grid_, solids, walls, solid_channels());
  return {};
}

Status HybridObject::update_surface(StepContext& c) {
  // Only sheets have two wet sides that must not be taken for one.
  const bool sheets =
      std::any_of(colliders_.begin(), colliders_.end(), [](const Collider* s) { return s->may_be_thin(); });
  count_particles(c.exec, particles_, grid_, grid::solid_distance, particles_per_cell());
  liquid_distance(
      c.exec, particles_, grid_,
      {grid::surface_distance, &grid::solid_distance, sheets ? &grid::open_area : nullptr, sheets ? &solids_ : nullptr},
      &memory_);
  close_gaps(c.exec, grid_, grid::surface_distance, solids_);
  return {};
}

Status HybridObject::extend(StepContext& c) {
  extrapolate(c.exec, grid_, {grid::velocity, grid::face_mass, &grid::open_area}, 2, &memory_);
  return {};
}

Status HybridObject::extend_velocity(StepContext& c) {
  if (has_pressure) forget_air(c.exec, grid_, {grid::surface_distance, grid::face_mass}, solids_.touched());
  extrapolate(c.exec, grid_, {grid::velocity, grid::face_mass, &grid::open_area}, reach, &memory_);
  if (has_pressure)
    close_air(c.exec, grid_,
              {grid::velocity, grid::face_mass, grid::open_area, grid::solid_velocity, grid::surface_distance,
               grid::divergence, grid::pressure});
  constrain_velocity(c.exec, grid_, solids_, grid::velocity, solid_channels(), {.no_slip = no_slip});
  return {};
}

Status HybridObject::to_particles(StepContext& c) {
  const double ratio = s_.transfer_viscosity
                           ? 1 - std::min(1.0, 6 * c.dt * *s_.transfer_viscosity / (spacing() * spacing()))
                           : s_.flip_ratio.at(c.frame_time);
  aegir::to_particles(c.exec, particles_, grid_, transfer_channels(),
                      {.transfer = s_.transfer,
                       .flip_ratio = static_cast<float>(ratio),
                       .previous = grid::velocity_before,
                       .barrier = &solids_});
  return {};
}

void HybridObject::collide(const StepContext& c, const Bucket& bucket, const Closeness& closeness, std::size_t count,
                           const float* const from[3], float* const to[3], float* const velocity[3]) const {
  const Vec3d origin = bucket.origin();
  const double dx = bucket.spacing();
  if (!colliders_.empty()) {
    Box way;
    std::vector<std::size_t> ask;
    for (std::size_t i = 0; i < count; ++i) {
      const Vec3f a(from[0][i], from[1][i], from[2][i]), b(to[0][i], to[1][i], to[2][i]);
      if (!ask_about_all && closeness.far.surely(closeness.nodes, a, b)) continue;
      way.add(Vec3d(a)), way.add(Vec3d(b)), ask.push_back(i);
    }
    way = Box{origin + way.min * dx, origin + way.max * dx}.grown(0.01 * dx);
    std::vector<const Collider*> near;
    for (const Collider* s : colliders_)
      if (!ask.empty() && s->swept_bounds().overlaps(way)) near.push_back(s);
    const auto stored = [&](const Vec3d& x) { return origin + Vec3d(Vec3f((x - origin) / dx)) * dx; };
    if (near.empty()) ask.clear();
    for (const std::size_t i : ask) {
      const Vec3d begin = origin + Vec3d(from[0][i], from[1][i], from[2][i]) * dx,
                  goal = origin + Vec3d(to[0][i], to[1][i], to[2][i]) * dx;
      const Slide end = slide(begin, goal, Vec3d(velocity[0][i], velocity[1][i], velocity[2][i]), c.time, c.dt,
                              clearance * dx, near, stored);
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
    if (low_wall)
      for (std::size_t i = 0; i < count; ++i)
        if (x[i] < low) x[i] = low, v[i] = std::max(v[i], 0.0f);
    if (high_wall)
      for (std::size_t i = 0; i < count; ++i)
        if (x[i] > high) x[i] = high, v[i] = std::min(v[i], 0.0f);
  }
}

Status HybridObject::move(StepContext& c) {
  auto velocity = particles_.write(particle::velocity);
  const bool obstacles = limits_ || !colliders_.empty();
  auto nodes = grid_.read(grid::solid_distance);
  nodes.prepare(c.exec);
  const FarFromSolids far(colliders_, spacing());
  const auto hook = [&](const Bucket& bucket, std::size_t first, std::size_t count, const float* const from[3],
                        float* const to[3]) {
    ParticleWrite<Vec3f>::View v;
    velocity.load(v, bucket.index);
    float* const planes[3] = {v.span.plane[0] + first, v.span.plane[1] + first, v.span.plane[2] + first};
    GridRead<float, 1>::View distance;
    nodes.load(distance, bucket.index);
    collide(c, bucket, {far, distance.get().values}, count, from, to, planes);
  };
  MoveHook call(hook);
  velocity.prepare(c.exec);
  move_particles(c.exec, particles_, grid_, grid::velocity,
                 {.dt = c.dt, .order = s_.integrator, .barrier = &solids_, .own_velocity = &particle::velocity},
                 obstacles ? &call : nullptr);
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
  std::int64_t marked = 0;
  std::mutex mutex;
  for_each_bucket(
      c.exec, "leave", particles_.topology(),
      [&](const Bucket& b, auto& p, auto& id) {
        if (p.count == 0) return;
        std::int64_t here = 0;
        for (std::size_t i = 0; i < p.count; ++i)
          if (id[i] >= 0 && !box.contains(b.origin() + Vec3d(p[i]) * b.spacing())) id.set(i, ~id[i]), ++here;
        if (!here) return;
        std::lock_guard lock(mutex);
        marked += here;
      },
      particles_.read(particle::position), particles_.write(particle::id));
  return drop_marked(c.exec, marked);
}

Status HybridObject::drop_marked(Exec& exec, std::int64_t marked) {
  marked = exec.comm.sum(marked);
  removed_ += marked;
  // They are dropped with the next sort; until then they must not be seen in statistics and files.
  return marked ? particles_.rebucket(exec, padding) : Status();
}

}  // namespace aegir
