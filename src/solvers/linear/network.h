// The systems that multigrid solves, on every level: a network of cells. Cell i is joined to its six neighbours by
// links of weight w >= 0 and to zero by sinks s >= 0 along each axis:
//
//   sum over neighbours of w_ij (u_i - u_j) + (s_x + s_y + s_z) u_i = b_i
//
// Such a network stays a network when it is coarsened, and walls (w = 0) stay walls.
#pragma once

#include <array>

#include "domain/grid/bucket_key.h"

namespace aegir {

/// Below this sum of weights a cell is no unknown.
inline constexpr float least_diagonal = 1e-20f;

/// Links and sinks of a bucket and what surrounds it: cells -4 … 11 along each axis.
struct NetworkTile {
  static constexpr int side = 16, lead = 4, cells = side * side * side;
  static constexpr int stride[3] = {side * side, side, 1};
  static constexpr int at(int i, int j, int k) { return ((i + lead) * side + j + lead) * side + k + lead; }
  /// Arrays of 4096 floats would all fall into the same few lines of the first cache.
  static constexpr int pitch = cells + 80;
  alignas(64) float link[3][pitch];  ///< to the lower neighbour along each axis
  alignas(64) float sink[3][pitch];
};

/// Links and sinks of the 4×4×4 coarse cells that one bucket becomes.
struct NetworkBlock {
  float link[3][64];
  float sink[3][64];
};

/// Coefficients of one bucket that is not uniform. Lower links of every cell and those of the cells just beyond.
struct NetworkBucket {
  float x[9 * 64];      ///< rows (i, j), i = 0 … 8
  float y[8 * 9 * 8];   ///< rows (i, j), j = 0 … 8
  float z[64 * 9 + 8];  ///< rows of 9 along k
  float sink[bucket_cells];
  float relax[bucket_cells];  ///< what relaxation multiplies right-hand side and neighbours with; 0 where there is no
                              ///< unknown
  float keep[bucket_cells];   ///< and the old value: 0 unless it is damped

  const float* x_row(int i, int j) const { return x + (i * 8 + j) * 8; }
  const float* y_row(int i, int j) const { return y + (i * 9 + j) * 8; }
  const float* z_row(int i, int j) const { return z + (i * 8 + j) * 9; }
};

/// How the fine cells of a bucket follow from 5×5×5 coarse cells: along z, then y, then x the even cells are coarse
/// ones and the odd ones take `own` of the coarse cell below and `next` of the one above.
struct TransferWeights {
  float own_x[4 * 64], next_x[4 * 64];        ///< rows (I, j) for cells 2I+1
  float own_y[5 * 4 * 8], next_y[5 * 4 * 8];  ///< rows (I, J) for coarse I and cells 2J+1
  float own_z[5 * 5 * 4], next_z[5 * 5 * 4];  ///< (I, J, K) for coarse I, J and cells 2K+1
};

/// Coarse values around the cells of a bucket, five along each axis.
inline constexpr int coarse_side = 5, coarse_values = coarse_side * coarse_side * coarse_side, coarse_pitch = 128;

}  // namespace aegir
