// The table of a wedge: as text for people, as Markdown and as JSON, and back from JSON.
//
//   Status written = save_wedge("runs/dam_wedge", "dam.yaml", runs);
//   std::vector<WedgeRun> before = parse_wedge_table(text_of("runs/dam_wedge/wedge.json"));
#pragma once

#include <string>
#include <vector>

#include "engine/wedge.h"

namespace aegir {

/// Columns for a terminal.
std::string wedge_text(const std::vector<WedgeRun>& runs);

/// Writes wedge.json and wedge.md, each whole or not at all.
Status save_wedge(const std::string& folder, const std::string& setup, const std::vector<WedgeRun>& runs);

/// The runs of a wedge.json; an error where it is none.
Result<std::vector<WedgeRun>> parse_wedge_table(const std::string& text);

/// Takes frames, particles, speed and volume of a run from its statistics.
void read_statistics(const std::string& stats_file, WedgeRun& run);

}  // namespace aegir
