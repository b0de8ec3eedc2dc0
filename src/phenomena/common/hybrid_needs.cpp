// What a Hybrid Object will need: memory, and substeps; and what it says when there are too few.
#include <algorithm>
#include <cmath>
#include <vector>

#include "phenomena/common/hybrid_object.h"

namespace aegir {

std::size_t HybridObject::forecast_bytes(const Comm& comm) const {
  double particle = 0, cell = 0, columns = 0;
  for (const ParticleStore& c : particles_.channels())
    particle += static_cast<double>(c.info.bytes_per_element()), columns += static_cast<double>(c.planes.size());
  for (const GridStore& c : grid_.channels()) cell += static_cast<double>(c.info.bytes_per_element());
  // Scratch: codes and orders of sorting; vectors of the pressure's solve; buckets beside the liquid.
  constexpr double sorting = 6 + 8 + 24, solving = 48, empty_buckets = 1.5;
  // Particles on their way in are doubles, a million at a time (fill()).
  const double arriving = 8 * columns + 24;
  double count = expected_;
  if (limits_) {
    const Vec3d room = limits_->box().size() / spacing();
    count = std::min(count, room.x * room.y * room.z * particles_per_cell());
  }
  count /= comm.size();
  return static_cast<std::size_t>(
      std::min(1e18, count * (particle * 1.125 + sorting + (cell + solving) * empty_buckets / particles_per_cell()) +
                         std::min(count, 1e6) * arriving));
}

/// The greatest speed of solids that come near particles of any rank between two times; `speeds` are those of each
/// collider. Collective.
double HybridObject::speed_beside_liquid(Exec& exec, double begin, double end, std::vector<double>& speeds) const {
  speeds.assign(colliders_.size(), 0);
  const Topology& topology = particles_.topology();
  for (std::size_t s = 0; s < colliders_.size(); ++s) {
    const Outlook look = colliders_[s]->outlook(begin, end);
    if (!(look.speed > 0)) continue;
    const Box reach = look.swept.grown(spacing());
    for (int b = 0; b < topology.local_count() && speeds[s] == 0; ++b)
      if (particles_.count(b) > 0 && reach.overlaps(topology.box(b))) speeds[s] = look.speed;
  }
  exec.comm.max(std::span<double>(speeds));
  return speeds.empty() ? 0 : *std::max_element(speeds.begin(), speeds.end());
}

void HybridObject::look_ahead(StepContext& c) {
  if (colliders_.empty() && !c.cap_reached) return;
  std::vector<double> speeds;
  if (c.cap_reached) {
    const auto warn_of = [&](const std::string& who, double speed, double most, const char* name) {
      const double cells = speed * c.dt / spacing();
      if (cells > most)
        c.warn(
            fmt::format("{} moves {:.3g} cells of '{}' per substep, more than {}{:g}; a frame has {} substeps at "
                        "most: raise timeline.substeps.max to {:.0f}",
                        who, cells, path(), name, most, c.most_substeps, std::ceil(c.most_substeps * cells / most)));
    };
    warn_of("the liquid", max_speed_, c.cfl, "timeline.substeps.cfl = ");
    speed_beside_liquid(c.exec, c.time, c.time + c.dt, speeds);
    for (std::size_t s = 0; s < speeds.size(); ++s)
      warn_of(fmt::format("collider '{}'", colliders_[s]->path()), speeds[s], solid_cfl(c.cfl), "");
  }
  // What comes in the next frame decides its substeps.
  const double end = c.time + c.dt;
  solid_speed_ = speed_beside_liquid(c.exec, end, end + 1 / c.fps, speeds);
}

}  // namespace aegir
