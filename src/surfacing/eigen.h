// Eigenvalues and eigenvectors of eight symmetric 3×3 matrices at once.
//
//   SymmetricRows m{xx, xy, xz, yy, yz, zz};            // each eight numbers
//   EigenRows e = eigen_decomposition(m);               // m = Σ value[i] · axis[i] ⊗ axis[i]
#pragma once

#include "numerics/transfer/lanes.h"

namespace aegir {

struct SymmetricRows {
  lanes::Line xx, xy, xz, yy, yz, zz;
};

struct EigenRows {
  lanes::Line value[3];    ///< descending
  lanes::Line axis[3][3];  ///< axis[i][component]: unit vector of value[i]
};

namespace detail {

AEGIR_INLINE lanes::Line square_root(const lanes::Line& a) { return _mm256_sqrt_ps(a); }
AEGIR_INLINE lanes::Line with_sign_of(const lanes::Line& magnitude, const lanes::Line& sign) {
  return _mm256_or_ps(_mm256_andnot_ps(_mm256_set1_ps(-0.0f), magnitude), _mm256_and_ps(_mm256_set1_ps(-0.0f), sign));
}

/// One rotation that makes the element pq zero. tan θ = 2 a_pq sgn(h) / (|h| + √(h² + 4 a_pq²)), h = a_qq - a_pp: no
/// division by a_pq, so that matrices that are diagonal already need no case of their own.
AEGIR_INLINE void rotate(lanes::Line& pp, lanes::Line& qq, lanes::Line& pq, lanes::Line& pr, lanes::Line& qr,
                         lanes::Line (&v)[3][3], int p, int q) {
  const lanes::Line h = qq - pp, twice = pq + pq;
  const lanes::Line below = lanes::magnitude(h) + square_root(h * h + twice * twice) + lanes::spread(1e-37f);
  const lanes::Line t = with_sign_of(lanes::spread(1), h) * twice / below;
  const lanes::Line c = lanes::spread(1) / square_root(t * t + lanes::spread(1)), s = t * c;
  pp -= t * pq, qq += t * pq, pq = lanes::Line{};
  const lanes::Line a = c * pr - s * qr;
  qr = s * pr + c * qr, pr = a;
  for (int i = 0; i < 3; ++i) {
    const lanes::Line w = c * v[p][i] - s * v[q][i];
    v[q][i] = s * v[p][i] + c * v[q][i], v[p][i] = w;
  }
}

/// Exchanges two pairs where the second value is greater.
AEGIR_INLINE void order(EigenRows& e, int i, int j) {
  const auto swap = _mm256_cmp_ps(e.value[i], e.value[j], _CMP_LT_OQ);
  const auto exchange = [&](lanes::Line& a, lanes::Line& b) {
    const lanes::Line low = _mm256_blendv_ps(a, b, swap), high = _mm256_blendv_ps(b, a, swap);
    a = low, b = high;
  };
  exchange(e.value[i], e.value[j]);
  for (int c = 0; c < 3; ++c) exchange(e.axis[i][c], e.axis[j][c]);
}

}  // namespace detail

/// Jacobi's method, five rounds of three rotations: about 700 flops per matrix, to round-off of the largest value.
AEGIR_INLINE EigenRows eigen_decomposition(SymmetricRows m) {
  EigenRows e;
  for (int i = 0; i < 3; ++i)
    for (int c = 0; c < 3; ++c) e.axis[i][c] = lanes::spread(i == c ? 1.0f : 0.0f);
  for (int round = 0; round < 5; ++round) {
    detail::rotate(m.xx, m.yy, m.xy, m.xz, m.yz, e.axis, 0, 1);
    detail::rotate(m.xx, m.zz, m.xz, m.xy, m.yz, e.axis, 0, 2);
    detail::rotate(m.yy, m.zz, m.yz, m.xy, m.xz, e.axis, 1, 2);
  }
  e.value[0] = m.xx, e.value[1] = m.yy, e.value[2] = m.zz;
  detail::order(e, 0, 1), detail::order(e, 1, 2), detail::order(e, 0, 1);
  return e;
}

}  // namespace aegir
