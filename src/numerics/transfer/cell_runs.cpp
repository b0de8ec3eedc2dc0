#include "numerics/transfer/cell_runs.h"

#include <cmath>

#include "base/simd.h"

namespace aegir {
namespace {

/// Offsets of the cells that positions lie in; false when one lies in no cell of the bucket.
AEGIR_HOT bool cell_codes(const float* __restrict x, const float* __restrict y, const float* __restrict z, int n,
                          int* __restrict code) {
  int beyond = 0;
  for (int p = 0; p < n; ++p) {
    const int i = static_cast<int>(std::floor(x[p])), j = static_cast<int>(std::floor(y[p])),
              k = static_cast<int>(std::floor(z[p]));
    beyond |= (i | j | k) & ~7;
    code[p] = (i & 7) << 6 | (j & 7) << 3 | (k & 7);
  }
  return beyond == 0;
}

}  // namespace

bool CellRuns::find(const float* x, const float* y, const float* z, int n, int bucket, const Barrier* barrier) {
  int code[block_size + 1];
  const bool inside = cell_codes(x, y, z, n, code);
  code[n] = -1;
  count = near_count = 0;
  int begin = 0;
  for (int p = 0; p < n; ++p) {  // without branches: where a cell ends is not predictable
    run[count] = {static_cast<std::uint16_t>(code[p]), static_cast<std::uint16_t>(begin),
                  static_cast<std::uint16_t>(p + 1)};
    const bool last = code[p + 1] != code[p];
    count += last;
    begin = last ? p + 1 : begin;
  }
  if (!barrier) return inside;
  const int all = count;
  count = 0;
  for (int r = 0; r < all; ++r) {
    if (barrier->near(bucket, run[r].cell))
      near[near_count++] = run[r];
    else
      run[count++] = run[r];
  }
  return inside;
}

}  // namespace aegir
