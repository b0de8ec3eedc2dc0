// Between a bucket and the coarse cells around it: along x, y and z in turn, eight cells at a time.
#include "solvers/linear/bucket_kernels.h"

namespace aegir {
namespace {

using Line = Row<float>;

inline Line load(const float* p) { return load_row(p); }

void restrict_uniform(const float* __restrict fine, float* __restrict coarse) {
  alignas(64) float rows[5 * 8 * 8], columns[5 * 5 * 8];
  for (int j = 0; j < 8; ++j)
    for (int i = 0; i < 5; ++i) {
      Line v =
          i < 4 ? load(fine + cell_offset(2 * i, j, 0)) + load(fine + cell_offset(2 * i + 1, j, 0)) * 0.5f : Line{};
      if (i > 0) v += load(fine + cell_offset(2 * i - 1, j, 0)) * 0.5f;
      store_row(rows + (i * 8 + j) * 8, v);
    }
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 5; ++j) {
      Line v = j < 4 ? load(rows + (i * 8 + 2 * j) * 8) + load(rows + (i * 8 + 2 * j + 1) * 8) * 0.5f : Line{};
      if (j > 0) v += load(rows + (i * 8 + 2 * j - 1) * 8) * 0.5f;
      store_row(columns + (i * 5 + j) * 8, v);
    }
  for (int r = 0; r < 25; ++r) {
    const float* v = columns + r * 8;
    float* out = coarse + r * 5;
    out[0] = v[0] + 0.5f * v[1];
    for (int k = 1; k < 4; ++k) out[k] = v[2 * k] + 0.5f * (v[2 * k - 1] + v[2 * k + 1]);
    out[4] = 0.5f * v[7];
  }
}

void restrict_weighted(const float* __restrict fine, const TransferWeights& w, float* __restrict coarse) {
  alignas(64) float rows[5 * 8 * 8], columns[5 * 5 * 8];
  for (int j = 0; j < 8; ++j)
    for (int i = 0; i < 5; ++i) {
      Line v{};
      if (i < 4)
        v = load(fine + cell_offset(2 * i, j, 0)) +
            load(fine + cell_offset(2 * i + 1, j, 0)) * load(w.own_x + (i * 8 + j) * 8);
      if (i > 0) v += load(fine + cell_offset(2 * i - 1, j, 0)) * load(w.next_x + ((i - 1) * 8 + j) * 8);
      store_row(rows + (i * 8 + j) * 8, v);
    }
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 5; ++j) {
      Line v{};
      const float* row = rows + i * 64;
      if (j < 4) v = load(row + 16 * j) + load(row + 16 * j + 8) * load(w.own_y + (i * 4 + j) * 8);
      if (j > 0) v += load(row + 16 * j - 8) * load(w.next_y + (i * 4 + j - 1) * 8);
      store_row(columns + (i * 5 + j) * 8, v);
    }
  for (int r = 0; r < 25; ++r) {
    const float *v = columns + r * 8, *own = w.own_z + r * 4, *next = w.next_z + r * 4;
    float* out = coarse + r * 5;
    out[0] = v[0] + own[0] * v[1];
    for (int k = 1; k < 4; ++k) out[k] = v[2 * k] + own[k] * v[2 * k + 1] + next[k - 1] * v[2 * k - 1];
    out[4] = next[3] * v[7];
  }
}

void prolong_uniform(const float* __restrict coarse, float* __restrict fine) {
  alignas(64) float columns[5 * 5 * 8], rows[5 * 8 * 8];
  for (int r = 0; r < 25; ++r) {
    const float* v = coarse + r * 5;
    float* out = columns + r * 8;
    for (int k = 0; k < 4; ++k) out[2 * k] = v[k], out[2 * k + 1] = 0.5f * (v[k] + v[k + 1]);
  }
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 4; ++j) {
      const Line own = load(columns + (i * 5 + j) * 8), next = load(columns + (i * 5 + j + 1) * 8);
      store_row(rows + i * 64 + 16 * j, own);
      store_row(rows + i * 64 + 16 * j + 8, (own + next) * 0.5f);
    }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 8; ++j) {
      const Line own = load(rows + (i * 8 + j) * 8), next = load(rows + (i * 8 + 8 + j) * 8);
      store_row(fine + cell_offset(2 * i, j, 0), own);
      store_row(fine + cell_offset(2 * i + 1, j, 0), (own + next) * 0.5f);
    }
}

void prolong_weighted(const float* __restrict coarse, const TransferWeights& w, float* __restrict fine) {
  alignas(64) float columns[5 * 5 * 8], rows[5 * 8 * 8];
  for (int r = 0; r < 25; ++r) {
    const float *v = coarse + r * 5, *own = w.own_z + r * 4, *next = w.next_z + r * 4;
    float* out = columns + r * 8;
    for (int k = 0; k < 4; ++k) out[2 * k] = v[k], out[2 * k + 1] = own[k] * v[k] + next[k] * v[k + 1];
  }
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 4; ++j) {
      const Line own = load(columns + (i * 5 + j) * 8), next = load(columns + (i * 5 + j + 1) * 8);
      store_row(rows + i * 64 + 16 * j, own);
      store_row(rows + i * 64 + 16 * j + 8,
                own * load(w.own_y + (i * 4 + j) * 8) + next * load(w.next_y + (i * 4 + j) * 8));
    }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 8; ++j) {
      const Line own = load(rows + (i * 8 + j) * 8), next = load(rows + (i * 8 + 8 + j) * 8);
      store_row(fine + cell_offset(2 * i, j, 0), own);
      store_row(fine + cell_offset(2 * i + 1, j, 0),
                own * load(w.own_x + (i * 8 + j) * 8) + next * load(w.next_x + (i * 8 + j) * 8));
    }
}

}  // namespace

void restrict_bucket(const float* fine, const TransferWeights* weights, float* coarse) {
  weights ? restrict_weighted(fine, *weights, coarse) : restrict_uniform(fine, coarse);
}

void prolong_bucket(const float* coarse, const TransferWeights* weights, float* fine) {
  weights ? prolong_weighted(coarse, *weights, fine) : prolong_uniform(coarse, fine);
}

}  // namespace aegir
