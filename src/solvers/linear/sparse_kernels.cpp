#include "solvers/linear/sparse_kernels.h"

#include "base/simd.h"

namespace aegir::sparse {
namespace {

constexpr std::size_t lanes = 8;  // sums of a block are made in this many interleaved parts, whatever the CPU

inline double total(const double* part) {
  return ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
}

/// A row times x; four parts keep the additions from waiting for each other.
template <class T, class X>
inline T row_times(const View<T>& a, std::size_t r, const X* __restrict x) {
  const std::int32_t* column = a.column + a.first[r];
  const T* value = a.value + a.first[r];
  const std::int64_t count = a.first[r + 1] - a.first[r];
  T s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  std::int64_t k = 0;
  for (; k + 4 <= count; k += 4) {
    s0 += value[k] * static_cast<T>(x[column[k]]);
    s1 += value[k + 1] * static_cast<T>(x[column[k + 1]]);
    s2 += value[k + 2] * static_cast<T>(x[column[k + 2]]);
    s3 += value[k + 3] * static_cast<T>(x[column[k + 3]]);
  }
  for (; k < count; ++k) s0 += value[k] * static_cast<T>(x[column[k]]);
  return (s0 + s1) + (s2 + s3);
}

/// sum = a slice times x.
__attribute__((always_inline)) inline void slice_times(const Slices& a, std::size_t s, const float* __restrict x,
                                                       float* __restrict sum) {
  const std::int32_t* __restrict column = a.column + a.start[s];
  const float* __restrict value = a.value + a.start[s];
  const auto count = static_cast<std::size_t>(a.start[s + 1] - a.start[s]);
  for (std::size_t l = 0; l < slice_rows; ++l) sum[l] = 0;
  for (std::size_t k = 0; k < count; k += slice_rows)
    for (std::size_t l = 0; l < slice_rows; ++l) sum[l] += value[k + l] * x[column[k + l]];
}

/// body(row, lane) for the rows of a slice.
template <class Body>
__attribute__((always_inline)) inline void for_lanes(const Slices& a, std::size_t s, Body&& body) {
  const std::size_t row = s * slice_rows;
  if (row + slice_rows <= a.rows)
    for (std::size_t l = 0; l < slice_rows; ++l) body(row + l, l);
  else
    for (std::size_t l = 0; row + l < a.rows; ++l) body(row + l, l);
}

}  // namespace

AEGIR_HOT void chebyshev_step(Slices a, const float* __restrict inverse_diagonal, const float* __restrict b,
                              const float* __restrict x, float* __restrict step, float* __restrict result, float c,
                              float e, std::size_t begin, std::size_t end) {
  for (std::size_t s = begin; s < end; ++s) {
    float sum[slice_rows];
    slice_times(a, s, x, sum);
    for_lanes(
        a, s, [&](std::size_t r, std::size_t l) __attribute__((always_inline)) {
          const float next = c * step[r] + e * inverse_diagonal[r] * (b[r] - sum[l]);
          step[r] = next;
          result[r] = x[r] + next;
        });
  }
}

AEGIR_HOT void chebyshev_start(const float* __restrict inverse_diagonal, const float* __restrict b,
                               float* __restrict step, float* __restrict x, float e, std::size_t begin,
                               std::size_t end) {
  for (std::size_t r = begin; r < end; ++r) x[r] = step[r] = e * inverse_diagonal[r] * b[r];
}

AEGIR_HOT void residual(Slices a, const float* __restrict b, const float* __restrict x, float* __restrict result,
                        std::size_t begin, std::size_t end) {
  for (std::size_t s = begin; s < end; ++s) {
    float sum[slice_rows];
    slice_times(a, s, x, sum);
    for_lanes(
        a, s, [&](std::size_t r, std::size_t l) __attribute__((always_inline)) { result[r] = b[r] - sum[l]; });
  }
}

void apply(View<float> a, const float* __restrict x, float* __restrict y, std::size_t begin, std::size_t end) {
  for (std::size_t r = begin; r < end; ++r) y[r] = row_times(a, r, x);
}

AEGIR_HOT void apply_add(Slices a, const float* __restrict x, float* __restrict y, std::size_t begin, std::size_t end) {
  for (std::size_t s = begin; s < end; ++s) {
    float sum[slice_rows];
    slice_times(a, s, x, sum);
    for_lanes(
        a, s, [&](std::size_t r, std::size_t l) __attribute__((always_inline)) { y[r] += sum[l]; });
  }
}

void multiply(View<double> a, const float* __restrict p, const double* __restrict r, double* __restrict y,
              std::size_t begin, std::size_t end, double* __restrict sums) {
  double with_y[lanes] = {}, with_r[lanes] = {};
  for (std::size_t i = begin; i < end; ++i) {
    y[i] = row_times(a, i, p);
    const std::size_t lane = (i - begin) % lanes;
    with_y[lane] += static_cast<double>(p[i]) * y[i];
    with_r[lane] += static_cast<double>(p[i]) * r[i];
  }
  sums[0] = total(with_y), sums[1] = total(with_r);
}

double true_residual(View<double> a, double scale, const double* __restrict b, const double* __restrict x,
                     double* __restrict r, std::size_t begin, std::size_t end) {
  double part[lanes] = {};
  for (std::size_t i = begin; i < end; ++i) {
    r[i] = scale * b[i] - row_times(a, i, x);
    part[(i - begin) % lanes] += r[i] * r[i];
  }
  return total(part);
}

AEGIR_HOT double advance(double alpha, const float* __restrict p, const double* __restrict y, double* __restrict x,
                         double* __restrict r, float* __restrict single, std::size_t begin, std::size_t end) {
  double part[lanes] = {};
  std::size_t i = begin;
  for (; i + lanes <= end; i += lanes)
    for (std::size_t l = 0; l < lanes; ++l) {
      x[i + l] += alpha * static_cast<double>(p[i + l]);
      const double next = r[i + l] - alpha * y[i + l];
      r[i + l] = next;
      single[i + l] = static_cast<float>(next);
      part[l] += next * next;
    }
  for (std::size_t l = 0; i < end; ++i, ++l) {
    x[i] += alpha * static_cast<double>(p[i]);
    const double next = r[i] - alpha * y[i];
    r[i] = next;
    single[i] = static_cast<float>(next);
    part[l] += next * next;
  }
  return total(part);
}

AEGIR_HOT void two_products(const float* __restrict z, const double* __restrict r, const double* __restrict y,
                            std::size_t begin, std::size_t end, double* __restrict sums) {
  double with_r[lanes] = {}, with_y[lanes] = {};
  std::size_t i = begin;
  for (; i + lanes <= end; i += lanes)
    for (std::size_t l = 0; l < lanes; ++l) {
      with_r[l] += static_cast<double>(z[i + l]) * r[i + l];
      with_y[l] += static_cast<double>(z[i + l]) * y[i + l];
    }
  for (std::size_t l = 0; i < end; ++i, ++l) {
    with_r[l] += static_cast<double>(z[i]) * r[i];
    with_y[l] += static_cast<double>(z[i]) * y[i];
  }
  sums[0] = total(with_r), sums[1] = total(with_y);
}

AEGIR_HOT void new_direction(float beta, const float* __restrict z, float* __restrict p, std::size_t begin,
                             std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) p[i] = z[i] + beta * p[i];
}

}  // namespace aegir::sparse
