// Counting neighbours: the particles around a cell are laid out once for all that are in it.
#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "base/simd.h"
#include "domain/for_each_bucket.h"
#include "phenomena/common/derived_channels.h"

namespace aegir {
namespace {

/// Those who may be near: places in their own bucket, in cells, and where that bucket lies.
struct Candidates {
  std::vector<float> p[3], shift[3];
  std::size_t count = 0;

  void add(const ParticleSpan<const Vec3f>& from, std::size_t first, std::size_t last, const Vec3i& bucket) {
    const std::size_t more = last - first;
    for (int a = 0; a < 3; ++a) {
      if (p[a].size() < count + more) p[a].resize(2 * (count + more)), shift[a].resize(2 * (count + more));
      std::copy_n(from.plane[static_cast<std::size_t>(a)] + first, more, p[a].data() + count);
      std::fill_n(shift[a].data() + count, more, static_cast<float>(bucket[a] * bucket_size));
    }
    count += more;
  }
};

/// How many of n places are within one cell of (x, y, z). The difference comes before the shift, so that two particles
/// see each other at the same distance. 24 bytes and 12 flops each, in the first cache.
AEGIR_HOT int within_one_cell(std::size_t n, const float* __restrict px, const float* __restrict py,
                              const float* __restrict pz, const float* __restrict sx, const float* __restrict sy,
                              const float* __restrict sz, float x, float y, float z) {
  int count = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const float dx = (px[i] - x) + sx[i], dy = (py[i] - y) + sy[i], dz = (pz[i] - z) + sz[i];
    count += dx * dx + dy * dy + dz * dz <= 1.0f ? 1 : 0;
  }
  return count;
}

/// Where the particles of each cell start, in a bucket and those around it; worked out when first asked for.
class CellStarts {
 public:
  explicit CellStarts(const NeighbourSpans<Vec3f>& near) : near_(near), tables_(std::make_unique<Table[]>(27)) {}
  const std::uint32_t* of(int n) {
    Table& t = tables_[static_cast<std::size_t>(n)];
    if (t.made) return t.first;
    const auto& p = near_.at[static_cast<std::size_t>(n)];
    std::size_t j = 0;
    for (int c = 0; c < bucket_cells; ++c) {
      t.first[c] = static_cast<std::uint32_t>(j);
      while (j < p.count && cell_offset(static_cast<int>(p.plane[0][j]), static_cast<int>(p.plane[1][j]),
                                        static_cast<int>(p.plane[2][j])) <= c)
        ++j;
    }
    t.first[bucket_cells] = static_cast<std::uint32_t>(p.count);
    t.made = true;
    return t.first;
  }

 private:
  struct Table {
    bool made = false;
    std::uint32_t first[bucket_cells + 1];
  };
  const NeighbourSpans<Vec3f>& near_;
  std::unique_ptr<Table[]> tables_;
};

/// Everybody in the 27 cells around a cell, row by row along z.
void gather(const NeighbourSpans<Vec3f>& near, CellStarts& starts, const Vec3i& c, Candidates& out) {
  const auto bucket_of = [](int cell) { return cell < 0 ? -1 : cell >= bucket_size ? 1 : 0; };
  out.count = 0;
  for (int i = c.x - 1; i <= c.x + 1; ++i)
    for (int j = c.y - 1; j <= c.y + 1; ++j)
      for (int z = bucket_of(c.z - 1); z <= bucket_of(c.z + 1); ++z) {
        const Vec3i bucket{bucket_of(i), bucket_of(j), z};
        const int n = neighbour_index(bucket.x, bucket.y, bucket.z);
        const auto& p = near.at[static_cast<std::size_t>(n)];
        if (p.count == 0) continue;
        const std::uint32_t* first = starts.of(n);
        const int low = std::max(c.z - 1 - z * bucket_size, 0), high = std::min(c.z + 1 - z * bucket_size, 7);
        const int row = cell_offset(i - bucket.x * bucket_size, j - bucket.y * bucket_size, 0);
        out.add(p, first[row + low], first[row + high + 1], bucket);
      }
}

}  // namespace

// Per particle: 12 bytes read and 4 written; at eight particles per cell 216 candidates of 12 flops each for those
// whose neighbours are wanted.
void derive_neighbours(Exec& exec, ParticleSystem& particles, const WantedOf& wanted) {
  for_each_bucket(
      exec, "neighbours", particles.topology(),
      [&](const Bucket& b, auto& near, auto& out) {
        if (out.count == 0) return;
        std::vector<std::uint8_t> flags(out.count, wanted ? 0 : 1);
        if (wanted) {
          wanted(b.index, flags);
          for (std::size_t n = 0; n < out.count; ++n) out.set(n, not_counted);
          if (std::find(flags.begin(), flags.end(), 1) == flags.end()) return;
        }
        CellStarts starts(near);
        Candidates all;
        const std::uint32_t* own = starts.of(neighbour_self);
        const auto& p = near.self();
        for (int cell = 0; cell < bucket_cells; ++cell) {
          const auto last = flags.begin() + own[cell + 1];
          if (std::find(flags.begin() + own[cell], last, 1) == last) continue;
          gather(near, starts, {cell >> 6, cell >> 3 & 7, cell & 7}, all);
          for (std::size_t n = own[cell]; n < own[cell + 1]; ++n)
            if (flags[n])
              out.set(n, within_one_cell(all.count, all.p[0].data(), all.p[1].data(), all.p[2].data(),
                                         all.shift[0].data(), all.shift[1].data(), all.shift[2].data(), p.plane[0][n],
                                         p.plane[1][n], p.plane[2][n]) -
                             1);  // itself
        }
      },
      particles.read_neighbours(particle::position), particles.write(particle::neighbours));
}

}  // namespace aegir
