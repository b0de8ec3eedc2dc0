// Inner loops of the sparse solver. Bytes per row for n entries in a row (padding included), vectors that are gathered
// counted once, written ones twice:
//   chebyshev_step      8 n + 36   (b 4, 1/d 4, x 4, step 12, new x 8, slice start)
//   residual            8 n + 20
//   apply_add           8 n + 16 plus 4 per column
//   apply               8 n + 20
//   multiply (double)  12 n + 36   (row start 8, p 4, r 8, result 16)
//   advance            68          (p 4, A p 8, x 24, r 24, r in single precision 8)
//
// The cycle's matrices are kept in slices of 16 rows, entry by entry across the slice, so that rows are summed side by
// side; a row's entries are still added one after the other, and padding adds zeros.
#pragma once

#include <cstddef>
#include <cstdint>

namespace aegir::sparse {

/// A matrix as the loops see it.
template <class T>
struct View {
  const std::int64_t* first;
  const std::int32_t* column;
  const T* value;
};

inline constexpr std::size_t slice_rows = 16;

/// A matrix in slices: entry k of row 16 s + l stands at start[s] + 16 k + l.
struct Slices {
  const std::int64_t* start;
  const std::int32_t* column;
  const float* value;
  std::size_t rows;
};

/// step = c step + e D⁻¹ (b - A x); result = x + step; over slices [begin, end).
void chebyshev_step(Slices a, const float* inverse_diagonal, const float* b, const float* x, float* step, float* result,
                    float c, float e, std::size_t begin, std::size_t end);
/// x = step = e D⁻¹ b: the first step from zero.
void chebyshev_start(const float* inverse_diagonal, const float* b, float* step, float* x, float e, std::size_t begin,
                     std::size_t end);
/// result = b - A x; over slices [begin, end).
void residual(Slices a, const float* b, const float* x, float* result, std::size_t begin, std::size_t end);
/// y = A x.
void apply(View<float> a, const float* x, float* y, std::size_t begin, std::size_t end);
/// y += A x; over slices [begin, end).
void apply_add(Slices a, const float* x, float* y, std::size_t begin, std::size_t end);

/// y = A p in double precision; sums[0] = p·y, sums[1] = p·r, in the order of one block.
void multiply(View<double> a, const float* p, const double* r, double* y, std::size_t begin, std::size_t end,
              double* sums);
/// r = scale b - A x in double precision; returns r·r.
double true_residual(View<double> a, double scale, const double* b, const double* x, double* r, std::size_t begin,
                     std::size_t end);
/// x += alpha p, r -= alpha y, single = r; returns r·r.
double advance(double alpha, const float* p, const double* y, double* x, double* r, float* single, std::size_t begin,
               std::size_t end);
/// sums[0] = z·r, sums[1] = z·y.
void two_products(const float* z, const double* r, const double* y, std::size_t begin, std::size_t end, double* sums);
/// p = z + beta p.
void new_direction(float beta, const float* z, float* p, std::size_t begin, std::size_t end);

}  // namespace aegir::sparse
