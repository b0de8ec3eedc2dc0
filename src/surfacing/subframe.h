// Particles at a time between two frames, by their ids.
//
//   Result<PointSet> half = between_frames(frame12, frame13, {.share = 0.5, .seconds = 1.0 / 24});
//
// A particle of both frames moves along the cubic that has its places and velocities there (Hermite),
//
//   x(s) = (2s³ - 3s² + 1) x₀ + (s³ - 2s² + s) T v₀ + (3s² - 2s³) x₁ + (s³ - s²) T v₁,      s in [0, 1], T: time
//   between,
//
// straight where there are no velocities. One that is only in the first flies on, x₀ + s T v₀, and shrinks to nothing
// at the second; one that is only in the second comes from where it would have been and grows: nothing pops.
// Interpolating places and not fields keeps what is small and fast [Zhu 2005, chapter 4].
#pragma once

#include "base/result.h"
#include "io/point_set.h"

namespace aegir {

struct SubframeTime {
  double share = 0;    ///< 0: the first frame, 1: the second
  double seconds = 0;  ///< between the two
};

/// The particles of the first in its order, then those that are only in the second. `v` is the derivative of the way,
/// `pscale` goes from one to the other, all other attributes are those of the frame that is nearer. Fails without ids,
/// or where an id is there twice.
Result<PointSet> between_frames(const PointSet& first, const PointSet& second, const SubframeTime& time);

/// The particles moved along their velocities, for times before the first and after the last frame.
PointSet carried_on(PointSet points, double seconds);

}  // namespace aegir
