// The flight of one point through a substep: constant acceleration, bounces where it meets colliders.
#pragma once

#include <span>

#include "base/function_ref.h"
#include "phenomena/common/collider.h"

namespace aegir {

struct Flight {
  Vec3d position, velocity;
};

/// Flies from `start` at `time` for `dt` under `acceleration`. `stored` rounds a position to what will be stored, so
/// that what was checked against the colliders is what the next substep starts from.
Flight fly(const Flight& start, const Vec3d& acceleration, double time, double dt, double clearance,
           std::span<const Collider* const> colliders, FunctionRef<Vec3d(const Vec3d&)> stored);

}  // namespace aegir
