#include "surfacing/bucket_tiles.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "surfacing/eigen.h"

namespace aegir {
namespace {

using lanes::Line;

/// Samples of the bucket within [c - half, c + half].
struct Range {
  int low, high;
  Range(float c, float half)
      : low(std::max(0, static_cast<int>(std::ceil(c - half - 0.5f)))),
        high(std::min(7, static_cast<int>(std::floor(c + half - 0.5f)))) {}
};

AEGIR_INLINE Line offsets(float c) { return Line{0.5f, 1.5f, 2.5f, 3.5f, 4.5f, 5.5f, 6.5f, 7.5f} - lanes::spread(c); }

/// Keeps the smaller number and its owner.
template <bool Owners>
AEGIR_INLINE void keep_least(float* value, std::int32_t* owner, const Line& found, std::int32_t who) {
  const Line before = load_row(value);
  store_row(value, Line(_mm256_min_ps(found, before)));
  if constexpr (Owners) {
    const __m256 less = _mm256_cmp_ps(found, before, _CMP_LT_OQ);
    const __m256 old = _mm256_castsi256_ps(_mm256_load_si256(reinterpret_cast<const __m256i*>(owner)));
    const __m256 fresh = _mm256_castsi256_ps(_mm256_set1_epi32(who));
    _mm256_store_si256(reinterpret_cast<__m256i*>(owner), _mm256_castps_si256(_mm256_blendv_ps(old, fresh, less)));
  }
}

template <bool Owners>
AEGIR_INLINE void sphere(float* value, std::int32_t* owner_of, const Vec3f& c, float r, float beyond,
                         std::int32_t owner, float band) {
  const Range xs(c.x, r + beyond), ys(c.y, r + beyond);
  const Line dz = offsets(c.z), square = dz * dz;
  const float far = (r + std::min(band, beyond)) * (r + std::min(band, beyond));
  for (int x = xs.low; x <= xs.high; ++x)
    for (int y = ys.low; y <= ys.high; ++y) {
      const float dx = static_cast<float>(x) + 0.5f - c.x, dy = static_cast<float>(y) + 0.5f - c.y;
      const float across = dx * dx + dy * dy;
      if (across >= far) continue;
      const Line found = Line(_mm256_sqrt_ps(square + lanes::spread(across))) - lanes::spread(r);
      keep_least<Owners>(value + (x * 8 + y) * 8, owner_of + (x * 8 + y) * 8, found, owner);
    }
}

}  // namespace

StampTile::StampTile(float band) : band_(band) {
  std::fill(std::begin(value_), std::end(value_), band);
  std::fill(std::begin(owner_), std::end(owner_), -1);
}

void StampTile::add_sphere(const Vec3f& centre, float radius, float reach, std::int32_t owner, bool owners) {
  if (owners)
    sphere<true>(value_, owner_, centre, radius, reach, owner, band_);
  else
    sphere<false>(value_, owner_, centre, radius, reach, owner, band_);
}

template <bool Owners>
void StampTile::ellipsoid(const Vec3f& c, const float (&m)[6], float r, const Vec3f& extent, std::int32_t owner) {
  const Range xs(c.x, extent.x + beyond), ys(c.y, extent.y + beyond);
  const Line dz = offsets(c.z), curve = lanes::spread(m[5]) * dz * dz;
  const float far = (r + band_) * (r + band_), per_curve = 1 / m[5];
  for (int x = xs.low; x <= xs.high; ++x) {
    const float dx = static_cast<float>(x) + 0.5f - c.x, first = m[0] * dx * dx, twice = 2 * m[1] * dx,
                slope = m[2] * dx;
    for (int y = ys.low; y <= ys.high; ++y) {
      const float dy = static_cast<float>(y) + 0.5f - c.y;
      const float level = first + dy * (twice + m[3] * dy), b = slope + m[4] * dy;
      // The least that the parabola can be.
      if (level - b * b * per_curve >= far) continue;
      const Line square = lanes::fused(dz, lanes::spread(2 * b), curve + lanes::spread(level));
      const Line found = Line(_mm256_sqrt_ps(lanes::positive(square))) - lanes::spread(r);
      keep_least<Owners>(value_ + (x * 8 + y) * 8, owner_ + (x * 8 + y) * 8, found, owner);
    }
  }
}

void StampTile::add_ellipsoid(const Vec3f& centre, const Shapes& shapes, std::uint32_t shape, std::int32_t owner,
                              bool owners) {
  const float m[6] = {shapes.m[0][shape], shapes.m[1][shape], shapes.m[2][shape],
                      shapes.m[3][shape], shapes.m[4][shape], shapes.m[5][shape]};
  const Vec3f extent{shapes.extent[0][shape], shapes.extent[1][shape], shapes.extent[2][shape]};
  if (owners)
    ellipsoid<true>(centre, m, shapes.radius[shape], extent, owner);
  else
    ellipsoid<false>(centre, m, shapes.radius[shape], extent, owner);
}

void StampTile::store(float* values, std::int32_t* owners) const {
  std::memcpy(values, value_, sizeof value_);
  if (owners) std::memcpy(owners, owner_, sizeof owner_);
}

AverageTile::AverageTile() {
  std::memset(sum_, 0, sizeof sum_);
  std::fill(std::begin(nearest_), std::end(nearest_), 1e30f);
  std::fill(std::begin(owner_), std::end(owner_), -1);
}

void AverageTile::add(const Vec3f& c, float radius, float reach, bool slopes, std::int32_t owner) {
  const Range xs(c.x, reach), ys(c.y, reach);
  const float per_square = 1 / (reach * reach);
  const Line dz = -offsets(c.z), square = dz * dz;
  for (int i = xs.low; i <= xs.high; ++i)
    for (int j = ys.low; j <= ys.high; ++j) {
      const float dx = c.x - static_cast<float>(i) - 0.5f, dy = c.y - static_cast<float>(j) - 0.5f;
      const float across = dx * dx + dy * dy;
      if (across >= reach * reach) continue;
      const int row = (i * 8 + j) * 8;
      const Line far = square + lanes::spread(across);
      const Line q = lanes::positive(lanes::spread(1) - far * lanes::spread(per_square)), weight = q * q * q;
      const auto add_to = [&](int s, const Line& v) { store_row(sum_[s] + row, load_row(sum_[s] + row) + v); };
      add_to(w, weight), add_to(r, weight * lanes::spread(radius));
      add_to(x, weight * lanes::spread(dx)), add_to(y, weight * lanes::spread(dy)), add_to(z, weight * dz);
      keep_least<true>(nearest_ + row, owner_ + row, Line(_mm256_sqrt_ps(far)) - lanes::spread(radius), owner);
      if (!slopes) continue;
      const Line g = lanes::spread(6 * per_square) * q * q, a = g * lanes::spread(dx), b = g * lanes::spread(dy);
      add_to(gx, a), add_to(gy, b), add_to(gz, g * dz);
      add_to(gxx, a * lanes::spread(dx)), add_to(gxy, a * lanes::spread(dy)), add_to(gxz, a * dz);
      add_to(gyy, b * lanes::spread(dy)), add_to(gyz, b * dz), add_to(gzz, g * dz * dz);
    }
}

lanes::Line AverageTile::field(int row, bool slopes) const {
  const auto at = [&](int s) { return load_row(sum_[s] + row); };
  const Line per = lanes::spread(1) / (at(w) + lanes::spread(1e-30f));
  const Line mx = at(x) * per, my = at(y) * per, mz = at(z) * per;
  Line radius = at(r) * per;
  if (slopes) {
    // ∂x̄/∂x = (Σ g d dᵀ - (x̄ - x) (Σ g d)ᵀ) / Σ w, of which the symmetric part; g d is the gradient of a weight.
    const Line a = at(gx) * per, b = at(gy) * per, c = at(gz) * per, half = lanes::spread(0.5f);
    const EigenRows e = eigen_decomposition({at(gxx) * per - mx * a, at(gxy) * per - half * (mx * b + my * a),
                                             at(gxz) * per - half * (mx * c + mz * a), at(gyy) * per - my * b,
                                             at(gyz) * per - half * (my * c + mz * b), at(gzz) * per - mz * c});
    constexpr float low = 0.4f, high = 3.5f;
    const Line g =
        lanes::clamped((lanes::spread(high) - e.value[0]) * lanes::spread(1 / (high - low)), Line{}, lanes::spread(1));
    radius *= g * (g * (g - lanes::spread(3)) + lanes::spread(3));
  }
  return Line(_mm256_sqrt_ps(mx * mx + my * my + mz * mz)) - radius;
}

void AverageTile::store(float band, bool slopes, float* values, std::int32_t* owners) const {
  for (int row = 0; row < 512; row += 8) {
    const Line reached = _mm256_cmp_ps(load_row(sum_[w] + row), lanes::spread(1e-12f), _CMP_GT_OQ);
    store_row(values + row, Line(_mm256_blendv_ps(lanes::spread(band), field(row, slopes), reached)));
  }
  if (owners) std::memcpy(owners, owner_, sizeof owner_);
}

}  // namespace aegir
