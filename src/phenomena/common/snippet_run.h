// A compiled snippet at work on one Object: its accesses, its variables, its neighbours and samples.
//
//   SnippetRun run(behavior, object, compiled, settings);
//   tasks.add({…, .accesses = run.accesses(), …});
//   Status done = run.over_particles(c);                               // the same outcome on every rank
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "expressions/apply.h"
#include "phenomena/common/snippet.h"
#include "pipeline/schedule/task.h"

namespace aegir {

class SnippetRun {
 public:
  /// `behavior` names the snippet in messages and profiles, and decides its random numbers together with the Object.
  SnippetRun(std::string behavior, Object& object, CompiledSnippet snippet, const SnippetSettings& settings);

  const expression::Program& program() const { return *snippet_.program; }
  /// What the snippet reads and writes of its Object, and what it samples of others.
  std::vector<ChannelAccess> accesses() const;
  /// Full names of tasks of frame_end that make what is sampled in the first frame.
  std::vector<std::string> first_made_by() const;
  /// Runs over the Object's particles; `more` are variables beside those of the run and the user's. Collective.
  Status over_particles(StepContext& c, const std::vector<std::pair<const char*, double>>& more = {}) const;
  /// Runs over the cells of a grid. Collective.
  Status over_cells(StepContext& c, DiscreteVolume& grid) const;

 private:
  template <class Elements>
  Status run(StepContext& c, Elements& elements, expression::Application how, expression::Services& services) const;
  expression::Application application(const StepContext& c) const;

  std::string behavior_;
  Object& object_;
  CompiledSnippet snippet_;
  SnippetSettings s_;
  std::uint64_t purpose_;
};

/// Full names of the tasks of a stage, so far, that touch an Object which one with these accesses touches.
std::vector<std::string> turns_before(const TaskList& tasks, Stage stage, const std::vector<ChannelAccess>& accesses);

}  // namespace aegir
