// Eight lanes of AVX2, which every CPU we run on has; multiply-adds are fused where they are written so.
#pragma once

#include <immintrin.h>

#include "domain/volume/tile.h"

#define AEGIR_INLINE inline __attribute__((always_inline))

namespace aegir::lanes {

using Line = Row<float>;

AEGIR_INLINE Line spread(float value) { return _mm256_set1_ps(value); }
AEGIR_INLINE Line fused(const Line& a, const Line& b, const Line& c) { return _mm256_fmadd_ps(a, b, c); }
AEGIR_INLINE Line fused_minus(const Line& a, const Line& b, const Line& c) { return _mm256_fnmadd_ps(a, b, c); }
AEGIR_INLINE Line floor(const Line& a) { return _mm256_floor_ps(a); }
AEGIR_INLINE Line positive(const Line& a) { return _mm256_max_ps(a, Line{}); }
AEGIR_INLINE Line magnitude(const Line& a) { return _mm256_andnot_ps(spread(-0.0f), a); }
/// No-numbers become `low`.
AEGIR_INLINE Line clamped(const Line& a, const Line& low, const Line& high) {
  return _mm256_min_ps(_mm256_max_ps(a, low), high);
}

/// Hats of the three faces at -½, ½ and 1½ for a fraction of a cell.
AEGIR_INLINE void hats(const Line& f, Line (&w)[3]) {
  const Line d = f - spread(0.5f);
  w[0] = positive(-d), w[1] = spread(1) - magnitude(d), w[2] = positive(d);
}

}  // namespace aegir::lanes
