// Inner loops of the sparse solver, over rows [begin, end). Bytes per row for n entries in a row, vectors that are
// gathered counted once, written ones twice:
//   chebyshev_step      8 n + 40   (row start 8, b 4, 1/d 4, x 4, step 12, new x 8)
//   residual            8 n + 24
//   apply / apply_add   8 n + 20 / 8 n + 20 plus 4 per column
//   multiply (double)  12 n + 28   (row start 8, p 4, result 16)
//   advance            60          (p 4, A p 8, x 24, r 24), and 8 for r in single precision
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

/// step = c step + e D⁻¹ (b - A x); result = x + step.
void chebyshev_step(View<float> a, const float* inverse_diagonal, const float* b, const float* x, float* step,
                    float* result, float c, float e, std::size_t begin, std::size_t end);
/// x = step = e D⁻¹ b: the first step from zero.
void chebyshev_start(const float* inverse_diagonal, const float* b, float* step, float* x, float e, std::size_t begin,
                     std::size_t end);
/// result = b - A x.
void residual(View<float> a, const float* b, const float* x, float* result, std::size_t begin, std::size_t end);
/// y = A x.
void apply(View<float> a, const float* x, float* y, std::size_t begin, std::size_t end);
/// y += A x.
void apply_add(View<float> a, const float* x, float* y, std::size_t begin, std::size_t end);

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
