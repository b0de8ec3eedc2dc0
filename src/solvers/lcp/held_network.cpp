#include "solvers/lcp/held_network.h"

#include <algorithm>

#include "parallel/threads.h"

namespace aegir {

void hold(NetworkTile& tile, const float* held) {
  constexpr int cells = NetworkTile::cells;
  if (std::all_of(held, held + cells, [](float h) { return h == 0; })) return;
  for (int a = 0; a < 3; ++a) {
    const int s = NetworkTile::stride[a];
    float *link = tile.link[a], *sink = tile.sink[a];
    for (int c = 0; c < cells; ++c) {
      const float below = c >= s ? held[c - s] * link[c] : 0.0f;
      const float above = c + s < cells ? held[c + s] * link[c + s] : 0.0f;
      sink[c] = (sink[c] + (below + above)) * (1 - held[c]);
    }
    for (int c = 0; c < cells; ++c) link[c] *= (1 - held[c]) * (c >= s ? 1 - held[c - s] : 1.0f);
  }
}

HeldOutline outline_held(const Level& level, const BucketField& held) {
  const Topology& t = level.topology();
  const auto local = static_cast<std::size_t>(t.local_count());
  HeldOutline outline;
  outline.shapes.resize(local), outline.changed.resize(static_cast<std::size_t>(t.total_count()));
  // A held cell changes itself and its six neighbours.
  parallel_for(0, outline.changed.size(), 16, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const float* values = held.at(static_cast<int>(i));
      float sum = 0;
      for (int c = 0; c < bucket_cells; ++c) sum += values[c];
      if (sum == 0) continue;
      for (int c = 0; c < bucket_cells; ++c)
        if (values[c] > 0)
          for (const int d : {-1, 1}) outline.changed[i].add((c >> 6) + d, ((c >> 3) & 7) + d, (c & 7) + d);
    }
  });
  parallel_for(0, local, 8, [&](std::size_t begin, std::size_t end) {
    UnknownTile tile;
    for (std::size_t i = begin; i < end; ++i) {
      const int b = static_cast<int>(i);
      outline.shapes[i] = level.shape(b);
      const bool near = std::ranges::any_of(t.neighbours(b), [&](std::int32_t n) {
        return n >= 0 && !outline.changed[static_cast<std::size_t>(n)].empty();
      });
      if (outline.shapes[i].kind == BucketKind::empty || !near) continue;
      const NetworkBucket* n = level.bucket_operator(b).network;
      load_own(tile, held.at(b));
      load_faces(tile, t, b, held.data());
      const bool holds = !outline.changed[i].empty();
      bool touched = holds, left = !holds;
      for (int c = 0; c < bucket_cells && !left; ++c) left = held.at(b)[c] == 0 && (!n || n->relax[c] > 0);
      for (int u = 0; u < 8; ++u)
        for (int v = 0; v < 8; ++v)
          touched |= tile(-1, u, v) > 0 || tile(8, u, v) > 0 || tile(u, -1, v) > 0 || tile(u, 8, v) > 0 ||
                     tile(u, v, -1) > 0 || tile(u, v, 8) > 0;
      if (touched) outline.shapes[i] = left ? BucketShape{BucketKind::mixed, 0} : BucketShape{};
    }
  });
  return outline;
}

}  // namespace aegir
