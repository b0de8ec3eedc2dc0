// When a Hybrid Object reseeds its particles: after they have their velocities, before they move.
#include "phenomena/common/hybrid_object.h"

namespace aegir {

void HybridObject::plan_reseeding(TaskList& tasks) {
  const std::string& me = path();
  std::vector<ChannelAccess> accesses{writes(me, "*"), reads(me, "vel", 4), reads(me, "surface_distance", 1),
                                      reads(me, "cell_room", 1)};
  for (const Collider* c : colliders_) accesses.push_back(reads(c->path(), "surface"));
  // After all that is worked out for particles: new ones take it over from those beside them.
  std::vector<std::string> before;
  for (const Task& t : tasks.tasks())
    if (t.behavior == me && t.stage == Stage::to_particles) before.push_back(t.full_name());
  tasks.add({.name = "reseed",
             .stage = Stage::to_particles,
             .behavior = me,
             .accesses = std::move(accesses),
             .after = std::move(before),
             .acting = {},
             .run = [this](StepContext& c) { return reseed(c); }});
  std::vector<std::string> after = drains_;
  if (limits_) after.push_back(me + ":remove");
  tasks.add({.name = "settle",
             .stage = Stage::remove,
             .behavior = me,
             .accesses = {writes(me, "*")},
             .after = std::move(after),
             .acting = {},
             .run = [this](StepContext& c) { return settle(c); }});
}

Status HybridObject::reseed(StepContext& c) {
  const auto blocked = [&](const Vec3d& x) { return obstructed(x); };
  const Reseeded done = aegir::reseed(c.exec, particles_, grid_,
                                      {.limits = *s_.reseed,
                                       .per_axis = s_.particles_per_axis,
                                       .density = s_.density,
                                       .dt = c.dt,
                                       .seed = static_cast<std::uint64_t>(s_.seed),
                                       .step = c.step,
                                       .next_id = next_id_,
                                       .affine = transfer_ == TransferMethod::apic,
                                       .sheets = &solids_},
                                      blocked);
  next_id_ += done.added;
  reseeded_ = done.any();
  return {};
}

Status HybridObject::settle(StepContext& c) {
  return std::exchange(reseeded_, false) ? particles_.rebucket(c.exec, padding) : Status();
}

}  // namespace aegir
