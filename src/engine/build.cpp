#include "engine/build.h"

namespace aegir {
namespace {

void count_nodes(const SetupNode& node, CheckReport& report) {
  for (const SetupNode& child : node.children) {
    ++(child.behavior ? report.behaviors : report.groups);
    count_nodes(child, report);
  }
}

/// A file that cannot be read before the first step is a wrong setup; only memory is nobody's mistake.
void blame_setup(std::vector<Error>& errors) {
  for (Error& error : errors)
    if (error.kind != Failure::memory) error.kind = Failure::usage;
}

}  // namespace

BuiltRun build_run(const std::string& setup, const std::vector<std::string>& sets, const Catalog& catalog, Exec exec) {
  BuiltRun built;
  Messages& messages = built.report.messages;
  Result<Setup> loaded = load_setup(setup, {.sets = sets}, catalog, messages);
  if (loaded) {
    built.hash = loaded->hash;
    built.report.inputs = static_cast<int>(loaded->inputs.size());
    built.report.outputs = static_cast<int>(loaded->outputs.size());
    count_nodes(loaded->root, built.report);
  } else if (messages.errors.empty()) {
    messages.errors.push_back(loaded.error());
  }
  // Building is collective: nobody starts it where somebody could not read the setup.
  if (exec.comm.any(!loaded)) {
    if (loaded) messages.errors.push_back(usage_error({setup, 0, 0}, "the setup cannot be read on another rank"));
    return blame_setup(messages.errors), std::move(built);
  }
  Result<std::unique_ptr<Simulation>> simulation = Simulation::create(std::move(*loaded), exec, messages);
  if (!simulation && messages.errors.empty()) messages.errors.push_back(simulation.error());
  blame_setup(messages.errors);
  if (exec.comm.any(!simulation)) {
    if (simulation) messages.errors.push_back(usage_error({setup, 0, 0}, "the setup cannot be built on another rank"));
    return built;
  }
  built.simulation = std::move(*simulation);
  built.report.objects = static_cast<int>(built.simulation->objects().size());
  for (const BehaviorSummary& b : built.simulation->behaviors())
    if (!b.off.empty()) built.report.off.push_back(b);
  return built;
}

}  // namespace aegir
