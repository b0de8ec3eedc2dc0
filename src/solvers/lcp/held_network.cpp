#include "solvers/lcp/held_network.h"

#include <algorithm>
#include <atomic>

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

std::vector<BucketShape> held_shapes(const Level& level, const BucketField& held, std::int64_t& unknowns) {
  const Topology& t = level.topology();
  std::vector<BucketShape> shapes(static_cast<std::size_t>(t.local_count()));
  std::atomic<std::int64_t> sum{0};
  parallel_for(0, shapes.size(), 8, [&](std::size_t begin, std::size_t end) {
    UnknownTile tile;
    for (std::size_t i = begin; i < end; ++i) {
      const int b = static_cast<int>(i);
      shapes[i] = level.shape(b);
      if (shapes[i].kind == BucketKind::empty) continue;
      const NetworkBucket* n = level.bucket_operator(b).network;
      load_own(tile, held.at(b));
      load_faces(tile, t, b, held.data());
      bool touched = false;
      std::int64_t left = 0;
      for (int x = 0; x < 8; ++x)
        for (int y = 0; y < 8; ++y)
          for (int z = 0; z < 8; ++z) {
            const bool own = tile(x, y, z) > 0;
            touched |= own;
            left += !own && (!n || n->relax[cell_offset(x, y, z)] > 0);
          }
      for (int u = 0; u < 8; ++u)
        for (int v = 0; v < 8; ++v)
          touched |= tile(-1, u, v) > 0 || tile(8, u, v) > 0 || tile(u, -1, v) > 0 || tile(u, 8, v) > 0 ||
                     tile(u, v, -1) > 0 || tile(u, v, 8) > 0;
      sum += left;
      if (left == 0)
        shapes[i] = {};
      else if (touched)
        shapes[i] = {BucketKind::mixed, 0};
    }
  });
  unknowns = sum;
  return shapes;
}

}  // namespace aegir
