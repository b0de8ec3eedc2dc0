// Where particles of one Object are with respect to the surface of a liquid, whatever ranks own them.
#pragma once

#include "domain/particles/particle_system.h"
#include "phenomena/common/hybrid_object.h"

namespace aegir {

/// Writes the distance in metres to the liquid's surface as its grid has it: negative inside, -1.5 to 1.5 cells, and
/// greater where there is no liquid near, in solids and beyond the liquid's limits. Reads P of the particles and the
/// liquid's surface_distance with halo 1; writes `channel`. Collective; same bits for any threads and ranks.
void probe_surface(Exec& exec, ParticleSystem& particles, const ParticleChannel<float>& channel, HybridObject& liquid);

}  // namespace aegir
