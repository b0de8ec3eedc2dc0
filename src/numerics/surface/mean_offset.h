// The weighted mean position of the particles around cell centres, row by row of a bucket.
//
//   MeanOffset mean(particles, counts);
//   mean.row(bucket, i, j, 2, 5);                                     // the cells (i, j, 2) … (i, j, 5) are wanted
//   const MeanOffset::Sums s = mean.around(3);                        // of the cell (i, j, 3)
#pragma once

#include <vector>

#include "domain/particles/particle_system.h"
#include "numerics/surface/cell_counts.h"

namespace aegir {

class MeanOffset {
 public:
  MeanOffset(ParticleSystem& particles, const CellCounts& counts) : particles_(particles), counts_(counts) {}

  /// Takes in the particles within 1.5 cells of the centres of the cells (i, j, low) … (i, j, high).
  void row(int bucket, int i, int j, int low, int high);

  /// Σ w and Σ w (x_p - x_c) over the particles around the centre of one of these cells.
  struct Sums {
    float weight;
    Vec3f moment;
  };
  Sums around(int k) const;

 private:
  void segment(int bucket, int cell, int last, const Vec3f& centre, float shift_z);
  void reserve(std::size_t size);

  ParticleSystem& particles_;
  const CellCounts& counts_;
  // Per particle of nine columns: w_x w_y, w_x w_y dx, w_x w_y dy, z. start_[c][k + 1]: the first one in cell k of
  // column c.
  std::vector<float> weight_, x_, y_, z_;
  std::size_t start_[9][11];
  std::size_t size_ = 0;
};

}  // namespace aegir
