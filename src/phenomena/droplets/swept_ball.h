// Two balls that move straight through one substep: whether and when they meet. Lengths are in cells, times in
// substeps.
//
//   d, w: place and way of the other relative to this one, R = r_i + r_j
//   closest approach at s = -(d·w)/w², where they are p = d + s w apart; contact at t = s - √((R² - p²) / w²)
//   [Jones 2018, eq. 4.31 corrected; the roots by way of the closest approach, which does not cancel for small balls]
//
// They meet if they approach (d·w < 0, Nordin 2001), p < R and t ≤ 1. Balls that overlap already meet at t ≤ 0. Seen
// from the other ball d and w only change their signs, so both get the same bits.
#pragma once

#include <cmath>
#include <limits>

#include "base/vec.h"

namespace aegir {

/// When two balls touch first and when they are closest; infinite if they do not meet within the substep.
struct Approach {
  float contact = std::numeric_limits<float>::infinity();
  float closest = std::numeric_limits<float>::infinity();
};

inline Approach approach(float dx, float dy, float dz, float wx, float wy, float wz, float reach) {
  const float along = dx * wx + dy * wy + dz * wz, speed2 = wx * wx + wy * wy + wz * wz;
  const float s = -along / speed2;
  const float px = dx + s * wx, py = dy + s * wy, pz = dz + s * wz;
  const float inside = reach * reach - (px * px + py * py + pz * pz);
  const float t = s - std::sqrt(inside / speed2);
  constexpr float never = std::numeric_limits<float>::infinity();
  const bool meet = (along < 0) & (inside > 0) & (t <= 1.0f);
  return {meet ? t : never, meet ? s : never};
}

}  // namespace aegir
