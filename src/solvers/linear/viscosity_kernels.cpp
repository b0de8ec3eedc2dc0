#include "solvers/linear/viscosity_kernels.h"

#include "base/simd.h"

namespace aegir {
namespace {

/// Eight values of one row along z, single or double.
template <class T>
using Line = typename detail::RowOf<T>::type;

template <class T>
inline __attribute__((always_inline)) Line<T> load(const T* p) {
  Line<T> v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class T>
inline __attribute__((always_inline)) void store(T* p, const Line<T>& v) {
  std::memcpy(p, &v, sizeof v);
}
/// Eight coefficients in the precision of the velocities.
template <class T>
inline __attribute__((always_inline)) Line<T> coefficient(const float* p) {
  return __builtin_convertvector(load(p), Line<T>);
}
inline __attribute__((always_inline)) Line<double> widen(const Line<float>& v) {
  return __builtin_convertvector(v, Line<double>);
}

/// Lanes in order: the same sum on every machine.
inline __attribute__((always_inline)) double total(const Line<double>& v) {
  return ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));
}

constexpr int tile_x = PaddedTile<float, 1>::side * PaddedTile<float, 1>::pitch, tile_y = PaddedTile<float, 1>::pitch;
constexpr int tile_origin = tile_x + tile_y + PaddedTile<float, 1>::lead;

/// The viscous part of A u, handed row by row to row(axis, offset of the row, eight values), in a bucket with its own
/// coefficients: first all stresses, then what they add up to at each face.
template <class T, class Row>
inline __attribute__((always_inline)) void stresses_mixed(const T* __restrict u, const T* __restrict v,
                                                          const T* __restrict w, const ViscosityBucket& c,
                                                          const Row& row) {
  // Rows along z are nine long where the corner above is needed, in two overlapping pieces.
  constexpr int tall = 12;
  alignas(64) T xx[9 * 8 * 8], yy[8 * 9 * 8], xy[9 * 9 * 8], zz[8 * 8 * tall], xz[9 * 8 * tall], yz[8 * 9 * tall];
  for (int i = 0; i < 9; ++i)
    for (int j = 0; j < 9; ++j) {
      const int t = i * tile_x + j * tile_y, at = ViscosityBucket::at(i, j, 0);
      if (j < 8) store(xx + (i * 8 + j) * 8, coefficient<T>(c.normal[0] + at) * (load(u + t) - load(u + t - tile_x)));
      if (i < 8) store(yy + (i * 9 + j) * 8, coefficient<T>(c.normal[1] + at) * (load(v + t) - load(v + t - tile_y)));
      if (i < 8 || j < 8)
        store(xy + (i * 9 + j) * 8, coefficient<T>(c.first[2] + at) * (load(u + t) - load(u + t - tile_y)) +
                                        coefficient<T>(c.second[2] + at) * (load(v + t) - load(v + t - tile_x)));
      for (int k = 0; k < 2; ++k) {
        const int s = t + k, b = at + k;
        if (i < 8 && j < 8)
          store(zz + (i * 8 + j) * tall + k, coefficient<T>(c.normal[2] + b) * (load(w + s) - load(w + s - 1)));
        if (j < 8)
          store(xz + (i * 8 + j) * tall + k,
                coefficient<T>(c.first[1] + b) * (load(u + s) - load(u + s - 1)) +
                    coefficient<T>(c.second[1] + b) * (load(w + s) - load(w + s - tile_x)));
        if (i < 8)
          store(yz + (i * 9 + j) * tall + k,
                coefficient<T>(c.first[0] + b) * (load(v + s) - load(v + s - 1)) +
                    coefficient<T>(c.second[0] + b) * (load(w + s) - load(w + s - tile_y)));
      }
    }
  constexpr int up_x = 81, up_y = 9;  // from a corner to the next one
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j) {
      const int cell = cell_offset(i, j, 0), at = ViscosityBucket::at(i, j, 0);
      const T *pxx = xx + (i * 8 + j) * 8, *pyy = yy + (i * 9 + j) * 8, *pxy = xy + (i * 9 + j) * 8;
      const T *pzz = zz + (i * 8 + j) * tall, *pxz = xz + (i * 8 + j) * tall, *pyz = yz + (i * 9 + j) * tall;
      const Line<T> xy0 = load(pxy), xz0 = load(pxz), yz0 = load(pyz);
      row(0, cell,
          (load(pxx) - load(pxx + 64)) +
              ((coefficient<T>(c.first[2] + at) * xy0 - coefficient<T>(c.first[2] + at + up_y) * load(pxy + 8)) +
               (coefficient<T>(c.first[1] + at) * xz0 - coefficient<T>(c.first[1] + at + 1) * load(pxz + 1))));
      row(1, cell,
          (load(pyy) - load(pyy + 8)) +
              ((coefficient<T>(c.second[2] + at) * xy0 - coefficient<T>(c.second[2] + at + up_x) * load(pxy + 72)) +
               (coefficient<T>(c.first[0] + at) * yz0 - coefficient<T>(c.first[0] + at + 1) * load(pyz + 1))));
      row(2, cell,
          (load(pzz) - load(pzz + 1)) +
              ((coefficient<T>(c.second[1] + at) * xz0 -
                coefficient<T>(c.second[1] + at + up_x) * load(pxz + 8 * tall)) +
               (coefficient<T>(c.second[0] + at) * yz0 - coefficient<T>(c.second[0] + at + up_y) * load(pyz + tall))));
    }
}

/// The same in a uniform bucket. A and B are steps along the other axes; p and q the velocities along them.
template <class T>
inline __attribute__((always_inline)) Line<T> stress_uniform(const T* u, int along, const T* p, int a, const T* q,
                                                             int b) {
  const Line<T> c = load(u);
  const Line<T> own = ((c - load(u - along)) + (c - load(u + along)));
  const Line<T> side = ((c - load(u - a)) + (c - load(u + a))) + ((c - load(u - b)) + (c - load(u + b)));
  const Line<T> turn = ((load(p) - load(p - along)) - (load(p + a) - load(p + a - along))) +
                       ((load(q) - load(q - along)) - (load(q + b) - load(q + b - along)));
  return (own + own) + (side + turn);
}

template <class T, class Row>
inline __attribute__((always_inline)) void stresses_uniform(const T* __restrict u, const T* __restrict v,
                                                            const T* __restrict w, T k, const Row& row) {
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j) {
      const int t = i * tile_x + j * tile_y, cell = cell_offset(i, j, 0);
      row(0, cell, stress_uniform(u + t, tile_x, v + t, tile_y, w + t, 1) * k);
      row(1, cell, stress_uniform(v + t, tile_y, u + t, tile_x, w + t, 1) * k);
      row(2, cell, stress_uniform(w + t, 1, u + t, tile_x, v + t, tile_y) * k);
    }
}

#define AEGIR_ROW(T) [&](int axis, int cell, const Line<T>& stress) __attribute__((always_inline))

AEGIR_HOT double product_mixed(const float* __restrict u, const float* __restrict v, const float* __restrict w,
                               const ViscosityBucket& c, float* __restrict out) {
  Line<double> sum{};
  const float* const tile[3] = {u, v, w};
  stresses_mixed<float>(
      u, v, w, c, AEGIR_ROW(float) {
        const int at = axis * bucket_cells + cell;
        const Line<float> p = load(tile[axis] + (cell >> 6) * tile_x + ((cell >> 3) & 7) * tile_y);
        const Line<float> q = stress + load(c.mass + at) * p;
        store(out + at, load(c.inverse + at) > Line<float>{} ? q : Line<float>{});
        sum += widen(p) * widen(q);
      });
  return total(sum);
}

AEGIR_HOT double product_uniform(const float* __restrict u, const float* __restrict v, const float* __restrict w,
                                 float k, float* __restrict out) {
  Line<double> sum{};
  const float* const tile[3] = {u, v, w};
  stresses_uniform<float>(
      u, v, w, k, AEGIR_ROW(float) {
        const Line<float> p = load(tile[axis] + (cell >> 6) * tile_x + ((cell >> 3) & 7) * tile_y);
        const Line<float> q = stress + p;
        store(out + axis * bucket_cells + cell, q);
        sum += widen(p) * widen(q);
      });
  return total(sum);
}

AEGIR_HOT double residual_mixed(const double* __restrict u, const double* __restrict v, const double* __restrict w,
                                const float* const (&start)[3], const ViscosityBucket& c, float* __restrict out) {
  Line<double> sum{};
  const double* const tile[3] = {u, v, w};
  stresses_mixed<double>(
      u, v, w, c, AEGIR_ROW(double) {
        const int at = axis * bucket_cells + cell;
        const Line<double> x = load(tile[axis] + (cell >> 6) * tile_x + ((cell >> 3) & 7) * tile_y);
        const Line<double> r = widen(load(c.mass + at)) * (widen(load(start[axis] + cell)) - x) - stress;
        for (int n = 0; n < 8; ++n) {  // comparisons of vectors of doubles would be taken apart worse
          const double known = c.inverse[at + n] > 0 ? r[n] : 0.0;
          out[at + n] = static_cast<float>(known);
          sum[n] += known * known;
        }
      });
  return total(sum);
}

AEGIR_HOT double residual_uniform(const double* __restrict u, const double* __restrict v, const double* __restrict w,
                                  const float* const (&start)[3], double k, float* __restrict out) {
  Line<double> sum{};
  const double* const tile[3] = {u, v, w};
  stresses_uniform<double>(
      u, v, w, k, AEGIR_ROW(double) {
        const int at = axis * bucket_cells + cell;
        const Line<double> x = load(tile[axis] + (cell >> 6) * tile_x + ((cell >> 3) & 7) * tile_y);
        const Line<double> r = (widen(load(start[axis] + cell)) - x) - stress;
        store(out + at, __builtin_convertvector(r, Line<float>));
        sum += r * r;
      });
  return total(sum);
}

AEGIR_HOT double relax_mixed(const float* __restrict u, const float* __restrict v, const float* __restrict w,
                             const ViscosityBucket& c, const float* __restrict r, float omega, float* __restrict out) {
  Line<double> sum{};
  const float* const tile[3] = {u, v, w};
  stresses_mixed<float>(
      u, v, w, c, AEGIR_ROW(float) {
        const int at = axis * bucket_cells + cell;
        const Line<float> z = load(tile[axis] + (cell >> 6) * tile_x + ((cell >> 3) & 7) * tile_y), b = load(r + at);
        const Line<float> next = z + (omega * load(c.inverse + at)) * (b - (stress + load(c.mass + at) * z));
        store(out + at, next);
        sum += widen(b) * widen(next);
      });
  return total(sum);
}

AEGIR_HOT double relax_uniform(const float* __restrict u, const float* __restrict v, const float* __restrict w, float k,
                               const float* __restrict r, float omega, float* __restrict out) {
  Line<double> sum{};
  const float* const tile[3] = {u, v, w};
  stresses_uniform<float>(
      u, v, w, k, AEGIR_ROW(float) {
        const int at = axis * bucket_cells + cell;
        const Line<float> z = load(tile[axis] + (cell >> 6) * tile_x + ((cell >> 3) & 7) * tile_y), b = load(r + at);
        const Line<float> next = z + omega * (b - (stress + z));
        store(out + at, next);
        sum += widen(b) * widen(next);
      });
  return total(sum);
}

AEGIR_HOT void defect_mixed(const float* __restrict u, const float* __restrict v, const float* __restrict w,
                            const ViscosityBucket& c, const float* __restrict r, const float* __restrict weight,
                            float* __restrict out) {
  const float* const tile[3] = {u, v, w};
  stresses_mixed<float>(
      u, v, w, c, AEGIR_ROW(float) {
        const int at = axis * bucket_cells + cell;
        const Line<float> z = load(tile[axis] + (cell >> 6) * tile_x + ((cell >> 3) & 7) * tile_y);
        store(out + at, load(weight + at) * (load(r + at) - (stress + load(c.mass + at) * z)));
      });
}

AEGIR_HOT void defect_uniform(const float* __restrict u, const float* __restrict v, const float* __restrict w, float k,
                              const float* __restrict r, float* __restrict out) {
  const float* const tile[3] = {u, v, w};
  stresses_uniform<float>(
      u, v, w, k, AEGIR_ROW(float) {
        const int at = axis * bucket_cells + cell;
        const Line<float> z = load(tile[axis] + (cell >> 6) * tile_x + ((cell >> 3) & 7) * tile_y);
        store(out + at, load(r + at) - (stress + z));
      });
}

AEGIR_HOT ResidualSums advance(float* __restrict r, float* __restrict d, float* __restrict z, const float* __restrict p,
                               const float* __restrict q, float alpha, float omega, const float* __restrict inverse,
                               float single) {
  Line<double> weighted{}, plain{};
  for (int c = 0; c < face_values; c += 8) {
    const Line<float> next = load(r + c) - load(q + c) * alpha;
    const Line<float> scaled = next * (inverse ? load(inverse + c) * omega : Line<float>{} + single * omega);
    store(r + c, next);
    store(d + c, load(d + c) + load(p + c) * alpha);
    store(z + c, scaled);
    plain += widen(next) * widen(next);
    weighted += widen(next) * widen(scaled);
  }
  return {total(weighted), total(plain)};
}

AEGIR_HOT void direction(float* __restrict p, const float* __restrict z, float beta) {
  for (int c = 0; c < face_values; ++c) p[c] = z[c] + p[c] * beta;
}

/// Copies a run of cells from a neighbour's 512 values, or zeros.
template <int X, int Y, int Z, class T>
inline void part(PaddedTile<T, 1>& tile, const Topology& topology, int bucket, const T* values, int axis) {
  static constexpr T zeros[bucket_size] = {};
  const int other = topology.neighbours(bucket)[static_cast<std::size_t>(neighbour_index(X, Y, Z))];
  const T* from = other < 0
                      ? zeros
                      : values + (static_cast<std::size_t>(other) * 3 + static_cast<std::size_t>(axis)) * bucket_cells;
  detail::copy_part<1, X, Y, Z>(tile, detail::TileSource<T>{from, other < 0 ? 0 : -1});
}

}  // namespace

template <class T>
void load_velocity(VelocityTile<T>& tile, const Topology& topology, int bucket, const T* values) {
  for (int a = 0; a < 3; ++a) {
    PaddedTile<T, 1>& t = tile.axis[a];
    part<0, 0, 0>(t, topology, bucket, values, a);
    part<-1, 0, 0>(t, topology, bucket, values, a), part<1, 0, 0>(t, topology, bucket, values, a);
    part<0, -1, 0>(t, topology, bucket, values, a), part<0, 1, 0>(t, topology, bucket, values, a);
    part<0, 0, -1>(t, topology, bucket, values, a), part<0, 0, 1>(t, topology, bucket, values, a);
  }
  // Edges of the upper side along the own axis have a lower neighbour across.
  part<1, -1, 0>(tile.axis[0], topology, bucket, values, 0), part<1, 0, -1>(tile.axis[0], topology, bucket, values, 0);
  part<-1, 1, 0>(tile.axis[1], topology, bucket, values, 1), part<0, 1, -1>(tile.axis[1], topology, bucket, values, 1);
  part<-1, 0, 1>(tile.axis[2], topology, bucket, values, 2), part<0, -1, 1>(tile.axis[2], topology, bucket, values, 2);
}
template void load_velocity(VelocityTile<float>&, const Topology&, int, const float*);
template void load_velocity(VelocityTile<double>&, const Topology&, int, const double*);

double viscosity_product(const VelocityTile<float>& p, const ViscosityOperator& a, float* out) {
  const float *u = p.axis[0].values + tile_origin, *v = p.axis[1].values + tile_origin,
              *w = p.axis[2].values + tile_origin;
  return a.bucket ? product_mixed(u, v, w, *a.bucket, out) : product_uniform(u, v, w, a.stiffness, out);
}

double viscosity_residual(const VelocityTile<double>& x, const float* const (&start)[3], const ViscosityOperator& a,
                          float* out) {
  const double *u = x.axis[0].values + tile_origin, *v = x.axis[1].values + tile_origin,
               *w = x.axis[2].values + tile_origin;
  return a.bucket ? residual_mixed(u, v, w, start, *a.bucket, out) : residual_uniform(u, v, w, start, a.stiffness, out);
}

double viscosity_relax(const VelocityTile<float>& z, const ViscosityOperator& a, const float* r, float omega,
                       float* out) {
  const float *u = z.axis[0].values + tile_origin, *v = z.axis[1].values + tile_origin,
              *w = z.axis[2].values + tile_origin;
  return a.bucket ? relax_mixed(u, v, w, *a.bucket, r, omega, out)
                  : relax_uniform(u, v, w, a.stiffness, r, omega * a.inverse(), out);
}

void viscosity_defect(const VelocityTile<float>& z, const ViscosityOperator& a, const float* r, const float* weight,
                      float* out) {
  const float *u = z.axis[0].values + tile_origin, *v = z.axis[1].values + tile_origin,
              *w = z.axis[2].values + tile_origin;
  if (a.bucket)
    defect_mixed(u, v, w, *a.bucket, r, weight, out);
  else
    defect_uniform(u, v, w, a.stiffness, r, out);
}

ResidualSums viscosity_advance(float* r, float* d, float* z, const float* p, const float* q, float alpha, float omega,
                               const ViscosityOperator& a) {
  return advance(r, d, z, p, q, alpha, omega, a.bucket ? a.bucket->inverse : nullptr, a.inverse());
}

void viscosity_scale(float* z, const float* r, float omega, const ViscosityOperator& a) {
  const float* inverse = a.bucket ? a.bucket->inverse : nullptr;
  const float single = a.inverse();
  for (int c = 0; c < face_values; ++c) z[c] = r[c] * ((inverse ? inverse[c] : single) * omega);
}

void viscosity_direction(float* p, const float* z, float beta) { direction(p, z, beta); }

}  // namespace aegir
