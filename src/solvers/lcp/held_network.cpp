#include "solvers/lcp/held_network.h"

#include <algorithm>

#include "base/simd.h"
#include "parallel/threads.h"

namespace aegir {

namespace {

/// One axis.
AEGIR_HOT void hold_axis(float* __restrict link, float* __restrict sink, const float* __restrict held, int stride) {
  constexpr int cells = NetworkTile::cells;
  const int last = cells - stride;
  for (int c = 0; c < stride; ++c) sink[c] = (sink[c] + held[c + stride] * link[c + stride]) * (1 - held[c]);
  for (int c = stride; c < last; ++c)
    sink[c] = (sink[c] + (held[c - stride] * link[c] + held[c + stride] * link[c + stride])) * (1 - held[c]);
  for (int c = last; c < cells; ++c) sink[c] = (sink[c] + held[c - stride] * link[c]) * (1 - held[c]);
  for (int c = 0; c < stride; ++c) link[c] *= 1 - held[c];
  for (int c = stride; c < cells; ++c) link[c] *= (1 - held[c]) * (1 - held[c - stride]);
}

}  // namespace

void hold(NetworkTile& tile, const float* held) {
  for (int a = 0; a < 3; ++a) hold_axis(tile.link[a], tile.sink[a], held, NetworkTile::stride[a]);
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
