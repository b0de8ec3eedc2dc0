#include "phenomena/common/snippet_run.h"

#include <algorithm>
#include <optional>

#include "base/random.h"
#include "phenomena/common/expression_neighbours.h"
#include "phenomena/common/expression_samples.h"

namespace aegir {
namespace {

/// A number for a text that is the same in every run.
std::uint64_t number_of(std::string_view text) {
  std::uint64_t h = static_cast<std::uint64_t>(Purpose::expression);
  for (const char c : text) h = mix(h + static_cast<unsigned char>(c) + 1);
  return h;
}

}  // namespace

SnippetRun::SnippetRun(std::string behavior, Object& object, CompiledSnippet snippet, const SnippetSettings& settings)
    : behavior_(std::move(behavior)),
      object_(object),
      snippet_(std::move(snippet)),
      s_(settings),
      purpose_(number_of(behavior_ + "\n" + object.path())) {}

std::vector<ChannelAccess> SnippetRun::accesses() const {
  const std::string& me = object_.path();
  std::vector<ChannelAccess> all;
  for (const expression::Attribute& a : program().attributes())
    all.push_back(a.written ? writes(me, a.name) : reads(me, a.name));
  if (program().uses().neighbours) {
    all.push_back(reads(me, particle::position.name, bucket_size));
    for (const expression::Named& c : program().neighbour_channels()) all.push_back(reads(me, c.name, bucket_size));
  }
  if (program().uses().deletes) all.push_back(writes(me, "*"));
  for (const auto& sampled : snippet_.samples)
    for (ChannelAccess& a : sampled->accesses()) all.push_back(std::move(a));
  return all;
}

std::vector<std::string> SnippetRun::first_made_by() const {
  std::vector<std::string> names;
  for (const auto& sampled : snippet_.samples)
    if (std::string name = sampled->first_made_by(); !name.empty()) names.push_back(std::move(name));
  return names;
}

expression::Application SnippetRun::application(const StepContext& c) const {
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
  how.stop = c.stop;
  how.loop_budget = s_.loop_limit;
  return how;
}

template <class Elements>
Status SnippetRun::run(StepContext& c, Elements& elements, expression::Application how,
                       expression::Services& services) const {
  how.services = &services;
  std::optional<ExpressionSamples> samples;
  if (program().uses().samples) {
    samples.emplace(c.exec, snippet_.samples, elements.topology().local_count());
    samples->offer(services);
    if (samples->needs_rehearsal()) do
        expression::rehearse(program(), elements, how);
      while (samples->ask(c.exec));
  }
  return expression::apply(c.exec, behavior_.c_str(), program(), elements, how);
}

Status SnippetRun::over_particles(StepContext& c, const std::vector<std::pair<const char*, double>>& more) const {
  ParticleSystem& particles = *object_.particles();
  expression::Application how = application(c);
  for (const auto& [name, value] : more) how.values.push_back({name, {static_cast<float>(value), 0, 0}});
  expression::Services services;
  std::optional<ExpressionNeighbours> near;
  if (program().uses().neighbours) {
    near.emplace(c.exec, particles, program().neighbour_channels());
    services = near->services();
  }
  Status done = run(c, particles, std::move(how), services);
  if (done && near && near->farthest() > near->reach())
    done = simulation_error(
        "expression '{}' asks for neighbours within {:.4g} m of particles of '{}', whose neighbours are known up to "
        "{:.4g} m, eight cells; use a smaller radius or larger cells",
        behavior_, near->farthest(), object_.path(), near->reach());
  return c.exec.comm.agree(done);
}

Status SnippetRun::over_cells(StepContext& c, DiscreteVolume& grid) const {
  expression::Services services;
  return c.exec.comm.agree(run(c, grid, application(c), services));
}

std::vector<std::string> turns_before(const TaskList& tasks, Stage stage, const std::vector<ChannelAccess>& accesses) {
  std::vector<std::string> before;
  const auto touches = [&](const ChannelAccess& theirs) {
    return std::any_of(accesses.begin(), accesses.end(),
                       [&](const ChannelAccess& mine) { return mine.owner == theirs.owner; });
  };
  for (const Task& t : tasks.tasks())
    if (t.stage == stage && std::any_of(t.accesses.begin(), t.accesses.end(), touches)) before.push_back(t.full_name());
  return before;
}

}  // namespace aegir
