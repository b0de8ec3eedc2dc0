// Thin lines along the edges of a box, seen through nothing that stands in front.
//
//   const std::vector<float> lines = find_outline(view, box, seen);     // per pixel by rows: how much of the line is
//   there
#pragma once

#include <vector>

#include "preview/visibility.h"

namespace aegir {

/// How strongly each pixel shows an edge of the box: 1 in front, less where the edge lies behind what is seen, 0 away
/// from all edges.
std::vector<float> find_outline(const View& view, const Box& box, const Visibility& seen);

}  // namespace aegir
