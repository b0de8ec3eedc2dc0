#include "numerics/surface/near_solids.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace aegir {
namespace {

constexpr float radius2 = 30.0f;  // of the cells a fit looks at; four along each axis at most
constexpr float certain = 1.45f;  // distances beyond tell nothing

/// Moments of the weighted cells about the target, in this order: w, wx, wy, wz, wxx, wyy, wzz, wxy, wxz, wyz, wv,
/// wvx, wvy, wvz.
constexpr int moments = 14, lanes = 8;

using Sums = std::array<Row<float>, moments>;

/// 20 bytes from the cache and 45 operations per cell.
void add_moments(const float* x, const float* y, const float* z, const float* value, const float* certainty,
                 std::size_t n, const Vec3f& target, Sums& sum) {
  for (std::size_t p = 0; p < n; p += lanes) {
    const Row<float> dx = load_row(x + p) - target.x, dy = load_row(y + p) - target.y, dz = load_row(z + p) - target.z;
    const Row<float> fall = 1.0f - (dx * dx + dy * dy + dz * dz) * (1 / radius2), none{};
    const Row<float> t = fall > none ? fall : none;
    const Row<float> w = t * t * t * load_row(certainty + p), v = load_row(value + p);
    const Row<float> wx = w * dx, wy = w * dy, wz = w * dz;
    sum[0] += w, sum[1] += wx, sum[2] += wy, sum[3] += wz;
    sum[4] += wx * dx, sum[5] += wy * dy, sum[6] += wz * dz;
    sum[7] += wx * dy, sum[8] += wx * dz, sum[9] += wy * dz;
    sum[10] += w * v, sum[11] += wx * v, sum[12] += wy * v, sum[13] += wz * v;
  }
}

/// Deep inside, distances are noise.
bool beside_air(const PaddedTile<float, 4>& free, int i, int j, int k) {
  const auto air = [&](int x, int y, int z) {
    return std::min({x, y, z}) >= -4 && std::max({x, y, z}) < 12 && free(x, y, z) >= 0;
  };
  return air(i - 1, j, k) || air(i + 1, j, k) || air(i, j - 1, k) || air(i, j + 1, k) || air(i, j, k - 1) ||
         air(i, j, k + 1);
}

}  // namespace

void SurfaceFit::collect(const PaddedTile<float, 4>& free, const Sides* sides, int side) {
  for (auto* v : {&x_, &y_, &z_, &value_, &certainty_}) v->clear();
  low_ = Vec3i(100), high_ = Vec3i(-100);
  for (int i = -4; i < 12; ++i) {
    first_[i + 4] = value_.size();
    for (int j = -4; j < 12; ++j) {
      const float* row = free.row(i, j);
      float greatest = not_free;
      for (int k = -4; k < 12; ++k) greatest = std::max(greatest, row[k]);
      if (greatest == not_free) continue;
      for (int k = -4; k < 12; ++k) {
        const float value = row[k], t = 1 - value * value * (1 / (certain * certain));
        if (t <= 0 || (value < 0 && !beside_air(free, i, j, k)) || (sides && sides->at(i, j, k) != side)) continue;
        x_.push_back(static_cast<float>(i)), y_.push_back(static_cast<float>(j)), z_.push_back(static_cast<float>(k));
        value_.push_back(value), certainty_.push_back(t * t);
        low_ = min(low_, {i, j, k}), high_ = max(high_, {i, j, k});
      }
    }
  }
  first_[16] = first_[17] = value_.size();
  for (auto* v : {&x_, &y_, &z_, &value_, &certainty_})
    if (!v->empty()) v->resize(v->size() + lanes, 0.0f);  // of no weight
}

bool SurfaceFit::evaluate(const Vec3i& cell, SurfacePlane& plane) const {
  const Vec3i gap = max(max(low_ - cell, cell - high_), Vec3i(0));
  if (static_cast<float>(dot(gap, gap)) >= radius2) return false;
  Sums sum{};
  const std::size_t begin = first_[std::max(0, cell.x)], end = first_[std::min(17, cell.x + 9)];
  if (begin == end) return false;
  add_moments(&x_[begin], &y_[begin], &z_[begin], &value_[begin], &certainty_[begin], end - begin, Vec3f(cell), sum);
  double m[moments];
  for (std::size_t a = 0; a < moments; ++a) {
    const Row<float>& l = sum[a];
    m[a] = static_cast<double>(((l[0] + l[1]) + (l[2] + l[3])) + ((l[4] + l[5]) + (l[6] + l[7])));
  }
  if (m[0] < 0.01) return false;
  const double s = 1 / m[0];
  const Vec3d mean = Vec3d(m[1], m[2], m[3]) * s;
  const double value = m[10] * s, ridge = 1e-4;  // flat along directions in which there is only one cell
  const double xy = m[7] * s - mean.x * mean.y, xz = m[8] * s - mean.x * mean.z, yz = m[9] * s - mean.y * mean.z;
  const Mat3d spread{{{m[4] * s - mean.x * mean.x + ridge, xy, xz},
                      {xy, m[5] * s - mean.y * mean.y + ridge, yz},
                      {xz, yz, m[6] * s - mean.z * mean.z + ridge}}};
  const Vec3d slope = inverse(spread) * (Vec3d(m[11], m[12], m[13]) * s - mean * value);
  // A droplet or a crumpled surface has no slope of about one: nothing to continue.
  const double steepness = dot(slope, slope);
  if (!(steepness > 0.4 && steepness < 2.5)) return false;
  plane = {static_cast<float>(value - dot(slope, mean)), Vec3f(slope)};
  return true;
}

}  // namespace aegir
