// What the buckets of a coarse level hold, from its links and sinks.
#include <immintrin.h>

#include <atomic>
#include <bit>
#include <cstring>

#include "parallel/threads.h"
#include "solvers/linear/level.h"

namespace aegir {
namespace {

/// Lanes that are set, as bits.
inline unsigned lanes(const Row<std::int32_t>& m) {
  return static_cast<unsigned>(_mm256_movemask_ps(reinterpret_cast<__m256>(m)));
}

/// What classify() finds in one bucket.
struct Census {
  int unknowns = 0;
  bool uniform = true;
  BoxOfCells unlike;
};

Census look_at(const Topology& topology, const NetworkFields& network, float unit, int b) {
  const auto& neighbours = topology.neighbours(b);
  static constexpr float zeros[bucket_cells] = {};
  const float *link[3], *sink[3], *above[3];
  for (int a = 0; a < 3; ++a) {
    link[a] = network.link[a].at(b), sink[a] = network.sink[a].at(b);
    const int up = neighbours[static_cast<std::size_t>(neighbour_index(a == 0, a == 1, a == 2))];
    above[a] = up < 0 ? zeros : network.link[a].at(up);
  }
  Census census;
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j) {
      const int c = cell_offset(i, j, 0);
      alignas(64) float along[9];
      std::memcpy(along, link[2] + c, 8 * sizeof(float));
      along[8] = above[2][c];
      const Row<float> low[3] = {load_row(link[0] + c), load_row(link[1] + c), load_row(link[2] + c)};
      const Row<float> high[3] = {load_row(i < 7 ? link[0] + c + 64 : above[0] + c - 7 * 64),
                                  load_row(j < 7 ? link[1] + c + 8 : above[1] + c - 7 * 8), load_row(along + 1)};
      const Row<float> sinks = (load_row(sink[0] + c) + load_row(sink[1] + c)) + load_row(sink[2] + c);
      const Row<float> links = ((low[0] + high[0]) + (low[1] + high[1])) + (low[2] + high[2]);
      const Row<std::int32_t> below = (sinks == 0.0f) & (low[0] == unit) & (low[1] == unit) & (low[2] == unit);
      const Row<std::int32_t> plain = below & (high[0] == unit) & (high[1] == unit) & (high[2] == unit);
      const Row<std::int32_t> unknown = sinks + links > Row<float>{} + least_diagonal;
      census.unlike.add_row(i, j, ~lanes(below) & 0xffu);
      census.uniform &= lanes(plain) == 0xff;
      census.unknowns += std::popcount(lanes(unknown));
    }
  return census;
}

}  // namespace

std::vector<BucketShape> classify(const Topology& topology, const NetworkFields& network, float unit,
                                  std::int64_t& unknowns) {
  std::vector<BucketShape> shapes(static_cast<std::size_t>(topology.local_count()));
  std::atomic<std::int64_t> sum{0};
  parallel_for(0, shapes.size(), 4, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Census census = look_at(topology, network, unit, static_cast<int>(i));
      BucketShape& shape = shapes[i];
      shape.kind = census.unknowns == 0 ? BucketKind::empty : census.uniform ? BucketKind::uniform : BucketKind::mixed;
      if (shape.kind == BucketKind::mixed) shape.unlike = census.unlike.box();
      sum += census.unknowns;
    }
  });
  unknowns = sum;
  return shapes;
}

}  // namespace aegir
