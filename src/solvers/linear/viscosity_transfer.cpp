#include "solvers/linear/viscosity_transfer.h"

#include <cstring>

#include "base/simd.h"

namespace aegir {
namespace {

constexpr int side = coarse_faces_side;

/// Six coarse rows of `width` values to eight fine ones; the coarse face i + 1 lies on or a quarter off the fine 2 i.
template <bool Own>
inline __attribute__((always_inline)) void interpolate(const float* __restrict in, int in_stride, float* __restrict out,
                                                       int out_stride, int width) {
  for (int i = 0; i < 4; ++i) {
    const float *below = in + i * in_stride, *here = below + in_stride, *above = here + in_stride;
    float *even = out + 2 * i * out_stride, *odd = even + out_stride;
    for (int k = 0; k < width; ++k) {
      even[k] = Own ? here[k] : 0.75f * here[k] + 0.25f * below[k];
      odd[k] = Own ? 0.5f * (here[k] + above[k]) : 0.75f * here[k] + 0.25f * above[k];
    }
  }
}

/// One axis: along z by columns, then y and x by rows. 3 flops per value, 1200 values.
template <int Axis>
inline __attribute__((always_inline)) void prolong_axis(const float* __restrict coarse, float* __restrict out) {
  alignas(32) float z[side * side * 8], y[side * 8 * 8];
  for (int n = 0; n < side * side; ++n)
    for (int k = 0; k < 4; ++k) {
      const float *c = coarse + n * side + k, below = c[0], here = c[1], above = c[2];
      z[n * 8 + 2 * k] = Axis == 2 ? here : 0.75f * here + 0.25f * below;
      z[n * 8 + 2 * k + 1] = Axis == 2 ? 0.5f * (here + above) : 0.75f * here + 0.25f * above;
    }
  for (int i = 0; i < side; ++i) interpolate<Axis == 1>(z + i * side * 8, 8, y + i * 64, 8, 8);
  interpolate<Axis == 0>(y, 64, out, 64, 64);
}

/// Fine rows −1 … 8 to four coarse ones.
template <bool Own>
inline __attribute__((always_inline)) void collect(const float* __restrict in, int in_stride, float* __restrict out,
                                                   int out_stride, int width) {
  for (int i = 0; i < 4; ++i) {
    const float* f = in + 2 * i * in_stride;  // the fine row 2 i − 1
    float* to = out + i * out_stride;
    for (int k = 0; k < width; ++k) {
      const float a = f[k], b = f[k + in_stride], c = f[k + 2 * in_stride], d = f[k + 3 * in_stride];
      to[k] = Own ? 0.5f * b + 0.25f * (a + c) : 0.375f * (b + c) + 0.125f * (a + d);
    }
  }
}

template <int Axis>
inline __attribute__((always_inline)) void restrict_axis(const PaddedTile<float, 1>& fine, float* __restrict out) {
  constexpr int row = 16;
  alignas(32) float x[4 * 10 * row], y[4 * 4 * row];
  collect<Axis == 0>(fine.values, PaddedTile<float, 1>::side * PaddedTile<float, 1>::pitch, x, 10 * row, 10 * row);
  for (int i = 0; i < 4; ++i) collect<Axis == 1>(x + i * 10 * row, row, y + i * 4 * row, row, row);
  for (int n = 0; n < 16; ++n) {
    const float* f = y + n * row + PaddedTile<float, 1>::lead;
    for (int k = 0; k < 4; ++k) {
      const float a = f[2 * k - 1], b = f[2 * k], c = f[2 * k + 1], d = f[2 * k + 2];
      out[n * 4 + k] = Axis == 2 ? 0.5f * b + 0.25f * (a + c) : 0.375f * (b + c) + 0.125f * (a + d);
    }
  }
}

AEGIR_HOT void prolong_all(const float* __restrict coarse, float* __restrict out) {
  prolong_axis<0>(coarse, out);
  prolong_axis<1>(coarse + 216, out + bucket_cells);
  prolong_axis<2>(coarse + 432, out + 2 * bucket_cells);
}

AEGIR_HOT void restrict_all(const VelocityTile<float>& fine, float* __restrict out) {
  restrict_axis<0>(fine.axis[0], out);
  restrict_axis<1>(fine.axis[1], out + 64);
  restrict_axis<2>(fine.axis[2], out + 128);
}

}  // namespace

void prolong_faces(const float* coarse, float* out) { prolong_all(coarse, out); }
void restrict_faces(const VelocityTile<float>& fine, float* out) { restrict_all(fine, out); }

void load_all_faces(VelocityTile<float>& tile, const Topology& topology, int bucket, const float* values) {
  static constexpr float zeros[bucket_size] = {};
  const auto& neighbours = topology.neighbours(bucket);
  for (int a = 0; a < 3; ++a) [&]<std::size_t... N>(std::index_sequence<N...>) {
      const auto source = [&](std::size_t n) -> detail::TileSource<float> {
        const int other = neighbours[n];
        if (other < 0) return {zeros, 0};
        return {values + (static_cast<std::size_t>(other) * 3 + static_cast<std::size_t>(a)) * bucket_cells, -1};
      };
      (detail::copy_part<1, static_cast<int>(N) / 9 - 1, static_cast<int>(N) / 3 % 3 - 1, static_cast<int>(N) % 3 - 1>(
           tile.axis[a], source(N)),
       ...);
    }
  (std::make_index_sequence<27>{});
}

void coarse_faces_around(const Topology& coarse, int bucket, int octant, const float* values, float* out) {
  const auto& neighbours = coarse.neighbours(bucket);
  const int x = (octant >> 2) * 4 - 1, y = ((octant >> 1) & 1) * 4 - 1, z = (octant & 1) * 4;
  // Along z five of the six lie in the bucket, and one in the neighbour: below for the lower octants, above for others.
  const int beyond = z ? 1 : -1;
  for (int a = 0; a < 3; ++a)
    for (int i = 0; i < side; ++i)
      for (int j = 0; j < side; ++j) {
        const int ci = x + i, cj = y + j, cell = cell_offset(ci & 7, cj & 7, 0) + a * bucket_cells;
        const auto from = [&](int dz) -> const float* {
          const int n = neighbours[static_cast<std::size_t>(neighbour_index(ci >> 3, cj >> 3, dz))];
          return n < 0 ? nullptr : values + static_cast<std::size_t>(n) * face_values + cell;
        };
        float* row = out + ((a * side + i) * side + j) * side;
        const float *own = from(0), *other = from(beyond);
        const int first = z ? 3 : 0;  // of the five
        float* five = z ? row : row + 1;
        if (own)
          std::memcpy(five, own + first, 5 * sizeof(float));
        else
          std::memset(five, 0, 5 * sizeof(float));
        (z ? row[5] : row[0]) = other ? other[z ? 0 : 7] : 0.0f;
      }
}

}  // namespace aegir
