// What particles conserve: mass, momentum, energy, by exact sums.
#pragma once

#include <memory>
#include <span>

#include "domain/particles/particle_system.h"
#include "pipeline/model/action.h"
#include "pipeline/model/object.h"

namespace aegir {

/// Sums over all particles of all ranks, the greatest speed, and the name of a channel that is not finite. Collective.
ObjectAudit audit_particles(Exec& exec, const ParticleSystem& particles,
                            std::span<const std::unique_ptr<Force>> forces);

}  // namespace aegir
