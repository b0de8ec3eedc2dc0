#include "phenomena/droplets/collisions.h"

#include <array>
#include <cmath>
#include <mutex>

#include "domain/for_each_bucket.h"
#include "parallel/threads.h"

namespace aegir {
namespace {

constexpr int outcomes = 4;

/// Both droplets of a meeting as one bucket's arrays hold them.
struct BucketDroplets {
  ParticleSpan<const Vec3f> place, velocity;
  ParticleSpan<const float> radius, mass;
  ParticleSpan<const std::int64_t> id;
};

Droplet droplet_at(const BucketDroplets& v, std::size_t i, const Vec3d& place) {
  return {place, Vec3d(v.velocity[i]), static_cast<double>(v.radius[i]), static_cast<double>(v.mass[i])};
}

}  // namespace

/// What collisions of some buckets did. Counted by the droplet with the smaller id, so that no pair counts twice.
struct DropletCollisions::Tally {
  std::array<std::int64_t, outcomes> count{};
  std::int64_t satellites = 0, changed = 0;
  ExactSum surface_energy;
};

DropletCollisions::DropletCollisions(std::string behavior, ParticleObject& object, DropletCollisionSettings settings)
    : Operator(std::move(behavior)), object_(object), s_(std::move(settings)) {
  object.particles()->declare(particle::collide_after);
  StateTree& state = object.state().child(this->behavior());
  const std::pair<const char*, double*> figures[] = {
      {"droplets_merged", &merged_},     {"droplets_stretched", &stretched_},
      {"droplets_reflexed", &reflexed_}, {"droplets_bounced", &bounced_},
      {"satellites", &satellites_made_}, {"surface_energy_change", &surface_energy_}};
  for (const auto& [name, value] : figures) {
    state.record(name, value);
    object.book_figure(name, *value);
  }
}

void DropletCollisions::plan(TaskList& tasks) {
  tasks.add({.name = "collide droplets of " + object_.path(),
             .stage = Stage::begin_iteration,
             .behavior = behavior(),
             .accesses = {writes(object_.path(), "*"), reads(object_.path(), "*", bucket_size)},
             .after = {},
             .acting = {},
             .run = [this](StepContext& c) { return collide(c); }});
}

CollisionRules DropletCollisions::rules(const StepContext& c) const {
  return {.surface_tension = s_.surface_tension.at(c.frame_time),
          .density = s_.density,
          .smallest_radius = s_.smallest_radius,
          .largest_radius = s_.largest_radius,
          .perturbation = s_.perturbation,
          .most_satellites = static_cast<int>(s_.most_satellites),
          .bounce = s_.bounce,
          .restitution = s_.restitution};
}

Status DropletCollisions::collide(StepContext& c) {
  if (c.dt <= 0) return {};
  ParticleSystem& particles = *object_.particles();
  const MeetingCounts found = meetings_.find(c.exec, particles,
                                             {.time = c.time,
                                              .dt = c.dt,
                                              .neighbourhood = s_.neighbourhood,
                                              .rounds = static_cast<int>(s_.rounds),
                                              .most_tests = static_cast<int>(s_.most_tests)});
  if (found.blind > 0 && !warned_) {
    warned_ = true;
    c.warn(fmt::format(
        "'{}': droplets of '{}' move up to more than {} cells relative to each other in a substep of {:.3g} s; "
        "collisions beyond that are missed. Lower 'timeline.substeps.cfl' to 3, or raise 'voxel_size'",
        behavior(), object_.path(), bucket_size, c.dt));
  }
  if (found.pairs == 0) return {};

  particles.update_ghosts(c.exec, particles.store(particle::mass.name));
  const CollisionRules now = rules(c);
  satellites_.resize(static_cast<std::size_t>(particles.topology().local_count()));
  Tally all;
  std::mutex mutex;
  Stopwatch watch;
  // New states go to lists first: a partner in another bucket must be seen as it was.
  resolved_.resize(satellites_.size());
  parallel_for(0, satellites_.size(), 4, [&](std::size_t begin, std::size_t end) {
    Tally part;
    for (std::size_t b = begin; b < end; ++b) resolve_bucket(c, now, static_cast<int>(b), part);
    std::lock_guard lock(mutex);
    for (std::size_t o = 0; o < outcomes; ++o) all.count[o] += part.count[o];
    all.satellites += part.satellites, all.changed += part.changed, all.surface_energy.add(part.surface_energy);
  });
  store_resolved(c);
  c.exec.profile.kernel("resolve droplets", watch.seconds(), 200 * found.pairs);

  std::int64_t sums[outcomes + 2] = {all.count[0], all.count[1],   all.count[2],
                                     all.count[3], all.satellites, all.changed};
  c.exec.comm.sum(std::span<std::int64_t>(sums));
  merged_ += static_cast<double>(sums[static_cast<int>(Outcome::coalescence)]);
  stretched_ += static_cast<double>(sums[static_cast<int>(Outcome::stretching)]);
  reflexed_ += static_cast<double>(sums[static_cast<int>(Outcome::reflexive)]);
  bounced_ += static_cast<double>(sums[static_cast<int>(Outcome::bounce)]);
  satellites_made_ += static_cast<double>(sums[outcomes]);
  surface_energy_ += c.exec.comm.sum(all.surface_energy);
  if (sums[outcomes] > 0) add_satellites(c);
  return sums[outcomes + 1] > 0 ? particles.rebucket(c.exec) : Status();
}

/// Both sides of a meeting resolve it alike, from the droplet with the smaller id, and each keeps its own half; the one
/// with the smaller id also makes the satellites.
void DropletCollisions::resolve_bucket(const StepContext& c, const CollisionRules& now, int b, Tally& tally) {
  const ParticleSystem& particles = *object_.particles();
  const double spacing = particles.spacing();
  const auto places = particles.read(particle::position), velocities = particles.read(particle::velocity);
  const auto radii = particles.read(particle::radius), masses = particles.read(particle::mass);
  const auto ids = particles.read(particle::id);
  const auto droplets_of = [&](int bucket) {
    return BucketDroplets{places(bucket), velocities(bucket), radii(bucket), masses(bucket), ids(bucket)};
  };
  const BucketDroplets here = droplets_of(b);
  auto& made = satellites_[static_cast<std::size_t>(b)];
  auto& kept = resolved_[static_cast<std::size_t>(b)];
  made.clear(), kept.clear();
  for (const Meeting& m : meetings_.of(b)) {
    const BucketDroplets there = droplets_of(particles.topology().neighbours(b)[static_cast<std::size_t>(m.neighbour)]);
    const Vec3f cells = (there.place[m.other] - here.place[m.droplet]) + neighbour_shift(m.neighbour);
    const bool first = here.id[m.droplet] < m.other_id;
    // The one with the smaller id is the origin; the other's place is the same number from both sides.
    const Vec3d apart = Vec3d(first ? cells : -cells) * spacing;
    const double moment = c.dt * std::clamp(static_cast<double>(m.closest), 0.0, 1.0);
    Droplet a = first ? droplet_at(here, m.droplet, {}) : droplet_at(there, m.other, {});
    Droplet z = first ? droplet_at(there, m.other, apart) : droplet_at(here, m.droplet, apart);
    a.position += a.velocity * moment, z.position += z.velocity * moment;
    const Random draw(static_cast<std::uint64_t>(s_.seed),
                      static_cast<std::uint64_t>(first ? here.id[m.droplet] : m.other_id), c.step,
                      Purpose::droplet_collision);
    const Collision after = resolve(a, z, now, draw);
    if (after.skipped) continue;
    const Vec3d origin = particles.world(b, here.place[m.droplet]) - (first ? Vec3d{} : apart);
    const auto back = [&](const Droplet& d) { return origin + d.position - d.velocity * moment; };
    const Droplet& mine = after.droplets[first ? 0 : 1];
    kept.push_back({mine, m.droplet});
    kept.back().droplet.position = reachable(particles.world(b, here.place[m.droplet]), back(mine));
    tally.changed += !(mine.mass > 0);
    if (!first) continue;
    ++tally.count[static_cast<std::size_t>(after.outcome)];
    tally.surface_energy.add(after.surface_energy_after - after.surface_energy_before);
    for (int k = 2; k < after.count; ++k) {
      made.push_back({after.droplets[static_cast<std::size_t>(k)], m.droplet});
      made.back().droplet.position = reachable(origin, back(made.back().droplet));
      ++tally.satellites, ++tally.changed;
    }
  }
}

/// A place to move a droplet back to, or where it was if a solid might be in between.
Vec3d DropletCollisions::reachable(const Vec3d& from, const Vec3d& to) const {
  for (const Collider* collider : object_.colliders())
    if (collider->in_reach(from, to, 1e-3 * object_.particles()->spacing())) return from;
  return to;
}

void DropletCollisions::store_resolved(StepContext& c) {
  ParticleSystem& particles = *object_.particles();
  const auto calm_until = static_cast<float>(c.time + s_.delay);
  for_each_bucket(
      c.exec, "store droplets", particles.topology(),
      [&](const Bucket& bucket, auto& place, auto& velocity, auto& radius, auto& mass, auto& id, auto& after) {
        for (const Result& r : resolved_[static_cast<std::size_t>(bucket.index)]) {
          const std::size_t i = r.from;
          after.set(i, calm_until);
          if (!(r.droplet.mass > 0)) {
            id.set(i, ~id[i]);
            continue;
          }
          place.set(i, Vec3f((r.droplet.position - bucket.origin()) / bucket.spacing()));
          velocity.set(i, Vec3f(r.droplet.velocity));
          radius.set(i, static_cast<float>(r.droplet.radius)), mass.set(i, static_cast<float>(r.droplet.mass));
        }
      },
      particles.write(particle::position), particles.write(particle::velocity), particles.write(particle::radius),
      particles.write(particle::mass), particles.write(particle::id), particles.write(particle::collide_after));
}

/// Numbers them along the curve, bucket by bucket, and hands them to the Object with their parent's other attributes.
void DropletCollisions::add_satellites(StepContext& c) {
  ParticleSystem& particles = *object_.particles();
  std::int64_t mine = 0;
  for (const auto& list : satellites_) mine += static_cast<std::int64_t>(list.size());
  const std::vector<std::int64_t> counts = gather_all(c.exec.comm, std::vector<std::int64_t>{mine});
  std::int64_t total = 0, before = 0;
  for (std::size_t r = 0; r < counts.size(); ++r) {
    if (static_cast<int>(r) < c.exec.comm.rank()) before += counts[r];
    total += counts[r];
  }
  std::int64_t id = object_.take_ids(total) + before;
  ParticleBatch batch = particles.batch(static_cast<std::size_t>(mine));
  const double calm_until = c.time + s_.delay;
  std::size_t slot = 0;
  for (std::size_t b = 0; b < satellites_.size(); ++b)
    for (const Result& s : satellites_[b]) {
      particles.copy_to(batch, slot, particles.first(static_cast<int>(b)) + s.from);
      batch.position[slot] = s.droplet.position, batch.id[slot] = id++;
      batch.set(particle::velocity.name, slot, s.droplet.velocity);
      batch.set(particle::radius.name, slot, s.droplet.radius);
      batch.set(particle::mass.name, slot, s.droplet.mass);
      batch.set(particle::collide_after.name, slot, calm_until);
      ++slot;
    }
  particles.add(batch);
}

}  // namespace aegir
