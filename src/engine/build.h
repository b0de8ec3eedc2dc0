// From a setup file to a Simulation, with everything that was found on the way.
//
//   Profile profile;
//   BuiltRun built = build_run({.setup = "rain.yaml"}, catalog, {comm, profile});
//   if (!built.simulation) show(built.report.messages.errors);
#pragma once

#include <memory>

#include "engine/run.h"

namespace aegir {

/// A Simulation, or the reasons why there is none.
struct BuiltRun {
  std::unique_ptr<Simulation> simulation;
  CheckReport report;
  std::string hash;  ///< of the setup; empty when it could not be read
};

/// Reads and builds; whatever is wrong before the first step counts as the user's. Collective.
BuiltRun build_run(const std::string& setup, const std::vector<std::string>& sets, const Catalog& catalog, Exec exec);

}  // namespace aegir
