#include "solvers/lcp/held_network.h"

#include <algorithm>
#include <bit>

#include "base/simd.h"
#include "domain/transport/halo.h"
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

HeldSet::HeldSet(const Topology& topology)
    : topology_(topology), bits_(static_cast<std::size_t>(topology.total_count()), Rows{}) {}

void HeldSet::prepare(Exec& exec) {
  if (exec.comm.size() > 1)
    exchange_halo(exec.comm, topology_, reinterpret_cast<std::byte*>(bits_.data()), sizeof(Rows));
  changed_.assign(bits_.size(), ChangeBox{});
  parallel_for(0, bits_.size(), 64, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b)
      for (int r = 0; r < bucket_size * bucket_size; ++r)
        if (const unsigned row = bits_[b][static_cast<std::size_t>(r)]) {
          changed_[b].add((r >> 3) - 1, (r & 7) - 1, std::countr_zero(row) - 1);
          changed_[b].add((r >> 3) + 1, (r & 7) + 1, std::bit_width(row));
        }
  });
}

void HeldSet::Hold::operator()(int bucket, NetworkTile& tile) const {
  alignas(64) float held[NetworkTile::cells];
  const auto& neighbours = set.topology_.neighbours(bucket);
  static constexpr Rows none{};
  for (int i = 0; i < NetworkTile::side; ++i)
    for (int j = 0; j < NetworkTile::side; ++j) {
      // Cells -4 … 11: the lead of a tile is half a bucket.
      const int x = (i + 4) >> 3, y = (j + 4) >> 3, row = ((i + 4) & 7) * 8 + ((j + 4) & 7);
      unsigned bits = 0;
      for (int z = 0; z < 3; ++z) {
        const int other = neighbours[static_cast<std::size_t>(neighbour_index(x - 1, y - 1, z - 1))];
        const Rows& rows = other < 0 ? none : set.bits_[static_cast<std::size_t>(other)];
        bits |= static_cast<unsigned>(rows[static_cast<std::size_t>(row)]) << (8 * z);
      }
      bits >>= NetworkTile::lead;
      float* out = held + (i * NetworkTile::side + j) * NetworkTile::side;
      for (int k = 0; k < NetworkTile::side; ++k) out[k] = static_cast<float>(bits >> k & 1);
    }
  aegir::hold(tile, held);
}

}  // namespace aegir
