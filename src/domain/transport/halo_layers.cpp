#include "domain/transport/halo_layers.h"

#include <algorithm>
#include <array>

#include "domain/grid/topology.h"

namespace aegir {
namespace {

/// Sides of a bucket, one bit for each direction of neighbour_index().
using Sides = std::uint32_t;

/// Adds the cells of a bucket within `width` of its neighbours in these directions. Rows along z are taken as a whole
/// between the first and the last cell that is wanted.
void add_cells(int bucket, Sides sides, int width, std::vector<LayerRun>& runs, std::size_t& cells) {
  struct Range {
    int begin = bucket_size, end = 0;
  };
  // By where a row lies along x and y: in the lower layers, between, in the upper layers.
  std::array<std::array<Range, 3>, 3> wanted;
  for (int n = 0; n < 27; ++n) {
    if (!(sides >> n & 1u)) continue;
    const Vec3i o = neighbour_offset(n);
    const auto along = [](int d) { return d == 0 ? std::pair{0, 2} : d < 0 ? std::pair{0, 0} : std::pair{2, 2}; };
    const int begin = o.z > 0 ? bucket_size - width : 0, end = o.z < 0 ? width : bucket_size;
    for (int x = along(o.x).first; x <= along(o.x).second; ++x)
      for (int y = along(o.y).first; y <= along(o.y).second; ++y) {
        Range& r = wanted[static_cast<std::size_t>(x)][static_cast<std::size_t>(y)];
        r.begin = std::min(r.begin, begin), r.end = std::max(r.end, end);
      }
  }
  const auto place = [&](int i) { return static_cast<std::size_t>(i < width ? 0 : i >= bucket_size - width ? 2 : 1); };
  for (int i = 0; i < bucket_size; ++i)
    for (int j = 0; j < bucket_size; ++j) {
      const Range r = wanted[place(i)][place(j)];
      if (r.begin >= r.end) continue;
      const auto first =
          static_cast<std::uint32_t>(bucket) * bucket_cells + static_cast<std::uint32_t>(cell_offset(i, j, r.begin));
      const auto count = static_cast<std::uint32_t>(r.end - r.begin);
      cells += count;
      if (!runs.empty() && runs.back().first + runs.back().count == first)
        runs.back().count += count;
      else
        runs.push_back({first, count});
    }
}

}  // namespace

std::vector<PeerLayers> halo_layers(const Topology& t, int width) {
  std::vector<PeerLayers> all;
  for (const HaloPeer& peer : t.peers()) {
    PeerLayers& layers = all.emplace_back();
    layers.rank = peer.rank;
    const int first = peer.first_ghost, last = first + peer.ghost_count;
    for (const int b : peer.send) {
      Sides sides = 0;
      for (int n = 0; n < 27; ++n) {
        const int other = t.neighbours(b)[static_cast<std::size_t>(n)];
        sides |= static_cast<Sides>(other >= first && other < last) << n;
      }
      add_cells(b, sides, width, layers.send, layers.sent);
    }
    for (int g = first; g < last; ++g) add_cells(g, t.local_around(g), width, layers.receive, layers.received);
  }
  return all;
}

}  // namespace aegir
