// The distance to the liquid's surface, from its particles.
//
//   const SurfaceCensus census(exec, particles, volume, &solid_distance, &pool);
//   liquid_distance(exec, particles, volume, census, {surface_distance, &solid_distance}, &pool);
//
// Around each cell centre the particles have a mean position, weighted by quadratic B-splines of the cell size. In a
// half space its offset from the centre is a known function of the distance to the surface (offset_table.h), whatever
// the number of particles per cell: two flat layers of particles per cell give a flat surface exactly, wherever it
// lies, jitter over half of their share noise of 0.02 cells rms, particles strewn at random, eight per cell, 0.09; and
// a particle alone is a blob. Distances reach from -1.5 to 1.5 cells; deeper inside they are -1.5, and where no
// particle is near they are the channel's background.
// A thin sheet has its particles' mean in its middle and would look deep: distances have slope 1 at most, so a cell is
// no deeper than its neighbours outside allow. A single cell of air inside liquid is not resolved and is filled.
//
// Where a solid reaches into the weights the mean is off. There the surface continues that of the cells nearby whose
// weights are free (near_solids.h), into the solid as if it were not there, and follows the particles beside the solid
// (wall_offset.h). A cell near a solid all of whose open
// neighbourhood is filled is liquid. With the faces' open areas given, a surface is not continued through a sheet.
#pragma once

#include "domain/channel/buffer.h"
#include "domain/exec.h"
#include "domain/particles/particle_system.h"
#include "domain/volume/discrete_volume.h"
#include "numerics/barrier.h"
#include "numerics/surface/surface_census.h"

namespace aegir {

/// The channels of a liquid's surface. Particles and volume share their topology.
struct LiquidDistanceChannels {
  CellChannel<float> distance;                         ///< result, cells, negative inside; background above 1.5
  const NodeChannel<float>* solid_distance = nullptr;  ///< cells, negative inside solids; read with halo 2
  const FaceChannel<float>* open_area = nullptr;       ///< 0 on sheets thinner than a cell; read with halo 4
  const Barrier* sheets = nullptr;                     ///< cells near them count only particles on their side
  const CellChannel<float>* crowding = nullptr;  ///< result: particles around cells near the surface over those of
                                                 ///< a half space at that distance; 0 elsewhere
  double particles_per_cell = 8;                 ///< that fill a cell
};

/// Writes the distance of every cell. Reads the particles' "P" with a halo of one bucket; the census is of the same
/// positions. Collective; same bits for any threads and ranks.
void liquid_distance(Exec& exec, ParticleSystem& particles, DiscreteVolume& volume, const SurfaceCensus& census,
                     const LiquidDistanceChannels& channels, BufferPool* pool = nullptr);

}  // namespace aegir
