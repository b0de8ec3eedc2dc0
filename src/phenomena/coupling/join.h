// Droplets join the particles of a liquid.
//
// A droplet joins the nearest particle of its bucket, if one is within a cell and a half:
//   m' = m + m_d,   v' = (m v + m_d v_d) / m',   r' = (3 m' / (4 π ρ))^(1/3)
// A particle that has become twice as heavy as the liquid's particles are made, or more, divides into equal parts of at
// least that mass, which move alike; new ones take the places of the droplets. A droplet with no particle near becomes
// a particle of its own. So particles stay about as heavy as they were made, and mass and momentum stay to rounding;
// kinetic energy in the pair's frame is lost, angular momentum changes by the distance between the two.
#pragma once

#include <vector>

#include "phenomena/common/hybrid_object.h"
#include "phenomena/coupling/balance.h"

namespace aegir {

/// A droplet on its way into a liquid.
struct Fallen {
  Vec3d position;
  Vec3f velocity;
  float radius = 0, mass = 0;
  std::int64_t id = 0;
};

/// Takes droplets in, from any rank for any place; the liquid's particles are sorted, new ones appear with the next
/// rebucket(). `handover` counts on both sides. Same bits for any threads and ranks. Collective.
void join(Exec& exec, HybridObject& liquid, const std::vector<Fallen>& mine, std::uint64_t seed, std::uint64_t step,
          Handover& handover);

}  // namespace aegir
