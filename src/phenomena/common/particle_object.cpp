#include "phenomena/common/particle_object.h"

#include <algorithm>
#include <cmath>

#include "base/simd.h"
#include "domain/for_each_bucket.h"
#include "phenomena/common/ballistics.h"
#include "phenomena/common/particle_audit.h"

namespace aegir {
namespace {

constexpr std::size_t block = ForceBlock::capacity;
constexpr ParticleChannel<Vec3f> previous_velocity{"v_previous", unit::metre_per_second};

/// Scratch of one block; stays in the first-level cache.
struct alignas(64) Scratch {
  float x[block], y[block], z[block];
  float ax[block], ay[block], az[block], damping[block];
  float share[block];  // of the substep that a particle takes; less than 1 for the newborn
};

// `share` is null where all particles take the whole substep.

AEGIR_HOT void predict(const float* __restrict p, const float* __restrict v, float* __restrict out, std::size_t n,
                       float half_step, const float* __restrict share) {
  if (share)
    for (std::size_t i = 0; i < n; ++i) out[i] = p[i] + v[i] * (half_step * share[i]);
  else
    for (std::size_t i = 0; i < n; ++i) out[i] = p[i] + v[i] * half_step;
}

/// Turns accelerations into velocity changes, with the implicit factor where there is damping.
AEGIR_HOT void integrate(Scratch& s, std::size_t n, float dt, bool implicit, const float* share) {
  if (share)
    for (std::size_t i = 0; i < n; ++i) s.ax[i] *= share[i], s.ay[i] *= share[i], s.az[i] *= share[i];
  if (!implicit) {
    for (std::size_t i = 0; i < n; ++i) s.ax[i] *= dt, s.ay[i] *= dt, s.az[i] *= dt;
    return;
  }
  if (share)
    for (std::size_t i = 0; i < n; ++i) s.damping[i] *= share[i];
  for (std::size_t i = 0; i < n; ++i) {
    const float z = s.damping[i] * dt;
    const float factor = dt * (1.0f + 0.5f * z) / (1.0f + z + 0.5f * z * z);
    s.ax[i] *= factor, s.ay[i] *= factor, s.az[i] *= factor;
  }
}

AEGIR_HOT void advance(float* __restrict p, float* __restrict v, const float* __restrict dv, std::size_t n,
                       float half_step, const float* __restrict share) {
  const auto move = [&](std::size_t i, float half) {
    const float next = v[i] + dv[i];
    p[i] += (v[i] + next) * half;
    v[i] = next;
  };
  if (share)
    for (std::size_t i = 0; i < n; ++i) move(i, half_step * share[i]);
  else
    for (std::size_t i = 0; i < n; ++i) move(i, half_step);
}

}  // namespace

ParticleObject::ParticleObject(std::string path, double spacing, const Partition& partition)
    : Object(std::move(path)), particles_(this->path(), spacing, partition) {
  particles_.declare(particle::velocity);
  particles_.declare(particle::radius);
  particles_.declare(particle::mass);
  particles_.declare(particle::age);
  state().add("particles", particles_).record("next_id", &next_id_);
}

ObjectAudit ParticleObject::audit(Exec& exec) {
  ObjectAudit a = audit_particles(exec, particles_, forces_);
  for (const auto& [name, value] : figures_) a.more.emplace_back(name, *value);
  for (const auto& [name, mass] : added_) a.added.emplace_back(name, *mass);
  for (const auto& [name, mass] : removed_by_) a.removed.emplace_back(name, *mass);
  max_speed_ = a.max_speed;
  return a;
}

void ParticleObject::add_force(std::unique_ptr<Force> force) { forces_.push_back(std::move(force)); }

std::size_t ParticleObject::forecast_bytes(const Comm& comm) const {
  std::size_t channels = 0, batch = sizeof(Vec3d) + sizeof(std::int64_t);
  for (const ParticleStore& c : particles_.channels())
    channels += c.info.bytes_per_element(), batch += 8 * static_cast<std::size_t>(c.info.components);
  constexpr double sorting = 6 + 8 + 24;  // codes and order, the spare plane, what leaves its bucket
  return static_cast<std::size_t>(std::min(
      1e18, expected_ * (static_cast<double>(channels) * 1.125 + sorting + static_cast<double>(batch)) / comm.size()));
}

void ParticleObject::plan(TaskList& tasks) {
  const std::string& me = path();
  tasks.add({.name = "sort",
             .stage = Stage::rebucket,
             .behavior = me,
             .accesses = {writes(me, "*")},
             .after = {},
             .acting = {},
             .run = [this](StepContext& c) { return sort(c); }});
  std::vector<ChannelAccess> force_reads{reads(me, "pscale"), reads(me, "mass")}, surfaces;
  std::vector<std::string> forces, colliders;
  for (const auto& f : forces_) {
    forces.push_back(f->behavior());
    for (const std::string& channel : f->reads()) force_reads.push_back(reads(me, channel));
  }
  for (const Collider* c : colliders_) colliders.push_back(c->path()), surfaces.push_back(reads(c->path(), "surface"));
  const auto joined = [](auto a, const auto& b) { return a.insert(a.end(), b.begin(), b.end()), a; };

  if (!tasks.touched(me, "v", Stage::evaluate_forces, Stage::move) &&
      !tasks.touched(me, "P", Stage::evaluate_forces, Stage::move)) {
    const std::vector<ChannelAccess> own{writes(me, "P"), writes(me, "v"), writes(me, "age")};
    tasks.add({.name = "fly",
               .stage = Stage::move,
               .behavior = me,
               .accesses = joined(joined(own, force_reads), surfaces),
               .after = {},
               .acting = joined(forces, colliders),
               .run = [this](StepContext& c) { return fly(c); }});
    return;
  }
  particles_.declare(previous_velocity);
  tasks.add({.name = "forces",
             .stage = Stage::evaluate_forces,
             .behavior = me,
             .accesses = joined(
                 std::vector{reads(me, "P"), reads(me, "age"), writes(me, "v"), writes(me, previous_velocity.name)},
                 force_reads),
             .after = {},
             .acting = forces,
             .run = [this](StepContext& c) { return apply_forces(c); }});
  tasks.add({.name = "move",
             .stage = Stage::move,
             .behavior = me,
             .accesses = joined(
                 std::vector{writes(me, "P"), writes(me, "v"), writes(me, "age"), reads(me, previous_velocity.name)},
                 surfaces),
             .after = {},
             .acting = colliders,
             .run = [this](StepContext& c) { return move(c); }});
}

Status ParticleObject::sort(StepContext& c) {
  if (Status ok = particles_.rebucket(c.exec); !ok) return ok;
  if (c.exec.comm.size() > 1 && particles_.imbalance(c.exec.comm) > 1.2)
    if (const Partition better = particles_.balanced(c.exec.comm); !(better == particles_.topology().partition()))
      return particles_.rebucket(c.exec, better, 0);
  return {};
}

/// Blocks of particles of one bucket through forces, integration and, near colliders, collisions.
struct ParticleObject::Pass {
  const ParticleObject& object;
  const StepContext& context;
  float half_step;  // dt / (2 Δx): from m/s to cells
  float dt;
  bool implicit;   // some force has damping
  bool positions;  // some force looks at positions
  double clearance;

  /// Pointers to one block's components.
  using Planes = std::array<float*, 3>;
  static Planes planes(const ParticleSpan<Vec3f>& s, std::size_t first) {
    return {s.plane[0] + first, s.plane[1] + first, s.plane[2] + first};
  }

  template <class Body>  // Body(first, count)
  static void blocks(std::size_t count, Body&& body) {
    for (std::size_t first = 0; first < count; first += block) body(first, std::min(block, count - first));
  }

  /// The share of the substep that each particle of a block takes, or null if all take the whole.
  const float* shares(const float* age, std::size_t n, Scratch& s) const {
    int newborn = 0;
    for (std::size_t i = 0; i < n; ++i) newborn |= age[i] < 0;
    if (!newborn || dt <= 0) return nullptr;
    for (std::size_t i = 0; i < n; ++i) s.share[i] = std::clamp((dt + std::min(age[i], 0.0f)) / dt, 0.0f, 1.0f);
    return s.share;
  }

  /// Velocity changes of particles [first, first + n) of the bucket, into the scratch's accelerations.
  void kick(const Bucket& bucket, std::size_t first, std::size_t n, const float* const p[3], const float* const v[3],
            const float* radius, const float* mass, const float* age, Scratch& s) const {
    const float* share = shares(age, n, s);
    if (positions)
      predict(p[0], v[0], s.x, n, half_step, share), predict(p[1], v[1], s.y, n, half_step, share),
          predict(p[2], v[2], s.z, n, half_step, share);
    const auto attribute = [&](std::string_view name) -> const float* {
      if (!object.particles_.has(name)) return nullptr;
      const ParticleStore& store = object.particles_.store(name);
      return store.info.scalar == Scalar::f32 && store.info.components == 1
                 ? store.plane<float>(0) + object.particles_.first(bucket.index) + first
                 : nullptr;
    };
    const AttributeSource source(attribute);
    ForceBlock b;
    b.count = n, b.time = context.time, b.dt = context.dt, b.origin = bucket.origin(), b.spacing = bucket.spacing(),
    b.attributes = &source;
    if (positions) b.x = s.x, b.y = s.y, b.z = s.z;
    b.vx = v[0], b.vy = v[1], b.vz = v[2], b.radius = radius, b.mass = mass;
    b.ax = s.ax, b.ay = s.ay, b.az = s.az, b.damping = s.damping;
    for (float* a : {s.ax, s.ay, s.az}) std::fill_n(a, n, 0.0f);
    if (implicit) std::fill_n(s.damping, n, 0.0f);
    for (const auto& f : object.forces_) f->accumulate(b);
    integrate(s, n, dt, implicit, share);
  }

  /// Positions and velocities to the substep's end, given velocity changes.
  void drift(const Bucket& bucket, std::size_t n, const Planes& p, const Planes& v, float* age, Scratch& s) const {
    const float* share = shares(age, n, s);
    const auto near = colliders_near(bucket, s, p, v, n);
    if (near.empty())
      advance(p[0], v[0], s.ax, n, half_step, share), advance(p[1], v[1], s.ay, n, half_step, share),
          advance(p[2], v[2], s.az, n, half_step, share);
    else
      collide(bucket, s, p, v, n, near, share);
    for (std::size_t i = 0; i < n; ++i) age[i] += dt;
  }

  /// The colliders, if some particle of the block could reach one of them in this substep; none otherwise.
  std::vector<const Collider*> colliders_near(const Bucket& bucket, const Scratch& s, const Planes& p, const Planes& v,
                                              std::size_t n) const {
    if (object.colliders_.empty()) return {};
    const float* dv[3] = {s.ax, s.ay, s.az};
    Box box;
    float low[3], high[3];
    for (int a = 0; a < 3; ++a) {
      low[a] = high[a] = p[a][0];
      for (std::size_t i = 0; i < n; ++i) {
        const float end = p[a][i] + (2 * v[a][i] + dv[a][i]) * half_step;
        low[a] = std::min({low[a], p[a][i], end}), high[a] = std::max({high[a], p[a][i], end});
      }
    }
    box.add(bucket.origin() + Vec3d(low[0], low[1], low[2]) * bucket.spacing());
    box.add(bucket.origin() + Vec3d(high[0], high[1], high[2]) * bucket.spacing());
    box = box.grown(clearance * 4 + 0.01 * bucket.spacing());
    // Whoever meets one collider may be thrown at any other.
    const bool met = std::any_of(object.colliders_.begin(), object.colliders_.end(), [&](const Collider* c) {
      return c->swept_bounds().overlaps(box) || !is_finite(box.size());
    });
    return met ? object.colliders_ : std::vector<const Collider*>{};
  }

  void collide(const Bucket& bucket, Scratch& s, const Planes& p, const Planes& v, std::size_t n,
               const std::vector<const Collider*>& near, const float* share) const {
    const Vec3d origin = bucket.origin();
    const double spacing = bucket.spacing();
    const auto cells = [&](const Vec3d& x) { return Vec3f((x - origin) / spacing); };
    const auto stored = [&](const Vec3d& x) { return origin + Vec3d(cells(x)) * spacing; };
    for (std::size_t i = 0; i < n; ++i) {
      const Flight start{origin + Vec3d(p[0][i], p[1][i], p[2][i]) * spacing, Vec3d(v[0][i], v[1][i], v[2][i])};
      const double duration = share ? context.dt * static_cast<double>(share[i]) : context.dt,
                   inverse = duration > 0 ? 1 / duration : 0;
      Flight end = aegir::fly(start, Vec3d(s.ax[i], s.ay[i], s.az[i]) * inverse, context.time + context.dt - duration,
                              duration, clearance, near, stored);
      for (const Collider* c : near) push_out(*c, end);
      const Vec3f q = cells(end.position);
      for (int a = 0; a < 3; ++a) p[a][i] = q[a], v[a][i] = static_cast<float>(end.velocity[a]);
    }
  }

  /// A particle that was put inside a solid (by emission, or by a solid that appeared) goes to its surface.
  void push_out(const Collider& c, Flight& f) const {
    if (c.thin() || !c.swept_bounds().contains(f.position)) return;
    const SurfaceSample at = c.sample(f.position);
    if (at.distance >= 0) return;
    const Vec3d out = f.position + at.normal * (clearance - at.distance);
    for (const Collider* other : object.colliders_)
      if (other != &c && other->blocks(f.position, out)) return;
    f.position = out;
    const double toward = dot(f.velocity - at.velocity, at.normal);
    if (toward < 0) f.velocity -= at.normal * toward;
  }
};

ParticleObject::Pass ParticleObject::begin_pass(StepContext& context) const {
  bool implicit = false, positions = false;
  for (const auto& f : forces_) f->begin_substep(context), implicit |= f->implicit(), positions |= f->uses_position();
  const double spacing = particles_.spacing();
  return {*this,
          context,
          static_cast<float>(0.5 * context.dt / spacing),
          static_cast<float>(context.dt),
          implicit,
          positions,
          1e-3 * spacing};
}

Status ParticleObject::fly(StepContext& context) {
  const Pass pass = begin_pass(context);
  for_each_bucket(
      context.exec, "fly", particles_.topology(),
      [&](const Bucket& bucket, auto& p, auto& v, auto& age, auto& radius, auto& mass) {
        Scratch s;
        Pass::blocks(p.count, [&](std::size_t first, std::size_t n) {
          const auto pp = Pass::planes(p, first), vv = Pass::planes(v, first);
          pass.kick(bucket, first, n, pp.data(), vv.data(), radius.plane[0] + first, mass.plane[0] + first,
                    age.plane[0] + first, s);
          pass.drift(bucket, n, pp, vv, age.plane[0] + first, s);
        });
      },
      particles_.write(particle::position), particles_.write(particle::velocity), particles_.write(particle::age),
      particles_.read(particle::radius), particles_.read(particle::mass));
  return {};
}

Status ParticleObject::apply_forces(StepContext& context) {
  const Pass pass = begin_pass(context);
  for_each_bucket(
      context.exec, "forces", particles_.topology(),
      [&](const Bucket& bucket, auto& p, auto& v, auto& previous, auto& radius, auto& mass, auto& age) {
        Scratch s;
        Pass::blocks(p.count, [&](std::size_t first, std::size_t n) {
          const float* pp[3] = {p.plane[0] + first, p.plane[1] + first, p.plane[2] + first};
          const auto vv = Pass::planes(v, first), old = Pass::planes(previous, first);
          pass.kick(bucket, first, n, pp, vv.data(), radius.plane[0] + first, mass.plane[0] + first,
                    age.plane[0] + first, s);
          const float* dv[3] = {s.ax, s.ay, s.az};
          for (std::size_t a = 0; a < 3; ++a)
            for (std::size_t i = 0; i < n; ++i) old[a][i] = vv[a][i], vv[a][i] += dv[a][i];
        });
      },
      particles_.read(particle::position), particles_.write(particle::velocity), particles_.write(previous_velocity),
      particles_.read(particle::radius), particles_.read(particle::mass), particles_.read(particle::age));
  return {};
}

Status ParticleObject::move(StepContext& context) {
  const Pass pass = begin_pass(context);
  for_each_bucket(
      context.exec, "move", particles_.topology(),
      [&](const Bucket& bucket, auto& p, auto& v, auto& age, auto& previous) {
        Scratch s;
        Pass::blocks(p.count, [&](std::size_t first, std::size_t n) {
          const auto vv = Pass::planes(v, first);
          float* dv[3] = {s.ax, s.ay, s.az};
          for (std::size_t a = 0; a < 3; ++a)
            for (std::size_t i = 0; i < n; ++i) {
              const float old = previous.plane[a][first + i];
              dv[a][i] = vv[a][i] - old, vv[a][i] = old;
            }
          pass.drift(bucket, n, Pass::planes(p, first), vv, age.plane[0] + first, s);
        });
      },
      particles_.write(particle::position), particles_.write(particle::velocity), particles_.write(particle::age),
      particles_.read(previous_velocity));
  return {};
}

}  // namespace aegir
