// Eight values at once, as the search for closest triangles needs them. Used inside this room.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "domain/volume/tile.h"

namespace aegir {

using Row8 = Row<float>;
inline Row8 spread(float value) { return Row8{} + value; }
inline Row8 least(const Row8& a, const Row8& b) { return a < b ? a : b; }
inline Row8 greatest(const Row8& a, const Row8& b) { return a > b ? a : b; }
inline Row8 size_of(const Row8& a) { return a < 0 ? -a : a; }
inline Row8 root(const Row8& a) {
  Row8 r;
  for (int l = 0; l < 8; ++l) r[l] = std::sqrt(a[l]);
  return r;
}
/// In halves, which stay in registers.
inline float least_of(const Row8& a) {
  const Row8 four = least(a, __builtin_shufflevector(a, a, 4, 5, 6, 7, 0, 1, 2, 3));
  const Row8 two = least(four, __builtin_shufflevector(four, four, 2, 3, 0, 1, 6, 7, 4, 5));
  return std::min(two[0], two[1]);
}
/// A bit for each lane of a comparison that holds.
inline unsigned bits_of(const Row<std::int32_t>& holds) {
  return static_cast<unsigned>(_mm256_movemask_ps(reinterpret_cast<__m256>(holds)));
}
inline float greatest_of(const Row8& a) {
  float most = a[0];
  for (int l = 1; l < 8; ++l) most = std::max(most, a[l]);
  return most;
}
inline float sum_of(const Row8& a) {
  float sum = 0;
  for (int l = 0; l < 8; ++l) sum += a[l];
  return sum;
}

/// What single precision may get wrong about places in a bucket, in cells.
inline constexpr float band_rounding = 1e-4f;

}  // namespace aegir
