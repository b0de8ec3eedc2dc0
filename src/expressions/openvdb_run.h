// Snippets run by OpenVDB AX's own executables on VDB grids: for attributes that hold text, and as the reference that
// Aegir's compiler is compared with.
//
//   const Outline outline = outline_of(source);                     // which attributes a snippet names
//   if (outline.text) Status done = run_openvdb(source, options, values, grids);
//
// What differs from expressions/program.h: `rand()` depends on threads, endless loops never end, and what is undefined
// in C may end the program. Size and nesting of a snippet are limited as there.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "expressions/program.h"

namespace aegir::expression {

/// What a snippet names, without knowing what it runs on.
struct Outline {
  std::vector<std::string> attributes;  ///< each once, ordered
  bool text = false;                    ///< it has attributes of type string
  bool points = false;                  ///< it calls functions that exist for points only
  bool voxels = false;                  ///< it calls functions that exist for voxels only
};

/// Nothing where the snippet cannot be parsed.
Outline outline_of(const Source& source);

/// Runs a snippet over an openvdb::GridPtrVec: over each grid of points, or over all volumes together. Warnings go to
/// `remarks`.
Status run_openvdb(const Source& source, const std::vector<Named>& variables, const std::vector<Value>& values,
                   void* grids, std::vector<std::string>& remarks);

}  // namespace aegir::expression
