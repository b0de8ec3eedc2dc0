#include "surfacing/neighbour_moments.h"

#include <algorithm>
#include <cmath>

#include "surfacing/near_surface.h"

namespace aegir {
namespace {

using lanes::Line;

struct Accumulator {
  Line sum[NeighbourMoments::count]{};

  AEGIR_INLINE void add(const Line& dx, const Line& dy, const Line& dz, const Line& weight) {
    const Line wx = weight * dx, wy = weight * dy, wz = weight * dz;
    sum[0] += weight, sum[1] += wx, sum[2] += wy, sum[3] += wz;
    sum[4] = lanes::fused(wx, dx, sum[4]), sum[5] = lanes::fused(wx, dy, sum[5]);
    sum[6] = lanes::fused(wx, dz, sum[6]), sum[7] = lanes::fused(wy, dy, sum[7]);
    sum[8] = lanes::fused(wy, dz, sum[8]), sum[9] = lanes::fused(wz, dz, sum[9]);
  }
};

/// Adds the particles [first, last), whose positions are relative to a block that lies `at` away from ours.
template <bool Sized>
AEGIR_INLINE void add_run(const ParticleBlocks& blocks, std::uint32_t first, std::uint32_t last, const Vec3f& at,
                          float per_cube, float per_radius, Accumulator& sums) {
  const Line x0 = lanes::spread(at.x), y0 = lanes::spread(at.y), z0 = lanes::spread(at.z);
  const Line lane{0, 1, 2, 3, 4, 5, 6, 7};
  for (std::uint32_t i = first; i < last; i += 8) {
    const Line dx = load_row(&blocks.x[i]) + x0, dy = load_row(&blocks.y[i]) + y0, dz = load_row(&blocks.z[i]) + z0;
    const Line square = lanes::fused(dx, dx, lanes::fused(dy, dy, dz * dz));
    const Line cube = square * Line(_mm256_sqrt_ps(square));
    Line weight = lanes::positive(lanes::fused_minus(cube, lanes::spread(per_cube), lanes::spread(1)));
    const Line there = _mm256_cmp_ps(lane, lanes::spread(static_cast<float>(last - i)), _CMP_LT_OQ);
    weight = _mm256_and_ps(weight, there);
    if constexpr (Sized) {
      const Line size = _mm256_min_ps(load_row(&blocks.radius[i]) * lanes::spread(per_radius), lanes::spread(1));
      weight *= size * size * size;
    }
    sums.add(dx, dy, dz, weight);
  }
}

}  // namespace

NeighbourMoments::NeighbourMoments(const ParticleBlocks& blocks, std::size_t block, bool sized)
    : blocks_(blocks), block_(block), sized_(sized) {
  int n = 0;
  for_each_block_around(blocks, block, [&](std::int32_t other, const Vec3i&) { around_[n++] = other; });
}

std::int32_t NeighbourMoments::block_at(int i, int j, int k) const {
  if (std::max({std::abs(i), std::abs(j), std::abs(k)}) <= 1) return around_[(i + 1) * 9 + (j + 1) * 3 + k + 1];
  return blocks_.map.find(blocks_.key[block_] + Vec3i{i, j, k});
}

template <bool Sized>
NeighbourMoments::Sums NeighbourMoments::sums(std::uint32_t particle, float reach) const {
  const Vec3f p{blocks_.x[particle], blocks_.y[particle], blocks_.z[particle]};
  const auto m = static_cast<float>(blocks_.lattice.cell_voxels), edge = 4 * m;
  const auto cell = [&](float v) { return static_cast<int>(std::floor(v / m)); };
  const auto gap = [&](int c, float v) {
    return std::max({0.0f, static_cast<float>(c) * m - v, v - static_cast<float>(c + 1) * m});
  };
  Accumulator total;
  const float per_radius = 1 / blocks_.radius[particle];
  const float per_cube = 1 / (reach * reach * reach);
  for (int i = cell(p.x - reach); i <= cell(p.x + reach); ++i)
    for (int j = cell(p.y - reach); j <= cell(p.y + reach); ++j) {
      // The row's part inside the ball.
      const float gx = gap(i, p.x), gy = gap(j, p.y), left = reach * reach - gx * gx - gy * gy;
      if (left <= 0) continue;
      const float half = std::sqrt(left);
      const int low = cell(p.z - half), high = cell(p.z + half);
      for (int k = low; k <= high;) {
        const int bi = i >> 2, bj = j >> 2, bk = k >> 2, stop = std::min(high, bk * 4 + 3);
        const std::int32_t b = block_at(bi, bj, bk);
        if (b != BucketMap::none) {
          const auto base = static_cast<std::size_t>(b) * 65 + static_cast<std::size_t>(((i & 3) * 4 + (j & 3)) * 4);
          const Vec3f at = Vec3f(Vec3i{bi, bj, bk}) * edge - p;
          add_run<Sized>(blocks_, blocks_.cell_first[base + static_cast<std::size_t>(k & 3)],
                         blocks_.cell_first[base + static_cast<std::size_t>(stop & 3) + 1], at, per_cube, per_radius,
                         total);
        }
        k = stop + 1;
      }
    }
  Sums result;
  for (int s = 0; s < count; ++s) {
    const Line& v = total.sum[s];
    result[static_cast<std::size_t>(s)] = ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
  }
  return result;
}

template NeighbourMoments::Sums NeighbourMoments::sums<false>(std::uint32_t, float) const;
template NeighbourMoments::Sums NeighbourMoments::sums<true>(std::uint32_t, float) const;

}  // namespace aegir
