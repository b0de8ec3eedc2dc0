// Strain rate of a staggered velocity at cell centres, a row of eight cells at a time.
#pragma once

#include <array>

#include "domain/volume/tile.h"

namespace aegir::sand {

using Line = Row<float>;
inline constexpr std::array<std::array<int, 3>, 3> unit_step{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
/// Rows of a tile at an offset from row (i, j).
template <class Tile>
Line at(const Tile& t, int i, int j, int di, int dj, int dk) {
  return t.line(i + di, j + dj, dk);
}

/// Shear rate of the edges along `axis` of a row, moved by an offset, times Δx / 2 and the edge's weight of a quarter.
template <class Tiles>
[[gnu::always_inline]] inline Line edge_rate(const Tiles& u, const Tiles& edges, int axis, int i, int j,
                                             const std::array<int, 3>& o) {
  const auto a = static_cast<std::size_t>(axis), p = (a + 1) % 3, q = (a + 2) % 3;
  const auto& [px, py, pz] = unit_step[p];
  const auto& [qx, qy, qz] = unit_step[q];
  return at(edges[a], i, j, o[0], o[1], o[2]) *
         ((at(u[p], i, j, o[0], o[1], o[2]) - at(u[p], i, j, o[0] - qx, o[1] - qy, o[2] - qz)) +
          (at(u[q], i, j, o[0], o[1], o[2]) - at(u[q], i, j, o[0] - px, o[1] - py, o[2] - pz)));
}

/// Deviatoric strain rate times Δx at the centres of a row. Along axes on which a face is closed there is none, and
/// then the others are taken as they are: the cell keeps its volume.
template <class Tiles, class Spans>
[[gnu::always_inline]] inline void strain_rate(const Tiles& u, const Tiles& edges, const Spans& spans, int i, int j,
                                               Line (&normal)[3], Line (&tangential)[3]) {
  for (std::size_t a = 0; a < 3; ++a) {
    const auto& [x, y, z] = unit_step[a];
    normal[a] = spans[a].line(i, j) * (at(u[a], i, j, x, y, z) - at(u[a], i, j, 0, 0, 0));
  }
  const Line whole = spans[0].line(i, j) * spans[1].line(i, j) * spans[2].line(i, j);
  const Line third = whole * (normal[0] + normal[1] + normal[2]) * (1.0f / 3);
  for (Line& n : normal) n -= third;
  for (int a = 0; a < 3; ++a) {
    const auto p = unit_step[static_cast<std::size_t>((a + 1) % 3)],
               q = unit_step[static_cast<std::size_t>((a + 2) % 3)];
    tangential[a] =
        0.5f *
        ((edge_rate(u, edges, a, i, j, {0, 0, 0}) + edge_rate(u, edges, a, i, j, p)) +
         (edge_rate(u, edges, a, i, j, q) + edge_rate(u, edges, a, i, j, {p[0] + q[0], p[1] + q[1], p[2] + q[2]})));
  }
}

}  // namespace aegir::sand
