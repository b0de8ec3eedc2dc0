#include "solvers/linear/aggregation.h"

#include <algorithm>
#include <memory>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "solvers/linear/sparse_test_system.h"

namespace aegir {
namespace {

/// A system and its finest level.
struct Fixture {
  std::unique_ptr<Comm> comm = make_single_comm();
  Profile profile;
  Exec exec{*comm, profile};
  TestSystem system;
  SparseMatrix matrix;
  AggregationLevel level;

  explicit Fixture(int n, bool closed = false, int components = 1)
      : system(test_poisson(*comm, n, 20, closed, components)),
        matrix(std::move(*SparseMatrix::from_rows(*comm, system.input()))) {
    level.structure = matrix.shared_structure();
    level.value.resize(matrix.values().size());
    for (std::size_t k = 0; k < level.value.size(); ++k) level.value[k] = static_cast<float>(matrix.values()[k]);
    measure_rows(*comm, level);
  }
};

std::set<std::int32_t> neighbours(const FloatRows& edges, std::int32_t row) {
  const auto r = static_cast<std::size_t>(row);
  return {edges.column.begin() + edges.first[r], edges.column.begin() + edges.first[r + 1]};
}

TEST(Aggregation, StrongGraphIsSymmetric) {
  const Fixture f(9);
  const StrongGraph graph = strong_graph(*f.comm, f.level, 0.25);
  for (std::int32_t r = 0; r < static_cast<std::int32_t>(f.level.rows()); ++r)
    for (const std::int32_t c : neighbours(graph.edges, r)) EXPECT_TRUE(neighbours(graph.edges, c).contains(r));
}

TEST(Aggregation, RootsAreADistanceTwoMaximalIndependentSet) {
  const Fixture f(10);
  const StrongGraph graph = strong_graph(*f.comm, f.level, 0.25);
  const Aggregates aggregates = form_aggregates(*f.comm, f.level, graph);
  ASSERT_FALSE(aggregates.root.empty());
  std::vector<int> reached(f.level.rows(), 0);
  for (const std::int32_t root : aggregates.root) {
    std::set<std::int32_t> ball{root};
    for (const std::int32_t c : neighbours(graph.edges, root)) ball.merge(neighbours(graph.edges, c)), ball.insert(c);
    for (const std::int32_t c : ball) {
      ++reached[static_cast<std::size_t>(c)];
      EXPECT_FALSE(c != root && std::binary_search(aggregates.root.begin(), aggregates.root.end(), c));
    }
  }
  for (std::size_t r = 0; r < reached.size(); ++r) {
    const bool coarsened = graph.diagonal[r] > 0;  // a dominant diagonal needs no coarse correction
    EXPECT_EQ(reached[r] > 0, coarsened);
    EXPECT_EQ(aggregates.aggregate[r] >= 0, coarsened);
  }
  for (std::size_t k = 0; k < aggregates.root.size(); ++k)
    EXPECT_EQ(aggregates.aggregate[static_cast<std::size_t>(aggregates.root[k])], static_cast<std::int64_t>(k));
}

TEST(Aggregation, CoarseMatrixKeepsSymmetryAndTheConstant) {
  Fixture f(12, true);  // closed: the constant is in the null space of every level
  const StrongGraph graph = strong_graph(*f.comm, f.level, 0.25);
  const Aggregates aggregates = form_aggregates(*f.comm, f.level, graph);
  const std::optional<AggregationLevel> next = coarsen_level(*f.comm, f.level, graph, aggregates);
  ASSERT_TRUE(next);
  const AggregationLevel& coarse = *next;
  const SparseStructure& s = *coarse.structure;
  std::vector<std::vector<double>> dense(coarse.rows(), std::vector<double>(coarse.rows(), 0.0));
  for (std::size_t r = 0; r < coarse.rows(); ++r)
    for (auto k = static_cast<std::size_t>(s.first[r]); k < static_cast<std::size_t>(s.first[r + 1]); ++k)
      dense[r][static_cast<std::size_t>(s.column[k])] = coarse.value[k];
  for (std::size_t r = 0; r < coarse.rows(); ++r) {
    double sum = 0;
    for (std::size_t c = 0; c < coarse.rows(); ++c) {
      sum += dense[r][c];
      EXPECT_NEAR(dense[r][c], dense[c][r], 1e-6 * dense[r][r]);
    }
    EXPECT_NEAR(sum, 0, 1e-5 * dense[r][r]);
  }
}

TEST(Aggregation, CycleIsSymmetricAndPositive) {
  for (const int components : {1, 3}) {
    Fixture f(14, false, components);
    AggregationHierarchy hierarchy(f.exec, f.matrix, {.coarsest_rows = 100});
    EXPECT_GT(hierarchy.levels(), 1u);
    EXPECT_LT(hierarchy.operator_complexity(), 2);
    EXPECT_GT(hierarchy.cycle_bytes(), 0);
    const std::size_t n = f.matrix.rows();
    const auto noise = [&](std::uint64_t seed) {
      std::vector<float> v(n);
      for (std::size_t i = 0; i < n; ++i)
        v[i] = static_cast<float>(Random(seed, i, 0, Purpose::test).uniform(0, -1, 1));
      return v;
    };
    const auto cycle = [&](const std::vector<float>& v) {
      const float* z = hierarchy.apply(v.data());
      return std::vector<float>(z, z + n);
    };
    const auto dot = [&](const std::vector<float>& a, const std::vector<float>& b) {
      double sum = 0;
      for (std::size_t i = 0; i < n; ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
      return sum;
    };
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      const std::vector<float> u = noise(2 * seed), v = noise(2 * seed + 1), mu = cycle(u), mv = cycle(v);
      EXPECT_GT(dot(u, mu), 0);
      EXPECT_NEAR(dot(u, mv), dot(v, mu), 1e-5 * std::sqrt(dot(u, mu) * dot(v, mv)));
    }
  }
}

}  // namespace
}  // namespace aegir
