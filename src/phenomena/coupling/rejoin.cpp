#include "phenomena/coupling/rejoin.h"

#include "domain/for_each_bucket.h"
#include "phenomena/coupling/break_away.h"
#include "phenomena/coupling/surface_probe.h"

namespace aegir {

Rejoin::Rejoin(std::string behavior, ParticleObject& droplets, HybridObject& liquid, const RejoinSettings& settings)
    : Operator(std::move(behavior)),
      droplets_(droplets),
      liquid_(liquid),
      s_(settings),
      distance_name_(particle::surface_distance.name),
      error_name_(this->behavior() + ":momentum_error"),
      far_(static_cast<float>(static_cast<double>(grid::surface_distance.background) * liquid.spacing())) {
  // Droplets that may rejoin several liquids have a distance to each.
  for (int n = 2; droplets.particles()->has(distance_name_); ++n)
    distance_name_ = fmt::format("{}_{}", particle::surface_distance.name, n);
  droplets.particles()->declare(distance());
  balance_.keep_in(droplets.state().child(this->behavior() + " " + liquid.path()));
  liquid.uneven = true;
  liquid.book_added(this->behavior(), balance_.entered);
  droplets.book_removed(this->behavior(), balance_.left);
  droplets.book_figure(error_name_.c_str(), balance_.momentum_error);
}

void Rejoin::plan(TaskList& tasks) {
  const std::string &from = droplets_.path(), &to = liquid_.path();
  std::vector<ChannelAccess> probes{reads(from, "P"), writes(from, distance_name_), reads(to, "surface_distance", 1)},
      enters{writes(to, "*")};
  for (const Collider* c : liquid_.colliders())
    probes.push_back(reads(c->path(), "surface")), enters.push_back(reads(c->path(), "surface"));
  tasks.add({.name = "probe " + to,
             .stage = Stage::audit,
             .behavior = behavior(),
             .accesses = std::move(probes),
             .after = turns_so_far(tasks, Stage::audit, from, to),
             .acting = {},
             .run = [this](StepContext& c) { return probe(c); }});
  tasks.add({.name = "leave " + from,
             .stage = Stage::group_exit,
             .behavior = behavior(),
             .accesses = {reads(from, "P"), reads(from, "v"), reads(from, "mass"), reads(from, "pscale"),
                          reads(from, "age"), reads(from, decisive().name), writes(from, "id")},
             .after = turns_so_far(tasks, Stage::group_exit, from, to),
             .acting = {},
             .run = [this](StepContext& c) { return leave(c); }});
  tasks.add({.name = "enter " + to + " from " + from,
             .stage = Stage::group_enter,
             .behavior = behavior(),
             .accesses = std::move(enters),
             .after = turns_so_far(tasks, Stage::group_enter, from, to),
             .acting = {},
             .run = [this](StepContext& c) { return enter(c); }});
}

Status Rejoin::probe(StepContext& c) {
  probe_surface(c.exec, *droplets_.particles(), distance(), liquid_);
  return {};
}

// Per droplet: 8 bytes of id, 4 of age, 4 of distance or of what the expression said; two comparisons.
Status Rejoin::leave(StepContext& c) {
  ParticleSystem& particles = *droplets_.particles();
  std::vector<std::vector<Fallen>> found(static_cast<std::size_t>(particles.topology().local_count()));
  const bool chosen = !s_.when.empty();
  const auto deep = static_cast<float>(-s_.depth), delay = static_cast<float>(s_.delay);
  for_each_bucket(
      c.exec, "rejoining", particles.topology(),
      [&](const Bucket& b, auto& id, auto& value, auto& age, auto& p, auto& v, auto& mass, auto& radius) {
        for (std::size_t i = 0; i < p.count; ++i) {
          if (!(chosen ? value[i] >= 0.5f : value[i] < deep) || id[i] < 0 || !(age[i] > delay)) continue;
          found[static_cast<std::size_t>(b.index)].push_back(
              {b.origin() + Vec3d(p[i]) * b.spacing(), v[i], radius[i], mass[i], id[i]});
          id.set(i, ~id[i]);
        }
      },
      particles.write(particle::id), particles.read(decisive()), particles.read(particle::age),
      particles.read(particle::position), particles.read(particle::velocity), particles.read(particle::mass),
      particles.read(particle::radius));
  fallen_.clear();
  for (const auto& bucket : found) fallen_.insert(fallen_.end(), bucket.begin(), bucket.end());
  return {};
}

Status Rejoin::enter(StepContext& c) {
  if (!c.exec.comm.any(!fallen_.empty())) return {};
  // Drops those that have left, and sorts the rest by cell.
  if (Status ok = liquid_.particles()->rebucket(c.exec, HybridObject::padding); !ok) return ok;
  Handover handover;
  join(c.exec, liquid_, fallen_, static_cast<std::uint64_t>(s_.seed), c.step, handover);
  balance_.book(c.exec, handover);
  fallen_.clear();
  return {};
}

}  // namespace aegir
