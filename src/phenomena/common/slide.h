// A liquid particle that meets solids: it does not bounce, it slides along them.
#pragma once

#include <algorithm>
#include <span>

#include "base/function_ref.h"
#include "domain/grid/bucket_key.h"
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

/// Particles that no solid can be near to, told by the distances at grid nodes: these hold at the end of the substep.
///
///   const FarFromSolids far(colliders, dx);
///   if (far.surely(nodes, from, to)) …       // slide() would find nothing in the way
class FarFromSolids {
 public:
  FarFromSolids(std::span<const Collider* const> colliders, double spacing);

  /// Whether no collider comes near a particle on its way. Positions are in cells of a bucket, `nodes` the 512 solid
  /// distances at the lower corners of its cells.
  bool surely(const float* nodes, const Vec3f& from, const Vec3f& to) const {
    const auto nearest = [](float x) { return std::clamp(static_cast<int>(x + 0.5f), 0, bucket_size - 1); };
    const Vec3i node{nearest(from.x), nearest(from.y), nearest(from.z)};
    const float distance = std::min(nodes[cell_offset(node.x, node.y, node.z)], known_);
    return distance - length(from - Vec3f(node)) > length(to - from) + margin_;
  }

 private:
  float known_;   // distances are exact up to this
  float margin_;  // way of the solids, clearance and rounding
};

}  // namespace aegir
