// From particles to a level set: the whole way.
//
//   Result<ParticleSurface> surface = make_surface(points, settings);
//   if (!surface) return surface.error();
//   SurfaceMesh mesh = mesh_surface(surface->grid);
//   VolumeGrid level_set = level_set_of(surface->grid);
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "io/point_set.h"
#include "parallel/comm.h"
#include "surfacing/band_grid.h"
#include "surfacing/surface_settings.h"

namespace aegir {

/// What was done and what was left out.
struct SurfaceReport {
  std::int64_t particles = 0;       ///< of the input
  std::int64_t not_finite = 0;      ///< skipped: position or radius is no number, or out of reach of the lattice
  std::int64_t without_radius = 0;  ///< skipped: radius zero or below
  std::int64_t shaped = 0;          ///< near the surface
  double spacing = 0;               ///< metres between particles, from the median radius
  double guessed_radius = 0;        ///< metres; 0 where the particles have radii
  double voxel = 0;                 ///< metres
  std::int64_t most_held = 0;       ///< particles on the rank with the most, copies included, where ranks share
  /// Sentences for the user: what was skipped or assumed; empty if nothing was.
  std::vector<std::string> remarks() const;
};

struct ParticleSurface {
  BandGrid grid;
  SurfaceReport report;
};

/// The level set of all particles together. Their radii are those of `pscale`, the settings' or guessed from their
/// spacing. Same bits for any number of threads.
///
/// Fails for settings that make no sense and radii that are out of proportion; particles that cannot be used are
/// skipped and counted.
///
/// A pool that is kept from frame to frame saves the clearing of fresh memory, a fifth of the time.
Result<ParticleSurface> make_surface(const PointSet& points, const SurfaceSettings& settings,
                                     std::shared_ptr<BufferPool> pool = nullptr);

/// The part of the level set that is this rank's; all ranks' particles together make the surface, with the bits of one
/// rank. Heavy work is done by all, each for its share: of its particles, and of copies of what lies around. `parts`:
/// where each Object ends in `points`. What owners carry is in the grid's shares. Collective.
Result<ParticleSurface> make_shared_surface(PointSet points, std::span<const std::size_t> parts,
                                            const SurfaceSettings& settings, std::shared_ptr<BufferPool> pool,
                                            Comm& comm);

/// The settings with what is chosen by method filled in.
SurfaceSettings completed(SurfaceSettings settings);

/// The radius of spheres that have the volume of a lattice of particles this far apart, over that distance.
inline constexpr double radius_per_spacing = 0.6203504908994;

}  // namespace aegir
