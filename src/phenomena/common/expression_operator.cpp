#include "phenomena/common/expression_operator.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/random.h"
#include "domain/for_each_bucket.h"
#include "phenomena/common/channels.h"
#include "phenomena/common/expression_neighbours.h"
#include "phenomena/common/hybrid_object.h"
#include "phenomena/common/particle_object.h"

namespace aegir {
namespace {

/// A number for a text that is the same in every run.
std::uint64_t number_of(std::string_view text) {
  std::uint64_t h = static_cast<std::uint64_t>(Purpose::expression);
  for (const char c : text) h = mix(h + static_cast<unsigned char>(c) + 1);
  return h;
}

}  // namespace

ExpressionOperator::ExpressionOperator(std::string path, Object& object,
                                       std::shared_ptr<const expression::Program> program,
                                       const ExpressionSettings& settings)
    : Operator(std::move(path)),
      object_(object),
      program_(std::move(program)),
      s_(settings),
      label_(behavior()),
      purpose_(number_of(behavior() + "\n" + object.path())) {
  if (!program_->uses().deletes) return;
  object_.state().child(behavior()).record("removed", &removed_);
  if (auto* p = dynamic_cast<ParticleObject*>(&object_)) p->book_removed(behavior(), removed_);
  if (auto* h = dynamic_cast<HybridObject*>(&object_)) h->book_removed(behavior(), removed_);
}

std::vector<ChannelAccess> ExpressionOperator::accesses() const {
  const std::string& me = object_.path();
  std::vector<ChannelAccess> all;
  for (const expression::Attribute& a : program_->attributes())
    all.push_back(a.written ? writes(me, a.name) : reads(me, a.name));
  if (program_->uses().neighbours) {
    all.push_back(reads(me, particle::position.name, bucket_size));
    for (const expression::Named& c : program_->neighbour_channels()) all.push_back(reads(me, c.name, bucket_size));
  }
  if (program_->uses().deletes || sorts_first()) all.push_back(writes(me, "*"));
  return all;
}

void ExpressionOperator::plan(TaskList& tasks) {
  const std::string name = "evaluate on " + object_.path();
  // Those that stand before it in the setup have planned before.
  std::vector<std::string> after;
  for (const Task& t : tasks.tasks())
    if (t.stage == s_.stage && t.name == name) after.push_back(t.full_name());
  if (s_.stage == Stage::frame_end && dynamic_cast<HybridObject*>(&object_))
    after.push_back(object_.path() + ":first frame");
  tasks.add({.name = name,
             .stage = s_.stage,
             .behavior = behavior(),
             .accesses = accesses(),
             .after = std::move(after),
             .acting = {},
             .run = [this](StepContext& c) { return run(c); }});
}

expression::Application ExpressionOperator::application(const StepContext& c) const {
  expression::Application how;
  const auto number = [&](const std::string& name, double value) {
    how.values.push_back({name, {static_cast<float>(value), 0, 0}});
  };
  number("time", c.time), number("frame", c.frame), number("dt", c.dt), number("substep", c.substep);
  for (const auto& [name, value] : s_.variables) number(name, value.at(c.frame_time));
  for (const auto& [name, value] : s_.vectors) {
    const Vec3f v(value.at(c.frame_time));
    how.values.push_back({name, {v.x, v.y, v.z}});
  }
  how.seed = static_cast<std::uint64_t>(s_.seed);
  how.step = c.step;
  how.purpose = purpose_;
  how.loop_budget = s_.loop_limit;
  return how;
}

Status ExpressionOperator::run(StepContext& c) {
  if (s_.over == ExpressionOver::particles) return run_over_particles(c);
  DiscreteVolume& grid = dynamic_cast<HybridObject&>(object_).grid();
  return c.exec.comm.agree(expression::apply(c.exec, label_.c_str(), *program_, grid, application(c)));
}

Status ExpressionOperator::run_over_particles(StepContext& c) {
  ParticleSystem& particles = *object_.particles();
  if (sorts_first() && c.exec.comm.sum(static_cast<std::int64_t>(particles.pending())) > 0)
    if (Status ok = sort(c); !ok) return ok;
  expression::Application how = application(c);
  std::optional<ExpressionNeighbours> near;
  if (program_->uses().neighbours) {
    near.emplace(c.exec, particles, program_->neighbour_channels());
    how.services = &near->services();
  }
  Status done = expression::apply(c.exec, label_.c_str(), *program_, particles, how);
  if (done && near && near->farthest() > near->reach())
    done = simulation_error(
        "expression '{}' asks for neighbours within {:.4g} m of particles of '{}', whose neighbours are known up to "
        "{:.4g} m, eight cells; use a smaller radius or larger cells",
        behavior(), near->farthest(), object_.path(), near->reach());
  if (done = c.exec.comm.agree(done); !done) return done;
  return program_->uses().deletes ? drop_deleted(c) : Status();
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
