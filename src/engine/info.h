// What is in a cache file, a checkpoint or a run directory, as text for people.
//
//   Result<std::string> text = info("runs/rain");
#pragma once

#include <string>

#include "base/result.h"

namespace aegir {

/// Describes whatever a path is: a file, a checkpoint folder or a run directory.
Result<std::string> info(const std::string& path);

}  // namespace aegir
