// A cell beside a sheet thinner than itself, as if the sheet's other side were solid.
//
//   const OneSide here(sheets, topology, b, cell);
//   here.hide(nodes, tile);                               // distances to solids, negative beyond the sheet
//   const OneSide::Seen seen = here.around(particles, counts);
//   const BesideSolid result = beside_solid(tile, cell, plane, seen.sums);
//
// What a cell's centre does not see lies beyond the sheet: the nodes there count as inside a solid, and the particles
// there do not count.
#pragma once

#include "domain/particles/particle_system.h"
#include "domain/volume/tile.h"
#include "numerics/barrier.h"
#include "numerics/surface/cell_counts.h"
#include "numerics/surface/mean_offset.h"

namespace aegir {

class OneSide {
 public:
  OneSide(const Barrier& sheets, const Topology& topology, int bucket, const Vec3i& cell)
      : sheets_(sheets), topology_(topology), bucket_(bucket), cell_(cell), centre_(place(Vec3d(cell) + Vec3d(0.5))) {}

  /// Copies the 4 × 4 × 4 nodes around the cell, with a minus where they are not seen.
  void hide(const PaddedTile<float, 2>& nodes, PaddedTile<float, 2>& out) const;

  /// The particles in the 27 cells around that are seen.
  struct Seen {
    MeanOffset::Sums sums;           ///< Σ w and Σ w (x_p - x_c)
    int particles = 0, in_cell = 0;  ///< of all 27, and of the cell itself
  };
  /// Up to 240 questions.
  Seen around(const ParticleSystem& particles, const CellCounts& counts) const;

  /// The open space of the 27 cells whose centres are seen, in cells.
  float open_space(const PaddedTile<float, 2>& nodes) const;

 private:
  Vec3d place(const Vec3d& cells) const { return topology_.origin(bucket_) + cells * topology_.spacing(); }
  bool seen(const Vec3d& cells) const { return !sheets_.blocks(centre_, place(cells)); }

  const Barrier& sheets_;
  const Topology& topology_;
  int bucket_;
  Vec3i cell_;
  Vec3d centre_;
};

}  // namespace aegir
