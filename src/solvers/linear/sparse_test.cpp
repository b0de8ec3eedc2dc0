#include "solvers/linear/sparse.h"

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "parallel/threads.h"
#include "solvers/linear/aggregation.h"
#include "solvers/linear/direct.h"
#include "solvers/linear/sparse_test_system.h"

namespace aegir {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();

struct Solved {
  SolveReport report;
  std::vector<double> x;
};

Solved solve(const TestSystem& system, const AggregationSettings& settings = {}, std::vector<double> start = {}) {
  const std::unique_ptr<Comm> comm = make_single_comm();
  Profile profile;
  Exec exec{*comm, profile};
  Result<SparseMatrix> a = SparseMatrix::from_rows(*comm, system.input());
  EXPECT_TRUE(a);
  Solved s{{}, std::move(start)};
  s.x.resize(system.b.size(), 0.0);
  s.report = solve_sparse(exec, *a, system.b, s.x, settings);
  return s;
}

/// |b - A x| / |b| the plain way.
double true_residual(const TestSystem& s, const std::vector<double>& x) {
  double rr = 0, bb = 0;
  for (std::size_t r = 0; r < s.b.size(); ++r) {
    double rest = s.b[r];
    for (auto k = static_cast<std::size_t>(s.first[r]); k < static_cast<std::size_t>(s.first[r + 1]); ++k)
      rest -= s.value[k] * x[static_cast<std::size_t>(s.column[k])];
    rr += rest * rest, bb += s.b[r] * s.b[r];
  }
  return std::sqrt(rr / bb);
}

bool all_finite(const std::vector<double>& x) {
  for (const double v : x)
    if (!std::isfinite(v)) return false;
  return true;
}

TestSystem poisson(int n, double contrast = 10, bool closed = false, int components = 1) {
  const std::unique_ptr<Comm> comm = make_single_comm();
  return test_poisson(*comm, n, contrast, closed, components);
}

TEST(Sparse, MeetsToleranceInTheTrueResidual) {
  const TestSystem system = poisson(20);
  for (const double tolerance : {1e-3, 1e-6, 1e-10, 1e-12}) {
    const Solved s = solve(system, {.tolerance = tolerance});
    EXPECT_TRUE(s.report.converged) << s.report.trouble;
    EXPECT_EQ(s.report.method, SolveMethod::aggregation_cg);
    EXPECT_LE(true_residual(system, s.x), 1.001 * tolerance);
    EXPECT_NEAR(s.report.residual, true_residual(system, s.x), 0.01 * tolerance);
    EXPECT_LT(s.report.iterations, 40);
  }
}

TEST(Sparse, AgreesWithTheDirectSolver) {
  const TestSystem system = poisson(12, 100, false, 3);
  std::vector<int> first{0}, row;
  std::vector<double> value, exact(system.b.size());
  for (std::size_t r = 0; r < system.b.size(); ++r) {
    for (auto k = static_cast<std::size_t>(system.first[r]); k < static_cast<std::size_t>(system.first[r + 1]); ++k)
      if (system.column[k] <= static_cast<std::int64_t>(r))
        row.push_back(static_cast<int>(system.column[k])), value.push_back(system.value[k]);
    first.push_back(static_cast<int>(row.size()));
  }
  Result<DirectSolver> direct = DirectSolver::factor(static_cast<int>(system.b.size()), first, row, value);
  ASSERT_TRUE(direct);
  direct->solve(system.b, exact);
  const Solved s = solve(system, {.tolerance = 1e-11});
  ASSERT_TRUE(s.report.converged) << s.report.trouble;
  double error = 0, size = 0;
  for (std::size_t i = 0; i < exact.size(); ++i)
    error = std::max(error, std::abs(exact[i] - s.x[i])), size = std::max(size, std::abs(exact[i]));
  EXPECT_LT(error, 1e-8 * size);
}

TEST(Sparse, IterationsGrowLittleWithSize) {
  const int small = solve(poisson(16, 1), {.tolerance = 1e-6}).report.iterations,
            large = solve(poisson(48, 1), {.tolerance = 1e-6}).report.iterations;
  EXPECT_LE(large, small + 6);
  EXPECT_LE(large, 20);
}

TEST(Sparse, ThreadsDoNotShow) {
  for (const int components : {1, 3}) {
    const TestSystem system = poisson(components == 1 ? 32 : 20, 30, false, components);
    std::vector<double> reference;
    for (const int threads : {1, 2, 7}) {
      ThreadScope scope(threads);
      Solved s;
      scope.run([&] { s = solve(system, {.tolerance = 1e-8}); });
      ASSERT_TRUE(s.report.converged) << s.report.trouble;
      if (threads == 1) reference = s.x;
      EXPECT_EQ(s.x, reference) << threads << " threads";
    }
  }
}

TEST(Sparse, AnyMagnitudeOfMatrixAndRightHandSide) {
  for (const double matrix : {1e-290, 1e-25, 1.0, 1e25, 1e280})
    for (const double right : {1e-290, 1e-25, 1e25, 1e280}) {
      if (std::abs(std::log10(right / matrix)) > 290) continue;  // x itself is out of range
      TestSystem system = poisson(10);
      for (double& v : system.value) v *= matrix;
      for (double& v : system.b) v *= right;
      const Solved s = solve(system, {.tolerance = 1e-8});
      EXPECT_TRUE(s.report.converged) << s.report.trouble;
      EXPECT_EQ(s.report.method, SolveMethod::aggregation_cg) << s.report.trouble;
      for (double& v : system.b) v /= right;
      for (double& v : system.value) v /= matrix;
      std::vector<double> x = s.x;
      for (double& v : x) v *= matrix / right;
      EXPECT_LE(true_residual(system, x), 1.001e-8);
    }
}

TEST(Sparse, WarmStartSavesIterationsAndBadStartsDoNoHarm) {
  const TestSystem system = poisson(16);
  const Solved cold = solve(system, {.tolerance = 1e-8});
  EXPECT_EQ(solve(system, {.tolerance = 1e-7}, cold.x).report.iterations, 0);
  std::vector<double> near = cold.x;
  for (std::size_t i = 0; i < near.size(); ++i) near[i] *= 1 + 1e-4 * std::sin(static_cast<double>(i));
  EXPECT_LT(solve(system, {.tolerance = 1e-8}, near).report.iterations, cold.report.iterations);
  for (const double bad : {nan, infinity, 1e200})
    EXPECT_EQ(solve(system, {.tolerance = 1e-8}, std::vector<double>(near.size(), bad)).x, cold.x);
}

TEST(Sparse, DominantDiagonalsNeedNoCoarseLevels) {
  TestSystem system = poisson(20, 1);
  for (std::size_t r = 0; r < system.b.size(); ++r)
    for (auto k = static_cast<std::size_t>(system.first[r]); k < static_cast<std::size_t>(system.first[r + 1]); ++k)
      if (system.column[k] == static_cast<std::int64_t>(r)) system.value[k] += 3;
  const std::unique_ptr<Comm> comm = make_single_comm();
  Profile profile;
  Exec exec{*comm, profile};
  Result<SparseMatrix> a = SparseMatrix::from_rows(*comm, system.input());
  ASSERT_TRUE(a);
  EXPECT_EQ(AggregationHierarchy(exec, *a, {}).levels(), 1u);
  const Solved s = solve(system, {.tolerance = 1e-8});
  EXPECT_TRUE(s.report.converged);
  EXPECT_LE(s.report.iterations, 12);
}

TEST(Sparse, ClosedSystemsWithCompatibleRightHandSides) {
  for (const int n : {10, 16}) {
    TestSystem system = poisson(n, 10, true);
    double mean = 0;
    for (const double v : system.b) mean += v / static_cast<double>(system.b.size());
    TestSystem compatible = system;
    for (double& v : compatible.b) v -= mean;
    const Solved good = solve(compatible, {.tolerance = 1e-6});
    EXPECT_TRUE(good.report.converged) << good.report.trouble;
    EXPECT_LE(true_residual(compatible, good.x), 1.001e-6);
    for (double& v : system.b) v += 1;
    const Solved bad = solve(system, {.tolerance = 1e-6});
    EXPECT_FALSE(bad.report.converged);
    EXPECT_FALSE(bad.report.trouble.empty());
    EXPECT_TRUE(all_finite(bad.x));
    EXPECT_LE(bad.report.residual, 1);
    EXPECT_NEAR(bad.report.residual, true_residual(system, bad.x), 1e-6);
  }
}

TEST(Sparse, FallsBackToTheDirectSolver) {
  const TestSystem system = poisson(12, 1e6);
  const Solved s = solve(system, {.tolerance = 1e-9, .max_iterations = 2});
  EXPECT_TRUE(s.report.converged);
  EXPECT_EQ(s.report.method, SolveMethod::direct);
  EXPECT_NE(s.report.trouble.find("2 iterations"), std::string::npos) << s.report.trouble;
  EXPECT_LE(true_residual(system, s.x), 1.001e-9);
  const Solved refused = solve(system, {.tolerance = 1e-9, .max_iterations = 2, .direct_limit = 10});
  EXPECT_FALSE(refused.report.converged);
  EXPECT_LT(refused.report.residual, 1);
  EXPECT_NEAR(refused.report.residual, true_residual(system, refused.x), 1e-6);
}

TEST(Sparse, HostileSystemsEndInASentence) {
  const auto expect = [](const TestSystem& system, const char* text) {
    const Solved s = solve(system);
    EXPECT_FALSE(s.report.converged);
    EXPECT_NE(s.report.trouble.find(text), std::string::npos) << s.report.trouble;
    EXPECT_TRUE(all_finite(s.x));
  };
  for (const double bad : {nan, infinity, -infinity}) {
    TestSystem system = poisson(6);
    system.value[100] = bad;
    expect(system, "not finite");
    system = poisson(6);
    system.b[7] = bad;
    expect(system, "right-hand side");
  }
  for (const double bad : {0.0, -1.0}) {
    TestSystem system = poisson(6);
    for (auto k = static_cast<std::size_t>(system.first[50]); k < static_cast<std::size_t>(system.first[51]); ++k)
      if (system.column[k] == 50) system.value[k] = bad;
    expect(system, "no positive diagonal in row 50");
  }
  TestSystem skew = poisson(6);
  for (std::size_t k = 0; k < skew.value.size(); k += 3)
    if (skew.value[k] < 0) skew.value[k] *= -3;
  expect(skew, "not symmetric");
  TestSystem indefinite;  // [1 2; 2 1]
  indefinite.add(0, 1), indefinite.add(1, 2), indefinite.end_row(1);
  indefinite.add(0, 2), indefinite.add(1, 1), indefinite.end_row(-1);
  indefinite.end_block();
  expect(indefinite, "not positive definite");
}

TEST(Sparse, EmptySystemsEmptyRowsAndZeroRightHandSides) {
  const Solved nothing = solve(TestSystem{});
  EXPECT_TRUE(nothing.report.converged);
  TestSystem system = poisson(8);
  std::fill(system.b.begin(), system.b.end(), 0.0);
  const Solved zero = solve(system, {}, std::vector<double>(system.b.size(), 5.0));
  EXPECT_TRUE(zero.report.converged);
  EXPECT_EQ(zero.x, std::vector<double>(system.b.size(), 0.0));

  TestSystem holes = poisson(8);
  holes.end_row(0), holes.end_row(0), holes.end_block();
  const Solved s = solve(holes, {.tolerance = 1e-8});
  EXPECT_TRUE(s.report.converged) << s.report.trouble;
  EXPECT_EQ(s.x.back(), 0.0);
  holes.b.back() = 1;
  const Solved impossible = solve(holes);
  EXPECT_FALSE(impossible.report.converged);
  EXPECT_NE(impossible.report.trouble.find("empty"), std::string::npos) << impossible.report.trouble;
}

TEST(Sparse, TinyWeightsAndManyPools) {
  TestSystem system;  // 2000 chains of 1 to 7 rows, weights from 1e-12 to 1
  std::int64_t start = 0;
  for (int pool = 0; pool < 2000; ++pool) {
    const int length = 1 + pool % 7;
    const double weight = std::pow(10.0, -(pool % 13));
    for (int i = 0; i < length; ++i) {
      if (i > 0) system.add(start + i - 1, -weight);
      system.add(start + i, weight * ((i > 0) + (i + 1 < length) + (i == 0)));
      if (i + 1 < length) system.add(start + i + 1, -weight);
      system.end_row(weight * std::sin(static_cast<double>(start + i)));
    }
    start += length;
    system.end_block();
  }
  const Solved s = solve(system, {.tolerance = 1e-8});
  EXPECT_TRUE(s.report.converged) << s.report.trouble;
  EXPECT_LE(true_residual(system, s.x), 1.001e-8);
}

/// The Laplacian of a graph, plus `sink` on the diagonal.
TestSystem graph_system(int rows, const std::vector<std::pair<int, int>>& edges, double sink) {
  std::vector<std::vector<std::int64_t>> neighbours(static_cast<std::size_t>(rows));
  for (const auto& [a, b] : edges)
    neighbours[static_cast<std::size_t>(a)].push_back(b), neighbours[static_cast<std::size_t>(b)].push_back(a);
  TestSystem system;
  for (int r = 0; r < rows; ++r) {
    for (const std::int64_t c : neighbours[static_cast<std::size_t>(r)]) system.add(c, -1);
    system.add(r, static_cast<double>(neighbours[static_cast<std::size_t>(r)].size()) + sink);
    system.end_row(std::sin(3.0 * r));
    if (r % 100 == 99) system.end_block();
  }
  if (system.block.back() != rows) system.end_block();
  return system;
}

TEST(Sparse, ChainsStarsAndGraphsWithoutGeometry) {
  constexpr int rows = 20'000;
  std::vector<std::pair<int, int>> chain, star, random;
  for (int r = 1; r < rows; ++r) {
    chain.push_back({r - 1, r});
    star.push_back({0, r});
    for (std::uint32_t k = 0; k < 4; ++k) {
      const int other = static_cast<int>(Random(9, static_cast<std::uint64_t>(r), 0, Purpose::test).bits(k) % rows);
      if (other != r) random.push_back({r, other});
    }
  }
  for (const auto* edges : {&chain, &star, &random}) {
    const TestSystem system = graph_system(rows, *edges, 1e-3);
    const Solved s = solve(system, {.tolerance = 1e-6});
    EXPECT_TRUE(s.report.converged) << s.report.trouble;
    EXPECT_EQ(s.report.method, SolveMethod::aggregation_cg) << s.report.trouble;
    EXPECT_LE(true_residual(system, s.x), 1.001e-6);
    RecordProperty("iterations", s.report.iterations);
  }
}

TEST(SparseMatrix, EntriesInAnyOrderAddUp) {
  const std::unique_ptr<Comm> comm = make_single_comm();
  const std::vector<SparseEntry> entries{{1, 1, 2}, {0, 1, -1}, {0, 0, 1}, {1, 0, -1}, {0, 0, 3}};
  Result<SparseMatrix> a = SparseMatrix::from_entries(*comm, 2, entries);
  ASSERT_TRUE(a);
  ASSERT_EQ(a->values().size(), 4u);
  EXPECT_EQ(a->values()[0], 4);
  EXPECT_EQ(a->values()[1], -1);
  EXPECT_EQ(a->structure().column[0], 0);
  EXPECT_FALSE(SparseMatrix::from_entries(*comm, 2, std::vector<SparseEntry>{{0, 5, 1}}));
  EXPECT_FALSE(SparseMatrix::from_entries(*comm, 2, std::vector<SparseEntry>{{3, 0, 1}}));
}

}  // namespace
}  // namespace aegir
