// The simulation of a run that was recorded: its Objects as they were set up, not their state.
#pragma once

#include <memory>

#include "engine/run_record.h"
#include "pipeline/schedule/simulation.h"

namespace aegir {

/// Made again from the setup that the run recorded; nothing where that cannot be read any more, e.g. because its inputs
/// are gone. `catalog` and what `exec` refers to outlive it.
std::unique_ptr<Simulation> reopen(const RunRecord& record, const Catalog& catalog, Exec exec);

}  // namespace aegir
