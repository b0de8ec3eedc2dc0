#include "solvers/linear/pools.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <numeric>
#include <unordered_map>

#include "domain/transport/halo.h"
#include "parallel/exact_sum.h"
#include "parallel/threads.h"

namespace aegir {
namespace {

constexpr std::uint16_t no_label = 0xffff;
constexpr int steps[3] = {64, 8, 1};

/// Sets with union by the smaller number, so that roots do not depend on the order of joins.
class Sets {
 public:
  explicit Sets(std::size_t n) : root_(n) { std::iota(root_.begin(), root_.end(), std::int64_t{0}); }
  std::int64_t find(std::int64_t i) {
    while (at(i) != i) i = at(i) = at(at(i));
    return i;
  }
  void join(std::int64_t a, std::int64_t b) {
    a = find(a), b = find(b);
    at(std::max(a, b)) = std::min(a, b);
  }

 private:
  std::int64_t& at(std::int64_t i) { return root_[static_cast<std::size_t>(i)]; }
  std::vector<std::int64_t> root_;
};

const float* links_of(const NetworkBucket& n, int axis, int i, int j) {
  return axis == 0 ? n.x_row(i, j) : axis == 1 ? n.y_row(i, j) : n.z_row(i, j);
}

/// True when all 512 cells are unknowns and all links between them open.
bool all_joined(const NetworkBucket& n) {
  bool joined = true;
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j)
      for (int k = 0; k < 8; ++k)
        joined &= n.relax[cell_offset(i, j, k)] > 0 && (i == 0 || n.x_row(i, j)[k] > 0) &&
                  (j == 0 || n.y_row(i, j)[k] > 0) && (k == 0 || n.z_row(i, j)[k] > 0);
  return joined;
}

/// Labels the components inside one bucket, in order of their first cells; returns how many.
int label_bucket(const NetworkBucket& n, std::vector<std::uint16_t>& labels) {
  if (all_joined(n)) return labels.clear(), 1;
  std::array<std::uint16_t, bucket_cells> root;
  for (int c = 0; c < bucket_cells; ++c) root[static_cast<std::size_t>(c)] = static_cast<std::uint16_t>(c);
  const auto find = [&](int i) {
    while (root[static_cast<std::size_t>(i)] != i)
      i = root[static_cast<std::size_t>(i)] = root[root[static_cast<std::size_t>(i)]];
    return i;
  };
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j)
      for (int k = 0; k < 8; ++k) {
        const int c = cell_offset(i, j, k), at[3] = {i, j, k};
        for (int a = 0; a < 3; ++a)
          if (at[a] > 0 && links_of(n, a, i, j)[k] > 0) {
            const int p = find(c), q = find(c - steps[a]);
            root[static_cast<std::size_t>(std::max(p, q))] = static_cast<std::uint16_t>(std::min(p, q));
          }
      }
  labels.assign(bucket_cells, no_label);
  int count = 0;
  for (int c = 0; c < bucket_cells; ++c) {
    if (!(n.relax[c] > 0)) continue;
    const auto r = static_cast<std::size_t>(find(c));
    if (labels[r] == no_label) labels[r] = static_cast<std::uint16_t>(count++);
    labels[static_cast<std::size_t>(c)] = labels[r];
  }
  return count;
}

struct Edge {
  std::int64_t a, b;
  bool operator==(const Edge&) const = default;
  auto operator<=>(const Edge&) const = default;
};

template <class T>
std::vector<T> gather_all(Comm& comm, const std::vector<T>& mine) {
  Bytes bytes(mine.size() * sizeof(T));
  if (!mine.empty()) std::memcpy(bytes.data(), mine.data(), bytes.size());
  std::vector<T> all;
  for (const Bytes& part : comm.all_gather(bytes)) {
    const std::size_t at = all.size();
    all.resize(at + part.size() / sizeof(T));
    if (!part.empty()) std::memcpy(all.data() + at, part.data(), part.size());
  }
  return all;
}

}  // namespace

Pools::Pools(Exec& exec, const Level& level) {
  const Topology& t = level.topology();
  const auto local = static_cast<std::size_t>(t.local_count());
  labels_.resize(local);
  std::vector<int> counts(local, 0);
  parallel_for(0, local, 4, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b) {
      if (level.kind(static_cast<int>(b)) == BucketKind::empty) continue;
      const NetworkBucket* n = level.bucket_operator(static_cast<int>(b)).network;
      counts[b] = n ? label_bucket(*n, labels_[b]) : 1;
    }
  });
  first_.assign(local + 1, 0);
  for (std::size_t b = 0; b < local; ++b) first_[b + 1] = first_[b] + counts[b];
  // Numbers over all ranks follow the curve.
  const std::vector<std::int64_t> sizes = gather_all(exec.comm, std::vector<std::int64_t>{first_.back()});
  std::int64_t offset = 0, total = 0;
  for (int r = 0; r < exec.comm.size(); ++r) {
    if (r < exec.comm.rank()) offset += sizes[static_cast<std::size_t>(r)];
    total += sizes[static_cast<std::size_t>(r)];
  }
  const auto component = [&](int b, int c) -> std::int64_t {
    const Labels& labels = labels_[static_cast<std::size_t>(b)];
    if (labels.empty()) return level.kind(b) == BucketKind::empty ? -1 : offset + first_[static_cast<std::size_t>(b)];
    const std::uint16_t l = labels[static_cast<std::size_t>(c)];
    return l == no_label ? -1 : offset + first_[static_cast<std::size_t>(b)] + l;
  };
  // What neighbours on other ranks call their components.
  std::vector<std::int64_t> field;
  if (exec.comm.size() > 1) {
    field.assign(static_cast<std::size_t>(t.total_count()) * bucket_cells, -1);
    for (int b = 0; b < t.local_count(); ++b)
      for (int c = 0; c < bucket_cells; ++c)
        field[static_cast<std::size_t>(b) * bucket_cells + static_cast<std::size_t>(c)] = component(b, c);
    exchange_halo(exec.comm, t, reinterpret_cast<std::byte*>(field.data()), bucket_cells * sizeof(std::int64_t));
  }
  // Links between buckets, each once, by the bucket above.
  std::vector<std::vector<Edge>> edges(local);
  parallel_for(0, local, 4, [&](std::size_t begin, std::size_t end) {
    for (std::size_t bb = begin; bb < end; ++bb) {
      const int b = static_cast<int>(bb);
      if (level.kind(b) == BucketKind::empty) continue;
      const NetworkBucket* n = level.bucket_operator(b).network;
      for (int a = 0; a < 3; ++a) {
        const int other = t.neighbours(b)[static_cast<std::size_t>(neighbour_index(-(a == 0), -(a == 1), -(a == 2)))];
        if (other < 0 || (level.bucket_operator(b).closed >> (2 * a) & 1)) continue;
        const bool here = other < t.local_count();
        if (!n && here && level.kind(other) != BucketKind::empty && labels_[static_cast<std::size_t>(other)].empty()) {
          edges[bb].push_back({component(b, 0), component(other, 0)});
          continue;
        }
        for (int p = 0; p < 64; ++p) {
          const int u = p >> 3, v = p & 7;
          const int i = a == 0 ? 0 : u, j = a == 1 ? 0 : a == 0 ? u : v, k = a == 2 ? 0 : v;
          if (n && !(links_of(*n, a, i, j)[k] > 0)) continue;
          const int c = cell_offset(i, j, k), there = c + 7 * steps[a];
          const Edge e{component(b, c),
                       here ? component(other, there)
                            : field[static_cast<std::size_t>(other) * bucket_cells + static_cast<std::size_t>(there)]};
          if (e.a >= 0 && e.b >= 0 && (edges[bb].empty() || edges[bb].back() != e)) edges[bb].push_back(e);
        }
      }
    }
  });
  Sets sets(static_cast<std::size_t>(total));
  std::vector<Edge> away;
  const auto mine = [&](std::int64_t c) { return c >= offset && c < offset + first_.back(); };
  for (const auto& list : edges)
    for (const Edge& e : list) {
      if (mine(e.a) && mine(e.b))
        sets.join(e.a, e.b);
      else
        away.push_back(e);
    }
  // Every rank's own trees and the links between ranks are small lists that all ranks resolve alike.
  std::vector<std::uint8_t> open(static_cast<std::size_t>(total), 0);
  std::vector<Edge> trees;
  for (std::size_t b = 0; b < local; ++b)
    if (const NetworkBucket* n = counts[b] ? level.bucket_operator(static_cast<int>(b)).network : nullptr)
      for (int c = 0; c < bucket_cells; ++c)
        if (n->sink[c] > 0 && n->relax[c] > 0)
          open[static_cast<std::size_t>(sets.find(component(static_cast<int>(b), c)))] = 1;
  if (exec.comm.size() > 1) {
    for (std::int64_t c = offset; c < offset + first_.back(); ++c) {
      const std::int64_t r = sets.find(c);
      trees.push_back({c, r});
    }
    std::vector<std::uint8_t> all_open =
        gather_all(exec.comm, std::vector<std::uint8_t>(open.begin() + offset, open.begin() + offset + first_.back()));
    open = std::move(all_open);
    std::sort(away.begin(), away.end());
    away.erase(std::unique(away.begin(), away.end()), away.end());
    const std::vector<std::uint8_t> was_open = open;
    for (const Edge& e : gather_all(exec.comm, trees)) sets.join(e.a, e.b);
    for (const Edge& e : gather_all(exec.comm, away)) sets.join(e.a, e.b);
    for (std::int64_t c = 0; c < total; ++c)
      if (was_open[static_cast<std::size_t>(c)]) open[static_cast<std::size_t>(sets.find(c))] = 1;
  }
  std::vector<std::int32_t> number(static_cast<std::size_t>(total), -1);
  for (std::int64_t c = 0; c < total; ++c)
    if (sets.find(c) == c) {
      ++count_;
      if (!open[static_cast<std::size_t>(c)])
        number[static_cast<std::size_t>(c)] = static_cast<std::int32_t>(closed_++);
    }
  if (closed_ == 0) {
    labels_.clear();
    return;
  }
  pool_.resize(static_cast<std::size_t>(first_.back()));
  for (std::int64_t c = 0; c < first_.back(); ++c)
    pool_[static_cast<std::size_t>(c)] = number[static_cast<std::size_t>(sets.find(offset + c))];
  std::vector<std::int64_t> cells(static_cast<std::size_t>(closed_), 0);
  for_closed([&](int, int, std::int32_t pool) { ++cells[static_cast<std::size_t>(pool)]; });
  exec.comm.sum(std::span<std::int64_t>(cells));
  cells_.assign(cells.begin(), cells.end());
}

template <class Visit>
void Pools::for_closed(const Visit& visit) const {
  for (std::size_t b = 0; b < labels_.size(); ++b) {
    if (first_[b] == first_[b + 1]) continue;
    if (labels_[b].empty()) {
      if (const std::int32_t pool = pool_[static_cast<std::size_t>(first_[b])]; pool >= 0)
        for (int c = 0; c < bucket_cells; ++c) visit(static_cast<int>(b), c, pool);
      continue;
    }
    for (int c = 0; c < bucket_cells; ++c)
      if (const std::uint16_t l = labels_[b][static_cast<std::size_t>(c)]; l != no_label)
        if (const std::int32_t pool = pool_[static_cast<std::size_t>(first_[b] + l)]; pool >= 0)
          visit(static_cast<int>(b), c, pool);
  }
}

Pools Pools::without(Exec& exec, FunctionRef<bool(int bucket, int cell)> exempt) const {
  Pools result = *this;
  if (closed_ == 0) return result;
  std::vector<std::int64_t> named(static_cast<std::size_t>(closed_), 0);
  for_closed([&](int b, int c, std::int32_t pool) { named[static_cast<std::size_t>(pool)] |= exempt(b, c); });
  exec.comm.max(std::span<std::int64_t>(named));
  std::vector<std::int32_t> number(named.size(), -1);
  result.closed_ = 0, result.cells_.clear();
  for (std::size_t p = 0; p < named.size(); ++p)
    if (!named[p]) number[p] = static_cast<std::int32_t>(result.closed_++), result.cells_.push_back(cells_[p]);
  for (std::int32_t& pool : result.pool_)
    if (pool >= 0) pool = number[static_cast<std::size_t>(pool)];
  return result;
}

double Pools::remove_means(Exec& exec, double* values) const {
  if (closed_ == 0) return 0;
  std::vector<ExactSum> sums(static_cast<std::size_t>(closed_));
  for_closed([&](int b, int c, std::int32_t pool) {
    sums[static_cast<std::size_t>(pool)].add(
        values[static_cast<std::size_t>(b) * bucket_cells + static_cast<std::size_t>(c)]);
  });
  constexpr std::size_t stride = ExactSum::limbs + 3;
  std::vector<std::int64_t> packed(sums.size() * stride);
  for (std::size_t p = 0; p < sums.size(); ++p) {
    const auto one = sums[p].packed();
    std::copy(one.begin(), one.end(), packed.begin() + static_cast<std::ptrdiff_t>(p * stride));
  }
  exec.comm.sum(std::span<std::int64_t>(packed));
  std::vector<double> means(sums.size());
  double removed = 0;
  for (std::size_t p = 0; p < sums.size(); ++p) {
    std::array<std::int64_t, stride> one;
    std::copy_n(packed.begin() + static_cast<std::ptrdiff_t>(p * stride), stride, one.begin());
    means[p] = ExactSum::unpacked(one).value() / cells_[p];
    removed += means[p] * means[p] * cells_[p];
  }
  for_closed([&](int b, int c, std::int32_t pool) {
    values[static_cast<std::size_t>(b) * bucket_cells + static_cast<std::size_t>(c)] -=
        means[static_cast<std::size_t>(pool)];
  });
  return removed;
}

}  // namespace aegir
