#include "solvers/linear/bucket_kernels.h"

#include <cstring>

// Rows of a bucket are eight floats: one vector of AVX2, which every CPU we run on has. Multiply-adds are fused where
// they are written so.
#include <immintrin.h>

namespace aegir {
namespace {

using Line = Row<float>;
typedef double Quad __attribute__((vector_size(32)));

constexpr int tile_i = UnknownTile::side * UnknownTile::pitch, tile_j = UnknownTile::pitch;
constexpr int tile_origin = tile_i + tile_j + UnknownTile::lead;

inline Line load(const float* p) { return load_row(p); }

/// a b + c and c - a b, rounded once.
inline Line fused(const Line& a, const Line& b, const Line& c) { return _mm256_fmadd_ps(a, b, c); }
inline Line fused_minus(const Line& a, const Line& b, const Line& c) { return _mm256_fnmadd_ps(a, b, c); }

/// Eight doubles.
struct LineD {
  Quad low, high;
};
inline LineD operator+(const LineD& a, const LineD& b) { return {a.low + b.low, a.high + b.high}; }
inline LineD operator-(const LineD& a, const LineD& b) { return {a.low - b.low, a.high - b.high}; }
inline LineD operator*(const LineD& a, const LineD& b) { return {a.low * b.low, a.high * b.high}; }
inline LineD operator*(const LineD& a, double b) { return {a.low * b, a.high * b}; }
inline LineD fused(const LineD& a, const LineD& b, const LineD& c) {
  return {_mm256_fmadd_pd(a.low, b.low, c.low), _mm256_fmadd_pd(a.high, b.high, c.high)};
}
inline LineD load(const double* p) { return {_mm256_loadu_pd(p), _mm256_loadu_pd(p + 4)}; }
inline void store(double* p, const LineD& v) { _mm256_storeu_pd(p, v.low), _mm256_storeu_pd(p + 4, v.high); }
inline LineD widen(const float* p) { return {_mm256_cvtps_pd(_mm_loadu_ps(p)), _mm256_cvtps_pd(_mm_loadu_ps(p + 4))}; }
inline LineD widen(const Line& v) {
  return {_mm256_cvtps_pd(_mm256_castps256_ps128(v)), _mm256_cvtps_pd(_mm256_extractf128_ps(v, 1))};
}

/// Lanes in order: the same sum on every machine.
inline double total(const LineD& v) {
  return ((v.low[0] + v.low[1]) + (v.low[2] + v.low[3])) + ((v.high[0] + v.high[1]) + (v.high[2] + v.high[3]));
}

inline Line neighbours(const float* u) {
  return ((load(u - tile_i) + load(u + tile_i)) + (load(u - tile_j) + load(u + tile_j))) + (load(u - 1) + load(u + 1));
}

/// start - A u along one row of a bucket with its own coefficients.
inline __attribute__((always_inline)) Line minus_product(const float* u, const NetworkBucket& n, int i, int j,
                                                         const Line& c, const Line& start) {
  const float* z = n.z_row(i, j);
  Line x = fused_minus(load(n.x_row(i, j)), c - load(u - tile_i), start), y = load(n.sink + cell_offset(i, j, 0)) * c;
  x = fused_minus(load(n.x_row(i + 1, j)), c - load(u + tile_i), x);
  y = fused(load(n.y_row(i, j)), c - load(u - tile_j), y);
  x = fused_minus(load(n.y_row(i, j + 1)), c - load(u + tile_j), x);
  y = fused(load(z), c - load(u - 1), y);
  x = fused_minus(load(z + 1), c - load(u + 1), x);
  return x - y;
}

/// rhs plus the sum of links times neighbours along one row.
inline __attribute__((always_inline)) Line pull(const float* u, const NetworkBucket& n, int i, int j, const Line& rhs) {
  const float* z = n.z_row(i, j);
  Line a = fused(load(n.x_row(i, j)), load(u - tile_i), rhs), b = load(n.x_row(i + 1, j)) * load(u + tile_i);
  a = fused(load(n.y_row(i, j)), load(u - tile_j), a);
  b = fused(load(n.y_row(i, j + 1)), load(u + tile_j), b);
  a = fused(load(z), load(u - 1), a);
  b = fused(load(z + 1), load(u + 1), b);
  return a + b;
}

/// Calls row(i, j) for the rows of one colour, then of the other, `sweeps` times. j is a constant wherever it is
/// inlined, so that a row's neighbours and coefficients are at fixed distances.
template <class Row>
inline __attribute__((always_inline)) void by_colour(int sweeps, bool reverse, const Row& row) {
  for (int s = 0; s < 2 * sweeps; ++s) {
    const int colour = (s & 1) ^ (reverse ? 1 : 0);
    for (int i = 0; i < 8; ++i) {
      if ((i + colour) & 1)
        row(i, 1), row(i, 3), row(i, 5), row(i, 7);
      else
        row(i, 0), row(i, 2), row(i, 4), row(i, 6);
    }
  }
}

/// Calls row(i, j) for all rows.
template <class Row>
inline __attribute__((always_inline)) void by_row(const Row& row) {
  for (int i = 0; i < 8; ++i) row(i, 0), row(i, 1), row(i, 2), row(i, 3), row(i, 4), row(i, 5), row(i, 6), row(i, 7);
}

#define AEGIR_ROW [&](int i, int j) __attribute__((always_inline))

void relax_uniform(float* __restrict tile, const float* __restrict rhs, float unit, int sweeps, bool reverse) {
  const Line scale = Line{} + 1 / unit;
  constexpr float sixth = 1.0f / 6;
  by_colour(
      sweeps, reverse, AEGIR_ROW {
        float* u = tile + tile_origin + i * tile_i + j * tile_j;
        store_row(u, fused(load(rhs + cell_offset(i, j, 0)), scale, neighbours(u)) * sixth);
      });
}

/// Repeats a row next to closed sides beyond them.
inline __attribute__((always_inline)) void follow(float* u, const Line& next, int i, int j, Sides closed) {
  if (i == 0 && (closed & 1)) store_row(u - tile_i, next);
  if (i == 7 && (closed & 2)) store_row(u + tile_i, next);
  if (j == 0 && (closed & 4)) store_row(u - tile_j, next);
  if (j == 7 && (closed & 8)) store_row(u + tile_j, next);
  if (closed & 16) u[-1] = next[0];
  if (closed & 32) u[8] = next[7];
}

/// The same with closed sides: the values beyond them follow those inside.
void relax_closed(float* __restrict tile, const float* __restrict rhs, float unit, Sides closed, int sweeps,
                  bool reverse) {
  const Line scale = Line{} + 1 / unit;
  constexpr float sixth = 1.0f / 6;
  by_colour(
      sweeps, reverse, AEGIR_ROW {
        float* u = tile + tile_origin + i * tile_i + j * tile_j;
        const Line next = fused(load(rhs + cell_offset(i, j, 0)), scale, neighbours(u)) * sixth;
        store_row(u, next);
        follow(u, next, i, j, closed);
      });
}

/// The same at or above `least`.
void relax_uniform_projected(float* __restrict tile, const float* __restrict rhs, const BucketOperator& a,
                             const float* __restrict least, int sweeps, bool reverse) {
  const Line scale = Line{} + 1 / a.unit;
  constexpr float sixth = 1.0f / 6;
  const Sides closed = a.closed;
  by_colour(
      sweeps, reverse, AEGIR_ROW {
        float* u = tile + tile_origin + i * tile_i + j * tile_j;
        const int c = cell_offset(i, j, 0);
        const Line next = _mm256_max_ps(fused(load(rhs + c), scale, neighbours(u)) * sixth, load(least + c));
        store_row(u, next);
        if (closed) follow(u, next, i, j, closed);
      });
}

void relax_network(float* __restrict tile, const float* __restrict rhs, const NetworkBucket& n, int sweeps,
                   bool reverse) {
  by_colour(
      sweeps, reverse, AEGIR_ROW {
        float* u = tile + tile_origin + i * tile_i + j * tile_j;
        const int c = cell_offset(i, j, 0);
        const Line rest = load(n.keep + c) * load(u);
        store_row(u, fused(load(n.relax + c), pull(u, n, i, j, load(rhs + c)), rest));
      });
}

void relax_network_projected(float* __restrict tile, const float* __restrict rhs, const NetworkBucket& n,
                             const float* __restrict least, int sweeps, bool reverse) {
  by_colour(
      sweeps, reverse, AEGIR_ROW {
        float* u = tile + tile_origin + i * tile_i + j * tile_j;
        const int c = cell_offset(i, j, 0);
        const Line rest = load(n.keep + c) * load(u);
        const Line next = fused(load(n.relax + c), pull(u, n, i, j, load(rhs + c)), rest);
        store_row(u, _mm256_max_ps(next, load(least + c)));
      });
}

void residual_uniform(const float* __restrict tile, const float* __restrict rhs, float unit, float* __restrict out) {
  by_row(AEGIR_ROW {
    const float* u = tile + tile_origin + i * tile_i + j * tile_j;
    const int c = cell_offset(i, j, 0);
    store_row(out + c, load(rhs + c) - (load(u) * 6.0f - neighbours(u)) * unit);
  });
}

void residual_network(const float* __restrict tile, const float* __restrict rhs, const NetworkBucket& n,
                      float* __restrict out) {
  by_row(AEGIR_ROW {
    const float* u = tile + tile_origin + i * tile_i + j * tile_j;
    const int c = cell_offset(i, j, 0);
    const Line r = minus_product(u, n, i, j, load(u), load(rhs + c));
    store_row(out + c, load(n.relax + c) > Line{} ? r : Line{});
  });
}

// p · A p is a sum of squares over links, each counted by the bucket of its upper cell: never negative, and exact where
// p is all but constant, because differences of close numbers are.

double energy_uniform(const float* __restrict tile, float unit) {
  LineD sum{};
  by_row(AEGIR_ROW {
    const float* u = tile + tile_origin + i * tile_i + j * tile_j;
    const Line own = load(u), x = own - load(u - tile_i), y = own - load(u - tile_j), z = own - load(u - 1);
    sum = sum + widen(fused(x, x, fused(y, y, z * z)));
  });
  return unit * total(sum);
}

double energy_network(const float* __restrict tile, const NetworkBucket& n) {
  LineD sum{};
  by_row(AEGIR_ROW {
    const float* u = tile + tile_origin + i * tile_i + j * tile_j;
    const Line own = load(u), x = own - load(u - tile_i), y = own - load(u - tile_j), z = own - load(u - 1);
    const Line part = fused(load(n.x_row(i, j)) * x, x, load(n.y_row(i, j)) * y * y);
    sum = sum + widen(part + fused(load(n.z_row(i, j)) * z, z, load(n.sink + cell_offset(i, j, 0)) * own * own));
  });
  return total(sum);
}

/// 1 where there is an unknown, else 0, along one row.
inline LineD unknowns(const NetworkBucket& n, int c) {
  return widen(load(n.relax + c) > Line{} ? Line{} + 1.0f : Line{});
}

/// A u along one row in double; `at(p)` loads eight values at p.
template <class Load, class T>
inline __attribute__((always_inline)) LineD product_uniform(const T* u, const Load& at, double unit) {
  const LineD c = at(u);  // differences, as everywhere: six times a large constant would round them away
  return ((((c - at(u - tile_i)) + (c - at(u + tile_i))) + ((c - at(u - tile_j)) + (c - at(u + tile_j)))) +
          ((c - at(u - 1)) + (c - at(u + 1)))) *
         unit;
}

template <class Load, class T>
inline __attribute__((always_inline)) LineD product_network(const T* u, const NetworkBucket& n, int i, int j,
                                                            const Load& at) {
  const float* z = n.z_row(i, j);
  const LineD c = at(u);
  LineD a = widen(n.sink + cell_offset(i, j, 0)) * c, b = widen(n.x_row(i, j)) * (c - at(u - tile_i));
  a = fused(widen(n.x_row(i + 1, j)), c - at(u + tile_i), a);
  b = fused(widen(n.y_row(i, j)), c - at(u - tile_j), b);
  a = fused(widen(n.y_row(i, j + 1)), c - at(u + tile_j), a);
  b = fused(widen(z), c - at(u - 1), b);
  a = fused(widen(z + 1), c - at(u + 1), a);
  return a + b;
}

constexpr auto from_float = [](const float* p) { return widen(p); };
constexpr auto from_double = [](const double* p) { return load(p); };

double subtract_uniform(const float* __restrict tile, double unit, double alpha, double* __restrict r) {
  LineD sum{};
  by_row(AEGIR_ROW {
    const int c = cell_offset(i, j, 0);
    const LineD next =
        load(r + c) - product_uniform(tile + tile_origin + i * tile_i + j * tile_j, from_float, unit) * alpha;
    store(r + c, next);
    sum = fused(next, next, sum);
  });
  return total(sum);
}

double subtract_network(const float* __restrict tile, const NetworkBucket& n, double alpha, double* __restrict r) {
  LineD sum{};
  by_row(AEGIR_ROW {
    const int c = cell_offset(i, j, 0);
    const LineD change = product_network(tile + tile_origin + i * tile_i + j * tile_j, n, i, j, from_float) * alpha;
    const LineD next = load(r + c) - change * unknowns(n, c);
    store(r + c, next);
    sum = fused(next, next, sum);
  });
  return total(sum);
}

double true_uniform(const double* __restrict tile, const float* __restrict rhs, double unit, double* __restrict out) {
  LineD sum{};
  by_row(AEGIR_ROW {
    const int c = cell_offset(i, j, 0);
    const LineD r = widen(rhs + c) - product_uniform(tile + tile_origin + i * tile_i + j * tile_j, from_double, unit);
    store(out + c, r);
    sum = fused(r, r, sum);
  });
  return total(sum);
}

double true_network(const double* __restrict tile, const float* __restrict rhs, const NetworkBucket& n,
                    double* __restrict out) {
  LineD sum{};
  by_row(AEGIR_ROW {
    const int c = cell_offset(i, j, 0);
    // No unknown, no equation: its right-hand side is not read.
    const Line known = load(n.relax + c) > Line{} ? load(rhs + c) : Line{};
    const LineD product = product_network(tile + tile_origin + i * tile_i + j * tile_j, n, i, j, from_double);
    const LineD r = widen(known) - product * unknowns(n, c);
    store(out + c, r);
    sum = fused(r, r, sum);
  });
  return total(sum);
}

}  // namespace

void relax(UnknownTile& u, const float* rhs, const BucketOperator& a, int sweeps, bool reverse) {
  if (a.network)
    relax_network(u.values, rhs, *a.network, sweeps, reverse);
  else if (a.closed)
    relax_closed(u.values, rhs, a.unit, a.closed, sweeps, reverse);
  else
    relax_uniform(u.values, rhs, a.unit, sweeps, reverse);
}

void relax_projected(UnknownTile& u, const float* rhs, const BucketOperator& a, const float* least, int sweeps,
                     bool reverse) {
  if (a.network)
    relax_network_projected(u.values, rhs, *a.network, least, sweeps, reverse);
  else
    relax_uniform_projected(u.values, rhs, a, least, sweeps, reverse);
}

void residual(const UnknownTile& u, const float* rhs, const BucketOperator& a, float* out) {
  if (a.network)
    residual_network(u.values, rhs, *a.network, out);
  else
    residual_uniform(u.values, rhs, a.unit, out);
}

double energy(const UnknownTile& p, const BucketOperator& a) {
  return a.network ? energy_network(p.values, *a.network) : energy_uniform(p.values, a.unit);
}

double subtract_product(const UnknownTile& p, const BucketOperator& a, double alpha, double* r) {
  return a.network ? subtract_network(p.values, *a.network, alpha, r) : subtract_uniform(p.values, a.unit, alpha, r);
}

double true_residual(const PaddedTile<double, 1>& x, const float* rhs, const BucketOperator& a, double* out) {
  return a.network ? true_network(x.values, rhs, *a.network, out) : true_uniform(x.values, rhs, a.unit, out);
}

void load_faces(UnknownTile& tile, const Topology& topology, int bucket, const float* plane) {
  const auto& neighbours_of = topology.neighbours(bucket);
  static constexpr float zeros[bucket_size] = {};
  const auto source = [&](int dx, int dy, int dz) -> detail::TileSource<float> {
    const int other = neighbours_of[static_cast<std::size_t>(neighbour_index(dx, dy, dz))];
    if (other < 0) return {zeros, 0};
    return {plane + static_cast<std::size_t>(other) * bucket_cells, -1};
  };
  detail::copy_part<1, -1, 0, 0>(tile, source(-1, 0, 0));
  detail::copy_part<1, 1, 0, 0>(tile, source(1, 0, 0));
  detail::copy_part<1, 0, -1, 0>(tile, source(0, -1, 0));
  detail::copy_part<1, 0, 1, 0>(tile, source(0, 1, 0));
  detail::copy_part<1, 0, 0, -1>(tile, source(0, 0, -1));
  detail::copy_part<1, 0, 0, 1>(tile, source(0, 0, 1));
}

template <class T>
void mirror(PaddedTile<T, 1>& tile, Sides closed) {
  if (!closed) return;
  constexpr std::size_t row = bucket_size * sizeof(T);
  for (int n = 0; n < bucket_size; ++n) {
    if (closed & 1) std::memcpy(tile.row(-1, n), tile.row(0, n), row);
    if (closed & 2) std::memcpy(tile.row(8, n), tile.row(7, n), row);
    if (closed & 4) std::memcpy(tile.row(n, -1), tile.row(n, 0), row);
    if (closed & 8) std::memcpy(tile.row(n, 8), tile.row(n, 7), row);
    if (closed & 16)
      for (int j = 0; j < bucket_size; ++j) tile.row(n, j)[-1] = tile.row(n, j)[0];
    if (closed & 32)
      for (int j = 0; j < bucket_size; ++j) tile.row(n, j)[8] = tile.row(n, j)[7];
  }
}
template void mirror(PaddedTile<float, 1>&, Sides);
template void mirror(PaddedTile<double, 1>&, Sides);

void load_bucket(UnknownTile& tile, const Topology& topology, int bucket, const float* plane, const BucketOperator& a) {
  load_own(tile, plane + static_cast<std::size_t>(bucket) * bucket_cells);
  load_faces(tile, topology, bucket, plane);
  mirror(tile, a.closed);
}

void load_own(UnknownTile& tile, const float* values) {
  for (int i = 0; i < bucket_size; ++i)
    for (int j = 0; j < bucket_size; ++j) store_row(tile.row(i, j), load_row(values + cell_offset(i, j, 0)));
}

void store_own(const UnknownTile& tile, float* values) {
  for (int i = 0; i < bucket_size; ++i)
    for (int j = 0; j < bucket_size; ++j) store_row(values + cell_offset(i, j, 0), load_row(tile.row(i, j)));
}

}  // namespace aegir
