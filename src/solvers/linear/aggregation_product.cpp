// From aggregates to the next level: P = (I - w D_F⁻¹ A_F) P₀ [Vaněk, Mandel, Brezina 1996], where P₀ is constant on
// every aggregate, A_F the filtered matrix and w = 4 / (3 largest); then the Galerkin matrix Pᵀ A P.
//
// Order of sums: a row of A P adds in ascending columns of A, a row of Pᵀ(A P) in ascending fine rows. Rows that
// another rank has are brought here before they are added, so that ranks do not show.
//
// Bytes per fine row for n entries in A, p in P, q in A P: A P moves 8 n + 8 p + 16 q (the rows of P that it gathers
// stay in cache), the second product 8 p + 8 p q from cache, of which 8 q come from memory once per neighbouring
// aggregate.
#include <cmath>
#include <cstring>
#include <numeric>

#include "parallel/threads.h"
#include "solvers/linear/aggregation.h"
#include "solvers/linear/sparse_build.h"

namespace aegir {
namespace {

constexpr std::size_t grain = 1024;
constexpr std::int64_t fullest = 4;  // entries of A P and of Pᵀ A P over those of A, beyond which coarsening ends

template <class Body>
void for_entries(const Array<std::int64_t>& first, std::size_t r, Body&& body) {
  for (auto k = static_cast<std::size_t>(first[r]); k < static_cast<std::size_t>(first[r + 1]); ++k) body(k);
}

/// Adds ghosts of `columns` that rows of other ranks refer to.
GhostPlan with_columns(Comm& comm, const RowShare& share, std::vector<std::int64_t> known, const GhostRows& rows) {
  for (const std::int64_t c : rows.column)
    if (!share.owns(c)) known.push_back(c);
  sort_unique_rows(known);
  return GhostPlan(comm, share, std::move(known));
}

/// Local rows, then the ghosts' rows, all with the columns of one plan.
FloatRows with_ghost_rows(const FloatRows& mine, const GhostPlan& from, const GhostRows& ghosts, const GhostPlan& to) {
  const std::size_t rows = mine.rows(), extra = ghosts.first.size() - 1;
  const auto entries = static_cast<std::size_t>(mine.first[rows]);
  FloatRows all{Array<std::int64_t>(rows + extra + 1), Array<std::int32_t>(entries + ghosts.column.size()),
                Array<float>(entries + ghosts.column.size())};
  std::copy(mine.first.begin(), mine.first.end(), all.first.begin());
  for (std::size_t k = 0; k < entries; ++k)
    all.column[k] = to.local(from.global(mine.column[k])), all.value[k] = mine.value[k];
  for (std::size_t g = 0; g < extra; ++g)
    all.first[rows + g + 1] = static_cast<std::int64_t>(entries) + ghosts.first[g + 1];
  for (std::size_t k = 0; k < ghosts.column.size(); ++k)
    all.column[entries + k] = to.local(ghosts.column[k]), all.value[entries + k] = ghosts.value[k];
  return all;
}

/// The smoothed prolongation of the local rows; `coarse` names the columns.
FloatRows smoothed_prolongation(const AggregationLevel& fine, const StrongGraph& graph, const Aggregates& aggregates,
                                const GhostPlan& coarse) {
  const double w = 4 / (3 * graph.largest);
  return build_rows<RowSum>(fine.rows(), coarse.size(), grain, [&](std::size_t r, RowSum& sum) {
    const double diagonal = graph.diagonal[r];
    if (!(diagonal > 0)) return;
    if (const std::int64_t a = aggregates.aggregate[r]; a >= 0) {
      // The share of the diagonal that is not w: 1 - w in all.
      sum.add(coarse.local(a), 1 - w);
    }
    for_entries(graph.edges.first, r, [&](std::size_t k) {
      const std::int64_t a = aggregates.aggregate[static_cast<std::size_t>(graph.edges.column[k])];
      if (a >= 0) sum.add(coarse.local(a), -w * static_cast<double>(graph.edges.value[k]) / diagonal);
    });
  });
}

/// Entries (coarse row, fine row, value) that belong to coarse rows of other ranks, sent there.
struct Shipped {
  std::int64_t coarse, fine;
  float value;
};
std::vector<Shipped> ship_transpose(Comm& comm, const AggregationLevel& fine, const FloatRows& prolong,
                                    const GhostPlan& coarse, const RowShare& share) {
  std::vector<Shipped> arrived;
  if (comm.size() == 1) return arrived;
  std::vector<std::vector<Shipped>> outgoing(static_cast<std::size_t>(comm.size()));
  for (std::size_t r = 0; r < fine.rows(); ++r)
    for_entries(prolong.first, r, [&](std::size_t k) {
      const std::int64_t c = coarse.global(prolong.column[k]);
      if (!share.owns(c))
        outgoing[static_cast<std::size_t>(share.owner(c))].push_back(
            {c, fine.structure->rows.first() + static_cast<std::int64_t>(r), prolong.value[k]});
    });
  std::vector<Message> messages;
  for (std::size_t rank = 0; rank < outgoing.size(); ++rank) {
    if (outgoing[rank].empty()) continue;
    Message& m = messages.emplace_back(Message{static_cast<int>(rank), Bytes(outgoing[rank].size() * sizeof(Shipped))});
    std::memcpy(m.bytes.data(), outgoing[rank].data(), m.bytes.size());
  }
  for (const Message& m : comm.exchange(std::move(messages))) {
    const std::size_t at = arrived.size();
    arrived.resize(at + m.bytes.size() / sizeof(Shipped));
    std::memcpy(arrived.data() + at, m.bytes.data(), m.bytes.size());
  }
  return arrived;
}

/// Pᵀ by rows: fine rows ascend. Fine rows of lower ranks come before ours, those of higher ranks after.
void transpose(Comm& comm, AggregationLevel& fine, const GhostPlan& coarse, const RowShare& share) {
  const std::vector<Shipped> arrived = ship_transpose(comm, fine, fine.prolong, coarse, share);
  std::vector<std::int64_t> ghosts;
  for (const Shipped& s : arrived) ghosts.push_back(s.fine);
  sort_unique_rows(ghosts);
  fine.restrict_ghosts = GhostPlan(comm, fine.structure->rows, std::move(ghosts));

  const std::size_t rows = share.count();
  FloatRows& t = fine.restrict_rows;
  t.first.resize(rows + 1);
  t.first.fill(0);
  for (const std::int32_t c : fine.prolong.column)
    if (static_cast<std::size_t>(c) < rows) ++t.first[static_cast<std::size_t>(c) + 1];
  for (const Shipped& s : arrived) ++t.first[static_cast<std::size_t>(s.coarse - share.first()) + 1];
  std::partial_sum(t.first.begin(), t.first.end(), t.first.begin());
  t.column.resize(static_cast<std::size_t>(t.first[rows]));
  t.value.resize(t.column.size());
  std::vector<std::int64_t> next(t.first.begin(), t.first.end() - 1);
  const auto put = [&](std::size_t row, std::int32_t column, float value) {
    const auto at = static_cast<std::size_t>(next[row]++);
    t.column[at] = column, t.value[at] = value;
  };
  const auto put_arrived = [&](bool lower) {
    for (const Shipped& s : arrived)
      if ((s.fine < fine.structure->rows.first()) == lower)
        put(static_cast<std::size_t>(s.coarse - share.first()), fine.restrict_ghosts.local(s.fine), s.value);
  };
  put_arrived(true);
  for (std::size_t r = 0; r < fine.rows(); ++r)
    for_entries(fine.prolong.first, r, [&](std::size_t k) {
      const auto c = static_cast<std::size_t>(fine.prolong.column[k]);
      if (c < rows) put(c, static_cast<std::int32_t>(r), fine.prolong.value[k]);
    });
  put_arrived(false);
}

void add_row(RowSum& sum, const FloatRows& rows, std::int32_t row, float factor) {
  const auto begin = static_cast<std::size_t>(rows.first[static_cast<std::size_t>(row)]),
             end = static_cast<std::size_t>(rows.first[static_cast<std::size_t>(row) + 1]);
  sum.add(rows.column.data() + begin, rows.value.data() + begin, end - begin, static_cast<double>(factor));
}

/// Whether a matrix made on all ranks has more entries than the limit.
bool too_full(Comm& comm, const FloatRows& mine, std::int64_t limit) {
  if (comm.any(mine.first.size() == 0)) return true;
  return comm.sum(static_cast<std::int64_t>(mine.column.size())) > limit;
}

FloatRows local_product(const AggregationLevel& fine, const FloatRows& prolong, std::size_t columns,
                        std::int64_t limit) {
  const SparseStructure& s = *fine.structure;
  return build_rows<RowSum>(
      fine.rows(), columns, grain,
      [&](std::size_t r, RowSum& sum) {
        for_entries(s.first, r, [&](std::size_t k) { add_row(sum, prolong, s.column[k], fine.value[k]); });
      },
      limit);
}

/// A P: the local rows, then those of other ranks that the local coarse rows need.
struct Product {
  FloatRows rows;
  GhostPlan columns;
};
std::optional<Product> times_prolongation(Comm& comm, const AggregationLevel& fine, const RowShare& share,
                                          std::int64_t limit) {
  const GhostPlan& own = fine.prolong_ghosts;
  if (comm.size() == 1) {
    FloatRows rows = local_product(fine, fine.prolong, own.size(), limit);
    if (rows.first.size() == 0) return std::nullopt;
    return Product{std::move(rows), own};
  }
  const GhostRows far_prolong = fine.structure->ghosts.fetch(comm, fine.prolong, own);
  const GhostPlan wide = with_columns(comm, share, own.ghosts(), far_prolong);
  const FloatRows rows = local_product(fine, with_ghost_rows(fine.prolong, own, far_prolong, wide), wide.size(), limit);
  if (too_full(comm, rows, limit)) return std::nullopt;
  const GhostRows far_product = fine.restrict_ghosts.fetch(comm, rows, wide);
  GhostPlan wider = with_columns(comm, share, wide.ghosts(), far_product);
  FloatRows all = with_ghost_rows(rows, wide, far_product, wider);
  return Product{std::move(all), std::move(wider)};
}

void set_blocks(SparseStructure& coarse, const SparseStructure& fine, const Aggregates& aggregates) {
  std::size_t at = 0;
  coarse.block.clear();
  for (const std::int64_t start : fine.block) {
    while (at < aggregates.root.size() && aggregates.root[at] < start) ++at;
    if (coarse.block.empty() || coarse.block.back() != static_cast<std::int64_t>(at) || start == 0)
      coarse.block.push_back(static_cast<std::int64_t>(at));
  }
  if (coarse.block.size() < 2) coarse.block.assign({0, static_cast<std::int64_t>(aggregates.root.size())});
  cut_chunks(coarse);
}

}  // namespace

std::optional<AggregationLevel> coarsen_level(Comm& comm, AggregationLevel& fine, const StrongGraph& graph,
                                              const Aggregates& aggregates) {
  const SparseStructure& s = *fine.structure;
  const RowShare& share = aggregates.share;
  std::vector<std::int64_t> foreign;
  if (comm.size() > 1) {
    for (const std::int64_t a : aggregates.aggregate)
      if (a >= 0 && !share.owns(a)) foreign.push_back(a);
    sort_unique_rows(foreign);
  }
  fine.prolong_ghosts = GhostPlan(comm, share, std::move(foreign));
  fine.prolong = smoothed_prolongation(fine, graph, aggregates, fine.prolong_ghosts);
  transpose(comm, fine, fine.prolong_ghosts, share);

  const std::int64_t limit = fullest * comm.sum(static_cast<std::int64_t>(fine.value.size())) + 1'000'000;
  const std::optional<Product> product = times_prolongation(comm, fine, share, limit);
  if (!product) return std::nullopt;
  const FloatRows& t = fine.restrict_rows;
  FloatRows matrix = build_rows<RowSum>(
      share.count(), product->columns.size(), grain / 8,
      [&](std::size_t r, RowSum& sum) {
        for_entries(t.first, r, [&](std::size_t k) { add_row(sum, product->rows, t.column[k], t.value[k]); });
      },
      limit);
  if (too_full(comm, matrix, limit)) return std::nullopt;

  auto coarse = std::make_shared<SparseStructure>();
  coarse->rows = share;
  coarse->ghosts = product->columns;
  coarse->first = std::move(matrix.first);
  coarse->column = std::move(matrix.column);
  set_blocks(*coarse, s, aggregates);
  AggregationLevel next;
  next.structure = std::move(coarse);
  next.value = std::move(matrix.value);
  measure_rows(comm, next);
  return next;
}

AggregationLevel gather_level(Comm& comm, const AggregationLevel& level) {
  const SparseStructure& s = *level.structure;
  const std::size_t rows = s.count(), entries = static_cast<std::size_t>(s.first[rows]);
  std::vector<std::int64_t> head{static_cast<std::int64_t>(rows), static_cast<std::int64_t>(entries)};
  for (std::size_t r = 0; r < rows; ++r) head.push_back(s.first[r + 1] - s.first[r]);
  for (std::size_t k = 0; k < entries; ++k) head.push_back(s.ghosts.global(s.column[k]));
  Bytes mine(head.size() * sizeof(std::int64_t) + entries * sizeof(float));
  std::memcpy(mine.data(), head.data(), head.size() * sizeof(std::int64_t));
  if (entries)
    std::memcpy(mine.data() + head.size() * sizeof(std::int64_t), level.value.data(), entries * sizeof(float));

  std::vector<std::int64_t> first{0}, column;
  std::vector<float> value;
  for (const Bytes& bytes : comm.all_gather(mine)) {
    std::int64_t sizes[2];
    std::memcpy(sizes, bytes.data(), sizeof sizes);
    const auto n = static_cast<std::size_t>(sizes[0]), e = static_cast<std::size_t>(sizes[1]);
    std::vector<std::int64_t> part(n + e);
    if (!part.empty()) std::memcpy(part.data(), bytes.data() + sizeof sizes, part.size() * sizeof(std::int64_t));
    for (std::size_t r = 0; r < n; ++r) first.push_back(first.back() + part[r]);
    column.insert(column.end(), part.begin() + static_cast<std::ptrdiff_t>(n), part.end());
    value.resize(value.size() + e);
    if (e)
      std::memcpy(value.data() + value.size() - e, bytes.data() + sizeof sizes + part.size() * sizeof(std::int64_t),
                  e * sizeof(float));
  }
  auto whole = std::make_shared<SparseStructure>();
  const std::unique_ptr<Comm> alone = make_single_comm();
  whole->rows = share_rows(*alone, static_cast<std::int64_t>(first.size()) - 1);
  whole->ghosts = GhostPlan(*alone, whole->rows, {});
  whole->first.resize(first.size());
  std::copy(first.begin(), first.end(), whole->first.begin());
  whole->column.resize(column.size());
  for (std::size_t k = 0; k < column.size(); ++k) whole->column[k] = static_cast<std::int32_t>(column[k]);
  whole->block.assign({0, static_cast<std::int64_t>(first.size()) - 1});
  cut_chunks(*whole);
  AggregationLevel result;
  result.structure = std::move(whole);
  result.value.resize(value.size());
  std::copy(value.begin(), value.end(), result.value.begin());
  measure_rows(*alone, result);
  return result;
}

}  // namespace aegir
