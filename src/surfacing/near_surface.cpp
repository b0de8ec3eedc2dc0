#include "surfacing/near_surface.h"

#include <algorithm>

#include "base/random.h"
#include "parallel/threads.h"
#include "surfacing/neighbour_copies.h"

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
/// are those of the particles' volume; few cells tell nothing. Many blocks are sampled by their coordinates, so that
/// all ranks together look at the same ones.
float full_liquid(const ParticleBlocks& blocks, const std::vector<float>& means, Comm* comm) {
  std::vector<float> some;
  const auto all = static_cast<std::int64_t>(blocks.blocks());
  const auto stride = static_cast<std::uint64_t>(comm ? comm->sum(all) : all) / (1 << 12) + 1;
  for (std::size_t b = 0; b < blocks.blocks(); ++b) {
    const Vec3i& key = blocks.key[b];
    const auto part = [](std::int32_t v) { return static_cast<std::uint64_t>(static_cast<std::uint32_t>(v)); };
    if (stride > 1 && mix(part(key.x) * 0x9e3779b97f4a7c15ull + (part(key.y) << 32 | part(key.z))) % stride) continue;
    for (std::size_t c = b * 64; c < b * 64 + 64; ++c)
      if (means[c] > 0) some.push_back(means[c]);
  }
  if (comm) some = gather_all(*comm, some);
  if (some.size() < 32) return 1;
  const auto at = some.begin() + static_cast<std::ptrdiff_t>(some.size() * 9 / 10);
  std::nth_element(some.begin(), at, some.end());
  return std::max(*at, 0.5f);
}

}  // namespace

std::vector<std::uint64_t> surrounded_cells(const ParticleBlocks& blocks, const std::vector<std::uint64_t>& occupied) {
  std::vector<std::uint64_t> surrounded(blocks.blocks());
  parallel_for(0, blocks.blocks(), grain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b)
      surrounded[b] = occupied[b] ? Padded(blocks, occupied, b).all_around() : 0;
  });
  return surrounded;
}

NearSurface find_near_surface(ParticleBlocks& blocks, SurfaceShares* shares) {
  const SurfaceHalo halo = shares ? copy_blocks_around(blocks, *shares) : SurfaceHalo();
  const std::size_t n = blocks.blocks(), known = blocks.key.size();
  NearSurface near;
  std::vector<float> filled(known * 64), means(n * 64, 0.0f);
  near.occupied.assign(known, 0), near.interior.assign(known, 0), near.shaped.assign(n, 0), near.stamped.assign(n, 0);
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
        filled[b * 64 + c] = static_cast<float>(cubes * per_cell);
      }
  });
  if (shares) halo.update(near.occupied.data(), sizeof(std::uint64_t)), halo.update(filled.data(), 64 * sizeof(float));
  const std::vector<std::uint64_t> surrounded = surrounded_cells(blocks, near.occupied);
  parallel_for(0, n, grain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b)
      if (surrounded[b]) PaddedShares(blocks, filled, b).mean_around(surrounded[b], &means[b * 64]);
  });
  const float least = full_share * full_liquid(blocks, means, shares ? &shares->comm() : nullptr);
  parallel_for(0, n, grain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b)
      for (std::size_t c = 0; c < 64; ++c)
        near.interior[b] |= static_cast<std::uint64_t>(means[b * 64 + c] >= least) << c;
  });
  if (shares) halo.update(near.interior.data(), sizeof(std::uint64_t));
  const std::vector<std::uint64_t> deep = surrounded_cells(blocks, near.interior);
  for (std::size_t b = 0; b < n; ++b) {
    near.shaped[b] = near.occupied[b] & ~near.interior[b];
    near.stamped[b] = near.occupied[b] & ~deep[b];
  }
  return near;
}

}  // namespace aegir
