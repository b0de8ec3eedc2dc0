#include "surfacing/near_surface.h"

#include <algorithm>

#include "parallel/threads.h"

namespace aegir {
namespace {

constexpr double sphere = 4.1887902047863905;  // 4π/3
constexpr float full_share = 0.85f;
constexpr std::size_t grain = 16;

/// One bit per cell of 6×6×6: a block and one cell around it.
class Padded {
 public:
  Padded(const ParticleBlocks& blocks, const std::vector<std::uint64_t>& bits, std::size_t block) {
    for_each_block_around(blocks, block, [&](std::int32_t other, const Vec3i& at) {
      if (other == BucketMap::none || bits[static_cast<std::size_t>(other)] == 0) return;
      const std::uint64_t word = bits[static_cast<std::size_t>(other)];
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) {
          const int x = at.x * 4 + i + 1, y = at.y * 4 + j + 1;
          if (x < 0 || x > 5 || y < 0 || y > 5) continue;
          const auto four = static_cast<unsigned>(word >> ((i * 4 + j) * 4) & 15);
          rows_[x][y] |= at.z < 0 ? four >> 3 : at.z > 0 ? (four & 1) << 5 : four << 1;
        }
    });
  }

  /// Cells whose 27 neighbours, themselves included, are all set.
  std::uint64_t all_around() const {
    std::uint64_t result = 0;
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 4; ++j) {
        unsigned row = 63;
        for (int x = i; x < i + 3; ++x)
          for (int y = j; y < j + 3; ++y) row &= rows_[x][y];
        const std::uint64_t four = row & row >> 1 & row >> 2 & 15;
        result |= four << ((i * 4 + j) * 4);
      }
    return result;
  }

 private:
  unsigned rows_[6][6]{};  // bit = z
};

/// The filled share of the cells of a block and one cell around it.
class PaddedShares {
 public:
  PaddedShares(const ParticleBlocks& blocks, const std::vector<float>& shares, std::size_t block) {
    for_each_block_around(blocks, block, [&](std::int32_t other, const Vec3i& at) {
      for (int c = 0; c < 64; ++c) {
        const int x = at.x * 4 + (c >> 4) + 1, y = at.y * 4 + (c >> 2 & 3) + 1, z = at.z * 4 + (c & 3) + 1;
        if (x < 0 || x > 5 || y < 0 || y > 5 || z < 0 || z > 5) continue;
        share_[x][y][z] =
            other == BucketMap::none ? 0 : shares[static_cast<std::size_t>(other) * 64 + static_cast<std::size_t>(c)];
      }
    });
  }

  /// The mean filled share of the 27 cells around each cell of `among`.
  void mean_around(std::uint64_t among, float* means) const {
    for (int c = 0; c < 64; ++c) {
      if (!(among >> c & 1)) continue;
      float sum = 0;
      for (int x = c >> 4; x < (c >> 4) + 3; ++x)
        for (int y = c >> 2 & 3; y < (c >> 2 & 3) + 3; ++y)
          for (int z = c & 3; z < (c & 3) + 3; ++z) sum += share_[x][y][z];
      means[c] = sum / 27;
    }
  }

 private:
  float share_[6][6][6];
};

/// What a full liquid's share is with the radii that were given: nine in ten surrounded cells have less. 1 where radii
/// are those of the particles' volume; few cells tell nothing.
float full_liquid(const std::vector<float>& means) {
  std::vector<float> some;
  const std::size_t stride = means.size() / (1 << 18) + 1;
  for (std::size_t i = 0; i < means.size(); i += stride)
    if (means[i] > 0) some.push_back(means[i]);
  if (some.size() < 32) return 1;
  const auto at = some.begin() + static_cast<std::ptrdiff_t>(some.size() * 9 / 10);
  std::nth_element(some.begin(), at, some.end());
  return std::max(*at, 0.5f);
}

}  // namespace

NearSurface find_near_surface(const ParticleBlocks& blocks) {
  const std::size_t n = blocks.blocks();
  NearSurface near;
  std::vector<float> shares(n * 64), means(n * 64, 0.0f);
  near.occupied.assign(n, 0), near.interior.assign(n, 0), near.shaped.assign(n, 0), near.stamped.assign(n, 0);
  const double m = blocks.lattice.cell_voxels, per_cell = sphere / (m * m * m);
  parallel_for(0, n, grain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b)
      for (std::size_t c = 0; c < 64; ++c) {
        double cubes = 0;
        const std::uint32_t first = blocks.cell_first[b * 65 + c], last = blocks.cell_first[b * 65 + c + 1];
        for (std::uint32_t i = first; i < last; ++i) {
          const double r = blocks.radius[i];
          cubes += r * r * r;
        }
        near.occupied[b] |= static_cast<std::uint64_t>(last > first) << c;
        shares[b * 64 + c] = static_cast<float>(cubes * per_cell);
      }
  });
  parallel_for(0, n, grain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b) {
      const std::uint64_t surrounded = near.occupied[b] ? Padded(blocks, near.occupied, b).all_around() : 0;
      if (surrounded) PaddedShares(blocks, shares, b).mean_around(surrounded, &means[b * 64]);
    }
  });
  const float least = full_share * full_liquid(means);
  parallel_for(0, n, grain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b)
      for (std::size_t c = 0; c < 64; ++c)
        near.interior[b] |= static_cast<std::uint64_t>(means[b * 64 + c] >= least) << c;
  });
  parallel_for(0, n, grain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b) {
      const std::uint64_t deep = near.interior[b] ? Padded(blocks, near.interior, b).all_around() : 0;
      near.shaped[b] = near.occupied[b] & ~near.interior[b];
      near.stamped[b] = near.occupied[b] & ~deep;
    }
  });
  return near;
}

}  // namespace aegir
