// How far particles are apart, where nothing else tells.
//
//   double spacing = estimate_spacing(points.position);      // metres
#pragma once

#include <span>

#include "base/vec.h"
#include "parallel/comm.h"

namespace aegir {

/// The spacing at which cells of twice that width hold eight particles on average where there are any; positions that
/// are not finite do not count. 1 for less than two particles. With a Comm: of all ranks' particles together;
/// collective.
double estimate_spacing(std::span<const Vec3d> positions, Comm* comm = nullptr);

}  // namespace aegir
