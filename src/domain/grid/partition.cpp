#include "domain/grid/partition.h"

#include <algorithm>
#include <cstring>

namespace aegir {

int Partition::owner(std::uint64_t position) const {
  return static_cast<int>(std::upper_bound(cuts_.begin(), cuts_.end(), position) - cuts_.begin());
}

Partition Partition::even(int ranks) {
  Partition p;
  const std::uint64_t stretch = (std::uint64_t{1} << 63) / static_cast<std::uint64_t>(ranks);
  for (int r = 1; r < ranks; ++r) p.cuts_.push_back(stretch * static_cast<std::uint64_t>(r));
  return p;
}

Partition Partition::by_weight(Comm& comm, std::span<const std::uint64_t> positions,
                               std::span<const std::int64_t> weights) {
  struct Entry {
    std::uint64_t position;
    std::int64_t weight;
  };
  Bytes mine(positions.size() * sizeof(Entry));
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const Entry e{positions[i], weights[i]};
    std::memcpy(mine.data() + i * sizeof e, &e, sizeof e);
  }
  std::vector<Entry> all;
  std::int64_t total = 0;
  for (const Bytes& bytes : comm.all_gather(mine))
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(Entry)) {
      Entry e;
      std::memcpy(&e, bytes.data() + at, sizeof e);
      total += e.weight;
      all.push_back(e);
    }
  std::sort(all.begin(), all.end(), [](const Entry& a, const Entry& b) { return a.position < b.position; });
  if (total == 0) return even(comm.size());

  Partition p;
  std::int64_t before = 0;
  std::size_t next = 0;
  for (int r = 1; r < comm.size(); ++r) {
    const std::int64_t goal = total / comm.size() * r + total % comm.size() * r / comm.size();
    // A bucket goes to the earlier rank while its middle lies before the goal.
    while (next < all.size() && before + all[next].weight / 2 < goal) before += all[next++].weight;
    p.cuts_.push_back(next < all.size() ? all[next].position : ~std::uint64_t{0} >> 1);
  }
  return p;
}

}  // namespace aegir
