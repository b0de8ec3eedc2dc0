// Our own OBJ reader: vertices in the order of the file, so that deformation files fit; faces; nothing else.
//
//   Result<TriangleMesh> mesh = parse_obj(bytes, "geo/cloth.obj");
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "geometry/mesh.h"

namespace aegir {

/// Reads the bytes of an OBJ file; `name` is for errors, which say the line. Polygons become fans. May have no
/// triangles.
Result<TriangleMesh> parse_obj(std::string_view bytes, const std::string& name);

}  // namespace aegir
