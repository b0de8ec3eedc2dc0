#include "solvers/linear/direct.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"

namespace aegir {
namespace {

/// The lower triangle of a matrix in compressed columns.
struct Triangle {
  int n = 0;
  std::vector<int> first{0}, row;
  std::vector<double> value;

  void add(int r, double v) { row.push_back(r), value.push_back(v); }
  void end_column() { first.push_back(static_cast<int>(row.size())), ++n; }
  Result<DirectSolver> factor(std::int64_t limit = DirectSolver::default_memory_limit) const {
    return DirectSolver::factor(n, first, row, value, limit);
  }
  std::vector<double> times(const std::vector<double>& x) const {
    std::vector<double> y(x.size(), 0.0);
    for (std::size_t c = 0; c < x.size(); ++c)
      for (auto k = static_cast<std::size_t>(first[c]); k < static_cast<std::size_t>(first[c + 1]); ++k) {
        const auto r = static_cast<std::size_t>(row[k]);
        y[r] += value[k] * x[c];
        if (r != c) y[c] += value[k] * x[r];
      }
    return y;
  }
};

/// Rows may have units of their own.
double unit_of(int row, bool units) { return units ? std::pow(10.0, row % 13 - 6) : 1.0; }

/// The 7-point Laplacian on an m³ grid with zero around it.
Triangle poisson(int m, bool units) {
  Triangle a;
  const auto unit = [&](int i) { return unit_of(i, units); };
  const auto index = [&](int i, int j, int k) { return (i * m + j) * m + k; };
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < m; ++j)
      for (int k = 0; k < m; ++k) {
        const int c = index(i, j, k);
        const auto entry = [&](int r, double v) { a.add(r, v * unit(c) * unit(r)); };
        if (i + 1 < m) entry(index(i + 1, j, k), -1);
        entry(c, 6);
        if (k + 1 < m) entry(index(i, j, k + 1), -1);
        if (j + 1 < m) entry(index(i, j + 1, k), -1);
        a.end_column();
      }
  return a;
}

std::vector<double> noise(int n) {
  std::vector<double> x;
  for (int i = 0; i < n; ++i) x.push_back(Random(7, static_cast<std::uint64_t>(i), 0, Purpose::test).uniform(0, -1, 1));
  return x;
}

TEST(DirectSolver, SolvesSmallAndLargeSystemsInAnyUnits) {
  for (const int m : {1, 5, 18})
    for (const bool units : {false, true}) {
      const Triangle a = poisson(m, units);
      Result<DirectSolver> solver = a.factor();
      ASSERT_TRUE(solver) << solver.error().text();
      EXPECT_EQ(solver->size(), a.n);
      EXPECT_GT(solver->memory_bytes(), 8 * a.n);
      std::vector<double> exact = noise(a.n);
      for (int i = 0; i < a.n; ++i) exact[static_cast<std::size_t>(i)] /= unit_of(i, units);
      const std::vector<double> b = a.times(exact);
      std::vector<double> x(exact.size()), again = b;
      solver->solve(b, x);
      solver->solve(again, again);
      EXPECT_EQ(x, again);
      double error = 0;
      for (std::size_t i = 0; i < x.size(); ++i)
        error = std::max(error, std::abs(x[i] - exact[i]) * unit_of(static_cast<int>(i), units));
      EXPECT_LT(error, 1e-12);
    }
}

TEST(DirectSolver, UpperTriangleGivesTheSame) {
  Triangle upper;  // [4 1; 1 3]
  upper.add(0, 4), upper.end_column(), upper.add(1, 3), upper.add(0, 1), upper.end_column();
  Result<DirectSolver> solver = upper.factor();
  ASSERT_TRUE(solver);
  std::vector<double> b{6, 7}, x(2);
  solver->solve(b, x);
  EXPECT_NEAR(x[0], 1, 1e-15);
  EXPECT_NEAR(x[1], 2, 1e-15);
}

TEST(DirectSolver, EmptySystemIsFine) {
  Result<DirectSolver> solver = Triangle{}.factor();
  ASSERT_TRUE(solver);
  solver->solve({}, {});
  EXPECT_EQ(solver->size(), 0);
}

TEST(DirectSolver, SaysWhyThereIsNoFactor) {
  const auto expect = [](const Triangle& a, Failure kind, const char* text, std::int64_t limit) {
    Result<DirectSolver> solver = a.factor(limit);
    ASSERT_FALSE(solver);
    EXPECT_EQ(solver.error().kind, kind);
    EXPECT_NE(solver.error().message.find(text), std::string::npos) << solver.error().message;
  };
  constexpr std::int64_t plenty = DirectSolver::default_memory_limit;
  Triangle indefinite;  // [1 2; 2 1]
  indefinite.add(0, 1), indefinite.add(1, 2), indefinite.end_column(), indefinite.add(1, 1), indefinite.end_column();
  expect(indefinite, Failure::simulation, "not positive definite at column", plenty);
  Triangle hole;
  hole.add(0, 1), hole.end_column(), hole.end_column();
  expect(hole, Failure::simulation, "diagonal of row 1 is 0", plenty);
  Triangle bad = poisson(3, false);
  bad.value[5] = std::numeric_limits<double>::quiet_NaN();
  expect(bad, Failure::simulation, "not finite", plenty);
  for (const int m : {6, 16}) expect(poisson(m, false), Failure::memory, "limit", 1000);
}

TEST(DirectSolver, NoticesSingularMatrices) {
  for (const int m : {50, 4000}) {  // a closed ring: the constant is in the null space
    Triangle ring;
    for (int c = 0; c < m; ++c) {
      ring.add(c, 0.2);
      if (c + 1 < m) ring.add(c + 1, -0.1);
      if (c == 0) ring.add(m - 1, -0.1);
      ring.end_column();
    }
    Result<DirectSolver> solver = ring.factor();
    ASSERT_FALSE(solver);
    EXPECT_NE(solver.error().message.find("not positive definite"), std::string::npos) << solver.error().message;
  }
}

}  // namespace
}  // namespace aegir
