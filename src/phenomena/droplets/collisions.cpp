#include "phenomena/droplets/collisions.h"

#include <array>
#include <cmath>
#include <mutex>
#include <utility>

#include "domain/for_each_bucket.h"
#include "parallel/threads.h"

namespace aegir {
namespace {

constexpr int outcomes = 4;

}  // namespace

/// The channels that collisions read and change. A droplet is in one pair at most, so pairs may write at once.
struct DropletCollisions::State {
  explicit State(ParticleSystem& p)
      : place(p.write(particle::position)),
        velocity(p.write(particle::velocity)),
        radius(p.write(particle::radius)),
        mass(p.write(particle::mass)),
        after(p.write(particle::collide_after)),
        id(p.write(particle::id)) {}
  ParticleWrite<Vec3f> place, velocity;
  ParticleWrite<float> radius, mass, after;
  ParticleWrite<std::int64_t> id;

  template <class T>
  static ParticleSpan<T> of(const ParticleWrite<T>& channel, int bucket) {
    typename ParticleWrite<T>::View view;
    channel.load(view, bucket);
    return view.get();
  }
  void finish(Exec& exec) {
    place.finish(exec), velocity.finish(exec), radius.finish(exec), mass.finish(exec), after.finish(exec);
    id.finish(exec);
  }
  Droplet droplet(int b, std::size_t i, const Vec3d& at) const {
    return {at, Vec3d(of(velocity, b)[i]), static_cast<double>(of(radius, b)[i]), static_cast<double>(of(mass, b)[i])};
  }
  /// What becomes of a droplet; `at` is in the world.
  void store(const Bucket& bucket, std::size_t i, const Droplet& d, const Vec3d& at, float calm_until) const {
    const int b = bucket.index;
    of(after, b).set(i, calm_until);
    if (!(d.mass > 0)) return of(id, b).set(i, ~of(id, b)[i]);
    of(place, b).set(i, Vec3f((at - bucket.origin()) / bucket.spacing()));
    of(velocity, b).set(i, Vec3f(d.velocity));
    of(radius, b).set(i, static_cast<float>(d.radius)), of(mass, b).set(i, static_cast<float>(d.mass));
  }
};

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
  warn_of_limits(c, found);
  if (found.pairs == 0) return {};

  particles.update_ghosts(c.exec, particles.store(particle::mass.name));
  const CollisionRules now = rules(c);
  satellites_.resize(static_cast<std::size_t>(particles.topology().local_count()));
  Tally all;
  std::mutex mutex;
  Stopwatch watch;
  State state(particles);
  parallel_for(0, satellites_.size(), 4, [&](std::size_t begin, std::size_t end) {
    Tally part;
    for (std::size_t b = begin; b < end; ++b) resolve_bucket(c, now, state, static_cast<int>(b), part);
    std::lock_guard lock(mutex);
    for (std::size_t o = 0; o < outcomes; ++o) all.count[o] += part.count[o];
    all.satellites += part.satellites, all.changed += part.changed, all.surface_energy.add(part.surface_energy);
  });
  state.finish(c.exec);
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

/// Tells once of each limit that keeps droplets from meeting.
void DropletCollisions::warn_of_limits(const StepContext& c, const MeetingCounts& found) {
  if (found.blind > 0 && !std::exchange(told_blind_, true))
    c.warn(fmt::format(
        "'{}': droplets of '{}' move up to more than {} cells relative to each other in a substep of {:.3g} s; "
        "collisions beyond that are missed. Lower 'timeline.substeps.cfl' to 3, or raise 'voxel_size'",
        behavior(), object_.path(), bucket_size, c.dt));
  if (found.crowded > 0 && !std::exchange(told_crowded_, true))
    c.warn(fmt::format(
        "'{}': up to {} droplets of '{}' are so crowded that they are not compared with all around them; some "
        "collisions wait or are missed. Raise 'most_tests' (slower), or let the crowd be a liquid",
        behavior(), found.crowded, object_.path()));
}

/// A pair is resolved from its droplet with the smaller id, which also makes the satellites. Where the other belongs to
/// another rank, both do the same and each keeps its half.
void DropletCollisions::resolve_bucket(const StepContext& c, const CollisionRules& now, const State& state, int b,
                                       Tally& tally) {
  const ParticleSystem& particles = *object_.particles();
  const Topology& topology = particles.topology();
  const double spacing = particles.spacing();
  const auto calm_until = static_cast<float>(c.time + s_.delay);
  auto& made = satellites_[static_cast<std::size_t>(b)];
  made.clear();
  for (const Meeting& m : meetings_.of(b)) {
    const int there = topology.neighbours(b)[static_cast<std::size_t>(m.neighbour)];
    const bool first = m.id < m.other_id, both = there < topology.local_count();
    if (both && !first) continue;
    // Bucket and index of the one with the smaller id, and of the other.
    const int one = first ? b : there, two = first ? there : b;
    const std::size_t i = first ? m.droplet : m.other, j = first ? m.other : m.droplet;
    const Vec3f p = State::of(state.place, one)[i], q = State::of(state.place, two)[j];
    const Vec3f cells = (q - p) + neighbour_shift(first ? m.neighbour : 26 - m.neighbour);
    const double moment = c.dt * std::clamp(static_cast<double>(m.closest), 0.0, 1.0);
    Droplet a = state.droplet(one, i, {}), z = state.droplet(two, j, Vec3d(cells) * spacing);
    a.position += a.velocity * moment, z.position += z.velocity * moment;
    const Random draw(static_cast<std::uint64_t>(s_.seed), static_cast<std::uint64_t>(std::min(m.id, m.other_id)),
                      c.step, Purpose::droplet_collision);
    const Collision after = resolve(a, z, now, draw);
    if (after.skipped) continue;
    const Vec3d origin = particles.world(one, p), other = particles.world(two, q);
    const auto back = [&](const Droplet& d, const Vec3d& from) {
      return reachable(from, origin + d.position - d.velocity * moment);
    };
    const Droplet &next = after.droplets[0], &next_other = after.droplets[1];
    if (first || both) {
      state.store({topology, one}, i, next, back(next, origin), calm_until);
      tally.changed += !(next.mass > 0);
    }
    if (!first || both) {
      state.store({topology, two}, j, next_other, back(next_other, other), calm_until);
      tally.changed += !(next_other.mass > 0);
    }
    if (!first) continue;
    ++tally.count[static_cast<std::size_t>(after.outcome)];
    tally.surface_energy.add(after.surface_energy_after - after.surface_energy_before);
    for (int k = 2; k < after.count; ++k) {
      made.push_back({after.droplets[static_cast<std::size_t>(k)], m.droplet});
      made.back().droplet.position = back(made.back().droplet, origin);
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
    for (const Satellite& s : satellites_[b]) {
      particles.copy_to(batch, slot, particles.first(static_cast<int>(b)) + s.parent);
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
