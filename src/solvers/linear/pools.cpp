#include "solvers/linear/pools.h"

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <numeric>
#include <unordered_map>

#include "domain/transport/halo.h"
#include "parallel/exact_sum.h"
#include "parallel/threads.h"

namespace aegir {
namespace {

using Labels = std::vector<std::uint16_t>;  // component inside the bucket by cell; none where it is one
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

/// A set of cells of a bucket: a word by i, a bit by j and k.
using CellSet = std::array<std::uint64_t, bucket_size>;

/// The unknowns of a bucket and, along each axis, the cells that are joined to the one below inside it.
struct JoinedCells {
  CellSet unknown{}, joined[3]{};

  explicit JoinedCells(const NetworkBucket& n) {
    const auto above_zero = [](const float* row) {
      const Row<std::int32_t> mask = load_row(row) > Row<float>{};
      return static_cast<std::uint64_t>(_mm256_movemask_ps(reinterpret_cast<__m256>(mask)));
    };
    for (int i = 0; i < bucket_size; ++i) {
      const auto at = static_cast<std::size_t>(i);
      for (int j = 0; j < bucket_size; ++j) {
        unknown[at] |= above_zero(n.relax + cell_offset(i, j, 0)) << (8 * j);
        for (int a = 0; a < 3; ++a) joined[a][at] |= above_zero(links_of(n, a, i, j)) << (8 * j);
      }
      joined[1][at] &= ~std::uint64_t{0xff};
      joined[2][at] &= 0xfefefefefefefefeu;
    }
    joined[0][0] = 0;
  }

  /// All cells that are joined to one of a set.
  CellSet reach(CellSet set) const {
    for (bool grows = true; grows;) {
      grows = false;
      const auto add = [&](std::size_t i, std::uint64_t more) {
        grows |= (more & ~set[i]) != 0;
        set[i] |= more;
      };
      const auto along_plane = [&](std::size_t i) {
        const std::uint64_t y = joined[1][i], z = joined[2][i];
        for (int step = 0; step < 2; ++step) {
          add(i, ((set[i] << 1) & z) | ((set[i] & z) >> 1));
          add(i, ((set[i] << 8) & y) | ((set[i] & y) >> 8));
        }
      };
      for (std::size_t i = 0; i < bucket_size; ++i) {
        along_plane(i);
        if (i + 1 < bucket_size) add(i + 1, set[i] & joined[0][i + 1]);
      }
      for (std::size_t i = bucket_size - 1; i > 0; --i) {
        along_plane(i);
        add(i - 1, set[i] & joined[0][i]);
      }
    }
    return set;
  }
};

/// Labels the components inside one bucket, in order of their first cells; returns how many.
int label_bucket(const NetworkBucket& n, std::vector<std::uint16_t>& labels) {
  const JoinedCells cells(n);
  CellSet left = cells.unknown;
  int count = 0;
  for (std::size_t i = 0; i < bucket_size;) {
    if (left[i] == 0) {
      ++i;
      continue;
    }
    CellSet first{};
    first[i] = left[i] & (~left[i] + 1);
    const CellSet component = cells.reach(first);
    if (count == 0) {
      std::uint64_t whole = ~std::uint64_t{0};
      for (const std::uint64_t plane : component) whole &= plane;
      if (whole == ~std::uint64_t{0} && left == component) return labels.clear(), 1;
      labels.assign(bucket_cells, no_label);
    }
    for (std::size_t p = 0; p < bucket_size; ++p) {
      for (std::uint64_t rest = component[p] & left[p]; rest != 0; rest &= rest - 1)
        labels[p * 64 + static_cast<std::size_t>(std::countr_zero(rest))] = static_cast<std::uint16_t>(count);
      left[p] &= ~component[p];
    }
    ++count;
  }
  if (count == 0) labels.assign(bucket_cells, no_label);
  return count;
}

/// Two components that a link joins.
struct Edge {
  std::int64_t a, b;
  bool operator==(const Edge&) const = default;
  auto operator<=>(const Edge&) const = default;
};

/// Components inside buckets, and the numbers they have over all ranks, which follow the curve.
struct Components {
  const Level& level;
  const std::vector<Labels>& labels;
  const std::vector<std::int64_t>& first;
  std::int64_t offset = 0, total = 0;

  Components(Comm& comm, const Level& of, const std::vector<Labels>& by_cell, const std::vector<std::int64_t>& starts)
      : level(of), labels(by_cell), first(starts) {
    const std::vector<std::int64_t> sizes = gather_all(comm, std::vector<std::int64_t>{first.back()});
    for (int r = 0; r < comm.size(); ++r) {
      if (r < comm.rank()) offset += sizes[static_cast<std::size_t>(r)];
      total += sizes[static_cast<std::size_t>(r)];
    }
  }
  bool mine(std::int64_t c) const { return c >= offset && c < offset + first.back(); }
  /// The number of a cell's component, -1 where there is no unknown.
  std::int64_t of(int b, int c) const {
    const Labels& here = labels[static_cast<std::size_t>(b)];
    if (here.empty()) return level.kind(b) == BucketKind::empty ? -1 : offset + first[static_cast<std::size_t>(b)];
    const std::uint16_t l = here[static_cast<std::size_t>(c)];
    return l == no_label ? -1 : offset + first[static_cast<std::size_t>(b)] + l;
  }
};

/// Links between a bucket and those below it, as pairs of components, each about once.
std::vector<Edge> links_below(const Components& components, int b, const std::vector<std::int64_t>& ghosts) {
  const Level& level = components.level;
  const Topology& t = level.topology();
  const BucketOperator a = level.bucket_operator(b);
  std::vector<Edge> edges;
  for (int axis = 0; axis < 3; ++axis) {
    const int other =
        t.neighbours(b)[static_cast<std::size_t>(neighbour_index(-(axis == 0), -(axis == 1), -(axis == 2)))];
    if (other < 0 || (a.closed >> (2 * axis) & 1)) continue;
    const bool here = other < t.local_count();
    const auto whole = [&](int bucket) { return components.labels[static_cast<std::size_t>(bucket)].empty(); };
    if (!a.network && here && level.kind(other) != BucketKind::empty && whole(other)) {
      edges.push_back({components.of(b, 0), components.of(other, 0)});
      continue;
    }
    for (int face = 0; face < 64; ++face) {
      const int u = face >> 3, v = face & 7;
      const int i = axis == 0 ? 0 : u, j = axis == 1 ? 0 : axis == 0 ? u : v, k = axis == 2 ? 0 : v;
      if (a.network && !(links_of(*a.network, axis, i, j)[k] > 0)) continue;
      const int c = cell_offset(i, j, k), there = c + 7 * steps[axis];
      const Edge e{components.of(b, c),
                   here ? components.of(other, there)
                        : ghosts[static_cast<std::size_t>(other - level.topology().local_count()) * bucket_cells +
                                 static_cast<std::size_t>(there)]};
      if (e.a >= 0 && e.b >= 0 && (edges.empty() || edges.back() != e)) edges.push_back(e);
    }
  }
  return edges;
}

/// Joins the components of all ranks; by root, 1 where there is a sink.
std::vector<std::uint8_t> join_components(Exec& exec, const Components& components, Sets& sets) {
  const Level& level = components.level;
  const Topology& t = level.topology();
  const auto local = static_cast<std::size_t>(t.local_count());
  std::vector<std::int64_t> ghosts;  // what neighbours on other ranks call their components
  if (exec.comm.size() > 1) {
    ghosts.assign((static_cast<std::size_t>(t.total_count()) - local) * bucket_cells, -1);
    exchange_layers<std::int64_t>(
        exec.comm, t, 1, [&](int b, int cell) { return components.of(b, cell); },
        [&](int ghost, int cell, std::int64_t component) {
          ghosts[(static_cast<std::size_t>(ghost) - local) * bucket_cells + static_cast<std::size_t>(cell)] = component;
        });
  }
  std::vector<std::vector<Edge>> edges(local);
  level.for_unknowns([&](int b) { edges[static_cast<std::size_t>(b)] = links_below(components, b, ghosts); });
  std::vector<Edge> shared;  // trees of this rank and links to others, which all ranks resolve alike
  for (const auto& list : edges)
    for (const Edge& e : list) {
      if (components.mine(e.a) && components.mine(e.b))
        sets.join(e.a, e.b);
      else
        shared.push_back(e);
    }
  std::vector<std::uint8_t> drained(static_cast<std::size_t>(components.first.back()), 0);
  level.for_unknowns([&](int b) {  // each with components of its own
    if (const NetworkBucket* n = level.bucket_operator(b).network)
      for (int c = 0; c < bucket_cells; ++c)
        if (n->sink[c] > 0 && n->relax[c] > 0)
          drained[static_cast<std::size_t>(components.of(b, c) - components.offset)] = 1;
  });
  if (exec.comm.size() > 1) {
    for (std::int64_t c = components.offset; components.mine(c); ++c)
      if (sets.find(c) != c) shared.push_back({c, sets.find(c)});
    std::sort(shared.begin(), shared.end());
    shared.erase(std::unique(shared.begin(), shared.end()), shared.end());
    for (const Edge& e : gather_all(exec.comm, shared)) sets.join(e.a, e.b);
    drained = gather_all(exec.comm, drained);
  }
  std::vector<std::uint8_t> open(drained.size(), 0);
  for (std::size_t c = 0; c < drained.size(); ++c)
    if (drained[c]) open[static_cast<std::size_t>(sets.find(static_cast<std::int64_t>(c)))] = 1;
  return open;
}

}  // namespace

Pools::Pools(Exec& exec, const Level& level) {
  const auto local = static_cast<std::size_t>(level.topology().local_count());
  labels_.resize(local), first_.assign(local + 1, 0);
  std::vector<int> counts(local, 0);
  level.for_unknowns([&](int b) {
    const NetworkBucket* n = level.bucket_operator(b).network;
    counts[static_cast<std::size_t>(b)] = n ? label_bucket(*n, labels_[static_cast<std::size_t>(b)]) : 1;
  });
  for (std::size_t b = 0; b < local; ++b) first_[b + 1] = first_[b] + counts[b];
  const Components components(exec.comm, level, labels_, first_);
  Sets sets(static_cast<std::size_t>(components.total));
  const std::vector<std::uint8_t> open = join_components(exec, components, sets);

  std::vector<std::int32_t> number(static_cast<std::size_t>(components.total), -1);
  for (std::int64_t c = 0; c < components.total; ++c)
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
    pool_[static_cast<std::size_t>(c)] = number[static_cast<std::size_t>(sets.find(components.offset + c))];
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
