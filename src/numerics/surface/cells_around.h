// Sums and extremes over the 27 cells around each cell.
//
//   Around around;
//   around.gather(counts);                                   // a padded tile of one bucket
//   float mean_offset_x = around.x[cell] / around.sum[cell];
#pragma once

#include "domain/volume/tile.h"

namespace aegir {

inline Row<float> least(const Row<float>& a, const Row<float>& b) { return a < b ? a : b; }
inline Row<float> greatest(const Row<float>& a, const Row<float>& b) { return a > b ? a : b; }

/// Sums over the 27 cells around each cell of a bucket: of the values, and of values times offset along each axis.
struct Around {
  alignas(32) float sum[bucket_cells], x[bucket_cells], y[bucket_cells], z[bucket_cells];

  /// 36 operations per cell, in the first cache.
  void gather(const PaddedTile<float, 1>& tile) {
    alignas(32) float rows[10][10][2][8], planes[10][8][3][8];
    for (int i = 0; i < 10; ++i) {
      for (int j = 0; j < 10; ++j) {
        const Row<float> below = tile.line(i - 1, j - 1, -1), above = tile.line(i - 1, j - 1, 1);
        store_row(rows[i][j][0], Row<float>((below + above) + tile.line(i - 1, j - 1)));
        store_row(rows[i][j][1], Row<float>(above - below));
      }
      for (int j = 0; j < 8; ++j) {
        const Row<float> below = load_row(rows[i][j][0]), above = load_row(rows[i][j + 2][0]);
        store_row(planes[i][j][0], Row<float>((below + above) + load_row(rows[i][j + 1][0])));
        store_row(planes[i][j][1], Row<float>(above - below));
        store_row(planes[i][j][2],
                  Row<float>((load_row(rows[i][j][1]) + load_row(rows[i][j + 2][1])) + load_row(rows[i][j + 1][1])));
      }
    }
    const auto total = [&](int i, int j, int what) {
      return Row<float>((load_row(planes[i][j][what]) + load_row(planes[i + 2][j][what])) +
                        load_row(planes[i + 1][j][what]));
    };
    for (int i = 0; i < 8; ++i)
      for (int j = 0; j < 8; ++j) {
        const int c = cell_offset(i, j, 0);
        store_row(sum + c, total(i, j, 0)), store_row(y + c, total(i, j, 1)), store_row(z + c, total(i, j, 2));
        store_row(x + c, Row<float>(load_row(planes[i + 2][j][0]) - load_row(planes[i][j][0])));
      }
  }
};

/// Least and greatest values of the cells of a row and the 26 around each.
struct Extremes {
  Row<float> low, high;
  Extremes(const PaddedTile<float, 1>& tile, int i, int j) : low(tile.line(i, j)), high(low) {
    for (int n = 0; n < 27; ++n) {
      const Vec3i o = neighbour_offset(n);
      const Row<float> other = tile.line(i + o.x, j + o.y, o.z);
      low = least(low, other), high = greatest(high, other);
    }
  }
};

}  // namespace aegir
