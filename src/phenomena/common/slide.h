// A liquid particle that meets solids: it does not bounce, it slides along them.
#pragma once

#include <span>

#include "base/function_ref.h"
#include "phenomena/common/collider.h"

namespace aegir {

struct Slide {
  Vec3d position, velocity;
  bool touched = false;  ///< otherwise nothing was in the way
};

/// Goes from `begin` to `goal` in [time, time + dt]. What is in the way takes the part of the way towards it, and the
/// part of `velocity` relative to it that points into it. `stored` rounds a position to what will be stored.
Slide slide(const Vec3d& begin, const Vec3d& goal, const Vec3d& velocity, double time, double dt, double clearance,
            std::span<const Collider* const> colliders, FunctionRef<Vec3d(const Vec3d&)> stored);

}  // namespace aegir
