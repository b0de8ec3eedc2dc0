// What is in a cache file, a checkpoint or a run directory, as text for people.
//
//   Result<std::string> text = info("runs/rain");
//   Result<std::string> hash = file_hash("runs/rain/drops/drops.points.1001.vdb");
#pragma once

#include <string>

#include "base/result.h"

namespace aegir {

/// Describes whatever a path is: a file, a checkpoint folder or a run directory.
Result<std::string> info(const std::string& path);

/// The content hash of a file; a folder is a usage error, a file that is not what its name says an io error.
Result<std::string> file_hash(const std::string& path);

}  // namespace aegir
