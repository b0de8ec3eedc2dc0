// Systems for tests of the general sparse solver, dealt to any number of ranks: the same global matrix for all.
//
//   const TestSystem system = test_poisson(comm, 32);
//   Result<SparseMatrix> a = SparseMatrix::from_rows(comm, system.input());
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "parallel/comm.h"
#include "solvers/linear/sparse.h"

namespace aegir {

/// One rank's rows of a system, in blocks that no rank shares.
struct TestSystem {
  std::vector<std::int64_t> first{0}, column;
  std::vector<double> value, b;
  std::vector<std::int64_t> block{0};
  std::vector<std::uint8_t> component;

  SparseInput input() const { return {first, column, value, block, component}; }
  void add(std::int64_t c, double v) { column.push_back(c), value.push_back(v); }
  void end_row(double right) { first.push_back(static_cast<std::int64_t>(column.size())), b.push_back(right); }
  void end_block() { block.push_back(static_cast<std::int64_t>(b.size())); }
};

/// Poisson's equation in n³ cells with random conductances (contrast `contrast`), open on one side unless `closed`;
/// `components` copies of it are coupled cell by cell, weakly. A slice of cells is a block.
inline TestSystem test_poisson(Comm& comm, int n, double contrast = 10, bool closed = false, int components = 1) {
  TestSystem s;
  const auto cell = [&](int i, int j, int k) { return (static_cast<std::int64_t>(i) * n + j) * n + k; };
  const auto weight = [&](std::int64_t a, int axis) {
    return std::pow(contrast, Random(3, static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(axis), Purpose::test)
                                  .uniform(0, -0.5, 0.5));
  };
  const int from = n * comm.rank() / comm.size(), to = n * (comm.rank() + 1) / comm.size();
  for (int i = from; i < to; ++i) {
    for (int j = 0; j < n; ++j)
      for (int k = 0; k < n; ++k)
        for (int m = 0; m < components; ++m) {
          double diagonal = i == 0 && !closed ? 2.0 : 0.0;
          const auto neighbour = [&](bool inside, std::int64_t other, std::int64_t lower, int axis) {
            if (!inside) return;
            s.add(other * components + m, -weight(lower, axis));
            diagonal += weight(lower, axis);
          };
          const std::int64_t here = cell(i, j, k);
          neighbour(i > 0, cell(i - 1, j, k), cell(i - 1, j, k), 0);
          neighbour(j > 0, cell(i, j - 1, k), cell(i, j - 1, k), 1);
          neighbour(k > 0, cell(i, j, k - 1), cell(i, j, k - 1), 2);
          neighbour(k + 1 < n, cell(i, j, k + 1), here, 2);
          neighbour(j + 1 < n, cell(i, j + 1, k), here, 1);
          neighbour(i + 1 < n, cell(i + 1, j, k), here, 0);
          for (int other = 0; other < components; ++other)
            if (other != m) s.add(here * components + other, other + m == 1 ? 0.1 : -0.1);
          s.add(here * components + m, diagonal + 0.1 * (components - 1));
          const std::int64_t row = here * components + m;
          if (components > 1) s.component.push_back(static_cast<std::uint8_t>(m));
          s.end_row(Random(4, static_cast<std::uint64_t>(row), 0, Purpose::test).uniform(0, -1, 1));
        }
    s.end_block();
  }
  return s;
}

}  // namespace aegir
