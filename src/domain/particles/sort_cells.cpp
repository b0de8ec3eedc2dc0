#include "domain/particles/sort_cells.h"

#include <algorithm>
#include <numeric>

namespace aegir {
namespace {

constexpr int block = 8;

/// Puts one cell's particles in order of id. Each finds its rank by counting smaller ids: no branch depends on data.
/// `id` may be read up to a whole block beyond `count`.
template <int Blocks>
bool rank_sort(const std::uint32_t* index, const std::int64_t* id, int count, std::uint32_t* out,
               std::int64_t* out_id) {
  std::int64_t padded[Blocks * block];
  for (int i = 0; i < Blocks * block; ++i) padded[i] = i < count ? id[i] : INT64_MAX;
  int ranks = 0;
  for (int i = 0; i < count; ++i) {
    const std::int64_t mine = id[i];
    std::int64_t rank = 0;
    for (int j = 0; j < Blocks * block; ++j) rank += padded[j] < mine;
    out[rank] = index[i];
    out_id[rank] = mine;
    ranks += static_cast<int>(rank);
  }
  return ranks == count * (count - 1) / 2;  // not so where an id occurs twice
}

void general_sort(const std::uint32_t* index, const std::int64_t* id, int count, std::uint32_t* out,
                  std::int64_t* out_id) {
  std::vector<int> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](int a, int b) { return id[a] != id[b] ? id[a] < id[b] : index[a] < index[b]; });
  for (int i = 0; i < count; ++i)
    out[i] = index[order[static_cast<std::size_t>(i)]], out_id[i] = id[order[static_cast<std::size_t>(i)]];
}

}  // namespace

std::size_t classify_run(const float* x, const float* y, const float* z, const std::int64_t* id, std::size_t count,
                         std::uint16_t* code) {
  std::size_t stay = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const bool inside = (x[i] >= 0) & (x[i] < 8) & (y[i] >= 0) & (y[i] < 8) & (z[i] >= 0) & (z[i] < 8);
    const auto cell = (static_cast<unsigned>(static_cast<int>(x[i])) << 6) +
                      (static_cast<unsigned>(static_cast<int>(y[i])) << 3) +
                      static_cast<unsigned>(static_cast<int>(z[i]));
    code[i] = static_cast<std::uint16_t>(inside ? cell : code_left);
    stay += inside;
  }
  std::size_t removed = 0;
  for (std::size_t i = 0; i < count; ++i) removed += static_cast<std::size_t>(id[i] < 0);
  if (removed == 0) return stay;
  for (std::size_t i = 0; i < count; ++i)
    if (id[i] < 0) {
      stay -= code[i] != code_left;
      code[i] = code_removed;
    }
  return stay;
}

bool in_order(const std::uint16_t* code, const std::int64_t* id, std::size_t count) {
  unsigned descents = 0;
  for (std::size_t i = 1; i < count; ++i) descents |= static_cast<unsigned>(code[i] < code[i - 1]);
  if (descents) return false;
  for (std::size_t i = 1; i < count; ++i)
    descents |= static_cast<unsigned>((code[i] == code[i - 1]) & (id[i] < id[i - 1]));
  return descents == 0;
}

void CellSorter::sort(const std::uint16_t* code, std::uint32_t start, std::size_t count, const std::int64_t* id,
                      std::uint32_t* out, std::int64_t* out_id) {
  // Those that leave go to a bin behind the cells: no branch for what cannot be predicted.
  constexpr std::uint32_t bins = bucket_cells + 1;
  const auto bin = [](std::uint16_t c) { return std::min<std::uint32_t>(c, bucket_cells); };
  std::uint32_t end[bins + 1] = {};
  for (std::size_t i = 0; i < count; ++i) ++end[bin(code[i]) + 1];
  for (const Arrival& a : arrivals) ++end[a.cell + 1];
  for (std::uint32_t c = 0; c < bins; ++c) end[c + 1] += end[c];
  const std::size_t room = count + arrivals.size() + 4 * block;
  if (index_.size() < room) index_.resize(2 * room), id_.resize(2 * room);

  std::uint32_t* index = index_.data();
  std::int64_t* ids = id_.data();
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t to = end[bin(code[i])]++;
    index[to] = start + static_cast<std::uint32_t>(i);
    ids[to] = id[start + i];
  }
  for (const Arrival& a : arrivals) {
    const std::uint32_t to = end[a.cell]++;
    index[to] = a.index;
    ids[to] = id[a.index];
  }
  for (std::uint32_t c = 0, begin = 0; c < bucket_cells; begin = end[c++]) {
    const int n = static_cast<int>(end[c] - begin);
    if (n == 0) continue;
    bool sorted = false;
    if (n <= block)
      sorted = rank_sort<1>(index + begin, ids + begin, n, out + begin, out_id + begin);
    else if (n <= 2 * block)
      sorted = rank_sort<2>(index + begin, ids + begin, n, out + begin, out_id + begin);
    else if (n <= 4 * block)
      sorted = rank_sort<4>(index + begin, ids + begin, n, out + begin, out_id + begin);
    if (!sorted) general_sort(index + begin, ids + begin, n, out + begin, out_id + begin);
  }
}

}  // namespace aegir
