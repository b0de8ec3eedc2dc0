// Our own PLY reader: ascii, binary little and big endian, every scalar vertex property.
//
//   Result<TriangleMesh> mesh = parse_ply(bytes, "geo/statue.ply");
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "geometry/mesh.h"

namespace aegir {

/// Reads the bytes of a PLY file; `name` is for errors, which say line and column or the byte. May have no triangles.
Result<TriangleMesh> parse_ply(std::string_view bytes, const std::string& name);

/// The same for points: positions that are not finite are kept for the caller to count and leave out.
Result<TriangleMesh> parse_ply_points(std::string_view bytes, const std::string& name);

}  // namespace aegir
