#include "solvers/linear/sparse.h"

#include <cmath>
#include <numeric>

#include "base/assert.h"
#include "parallel/threads.h"

namespace aegir {
namespace {

constexpr std::size_t grain = 2048;

Status check(const SparseInput& in, std::int64_t total) {
  const std::size_t rows = in.first.empty() ? 0 : in.first.size() - 1;
  if (!in.first.empty() && (in.first[0] != 0 || in.first[rows] != static_cast<std::int64_t>(in.column.size())))
    return usage_error({}, "the rows of a sparse matrix do not cover its entries");
  if (in.column.size() != in.value.size()) return usage_error({}, "a sparse matrix needs one value per column number");
  for (std::size_t r = 0; r < rows; ++r)
    if (in.first[r] > in.first[r + 1]) return usage_error({}, "row {} of a sparse matrix ends before it starts", r);
  for (const std::int64_t c : in.column)
    if (c < 0 || c >= total) return usage_error({}, "column {} of a sparse matrix of {} rows", c, total);
  if (!in.component.empty() && in.component.size() != rows)
    return usage_error({}, "{} components for {} rows", in.component.size(), rows);
  if (in.block.empty()) return {};
  if (in.block.front() != 0 || in.block.back() != static_cast<std::int64_t>(rows))
    return usage_error({}, "the blocks of a sparse matrix do not cover its {} rows", rows);
  for (std::size_t k = 1; k < in.block.size(); ++k)
    if (in.block[k] < in.block[k - 1])
      return usage_error({}, "block {} of a sparse matrix ends before it starts", k - 1);
  return {};
}

bool ascending(std::span<const std::int64_t> columns) {
  for (std::size_t k = 1; k < columns.size(); ++k)
    if (columns[k - 1] >= columns[k]) return false;
  return true;
}

/// A row's entries in ascending columns, equal columns added in the given order; returns how many are left.
std::size_t tidy_row(std::span<const std::int64_t> column, std::span<const double> value, std::int64_t* column_out,
                     double* value_out) {
  std::vector<std::size_t> order(column.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return column[a] < column[b]; });
  std::size_t kept = 0;
  for (const std::size_t k : order)
    if (kept && column_out[kept - 1] == column[k])
      value_out[kept - 1] += value[k];
    else
      column_out[kept] = column[k], value_out[kept] = value[k], ++kept;
  return kept;
}

/// The input with every row ascending and every column once.
struct TidyRows {
  std::vector<std::int64_t> first, column;
  std::vector<double> value;
};

TidyRows tidy(const SparseInput& in) {
  TidyRows out{{0}, std::vector<std::int64_t>(in.column.size()), std::vector<double>(in.column.size())};
  for (std::size_t r = 0; r + 1 < in.first.size(); ++r) {
    const auto begin = static_cast<std::size_t>(in.first[r]), size = static_cast<std::size_t>(in.first[r + 1]) - begin;
    const auto at = static_cast<std::size_t>(out.first.back());
    const std::size_t kept = tidy_row(in.column.subspan(begin, size), in.value.subspan(begin, size),
                                      out.column.data() + at, out.value.data() + at);
    out.first.push_back(out.first.back() + static_cast<std::int64_t>(kept));
  }
  out.column.resize(static_cast<std::size_t>(out.first.back()));
  out.value.resize(out.column.size());
  return out;
}

bool tidy_already(const SparseInput& in) {
  for (std::size_t r = 0; r + 1 < in.first.size(); ++r)
    if (!ascending(in.column.subspan(static_cast<std::size_t>(in.first[r]),
                                     static_cast<std::size_t>(in.first[r + 1] - in.first[r]))))
      return false;
  return true;
}

void set_blocks(SparseStructure& s, const SparseInput& in) {
  if (in.block.empty()) {
    s.block.resize(s.count() + 1);
    std::iota(s.block.begin(), s.block.end(), std::int64_t{0});
  } else {
    s.block.assign(in.block.begin(), in.block.end());
  }
  cut_chunks(s);
}

}  // namespace

Result<SparseMatrix> SparseMatrix::from_rows(Comm& comm, const SparseInput& input) {
  constexpr std::int64_t empty_first[1] = {0};
  SparseInput in = input;
  if (in.first.empty()) in.first = empty_first;
  SparseMatrix m;
  const auto structure = std::make_shared<SparseStructure>();
  m.structure_ = structure;
  SparseStructure& s = *structure;
  s.rows = share_rows(comm, static_cast<std::int64_t>(in.first.size()) - 1);
  if (Status ok = comm.agree(check(in, s.rows.total())); !ok) return ok.error();
  TidyRows tidied;
  if (!tidy_already(in)) {
    tidied = tidy(in);
    in.first = tidied.first, in.column = tidied.column, in.value = tidied.value;
  }
  std::vector<std::int64_t> foreign;
  if (comm.size() > 1) {
    for (const std::int64_t c : in.column)
      if (!s.rows.owns(c)) foreign.push_back(c);
    sort_unique_rows(foreign);
  }
  s.ghosts = GhostPlan(comm, s.rows, std::move(foreign));
  s.first.resize(in.first.size());
  s.column.resize(in.column.size());
  m.values_.resize(in.value.size());
  std::copy(in.first.begin(), in.first.end(), s.first.begin());
  parallel_for(0, in.column.size(), grain * 16, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) s.column[k] = s.ghosts.local(in.column[k]), m.values_[k] = in.value[k];
  });
  set_blocks(s, in);
  if (comm.any(!in.component.empty())) {
    s.component.assign(s.ghosts.size(), 0);
    std::copy(in.component.begin(), in.component.end(), s.component.begin());
    s.ghosts.fill(comm, s.component.data());
  }
  return m;
}

Result<SparseMatrix> SparseMatrix::from_entries(Comm& comm, std::int64_t rows, std::span<const SparseEntry> entries,
                                                std::span<const std::int64_t> block,
                                                std::span<const std::uint8_t> component) {
  AEGIR_ASSERT(rows >= 0, "a number of rows");
  const RowShare share = share_rows(comm, rows);
  const auto stray =
      std::find_if(entries.begin(), entries.end(), [&](const SparseEntry& e) { return !share.owns(e.row); });
  Status mine;
  if (stray != entries.end()) mine = usage_error({}, "an entry of row {} was given to another rank", stray->row);
  if (Status ok = comm.agree(mine); !ok) return ok.error();
  std::vector<std::int64_t> first(static_cast<std::size_t>(rows) + 1, 0), column(entries.size());
  std::vector<double> value(entries.size());
  for (const SparseEntry& e : entries) ++first[static_cast<std::size_t>(e.row - share.first()) + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<std::int64_t> next(first.begin(), first.end() - 1);
  for (const SparseEntry& e : entries) {
    const auto at = static_cast<std::size_t>(next[static_cast<std::size_t>(e.row - share.first())]++);
    column[at] = e.column, value[at] = e.value;
  }
  return from_rows(comm, {first, column, value, block, component});
}

}  // namespace aegir
