// What the general sparse solver does with hostile input, and when iteration fails.
#include <cmath>
#include <cstring>

#include "base/random.h"
#include "solvers/linear/sparse_solve.h"

namespace aegir {
namespace {

constexpr std::size_t grain = 4096;
constexpr std::int64_t nowhere = std::int64_t{1} << 62;

/// First row of each fault on this rank, global numbers.
struct Faults {
  std::int64_t entry = nowhere, diagonal = nowhere, empty = nowhere, right = nowhere;
  double largest_b = 0;
};

void look_at_row(const SparseMatrix& a, std::size_t r, double b, Faults& faults) {
  const SparseStructure& s = a.structure();
  const std::int64_t row = s.rows.first() + static_cast<std::int64_t>(r);
  double diagonal = 0, size = 0;
  for (auto k = static_cast<std::size_t>(s.first[r]); k < static_cast<std::size_t>(s.first[r + 1]); ++k) {
    const double v = a.values()[k];
    size += std::abs(v);
    if (static_cast<std::size_t>(s.column[k]) == r) diagonal = v;
  }
  if (!std::isfinite(size)) faults.entry = std::min(faults.entry, row);
  if (!std::isfinite(b)) faults.right = std::min(faults.right, row);
  if (size == 0 && b != 0) faults.empty = std::min(faults.empty, row);
  if (size > 0 && !(diagonal > 0)) faults.diagonal = std::min(faults.diagonal, row);
  faults.largest_b = std::max(faults.largest_b, std::abs(b));
}

/// u·A v for two vectors made of hashes, and its size without cancellation.
std::array<double, 2> form(Comm& comm, const SparseMatrix& a, std::uint64_t u, std::uint64_t v) {
  const SparseStructure& s = a.structure();
  const auto entry = [](std::uint64_t seed, std::int64_t row) {
    return Random(seed, static_cast<std::uint64_t>(row), 0, Purpose::test).uniform(0, -1, 1);
  };
  return block_sums<2>(comm, s, [&](std::size_t begin, std::size_t end, double* sums) {
    for (std::size_t r = begin; r < end; ++r) {
      const double left = entry(u, s.rows.first() + static_cast<std::int64_t>(r));
      for (auto k = static_cast<std::size_t>(s.first[r]); k < static_cast<std::size_t>(s.first[r + 1]); ++k) {
        const double term = left * a.values()[k] * entry(v, s.ghosts.global(s.column[k]));
        sums[0] += term, sums[1] += std::abs(term);
      }
    }
  });
}

/// The triangle of the whole matrix on every rank, by rows up to the diagonal: compressed columns of the upper
/// triangle.
struct WholeTriangle {
  std::vector<int> first{0}, row;
  std::vector<double> value;
};

WholeTriangle gather_triangle(Comm& comm, const SparseMatrix& a) {
  const SparseStructure& s = a.structure();
  struct Entry {
    std::int64_t row, column;
    double value;
  };
  std::vector<Entry> mine;
  for (std::size_t r = 0; r < s.count(); ++r) {
    const std::int64_t row = s.rows.first() + static_cast<std::int64_t>(r);
    double diagonal = 0;
    for (auto k = static_cast<std::size_t>(s.first[r]); k < static_cast<std::size_t>(s.first[r + 1]); ++k) {
      const std::int64_t column = s.ghosts.global(s.column[k]);
      if (column == row) diagonal = a.values()[k];
      if (column < row && a.values()[k] != 0) mine.push_back({row, column, a.values()[k]});
    }
    mine.push_back({row, row, diagonal > 0 ? diagonal : 1.0});  // an empty row reads x = 0
  }
  Bytes bytes(mine.size() * sizeof(Entry));
  if (!mine.empty()) std::memcpy(bytes.data(), mine.data(), bytes.size());
  WholeTriangle whole;
  for (const Bytes& part : comm.all_gather(bytes))
    for (std::size_t at = 0; at < part.size(); at += sizeof(Entry)) {
      Entry e;
      std::memcpy(&e, part.data() + at, sizeof e);
      whole.row.push_back(static_cast<int>(e.column)), whole.value.push_back(e.value);
      if (e.column == e.row) whole.first.push_back(static_cast<int>(whole.row.size()));
    }
  return whole;
}

std::vector<double> gather_vector(Comm& comm, const Array<double>& mine) {
  Bytes bytes(mine.size() * sizeof(double));
  if (mine.size()) std::memcpy(bytes.data(), mine.data(), bytes.size());
  std::vector<double> whole;
  for (const Bytes& part : comm.all_gather(bytes)) {
    const std::size_t at = whole.size();
    whole.resize(at + part.size() / sizeof(double));
    if (!part.empty()) std::memcpy(whole.data() + at, part.data(), part.size());
  }
  return whole;
}

}  // namespace

std::string find_trouble(Comm& comm, const SparseMatrix& a, std::span<const double> b, double& largest_b) {
  const std::size_t rows = a.rows(), pieces = rows / grain + 1;
  std::vector<Faults> found(pieces);
  parallel_for(0, pieces, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t r = begin * grain; r < std::min(rows, end * grain); ++r) look_at_row(a, r, b[r], found[r / grain]);
  });
  Faults all;
  for (const Faults& f : found) {
    all.entry = std::min(all.entry, f.entry), all.diagonal = std::min(all.diagonal, f.diagonal);
    all.empty = std::min(all.empty, f.empty), all.right = std::min(all.right, f.right);
    all.largest_b = std::max(all.largest_b, f.largest_b);
  }
  std::int64_t places[4] = {-all.entry, -all.right, -all.diagonal, -all.empty};
  comm.max(std::span<std::int64_t>(places));
  largest_b = comm.max(all.largest_b);
  const auto at = [&](int k) { return -places[k]; };
  if (at(0) < nowhere) return fmt::format("row {} of the matrix has an entry that is not finite", at(0));
  if (at(1) < nowhere) return fmt::format("row {} of the right-hand side is not finite", at(1));
  if (at(2) < nowhere) return fmt::format("the matrix is not positive definite: no positive diagonal in row {}", at(2));
  if (at(3) < nowhere) return fmt::format("row {} is empty but its right-hand side is not zero", at(3));
  return "";
}

bool looks_unsymmetric(Comm& comm, const SparseMatrix& a) {
  const auto there = form(comm, a, 1, 2), back = form(comm, a, 2, 1);
  return std::abs(there[0] - back[0]) > 1e-10 * (there[1] + back[1]);
}

std::string solve_directly(Exec& exec, const SparseMatrix& a, SparseIteration& iteration, std::span<double> x,
                           double target, const AggregationSettings& settings) {
  if (a.global_rows() > settings.direct_limit)
    return fmt::format("{} unknowns are too many for a direct solve", a.global_rows());
  const WholeTriangle whole = gather_triangle(exec.comm, a);
  Result<DirectSolver> solver = DirectSolver::factor(static_cast<int>(a.global_rows()), whole.first, whole.row,
                                                     whole.value, settings.direct_memory);
  if (Status ok = exec.comm.agree(solver ? Status{} : Status{solver.error()}); !ok)
    return "no direct solve: " + ok.error().message;
  std::vector<double> correction(static_cast<std::size_t>(a.global_rows()));
  const auto first = static_cast<std::size_t>(a.structure().rows.first());
  std::fill(x.begin(), x.end(), 0.0);
  iteration.evaluate(x);
  for (int round = 0; round < 4 && iteration.residual() > target; ++round) {
    solver->solve(gather_vector(exec.comm, iteration.r()), correction);
    for (std::size_t r = 0; r < x.size(); ++r) x[r] += correction[first + r];
    iteration.evaluate(x);
  }
  return iteration.residual() <= target ? "" : "a direct solve does not reach the tolerance";
}

}  // namespace aegir
