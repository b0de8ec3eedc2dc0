// Which rows belong together: strong couplings, a distance-2 maximal independent set of roots, aggregates around them.
//
// The set is the one that a greedy pass over the rows in descending priority finds, and the priority is a hash of the
// global row number; it is found in rounds (Luby 1986; Bell, Dalton, Olson 2012): a row whose priority is the
// highest within two strong couplings among those undecided becomes a root, and rows that close to a root are out.
#include <cmath>

#include "base/random.h"
#include "parallel/threads.h"
#include "solvers/linear/aggregation.h"
#include "solvers/linear/sparse_build.h"

namespace aegir {
namespace {

constexpr std::size_t grain = 4096;
constexpr double dominated = 0.5;  // rows whose couplings together are below this share of the diagonal stay fine

/// What a neighbour must know of a row.
struct RowCard {
  float strongest = 0;  // coupling
  std::uint32_t excluded = 0;
};

std::vector<RowCard> row_cards(Comm& comm, const AggregationLevel& level) {
  const SparseStructure& s = *level.structure;
  std::vector<RowCard> cards(s.ghosts.size());
  parallel_for(0, s.count(), grain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t r = begin; r < end; ++r) {
      float strongest = 0;
      double sum = 0;
      for (auto k = static_cast<std::size_t>(s.first[r]); k < static_cast<std::size_t>(s.first[r + 1]); ++k) {
        const auto c = static_cast<std::size_t>(s.column[k]);
        if (c == r) continue;
        sum += std::abs(static_cast<double>(level.value[k]));
        strongest = std::max(strongest, -level.value[k]);
      }
      cards[r] = {strongest, sum <= dominated * static_cast<double>(level.diagonal[r])};
    }
  });
  s.ghosts.fill(comm, cards.data());
  return cards;
}

constexpr std::uint64_t out = 0, undecided = 1ull << 62, root = 2ull << 62, state_mask = 3ull << 62;

/// Largest mark of a row and its strong neighbours.
std::uint64_t highest(const FloatRows& edges, const std::uint64_t* mark, std::size_t r) {
  std::uint64_t m = mark[r];
  for (auto k = static_cast<std::size_t>(edges.first[r]); k < static_cast<std::size_t>(edges.first[r + 1]); ++k)
    m = std::max(m, mark[edges.column[k]]);
  return m;
}

/// Marks roots with the state `root`, everything else with `out`.
Array<std::uint64_t> find_roots(Comm& comm, const AggregationLevel& level, const StrongGraph& graph) {
  const SparseStructure& s = *level.structure;
  const std::size_t rows = s.count();
  Array<std::uint64_t> mark(s.ghosts.size()), near(s.ghosts.size());
  std::vector<std::uint8_t> settled(rows, 0);  // every mark within one coupling is final
  parallel_for(0, rows, grain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t r = begin; r < end; ++r) {
      const auto id = static_cast<std::uint64_t>(s.rows.first()) + r;
      mark[r] = graph.diagonal[r] > 0 ? undecided | (mix(id + 0x9e3779b97f4a7c15ull) >> 2) : out;
    }
  });
  for (bool open = true; open;) {
    s.ghosts.fill(comm, mark.data());
    parallel_for(0, rows, grain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t r = begin; r < end; ++r)
        if (!settled[r]) near[r] = highest(graph.edges, mark.data(), r);
    });
    s.ghosts.fill(comm, near.data());
    std::vector<std::uint8_t> piece_open(rows / grain + 1, 0);
    parallel_for(0, piece_open.size(), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t p = begin; p < end; ++p)
        for (std::size_t r = p * grain; r < std::min(rows, (p + 1) * grain); ++r) {
          if ((mark[r] & state_mask) != undecided) continue;
          const std::uint64_t m = highest(graph.edges, near.data(), r);
          if (m == mark[r])
            mark[r] = root | (mark[r] & ~state_mask);
          else if ((m & state_mask) == root)
            mark[r] = out;
          else
            piece_open[p] = 1;
        }
    });
    open = false;
    for (const std::uint8_t o : piece_open) open = open || o;
    open = comm.any(open);
    if (!open) break;
    // A row next to a root has that root as its highest for good, and one without undecided neighbours none.
    parallel_for(0, rows, grain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t r = begin; r < end; ++r) settled[r] = (near[r] & state_mask) != undecided;
    });
  }
  s.ghosts.fill(comm, mark.data());
  return mark;
}

/// The aggregate of the strongest neighbour that has one, the first of equals.
std::int64_t strongest_neighbour(const FloatRows& edges, const Array<std::int64_t>& aggregate, std::size_t r) {
  std::int64_t best = -1;
  float strongest = 0;
  for (auto k = static_cast<std::size_t>(edges.first[r]); k < static_cast<std::size_t>(edges.first[r + 1]); ++k) {
    const std::int64_t a = aggregate[static_cast<std::size_t>(edges.column[k])];
    if (a >= 0 && -edges.value[k] > strongest) strongest = -edges.value[k], best = a;
  }
  return best;
}

}  // namespace

StrongGraph strong_graph(Comm& comm, const AggregationLevel& level, double strength) {
  const SparseStructure& s = *level.structure;
  const std::vector<RowCard> cards = row_cards(comm, level);
  const double share = strength * strength;
  StrongGraph graph;
  graph.diagonal.resize(s.count());
  std::vector<double> piece_largest(s.count() / grain + 1, 1.0);
  graph.edges = build_rows<RowList>(s.count(), s.ghosts.size(), grain, [&](std::size_t r, RowList& sum) {
    const RowCard& card = cards[r];
    graph.diagonal[r] = 0;
    if (card.excluded) return;
    const double own = level.diagonal[r];
    double lumped = own, strong = 0;
    for (auto k = static_cast<std::size_t>(s.first[r]); k < static_cast<std::size_t>(s.first[r + 1]); ++k) {
      const auto c = static_cast<std::size_t>(s.column[k]);
      if (c == r) continue;
      const double a = level.value[k];
      if (a < 0 && !cards[c].excluded &&
          a * a >= share * static_cast<double>(card.strongest) * static_cast<double>(cards[c].strongest))
        sum.add(s.column[k], a), strong -= a;
      else if (!cards[c].excluded)
        lumped += a;
    }
    if (lumped < 0.5 * strong || !(lumped > 0.1 * own)) lumped = own;
    graph.diagonal[r] = static_cast<float>(lumped);
    double& largest = piece_largest[r / grain];
    largest = std::max(largest, 1 + strong / lumped);
  });
  for (const double l : piece_largest) graph.largest = std::max(graph.largest, l);
  graph.largest = comm.max(graph.largest);
  return graph;
}

Aggregates form_aggregates(Comm& comm, const AggregationLevel& level, const StrongGraph& graph) {
  const SparseStructure& s = *level.structure;
  const std::size_t rows = s.count();
  const Array<std::uint64_t> mark = find_roots(comm, level, graph);
  Aggregates result;
  for (std::size_t r = 0; r < rows; ++r)
    if (mark[r] & root) result.root.push_back(static_cast<std::int32_t>(r));
  result.share = share_rows(comm, static_cast<std::int64_t>(result.root.size()));

  Array<std::int64_t> seed(s.ghosts.size()), near(s.ghosts.size());
  seed.fill(-1);
  for (std::size_t k = 0; k < result.root.size(); ++k)
    seed[static_cast<std::size_t>(result.root[k])] = result.share.first() + static_cast<std::int64_t>(k);
  s.ghosts.fill(comm, seed.data());
  parallel_for(0, rows, grain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t r = begin; r < end; ++r)
      near[r] = seed[r] >= 0 || !(graph.diagonal[r] > 0) ? seed[r] : strongest_neighbour(graph.edges, seed, r);
  });
  s.ghosts.fill(comm, near.data());
  result.aggregate.resize(s.ghosts.size());
  parallel_for(0, rows, grain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t r = begin; r < end; ++r)
      result.aggregate[r] =
          near[r] >= 0 || !(graph.diagonal[r] > 0) ? near[r] : strongest_neighbour(graph.edges, near, r);
  });
  s.ghosts.fill(comm, result.aggregate.data());
  return result;
}

}  // namespace aegir
