// How a Hybrid Object is filled, described and audited.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "domain/for_each_bucket.h"
#include "numerics/surface/liquid_distance.h"
#include "phenomena/common/hybrid_object.h"
#include "phenomena/common/particle_audit.h"
#include "phenomena/common/seed_partition.h"

namespace aegir {

namespace {

constexpr double fewest_cells = 64;  // the mean of fewer is noise

}  // namespace

SeedSettings HybridObject::seeding() const {
  return {.spacing = spacing(), .per_axis = s_.particles_per_axis, .jitter = s_.jitter, .seed = s_.seed};
}

bool HybridObject::obstructed(const Vec3d& x) const {
  if (limits_ && !limits_->box().contains(x)) return true;
  return std::any_of(colliders_.begin(), colliders_.end(), [&](const Collider* c) {
    return !c->thin() && c->swept_bounds().contains(x) && c->distance(x, c->tolerance()) <= 0;
  });
}

std::int64_t HybridObject::fill(Exec& exec, const Region& region, const SeedSettings& seeding,
                                FunctionRef<Vec3d(const Vec3d&)> velocity, const Pour& pour) {
  const double mass = particle_mass(), radius = particle_radius();
  std::vector<Vec3d> positions;
  std::vector<std::int64_t> numbers;
  const auto flush = [&] {
    ParticleBatch batch = particles_.batch(positions.size());
    for (std::size_t i = 0; i < positions.size(); ++i) batch.id[i] = next_id_ + numbers[i];
    for (ParticleBatch::Column& column : batch.columns) {
      const auto constant = [&](double value) { std::fill(column.planes[0].begin(), column.planes[0].end(), value); };
      if (column.info.name == particle::mass.name) constant(mass);
      if (column.info.name == particle::radius.name) constant(radius);
      if (column.info.name == particle::age.name) constant(pour.age);
      if (const auto set = pour.attributes.find(column.info.name); set != pour.attributes.end()) constant(set->second);
      if (column.info.name == particle::rest.name)
        for (std::size_t i = 0; i < positions.size(); ++i)
          for (int a = 0; a < 3; ++a) column.planes[static_cast<std::size_t>(a)][i] = positions[i][a];
      if (column.info.name == particle::velocity.name)
        for (std::size_t i = 0; i < positions.size(); ++i) {
          const Vec3d v = velocity(positions[i]);
          for (int a = 0; a < 3; ++a) column.planes[static_cast<std::size_t>(a)][i] = v[a];
        }
    }
    batch.position = std::move(positions);
    particles_.add(batch);
    positions = {}, numbers.clear();
  };
  const auto keep = [&](const Vec3d& place) {
    if (pour.also && !pour.also(place)) return false;
    const Vec3d x = pour.pose.apply(place);
    return !obstructed(x) && (pour.inflow || !inflows_.fill(x));
  };
  const auto take = [&](const Seeds& seeds) {
    for (const Vec3d& place : seeds.position) positions.push_back(pour.pose.apply(place));
    for (std::size_t i = 0; i < seeds.position.size(); ++i)
      numbers.push_back(seeds.first + static_cast<std::int64_t>(i));
    if (positions.size() > std::size_t{1} << 20) flush();
  };
  // The first particles of all: every rank gets its share before they are there.
  if (exec.comm.size() > 1 && exec.comm.sum(static_cast<std::int64_t>(particles_.size() + particles_.pending())) == 0) {
    const Status empty = particles_.rebucket(exec, seed_partition(exec.comm, region, spacing()), padding);
    AEGIR_ASSERT(empty, "there is nothing to sort");
  }
  const std::int64_t count = seed(exec, particles_.topology().partition(), region, seeding, keep, take);
  if (!positions.empty()) flush();
  next_id_ += count;
  return count;
}

double HybridObject::fill(Exec& exec, const PointSet& points, const Vec3d& velocity, const Pour& pour) {
  const auto attribute = [&](std::string_view name, PointAttribute::Type type) {
    const PointAttribute* a = points.find(name);
    return a && a->type == type ? a : nullptr;
  };
  const PointAttribute *v = attribute("v", PointAttribute::vec3f), *size = attribute("pscale", PointAttribute::float32);
  // Every rank numbers all and puts in its share.
  std::vector<std::size_t> mine;
  std::vector<std::int64_t> numbers;
  std::int64_t count = 0;
  ExactSum mass;
  const double ball = 4.1887902047863905 * s_.density;
  const auto radius = [&](std::size_t i) {
    const double r = size ? static_cast<double>(size->as<float>()[i]) : 0;
    return r > 0 ? r : particle_radius();
  };
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (obstructed(pour.pose.apply(points.position[i]))) continue;
    if (count % exec.comm.size() == exec.comm.rank()) mine.push_back(i), numbers.push_back(next_id_ + count);
    mass.add(ball * std::pow(radius(i), 3)), ++count;
  }
  ParticleBatch batch = particles_.batch(mine.size());
  for (std::size_t n = 0; n < mine.size(); ++n) {
    const std::size_t i = mine[n];
    const Vec3d x = pour.pose.apply(points.position[i]);
    batch.position[n] = x, batch.id[n] = numbers[n];
    batch.set(particle::mass.name, n, ball * std::pow(radius(i), 3));
    batch.set(particle::radius.name, n, radius(i));
    batch.set(particle::age.name, n, pour.age);
    batch.set(particle::rest.name, n, x);
    batch.set(particle::velocity.name, n, velocity + (v ? Vec3d(v->as<Vec3f>()[i]) : Vec3d{}));
    for (const auto& [name, value] : s_.attributes)
      if (const PointAttribute* a = attribute(name, PointAttribute::float32))
        batch.set(name, n, static_cast<double>(a->as<float>()[i]));
    for (const auto& [name, value] : pour.attributes) batch.set(name, n, value);
  }
  particles_.add(batch);
  next_id_ += count;
  return mass.value();
}

Status HybridObject::take_out(Exec& exec, const Box& reach, FunctionRef<bool(const Vec3d&)> gone, double& removed) {
  const Topology& topology = particles_.topology();
  std::vector<std::int64_t> marked(static_cast<std::size_t>(topology.local_count()), 0);
  std::vector<double> masses(marked.size(), 0);
  for_each_bucket(
      exec, "take out", topology,
      [&](const Bucket& b, auto& p, auto& mass, auto& id) {
        // Particles have moved since they were sorted, four cells at most as far as velocities are known.
        if (p.count == 0 || !reach.overlaps(b.topology.box(b.index).grown(4 * b.spacing()))) return;
        const auto bucket = static_cast<std::size_t>(b.index);
        for (std::size_t i = 0; i < p.count; ++i)
          if (id[i] >= 0 && gone(b.origin() + Vec3d(p[i]) * b.spacing()))
            id.set(i, ~id[i]), ++marked[bucket], masses[bucket] += static_cast<double>(mass[i]);
      },
      particles_.read(particle::position), particles_.read(particle::mass), particles_.write(particle::id));
  const std::int64_t count = exec.comm.sum(std::accumulate(marked.begin(), marked.end(), std::int64_t{0}));
  if (count == 0) return {};
  removed_ += count;
  removed += exact_sum(exec, topology, [&](const Bucket& b) { return masses[static_cast<std::size_t>(b.index)]; });
  // They are dropped with the next sort; until then they must not be seen in statistics and files.
  return particles_.rebucket(exec, padding);
}

Status HybridObject::check_attributes(const std::map<std::string, double>& attributes) const {
  for (const auto& [name, value] : attributes)
    if (!s_.attributes.contains(name))
      return usage_error({}, "'{}' has no attribute '{}'; declare it with 'attributes: {{{}: 0}}' in '{}'", path(),
                         name, name, path());
  return {};
}

Status HybridObject::show_first_frame(StepContext& c) {
  if (!c.first_frame) return {};
  for (const auto task : {&HybridObject::update_solids, &HybridObject::count, &HybridObject::to_grid,
                          &HybridObject::update_surface, &HybridObject::extend, &HybridObject::update_derived})
    if (Status ok = (this->*task)(c); !ok) return ok;
  return {};
}

void HybridObject::measured(const Crowding& crowding) {
  inside_cells_ = crowding.cells;
  volume_drift = inside_cells_ >= fewest_cells ? 1 / crowding.mean - 1 : 0;
}

ObjectAudit HybridObject::audit(Exec& exec) {
  ObjectAudit a = audit_particles(exec, particles_, forces_);
  balance_.end(exec.comm);
  max_speed_ = a.max_speed;
  // The drift tells of the whole liquid only if a good part of it has an inside.
  constexpr double part = 0.1;
  const bool told = inside_cells_ < 0 || (inside_cells_ >= fewest_cells &&
                                          inside_cells_ * std::pow(spacing(), 3) * s_.density >= part * a.mass);
  a.more = {{"volume_drift", told ? volume_drift : std::nan("")}, {"removed_particles", static_cast<double>(removed_)}};
  for (const auto& [name, value] : figures_) a.more.emplace_back(name, *value);
  for (const auto& [name, mass] : added_) a.added.emplace_back(name, *mass);
  for (const auto& [name, mass] : removed_by_) a.removed.emplace_back(name, *mass);
  return a;
}

std::vector<VolumeDescription> HybridObject::volumes() {
  const double dx = spacing();
  std::vector<VolumeDescription> all{
      {.name = "surface",
       .volume = &grid_,
       .channel = grid::surface_distance.name,
       .kind = VolumeGrid::level_set,
       .scale = dx,
       .background = 3 * dx},
      {.name = "vel", .volume = &grid_, .channel = grid::velocity.name, .kind = VolumeGrid::vector},
      {.name = "solid",
       .volume = &grid_,
       .channel = grid::solid_distance.name,
       .kind = VolumeGrid::scalar,
       .scale = dx,
       .background = 4 * dx}};
  for (const GridStore& c : grid_.channels())
    if (c.info.name == grid::pressure.name)
      all.push_back({.name = "pressure",
                     .volume = &grid_,
                     .channel = c.info.name,
                     .kind = VolumeGrid::scalar,
                     .scale = pressure_scale()});
  offer_derived(all);
  return all;
}

}  // namespace aegir
