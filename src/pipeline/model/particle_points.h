// Particles as points for files and other programs.
//
//   PointSet points = gather_points(*object.particles(), {"v", "pscale", "id"}, comm);
#pragma once

#include <string>
#include <vector>

#include "domain/particles/particle_system.h"
#include "io/point_set.h"
#include "parallel/comm.h"

namespace aegir {

/// World positions and channels of all ranks' particles on rank 0, in the order of the curve: the same for any number of
/// ranks. Channels that are not there are left out. Nothing on other ranks. Collective.
PointSet gather_points(const ParticleSystem& particles, const std::vector<std::string>& channels, Comm& comm);

}  // namespace aegir
