// How a Hybrid Object is filled, described and audited.
#include <algorithm>
#include <cmath>

#include "domain/for_each_bucket.h"
#include "numerics/surface/liquid_distance.h"
#include "phenomena/common/hybrid_object.h"
#include "phenomena/common/particle_audit.h"

namespace aegir {

SeedSettings HybridObject::seeding() const {
  return {.spacing = spacing(), .per_axis = s_.particles_per_axis, .jitter = s_.jitter, .seed = s_.seed};
}

bool HybridObject::obstructed(const Vec3d& x) const {
  if (limits_ && !limits_->box().contains(x)) return true;
  return std::any_of(colliders_.begin(), colliders_.end(), [&](const Collider* c) {
    return !c->thin() && c->swept_bounds().contains(x) && c->sample(x).distance <= 0;
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
  const auto keep = [&](const Vec3d& x) { return (!pour.also || pour.also(x)) && !obstructed(x); };
  const auto take = [&](const Seeds& seeds) {
    positions.insert(positions.end(), seeds.position.begin(), seeds.position.end());
    for (std::size_t i = 0; i < seeds.position.size(); ++i)
      numbers.push_back(seeds.first + static_cast<std::int64_t>(i));
    if (positions.size() > std::size_t{1} << 20) flush();
  };
  const std::int64_t count = seed(exec, particles_.topology().partition(), region, seeding, keep, take);
  if (!positions.empty()) flush();
  next_id_ += count;
  return count;
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
  for (const auto task :
       {&HybridObject::update_solids, &HybridObject::to_grid, &HybridObject::update_surface, &HybridObject::extend})
    if (Status ok = (this->*task)(c); !ok) return ok;
  return {};
}

ObjectAudit HybridObject::audit(Exec& exec) {
  ObjectAudit a = audit_particles(exec, particles_, forces_);
  max_speed_ = a.max_speed;
  a.more = {{"volume_drift", volume_drift}, {"removed_particles", static_cast<double>(removed_)}};
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
  return all;
}

}  // namespace aegir
