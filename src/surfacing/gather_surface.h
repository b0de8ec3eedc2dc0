// A surface that ranks have made together, on rank 0, where it is meshed and written.
//
//   Result<ParticleSurface> part = make_shared_surface(points, parts, settings, pool, comm);
//   WholeSurface whole = gather_surface(std::move(*part));
//   if (comm.root()) write_surface(folder, name, frame, whole.surface, whole.points, settings, output, done);
#pragma once

#include "surfacing/make_surface.h"

namespace aegir {

struct WholeSurface {
  ParticleSurface surface;
  PointSet points;  ///< what the owners of voxels carry, without positions
};

/// The buckets of all ranks on rank 0, in the order of one process, and the particles that they name; nothing
/// elsewhere. Collective.
WholeSurface gather_surface(ParticleSurface part);

}  // namespace aegir
