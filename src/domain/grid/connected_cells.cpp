#include "domain/grid/connected_cells.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "domain/transport/halo.h"
#include "parallel/threads.h"

namespace aegir {
namespace {

constexpr int steps[3] = {64, 8, 1};

/// Sets with union by the smaller number, so that roots do not depend on the order of joins.
template <class Number>
class Sets {
 public:
  explicit Sets(std::size_t n) : root_(n) { std::iota(root_.begin(), root_.end(), Number{0}); }
  Number find(Number i) {
    while (at(i) != i) i = at(i) = at(at(i));
    return i;
  }
  void join(Number a, Number b) {
    a = find(a), b = find(b);
    at(std::max(a, b)) = std::min(a, b);
  }

 private:
  Number& at(Number i) { return root_[static_cast<std::size_t>(i)]; }
  std::vector<Number> root_;
};

bool joined(std::uint8_t flags, int axis) { return flags & (cell_joined << axis); }

/// Labels the sets inside one bucket in order of their first cells, -1 for cells of none; returns how many.
std::int64_t label_bucket(const std::uint8_t* cells, std::int64_t* labels) {
  std::fill_n(labels, bucket_cells, -1);
  if (std::none_of(cells, cells + bucket_cells, [](std::uint8_t f) { return f & cell_member; })) return 0;
  Sets<std::int16_t> sets(bucket_cells);
  for (int c = 0; c < bucket_cells; ++c)
    for (int a = 0; a < 3 && (cells[c] & cell_member); ++a)
      if ((c / steps[a]) % 8 > 0 && joined(cells[c], a) && (cells[c - steps[a]] & cell_member))
        sets.join(static_cast<std::int16_t>(c), static_cast<std::int16_t>(c - steps[a]));
  std::int64_t count = 0;
  for (int c = 0; c < bucket_cells; ++c) {
    if (!(cells[c] & cell_member)) continue;
    std::int64_t& root = labels[sets.find(static_cast<std::int16_t>(c))];
    if (root < 0) root = count++;
    labels[c] = root;
  }
  return count;
}

struct Link {
  std::int64_t a, b;
  bool operator==(const Link&) const = default;
  auto operator<=>(const Link&) const = default;
};

/// Links of a bucket's cells to those of the buckets below it, as pairs of labels.
std::vector<Link> links_below(const Topology& t, int b, const std::uint8_t* cells, const std::int64_t* labels) {
  std::vector<Link> links;
  const std::int64_t* here = labels + static_cast<std::size_t>(b) * bucket_cells;
  for (int axis = 0; axis < 3; ++axis) {
    const int other =
        t.neighbours(b)[static_cast<std::size_t>(neighbour_index(-(axis == 0), -(axis == 1), -(axis == 2)))];
    if (other < 0) continue;
    const std::int64_t* there = labels + static_cast<std::size_t>(other) * bucket_cells;
    for (int c = 0; c < bucket_cells; ++c) {
      if ((c / steps[axis]) % 8 != 0 || here[c] < 0 || !joined(cells[c], axis)) continue;
      if (const Link l{here[c], there[c + 7 * steps[axis]]}; l.b >= 0 && (links.empty() || links.back() != l))
        links.push_back(l);
    }
  }
  return links;
}

}  // namespace

ConnectedCells connect_cells(Exec& exec, const Topology& topology, std::span<const std::uint8_t> cells,
                             std::int64_t least) {
  const auto local = static_cast<std::size_t>(topology.local_count());
  std::vector<std::int64_t> labels(static_cast<std::size_t>(topology.total_count()) * bucket_cells, -1);
  std::vector<std::int64_t> first(local + 1, 0);
  parallel_for(0, local, 8, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b)
      first[b + 1] = label_bucket(cells.data() + b * bucket_cells, labels.data() + b * bucket_cells);
  });
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::int64_t offset = 0, total = 0;
  const std::vector<std::int64_t> counts = gather_all(exec.comm, std::vector<std::int64_t>{first.back()});
  for (std::size_t r = 0; r < counts.size(); ++r) {
    if (static_cast<int>(r) < exec.comm.rank()) offset += counts[r];
    total += counts[r];
  }
  parallel_for(0, local, 8, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b)
      for (std::size_t c = b * bucket_cells; c < (b + 1) * bucket_cells; ++c)
        if (labels[c] >= 0) labels[c] += offset + first[b];
  });
  if (exec.comm.size() > 1)
    exchange_halo(exec.comm, topology, reinterpret_cast<std::byte*>(labels.data()),
                  bucket_cells * sizeof(std::int64_t));

  std::vector<std::vector<Link>> links(local);
  parallel_for(0, local, 8, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b)
      if (first[b + 1] > first[b])
        links[b] = links_below(topology, static_cast<int>(b), cells.data() + b * bucket_cells, labels.data());
  });
  Sets<std::int64_t> sets(static_cast<std::size_t>(total));
  const auto mine = [&](std::int64_t l) { return l >= offset && l < offset + first.back(); };
  std::vector<Link> shared;  // trees of this rank and links to others, which all ranks resolve alike
  for (const auto& list : links)
    for (const Link& l : list) {
      if (mine(l.a) && mine(l.b))
        sets.join(l.a, l.b);
      else
        shared.push_back(l);
    }
  if (exec.comm.size() > 1) {
    for (std::int64_t l = offset; mine(l); ++l)
      if (sets.find(l) != l) shared.push_back({l, sets.find(l)});
    for (const Link& l : gather_all(exec.comm, shared)) sets.join(l.a, l.b);
  }

  std::vector<std::int64_t> sizes(static_cast<std::size_t>(total), 0);
  for (std::size_t c = 0; c < local * bucket_cells; ++c)
    if (labels[c] >= 0) ++sizes[static_cast<std::size_t>(sets.find(labels[c]))];
  exec.comm.sum(std::span<std::int64_t>(sizes));
  ConnectedCells result;
  std::vector<std::int32_t> number(static_cast<std::size_t>(total), -1);
  for (std::size_t l = 0; l < number.size(); ++l)
    if (sizes[l] >= least && sizes[l] > 0) {
      number[l] = static_cast<std::int32_t>(result.sizes.size());
      result.sizes.push_back(sizes[l]);
    }
  result.set.resize(local * bucket_cells);
  for (std::size_t c = 0; c < result.set.size(); ++c)
    result.set[c] = labels[c] < 0 ? -1 : number[static_cast<std::size_t>(sets.find(labels[c]))];
  return result;
}

}  // namespace aegir
