// One particle of a liquid becomes several droplets.
//
//   std::vector<Splinter> droplets;
//   split({.position = x, .velocity = v, .radius = r, .mass = m, .excess = 0.3}, rules, random, droplets);
//
// Radii are drawn from a density that falls with the cube of the radius,
//   p(r) ∝ 1/r³ on [a, b]:   r = (a⁻² - u (a⁻² - b⁻²))^(-1/2),   u uniform in [0, 1)
// so that every size brings the same volume, until they hold the particle's volume or there are as many as allowed.
// Then all are scaled by one factor so that the volumes add up: the shape of the law stays. The factor is near 1 where
// a particle makes many droplets; with few, and where `most` forbids as many as the law asks for, sizes lie beside [a,
// b].
//
// The metric's excess e over its threshold makes droplets smaller and sends them farther apart, by the weight w:
//   b = r_max (r_min / r_max)^(w e / 2),   spread = (1 - w + w e) · spread
// Mass is kept to one rounding of the greatest droplet's mass, momentum and centre of mass to the rounding of floats:
// random offsets and velocities have a mean, by mass, of zero. [Lesser et al. 2022, §7.1.1]
#pragma once

#include <vector>

#include "base/random.h"
#include "base/vec.h"
#include "phenomena/common/size_distribution.h"

namespace aegir {

struct SplitRules {
  SizeLaw law = SizeLaw::inverse_cubic;       ///< or uniform
  double smallest = 0.001, greatest = 0.005;  ///< radii, m
  double amount = 1;                          ///< 0 leaves particles whole, 1 is the law, more is finer
  int most = 16;                              ///< droplets per particle
  double spread = 0;                          ///< m/s, at an excess of 1
  double weighting = 1;                       ///< how much the excess counts, 0 to 1
};

/// What falls apart; `excess` is that of the metric over its threshold, 0 to 1.
struct Whole {
  Vec3d position, velocity;
  double radius = 0, mass = 0, excess = 1;
};

/// One droplet; numbers as they are stored.
struct Splinter {
  Vec3d position;
  Vec3f velocity;
  float radius = 0, mass = 0;
};

/// Appends the droplets of a particle: at least one.
void split(const Whole& whole, const SplitRules& rules, const Random& random, std::vector<Splinter>& out);

}  // namespace aegir
