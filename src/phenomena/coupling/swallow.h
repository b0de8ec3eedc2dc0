// Droplets that fall into a liquid which is only looked at, a cached run, are taken away; it is given nothing.
//
// Such a liquid has no surface, only particles. A droplet is in it where they fill the ball of one cell size around it
// as a half space does whose surface is d cells above its centre:
//   Σ r_i³ / Δx³ ≥ (2 + 3 d - d³) / 4          r_i: radii of the particles in the ball, Δx: the cell of the cached run
#pragma once

#include <string>

#include "phenomena/common/particle_object.h"

namespace aegir {

struct SwallowSettings {
  double depth = 0.5;  ///< cells
  double delay = 0;    ///< s that droplets are older than
  std::string when{};  ///< channel that decides instead of the depth, from a half on; empty: none
};

/// Share of a ball of radius 1 that is below a plane `depth` above its centre; for |depth| ≤ 1.
constexpr double share_of_ball(double depth) { return (2 + 3 * depth - depth * depth * depth) / 4; }

class Swallow final : public Operator {
 public:
  Swallow(std::string behavior, ParticleObject& droplets, Object& liquid, const SwallowSettings& settings);
  void plan(TaskList& tasks) override;

 private:
  Status leave(StepContext& c);

  ParticleObject& droplets_;
  Object& liquid_;
  SwallowSettings s_;
  double taken_ = 0;  // kg
};

}  // namespace aegir
