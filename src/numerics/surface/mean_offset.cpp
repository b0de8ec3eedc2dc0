#include "numerics/surface/mean_offset.h"

// Eight particles at once: one vector of AVX2, which every CPU we run on has. Multiply-adds are fused.
#include <immintrin.h>

#include <algorithm>

#include "domain/volume/tile.h"

namespace aegir {
namespace {

using Line = Row<float>;

inline Line spread(float value) { return _mm256_set1_ps(value); }
inline Line fused(const Line& a, const Line& b, const Line& c) { return _mm256_fmadd_ps(a, b, c); }

/// The quadratic B-spline: 3/4 - d² up to half a cell, (3/2 - |d|)²/2 up to one and a half.
inline Line spline(const Line& d) {
  const Line t = _mm256_andnot_ps(spread(-0.0f), d);
  const Line u = _mm256_max_ps(spread(1.5f) - t, _mm256_setzero_ps());
  const Line v = _mm256_max_ps(spread(0.5f) - t, _mm256_setzero_ps());
  return fused(u * spread(0.5f), u, v * v * spread(-1.5f));
}

/// The first `count` lanes.
inline __m256i first_lanes(std::size_t count) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

inline float total(const Line& v) { return ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7])); }

struct Accumulator {
  Line weight{}, x{}, y{}, z{};
  void add(const Line& w, const Line& wx, const Line& wy, const Line& dz) {
    const Line s = spline(dz), ws = w * s;
    weight += ws;
    x = fused(wx, s, x), y = fused(wy, s, y), z = fused(ws, dz, z);
  }
};

}  // namespace

void MeanOffset::reserve(std::size_t size) {
  if (weight_.size() >= size) return;
  for (auto* v : {&weight_, &x_, &y_, &z_}) v->resize(size + size / 2 + 64);
}

/// Appends the particles of the cells cell … last, which follow each other along z. 12 bytes read and 16 written (to
/// the cache), 24 operations per particle.
void MeanOffset::segment(int bucket, int cell, int last, const Vec3f& centre, float shift_z) {
  const std::uint32_t begin = counts_.first(bucket, cell), end = counts_.first(bucket, last + 1);
  const std::size_t n = end - begin;
  if (n == 0) return;
  reserve(size_ + n + 8);
  const ParticleStore& store = particles_.store(particle::position.name);
  const std::size_t at = particles_.first(bucket) + begin;
  const float *px = store.plane<float>(0) + at, *py = store.plane<float>(1) + at, *pz = store.plane<float>(2) + at;
  for (std::size_t p = 0; p < n; p += 8) {
    const __m256i lanes = first_lanes(n - p);
    const Line dx = Line(_mm256_maskload_ps(px + p, lanes)) - spread(centre.x);
    const Line dy = Line(_mm256_maskload_ps(py + p, lanes)) - spread(centre.y);
    const Line z = Line(_mm256_maskload_ps(pz + p, lanes)) + spread(shift_z);
    const Line w = spline(dx) * spline(dy);
    store_row(&weight_[size_ + p], w), store_row(&x_[size_ + p], Line(w * dx)), store_row(&y_[size_ + p], Line(w * dy));
    store_row(&z_[size_ + p], z);
  }
  size_ += n;
}

void MeanOffset::row(int bucket, int i, int j, int low, int high) {
  const auto& neighbours = particles_.topology().neighbours(bucket);
  size_ = 0;
  reserve(64);
  int column = 0;
  for (int x = i - 1; x <= i + 1; ++x)
    for (int y = j - 1; y <= j + 1; ++y, ++column) {
      const int ox = (x + 8) / 8 - 1, oy = (y + 8) / 8 - 1;
      const Vec3f centre(static_cast<float>(i - 8 * ox) + 0.5f, static_cast<float>(j - 8 * oy) + 0.5f, 0);
      for (int oz = -1; oz <= 1; ++oz) {
        const int from = std::max(low - 1, 8 * oz), to = std::min(high + 1, 8 * oz + 7);
        if (from > to) continue;
        const int other = neighbours[static_cast<std::size_t>(neighbour_index(ox, oy, oz))];
        const int cell = cell_offset(x - 8 * ox, y - 8 * oy, 0) - 8 * oz;
        const std::size_t base = size_;
        if (other >= 0 && particles_.count(other) > 0) {
          segment(other, cell + from, cell + to, centre, 8.0f * static_cast<float>(oz));
          const std::uint32_t* first = counts_.table(other);
          for (int k = from; k <= to; ++k) start_[column][k + 1] = base + (first[cell + k] - first[cell + from]);
        } else {
          for (int k = from; k <= to; ++k) start_[column][k + 1] = base;
        }
      }
      start_[column][high + 3] = size_;
    }
}

/// 16 bytes from the cache and 17 operations for each of about 220 particles.
MeanOffset::Sums MeanOffset::around(int k) const {
  Accumulator sum;
  const float centre = static_cast<float>(k) + 0.5f;
  for (int column = 0; column < 9; ++column) {
    std::size_t p = start_[column][k];
    const std::size_t end = start_[column][k + 3];
    for (; p + 8 <= end; p += 8)
      sum.add(load_row(&weight_[p]), load_row(&x_[p]), load_row(&y_[p]), load_row(&z_[p]) - spread(centre));
    if (p < end) {
      const __m256i lanes = first_lanes(end - p);
      sum.add(_mm256_maskload_ps(&weight_[p], lanes), _mm256_maskload_ps(&x_[p], lanes),
              _mm256_maskload_ps(&y_[p], lanes), load_row(&z_[p]) - spread(centre));
    }
  }
  return {total(sum.weight), {total(sum.x), total(sum.y), total(sum.z)}};
}

}  // namespace aegir
