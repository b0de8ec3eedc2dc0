// Filters of a level set as words: "gaussian:width=2,iterations=3", "dilate:distance=1.5", "mean:never_raise".
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "surfacing/surface_settings.h"

namespace aegir {

/// Filters in the order given; "none" alone means that there are none.
///
/// `NAME[:KEY=VALUE,…]` with width, iterations, distance, never_raise, and for masks attribute or volume (and grid)
/// with none and full.
Result<std::vector<SurfaceFilter>> parse_filters(const std::vector<std::string>& texts);

}  // namespace aegir
