// The surroundings of a face: whole vectors and the solid's normal, from what lives on nodes and on faces around it.
// Places are offsets into padded tiles, the same in all tiles of one width.
#pragma once

#include <array>

#include "domain/volume/tile.h"

namespace aegir {

using NodeTile = PaddedTile<float, 1>;
using FaceTiles = std::array<NodeTile, 3>;

/// How far the next cell along each axis is in a tile.
inline constexpr std::array<int, 3> tile_step{NodeTile::side * NodeTile::pitch, NodeTile::pitch, 1};
/// Where a cell of the bucket is in a tile.
inline int tile_place(int i, int j, int k) {
  return ((i + 1) * NodeTile::side + j + 1) * NodeTile::pitch + NodeTile::lead + k;
}

/// Distance of the centre of the lower face of a cell along `axis`, and gradient there: the four nodes of the face, and
/// across it those one cell to either side. Exact where the distance is linear.
struct FaceDistance {
  float distance;
  Vec3f gradient;
};
inline FaceDistance face_distance(const NodeTile& nodes, int axis, int place) {
  const int a = (axis + 1) % 3, b = (axis + 2) % 3;
  const int along = tile_step[static_cast<std::size_t>(axis)], p = tile_step[static_cast<std::size_t>(a)],
            q = tile_step[static_cast<std::size_t>(b)];
  const float* d = nodes.values + place;
  const auto mean = [&](const float* at) { return 0.25f * ((at[0] + at[p + q]) + (at[p] + at[q])); };
  FaceDistance f{mean(d), {}};
  f.gradient[axis] = 0.5f * (mean(d + along) - mean(d - along));
  f.gradient[a] = 0.5f * ((d[p] - d[0]) + (d[p + q] - d[q]));
  f.gradient[b] = 0.5f * ((d[q] - d[0]) + (d[p + q] - d[p]));
  return f;
}

/// The vector at a face: its own component, and the mean of the four nearest faces of each other axis.
inline Vec3f face_vector(const FaceTiles& u, int axis, int place) {
  const int back = tile_step[static_cast<std::size_t>(axis)];
  Vec3f v;
  for (int other = 0; other < 3; ++other) {
    const float* at = u[static_cast<std::size_t>(other)].values + place;
    const int up = tile_step[static_cast<std::size_t>(other)];
    v[other] = other == axis ? at[0] : 0.25f * ((at[0] + at[up - back]) + (at[-back] + at[up]));
  }
  return v;
}

}  // namespace aegir
