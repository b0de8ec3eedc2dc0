// A run as JSON, one object per line, for programs that drive Aegir.
//
//   {"event":"frame","frame":1044,"last":1120,…}
#pragma once

#include <memory>

#include "run_display.h"

namespace aegir {

/// Every event on a line of standard output; errors go to standard error as text, too, on every rank.
std::unique_ptr<RunDisplay> make_json_display(int rank);

}  // namespace aegir
