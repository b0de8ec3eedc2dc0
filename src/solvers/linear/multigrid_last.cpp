// The coarsest level: gathered on every rank and factorised, so that every rank does the same work to the same bits.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "domain/transport/halo.h"
#include "solvers/linear/multigrid.h"

namespace aegir {
namespace {

/// One unknown of the last level: its lower neighbours among all unknowns (-1: none), the links to them and its sink.
struct LastRow {
  std::int32_t below[3];
  float link[3];
  float sink;
};

/// The triangle of the matrix by columns. Components without any sink get one at their first unknown; solve_last() sees
/// to it that their right-hand side sums to zero, and a constant does not matter.
struct Triangle {
  std::vector<int> first, row;
  std::vector<double> value;
  std::vector<std::int32_t> closed;  // by unknown: the first one of its component where that has no sink, else -1

  explicit Triangle(const std::vector<LastRow>& rows) {
    const auto n = rows.size();
    std::vector<double> diagonal(n, 0.0);
    std::vector<int> root(n);
    std::iota(root.begin(), root.end(), 0);
    const auto find = [&](int i) {
      while (root[static_cast<std::size_t>(i)] != i)
        i = root[static_cast<std::size_t>(i)] = root[static_cast<std::size_t>(root[static_cast<std::size_t>(i)])];
      return i;
    };
    for (std::size_t i = 0; i < n; ++i) {
      diagonal[i] += static_cast<double>(rows[i].sink);
      for (int a = 0; a < 3; ++a) {
        const int j = rows[i].below[a];
        if (j < 0 || !(rows[i].link[a] > 0)) continue;
        diagonal[i] += static_cast<double>(rows[i].link[a]);
        diagonal[static_cast<std::size_t>(j)] += static_cast<double>(rows[i].link[a]);
        const int p = find(static_cast<int>(i)), q = find(j);
        root[static_cast<std::size_t>(std::max(p, q))] = std::min(p, q);
      }
    }
    std::vector<char> open(n, 0);
    for (std::size_t i = 0; i < n; ++i)
      if (rows[i].sink > 0) open[static_cast<std::size_t>(find(static_cast<int>(i)))] = 1;
    closed.assign(n, -1);
    for (std::size_t i = 0; i < n; ++i) {
      const int first_one = find(static_cast<int>(i));
      if (!open[static_cast<std::size_t>(first_one)]) closed[i] = first_one;
      if (closed[i] == static_cast<int>(i)) diagonal[i] *= 2;
    }
    std::vector<std::vector<std::pair<int, double>>> columns(n);  // of the upper triangle
    for (std::size_t i = 0; i < n; ++i) {
      columns[i].emplace_back(static_cast<int>(i), diagonal[i] > 0 ? diagonal[i] : 1.0);
      for (int a = 0; a < 3; ++a)
        if (const int j = rows[i].below[a]; j >= 0 && rows[i].link[a] > 0)
          columns[static_cast<std::size_t>(std::max(static_cast<int>(i), j))].emplace_back(
              std::min(static_cast<int>(i), j), -static_cast<double>(rows[i].link[a]));
    }
    first.push_back(0);
    for (const auto& column : columns) {
      for (const auto& [r, v] : column) row.push_back(r), value.push_back(v);
      first.push_back(static_cast<int>(row.size()));
    }
  }
};

/// Takes the mean out of every closed component.
void remove_means(const std::vector<std::int32_t>& closed, std::vector<double>& values) {
  if (std::ranges::all_of(closed, [](std::int32_t c) { return c < 0; })) return;
  std::vector<double> sum(values.size(), 0.0), count(values.size(), 0.0);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (closed[i] >= 0)
      sum[static_cast<std::size_t>(closed[i])] += values[i], ++count[static_cast<std::size_t>(closed[i])];
  for (std::size_t i = 0; i < values.size(); ++i)
    if (closed[i] >= 0)
      values[i] -= sum[static_cast<std::size_t>(closed[i])] / count[static_cast<std::size_t>(closed[i])];
}

}  // namespace

/// True when the last level is to be relaxed, and is small enough for that to cost less than a factor.
bool Multigrid::relaxes_last(Exec& exec) const {
  constexpr std::int64_t few_buckets = 4;
  return settings_.relax_last && exec.comm.sum(std::int64_t{levels_.back()->topology().local_count()}) <= few_buckets;
}

void Multigrid::factor_last(Exec& exec) {
  const Level& level = *levels_.back();
  const Topology& t = level.topology();
  std::vector<std::int32_t> index(static_cast<std::size_t>(t.total_count()) * bucket_cells, -1);
  last_cells_.clear();
  for (int b = 0; b < t.local_count(); ++b)
    if (level.kind(b) != BucketKind::empty)
      for (int c = 0; c < bucket_cells; ++c)
        if (level.bucket_operator(b).network->relax[c] > 0) last_cells_.push_back(std::int64_t{b} * bucket_cells + c);
  // Ranks follow the curve, so numbers do not depend on how many there are.
  const std::vector<std::int64_t> counts =
      gather_all(exec.comm, std::vector{static_cast<std::int64_t>(last_cells_.size())});
  for (int r = 0; r < exec.comm.size(); ++r) {
    if (r < exec.comm.rank()) last_first_ += counts[static_cast<std::size_t>(r)];
    last_total_ += counts[static_cast<std::size_t>(r)];
  }
  for (std::size_t i = 0; i < last_cells_.size(); ++i)
    index[static_cast<std::size_t>(last_cells_[i])] =
        static_cast<std::int32_t>(last_first_ + static_cast<std::int64_t>(i));
  if (exec.comm.size() > 1)
    exchange_halo(exec.comm, t, reinterpret_cast<std::byte*>(index.data()), bucket_cells * sizeof(std::int32_t));

  std::vector<LastRow> rows;
  for (const std::int64_t cell : last_cells_) {
    const int b = static_cast<int>(cell / bucket_cells), c = static_cast<int>(cell % bucket_cells),
              at[3] = {c >> 6, (c >> 3) & 7, c & 7};
    const NetworkBucket& n = *level.bucket_operator(b).network;
    LastRow row{};
    row.sink = n.sink[c];
    row.link[0] = n.x_row(at[0], at[1])[at[2]];
    row.link[1] = n.y_row(at[0], at[1])[at[2]];
    row.link[2] = n.z_row(at[0], at[1])[at[2]];
    for (int a = 0; a < 3; ++a) {
      constexpr int step[3] = {64, 8, 1};
      const int other =
          at[a] > 0 ? b : t.neighbours(b)[static_cast<std::size_t>(neighbour_index(-(a == 0), -(a == 1), -(a == 2)))];
      const int there = at[a] > 0 ? c - step[a] : c + 7 * step[a];
      row.below[a] =
          other < 0 ? -1 : index[static_cast<std::size_t>(other) * bucket_cells + static_cast<std::size_t>(there)];
    }
    rows.push_back(row);
  }
  const Triangle triangle(gather_all(exec.comm, rows));
  Result<DirectSolver> factor =
      DirectSolver::factor(static_cast<int>(last_total_), triangle.first, triangle.row, triangle.value);
  if (exec.comm.any(!factor)) return;  // then all ranks relax
  direct_ = std::make_unique<DirectSolver>(std::move(*factor));
  last_closed_ = triangle.closed;
}

void Multigrid::solve_last(Exec& exec, RightHandSide rhs_of, FunctionRef<void(int, const float*)> finished) {
  Level& level = *levels_.back();
  const Topology& t = level.topology();
  alignas(64) float scratch[bucket_cells];
  Stopwatch watch;
  if (!direct_) {  // many unknowns that are hardly linked: relaxation is what they need
    for (int b = 0; b < t.total_count(); ++b) std::fill_n(level.unknown.at(b), bucket_cells, 0.0f);
    for (int pass = 0; pass < 32; ++pass) {
      const bool back = pass >= 16;  // the way back mirrors the way there, so that the whole is symmetric
      for (const std::int32_t b : level.buckets(back ? 1 - pass % 2 : pass % 2)) {
        UnknownTile tile;
        load_own(tile, level.unknown.at(b));
        load_faces(tile, t, b, level.unknown.data());
        relax(tile, rhs_of(b, scratch), level.bucket_operator(b), settings_.sweeps, back);
        store_own(tile, level.unknown.at(b));
      }
      level.unknown.exchange(exec, t);
    }
  } else {
    std::vector<double> mine(last_cells_.size());
    const float* rhs = nullptr;
    int bucket = -1;
    for (std::size_t i = 0; i < last_cells_.size(); ++i) {
      if (const int b = static_cast<int>(last_cells_[i] / bucket_cells); b != bucket) rhs = rhs_of(bucket = b, scratch);
      mine[i] = static_cast<double>(rhs[last_cells_[i] % bucket_cells]);
    }
    std::vector<double> all = gather_all(exec.comm, mine);
    remove_means(last_closed_, all);
    direct_->solve(all, all);
    remove_means(last_closed_, all);
    for (std::size_t i = 0; i < last_cells_.size(); ++i)
      level.unknown.data()[last_cells_[i]] = static_cast<float>(all[static_cast<std::size_t>(last_first_) + i]);
  }
  exec.profile.kernel("multigrid.last", watch.seconds(), 0);
  for (int colour = 0; colour < 2; ++colour)
    for (const std::int32_t b : level.buckets(colour)) finished(b, level.unknown.at(b));
}

}  // namespace aegir
