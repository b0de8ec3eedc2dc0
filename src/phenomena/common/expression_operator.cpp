#include "phenomena/common/expression_operator.h"

#include <algorithm>
#include <array>
#include <utility>

#include "domain/for_each_bucket.h"
#include "phenomena/common/channels.h"
#include "phenomena/common/hybrid_object.h"
#include "phenomena/common/particle_object.h"

namespace aegir {

ExpressionOperator::ExpressionOperator(std::string behavior, Object& object, CompiledSnippet snippet,
                                       const ExpressionSettings& settings)
    : Operator(std::move(behavior)),
      object_(object),
      s_(settings),
      snippet_(this->behavior(), object, std::move(snippet), settings) {
  if (!snippet_.program().uses().deletes) return;
  object_.state().child(this->behavior()).record("removed", &removed_);
  if (auto* p = dynamic_cast<ParticleObject*>(&object_)) p->book_removed(this->behavior(), removed_);
  if (auto* h = dynamic_cast<HybridObject*>(&object_)) h->book_removed(this->behavior(), removed_);
}

void ExpressionOperator::plan(TaskList& tasks) {
  std::vector<ChannelAccess> accesses = snippet_.accesses();
  if (sorts_first()) accesses.push_back(writes(object_.path(), "*"));
  // Those that stand before it in the setup have planned before; Objects will.
  std::vector<std::string> after = turns_before(tasks, s_.stage, accesses);
  if (s_.stage == Stage::frame_end) {
    for (std::string& name : snippet_.first_made_by()) after.push_back(std::move(name));
    if (dynamic_cast<HybridObject*>(&object_)) after.push_back(object_.path() + ":first frame");
  }
  tasks.add({.name = "evaluate on " + object_.path(),
             .stage = s_.stage,
             .behavior = behavior(),
             .accesses = std::move(accesses),
             .after = std::move(after),
             .acting = {},
             .run = [this](StepContext& c) { return run(c); }});
}

Status ExpressionOperator::run(StepContext& c) {
  if (s_.over == ExpressionOver::voxels) return snippet_.over_cells(c, dynamic_cast<HybridObject&>(object_).grid());
  ParticleSystem& particles = *object_.particles();
  if (sorts_first() && c.exec.comm.sum(static_cast<std::int64_t>(particles.pending())) > 0)
    if (Status ok = sort(c); !ok) return ok;
  if (Status ok = snippet_.over_particles(c); !ok) return ok;
  return snippet_.program().uses().deletes ? drop_deleted(c) : Status();
}

Status ExpressionOperator::sort(StepContext& c) {
  const int padding = dynamic_cast<HybridObject*>(&object_) ? HybridObject::padding : 0;
  return object_.particles()->rebucket(c.exec, padding);
}

/// Particles that deletepoint() chose have the complement of their id. Reads 12 bytes per particle.
Status ExpressionOperator::drop_deleted(StepContext& c) {
  ParticleSystem& particles = *object_.particles();
  const auto id = particles.read(particle::id);
  const auto mass = particles.read(particle::mass);
  const auto [count, lost] = exact_sums<2>(c.exec, particles.topology(), [&](const Bucket& b) {
    std::array<double, 2> sums{0, 0};
    const auto ids = id(b.index);
    const auto masses = mass(b.index);
    for (std::size_t i = 0; i < ids.count; ++i)
      if (ids[i] < 0) sums[0] += 1, sums[1] += static_cast<double>(masses[i]);
    return sums;
  });
  if (count == 0) return {};
  removed_ += lost;
  return sort(c);
}

}  // namespace aegir
