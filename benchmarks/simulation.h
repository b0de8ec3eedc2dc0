// A simulation as benchmarks start one: from a text, with every phenomenon.
#pragma once

#include <memory>
#include <string>

#include "domain/exec.h"
#include "pipeline/schedule/simulation.h"

namespace aegir::bench {

/// Built and at its first frame; a text that is wrong ends the benchmark with what is wrong.
std::unique_ptr<Simulation> start_simulation(Exec& exec, const std::string& text);

}  // namespace aegir::bench
