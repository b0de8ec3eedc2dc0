// Derived channels of a Hybrid Object: who asked, and when they are worked out.
#include <algorithm>

#include "phenomena/common/crowding.h"
#include "phenomena/common/derived_channels.h"
#include "phenomena/common/hybrid_object.h"

namespace aegir {

bool HybridObject::derive(std::string_view name, Asked when) {
  if (!find_derived(name)) return false;
  Asked& asked = derived_.try_emplace(std::string(name), when).first->second;
  if (when == Asked::every_substep) asked = when;
  if (name == particle::surface_distance.name)
    particles_.declare(particle::surface_distance), grid_.declare(grid::true_distance);
  if (name == particle::neighbours.name) particles_.declare(particle::neighbours);
  if (name == particle::travelled.name) particles_.declare(particle::travelled);
  if (name == particle::density.name) particles_.declare(particle::density), declare_derived_cells(name);
  if (name == particle::vorticity.name) particles_.declare(particle::vorticity), declare_derived_cells(name);
  if (name == particle::pressure_gradient.name)
    particles_.declare(particle::pressure_gradient), declare_derived_cells(name);
  return true;
}

void HybridObject::count_neighbours(std::function<WantedOf(const ParticleSystem&)> who) {
  particles_.declare(particle::neighbours);
  neighbours_of_.push_back(std::move(who));
}

void HybridObject::declare_derived_cells(std::string_view name) {
  if (name == grid::vorticity.name) grid_.declare(grid::vorticity);
  if (name == grid::pressure_gradient.name) grid_.declare(grid::pressure_gradient);
  if (name == grid::density.name)
    grid_.declare(grid::density), grid_.declare(grid::cell_mass), grid_.declare(grid::cell_share);
}

void HybridObject::want_volume(const std::string& name) {
  const DerivedInfo* info = find_derived(name);
  if (!info || !info->on_cells) return;
  derived_volumes_.insert(name);
  declare_derived_cells(name);
}

void HybridObject::offer_derived(std::vector<VolumeDescription>& volumes) {
  for (const DerivedInfo& d : derived_channels())
    if (d.on_cells)
      volumes.push_back({.name = d.name,
                         .volume = &grid_,
                         .channel = d.name,
                         .kind = d.vector ? VolumeGrid::vector : VolumeGrid::scalar});
}

void HybridObject::plan_derived(TaskList& tasks) {
  if (derived_.empty() && derived_volumes_.empty() && neighbours_of_.empty()) return;
  const std::string& me = path();
  std::vector<ChannelAccess> accesses{reads(me, "P", bucket_size), reads(me, "mass"),
                                      reads(me, "vel", 1),         reads(me, "surface_distance", 4),
                                      reads(me, "open_area", 1),   reads(me, cell_room.name, 4)};
  if (has_pressure) accesses.push_back(reads(me, grid::pressure.name, 1));
  const auto touch = [&](const char* channel, int halo) {
    accesses.push_back(writes(me, channel)), accesses.push_back(reads(me, channel, halo));
  };
  for (const auto& [name, when] : derived_)
    if (name != particle::travelled.name) touch(name.c_str(), 1);
  if (!neighbours_of_.empty() && !derived_.contains(particle::neighbours.name)) touch(particle::neighbours.name, 1);
  for (const std::string& name : derived_volumes_) touch(name.c_str(), 1);
  for (const auto* channel : {&grid::cell_mass, &grid::cell_share, &grid::true_distance})
    if (std::any_of(grid_.channels().begin(), grid_.channels().end(),
                    [&](const GridStore& s) { return s.info.name == channel->name; }))
      touch(channel->name, 4);
  tasks.add({.name = "derive",
             .stage = Stage::to_particles,
             .behavior = me,
             .accesses = std::move(accesses),
             .after = {me + ":to particles"},
             .acting = {},
             .run = [this](StepContext& c) { return update_derived(c); }});
}

Status HybridObject::update_derived(StepContext& c) {
  const bool frame = c.last_substep || c.first_frame;
  const auto on_particles = [&](const char* name) {
    const auto asked = derived_.find(name);
    return asked != derived_.end() && (frame || asked->second == Asked::every_substep);
  };
  const auto on_cells = [&](const char* name) {
    return on_particles(name) || (frame && derived_volumes_.contains(name));
  };
  const FlowChannels flow{grid::velocity, grid::open_area, grid::surface_distance, cell_room, grid::pressure};
  if (on_cells(grid::vorticity.name)) derive_vorticity(c.exec, grid_, flow);
  if (on_particles(particle::vorticity.name))
    sample_cells(c.exec, particles_, grid_, flow, grid::vorticity, particle::vorticity);
  // Without a pressure the channel keeps its zeros.
  if (has_pressure && on_cells(grid::pressure_gradient.name))
    derive_pressure_gradient(c.exec, grid_, flow, pressure_scale());
  if (has_pressure && on_particles(particle::pressure_gradient.name))
    sample_cells(c.exec, particles_, grid_, flow, grid::pressure_gradient, particle::pressure_gradient);
  if (on_cells(grid::density.name)) derive_density(c.exec, particles_, grid_, flow, 1 / particles_per_cell());
  if (on_particles(particle::density.name)) sample_density(c.exec, particles_, grid_);
  if (on_particles(particle::surface_distance.name)) derive_surface_distance(c.exec, particles_, grid_, flow, &memory_);
  if (on_particles(particle::neighbours.name))
    derive_neighbours(c.exec, particles_);
  else if (!neighbours_of_.empty())
    count_wanted_neighbours(c);
  return {};
}

void HybridObject::count_wanted_neighbours(StepContext& c) {
  std::vector<WantedOf> wanted;
  for (const auto& who : neighbours_of_) wanted.push_back(who(particles_));
  derive_neighbours(c.exec, particles_, [&](int bucket, std::span<std::uint8_t> flags) {
    for (const WantedOf& flag : wanted) flag(bucket, flags);
  });
}

}  // namespace aegir
