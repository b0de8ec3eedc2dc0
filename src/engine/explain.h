// The timeline of a setup as text: what runs when, for whom, and what it touches.
//
//   puts(explain(*simulation).c_str());
#pragma once

#include <string>

#include "pipeline/schedule/simulation.h"

namespace aegir {

/// Aligned columns: stage (user-facing ones marked), task, owner, Actions it calls, channels read and written; then the
/// Behaviors that are off and why.
std::string explain(const Simulation& simulation);

}  // namespace aegir
