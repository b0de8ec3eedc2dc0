// The general sparse solver over ranks: every rank makes the whole system and keeps its own blocks of rows.
#include <cmath>
#include <cstring>
#include <limits>

#include "base/random.h"
#include "solvers/linear/sparse_test_system.h"
#include "tests/mpi/ranks.h"

namespace aegir::ranks {
namespace {

/// Who holds which blocks: rank 0 all, the last rank all, all about as many, or the first ranks next to none.
enum class Deal { first, last, balanced, skewed };

constexpr Deal all_deals[] = {Deal::first, Deal::last, Deal::balanced, Deal::skewed};

/// The first block of a rank.
std::size_t first_block(Deal deal, std::size_t blocks, std::size_t rank, std::size_t ranks) {
  switch (deal) {
    case Deal::first:
      return rank == 0 ? 0 : blocks;
    case Deal::last:
      return rank == ranks ? blocks : 0;
    case Deal::balanced:
      return blocks * rank / ranks;
    case Deal::skewed:
      return blocks * rank * rank * rank / (ranks * ranks * ranks);
  }
  return 0;
}

/// The rows of this rank.
TestSystem share(const Comm& comm, const TestSystem& whole, Deal deal) {
  const auto rank = static_cast<std::size_t>(comm.rank()), ranks = static_cast<std::size_t>(comm.size());
  TestSystem mine;
  for (std::size_t block = first_block(deal, whole.block.size() - 1, rank, ranks);
       block < first_block(deal, whole.block.size() - 1, rank + 1, ranks); ++block) {
    for (auto r = static_cast<std::size_t>(whole.block[block]); r < static_cast<std::size_t>(whole.block[block + 1]);
         ++r) {
      for (auto k = static_cast<std::size_t>(whole.first[r]); k < static_cast<std::size_t>(whole.first[r + 1]); ++k)
        mine.add(whole.column[k], whole.value[k]);
      if (!whole.component.empty()) mine.component.push_back(whole.component[r]);
      mine.end_row(whole.b[r]);
    }
    mine.end_block();
  }
  return mine;
}

/// True on the rank with the last row.
bool holds_last(const Comm& comm, const TestSystem& whole, Deal deal) {
  const auto rank = static_cast<std::size_t>(comm.rank()), ranks = static_cast<std::size_t>(comm.size());
  const std::size_t blocks = whole.block.size() - 1;
  return first_block(deal, blocks, rank, ranks) < blocks && first_block(deal, blocks, rank + 1, ranks) == blocks;
}

TestSystem whole_poisson(int n, double contrast = 10, bool closed = false, int components = 1) {
  return test_poisson(*make_single_comm(), n, contrast, closed, components);
}

/// One hash of the solution in the order of rows.
std::uint64_t solution_hash(Comm& comm, const std::vector<double>& x) {
  Bytes mine(x.size() * sizeof(double));
  if (!x.empty()) std::memcpy(mine.data(), x.data(), mine.size());
  std::uint64_t hash = 1;
  for (const Bytes& part : comm.all_gather(mine))
    for (std::size_t at = 0; at < part.size(); at += sizeof(std::uint64_t)) {
      std::uint64_t bits;
      std::memcpy(&bits, part.data() + at, sizeof bits);
      hash = mix(hash * 3 + bits);
    }
  return hash;
}

SolveReport solve(Exec& exec, const char* what, const TestSystem& mine, std::vector<double>& x,
                  const AggregationSettings& settings) {
  const Result<SparseMatrix> a = SparseMatrix::from_rows(exec.comm, mine.input());
  require(static_cast<bool>(a), "the matrix is built");
  x.resize(mine.b.size(), 0.0);
  SolveReport report = solve_sparse(exec, *a, mine.b, x, settings);
  for (const double value : x) require(std::isfinite(value), "the solution is finite");
  print_report(exec, what, solution_hash(exec.comm, x), report);
  return report;
}

/// From zero, and on from there.
void check_system(Exec& exec, const char* what, const TestSystem& whole, AggregationSettings settings = {}) {
  for (const Deal deal : all_deals) {
    const TestSystem mine = share(exec.comm, whole, deal);
    std::vector<double> x;
    for (const double tolerance : {1e-3, 1e-8}) {
      settings.tolerance = tolerance;
      const SolveReport report = solve(exec, what, mine, x, settings);
      require(report.converged && report.method == SolveMethod::aggregation_cg, "the iteration converges");
    }
  }
}

/// Short chains that know nothing of each other, with weights from 1e-12 to 1; blocks cut through them.
TestSystem many_pools(int pools) {
  TestSystem system;
  std::int64_t start = 0;
  for (int pool = 0; pool < pools; ++pool) {
    const int length = 1 + pool % 7;
    const double weight = std::pow(10.0, -(pool % 13));
    for (int i = 0; i < length; ++i) {
      if (i > 0) system.add(start + i - 1, -weight);
      system.add(start + i, weight * ((i > 0) + (i + 1 < length) + (i == 0)));
      if (i + 1 < length) system.add(start + i + 1, -weight);
      system.end_row(weight * Random(5, static_cast<std::uint64_t>(start + i), 0, Purpose::test).uniform(0, -1, 1));
      if ((start + i) % 64 == 63) system.end_block();
    }
    start += length;
  }
  system.end_block();
  return system;
}

/// A graph without geometry: every rank couples with all others.
TestSystem random_graph(int rows) {
  std::vector<std::vector<std::int64_t>> neighbours(static_cast<std::size_t>(rows));
  for (int r = 0; r < rows; ++r)
    for (std::uint32_t k = 0; k < 3; ++k) {
      const auto other = static_cast<std::size_t>(Random(6, static_cast<std::uint64_t>(r), 0, Purpose::test).bits(k)) %
                         neighbours.size();
      if (other == static_cast<std::size_t>(r)) continue;
      neighbours[static_cast<std::size_t>(r)].push_back(static_cast<std::int64_t>(other));
      neighbours[other].push_back(r);
    }
  TestSystem system;
  for (int r = 0; r < rows; ++r) {
    const auto& others = neighbours[static_cast<std::size_t>(r)];
    for (const std::int64_t c : others) system.add(c, -1);
    system.add(r, static_cast<double>(others.size()) + 1e-3);
    system.end_row(Random(7, static_cast<std::uint64_t>(r), 0, Purpose::test).uniform(0, -1, 1));
    if (r % 50 == 49 || r + 1 == rows) system.end_block();
  }
  return system;
}

/// Two iterations are too few: the direct solver steps in on every rank, or is refused on every rank.
void check_sparse_fallback(Exec& exec) {
  const TestSystem whole = whole_poisson(12, 1e6);
  for (const Deal deal : all_deals) {
    const TestSystem mine = share(exec.comm, whole, deal);
    std::vector<double> x, other;
    const SolveReport direct = solve(exec, "fallback", mine, x, {.tolerance = 1e-9, .max_iterations = 2});
    require(direct.converged && direct.method == SolveMethod::direct, "the direct solver steps in");
    const SolveReport refused =
        solve(exec, "refused", mine, other, {.tolerance = 1e-9, .max_iterations = 2, .direct_limit = 10});
    require(!refused.converged && !refused.trouble.empty(), "a refused direct solve is reported");
  }
}

/// A fault in the rows of one rank is everybody's trouble, in the same words.
void check_hostile(Exec& exec) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  const TestSystem good = whole_poisson(10);
  constexpr std::size_t row = 777;
  TestSystem right = good, entry = good, diagonal = good, skew = good, impossible = whole_poisson(10, 10, true);
  right.b[row] = nan;
  entry.value[static_cast<std::size_t>(good.first[row])] = infinity;
  for (auto k = static_cast<std::size_t>(good.first[row]); k < static_cast<std::size_t>(good.first[row + 1]); ++k)
    if (good.column[k] == static_cast<std::int64_t>(row)) diagonal.value[k] = 0;
  for (std::size_t k = 0; k < skew.value.size(); k += 3)
    if (skew.value[k] < 0) skew.value[k] *= -3;
  for (double& value : impossible.b) value += 1;
  for (const Deal deal : all_deals) {
    const auto expect_trouble = [&](const char* what, const TestSystem& whole) {
      std::vector<double> x;
      const SolveReport report = solve(exec, what, share(exec.comm, whole, deal), x, {});
      require(!report.converged && !report.trouble.empty(), "a hostile system is reported on every rank");
    };
    expect_trouble("right-hand side", right);
    expect_trouble("entry", entry);
    expect_trouble("diagonal", diagonal);
    expect_trouble("not symmetric", skew);
    expect_trouble("closed, not compatible", impossible);

    const TestSystem mine = share(exec.comm, good, deal);
    std::vector<double> x(mine.b.size(), 1.0);
    if (holds_last(exec.comm, good, deal)) x.back() = nan;
    require(solve(exec, "start", mine, x, {.tolerance = 1e-8}).converged, "any start will do");
  }
}

/// A column of one rank that does not exist, and nothing at all.
void check_input(Exec& exec) {
  TestSystem whole = whole_poisson(8);
  whole.column[static_cast<std::size_t>(whole.first[300])] = 100'000;
  for (const Deal deal : all_deals) {
    const TestSystem mine = share(exec.comm, whole, deal);
    const Result<SparseMatrix> a = SparseMatrix::from_rows(exec.comm, mine.input());
    require(!a, "a column that does not exist is refused on every rank");
    print_same(exec, "column: " + a.error().message);
  }
  std::vector<double> x;
  require(solve(exec, "nothing", TestSystem{}, x, {}).converged, "an empty system is solved");
}

}  // namespace

void check_sparse(Exec& exec) {
  constexpr AggregationSettings distributed{.coarsest_rows = 40, .gather_rows = 60};  // coarse levels over ranks, too
  check_system(exec, "equal weights", whole_poisson(20, 1));
  check_system(exec, "equal weights, distributed", whole_poisson(20, 1), distributed);
  check_system(exec, "contrast", whole_poisson(16, 1e4), distributed);
  check_system(exec, "three components", whole_poisson(12, 30, false, 3), distributed);
  check_system(exec, "many pools", many_pools(1000), distributed);
  check_system(exec, "graph", random_graph(2000), distributed);
  check_sparse_fallback(exec);
  check_hostile(exec);
  check_input(exec);
}

}  // namespace aegir::ranks
