// A fingerprint of what a file means rather than how it is stored.
//
//   Result<std::string> hash = content_hash("water.points.1001.vdb");   // 32 hex digits
#pragma once

#include <string>

#include "base/result.h"

namespace aegir {

/// Hash over names, types, transforms, active values and points with all attributes (groups excepted).
///
/// Metadata, compression, the order of grids and the order of points do not count. PLY: vertices, faces, properties,
/// not the encoding. Any other file: its bytes.
Result<std::string> content_hash(const std::string& path);

}  // namespace aegir
