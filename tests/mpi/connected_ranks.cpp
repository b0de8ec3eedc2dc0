// Sets of connected cells over ranks: the same sets, sizes and numbers wherever the curve is cut.
#include <cstring>

#include "base/random.h"
#include "domain/grid/connected_cells.h"
#include "tests/mpi/ranks.h"

namespace aegir::ranks {
namespace {

std::vector<BucketKey> all_keys() {
  std::vector<BucketKey> keys;
  for (int x = -2; x < 3; ++x)
    for (int y = -2; y < 2; ++y)
      for (int z = 0; z < 4; ++z)
        if (Random(21, static_cast<std::uint64_t>(100 * x + 10 * y + z), 0, Purpose::test).uniform(0) < 0.9)
          keys.push_back({{x, y, z}, 0});
  return keys;
}

/// Members and open faces by chance, a function of the cell's place alone.
std::vector<std::uint8_t> scatter(const Topology& t, double members, double open) {
  std::vector<std::uint8_t> cells(static_cast<std::size_t>(t.local_count()) * bucket_cells);
  for (int b = 0; b < t.local_count(); ++b)
    for (int c = 0; c < bucket_cells; ++c) {
      const Random r(22, t.curve(b) * bucket_cells + static_cast<std::uint64_t>(c), 0, Purpose::test);
      std::uint8_t& flags = cells[static_cast<std::size_t>(b) * bucket_cells + static_cast<std::size_t>(c)];
      flags = r.uniform(0) < members ? cell_member : 0;
      for (int a = 0; a < 3; ++a)
        if (r.uniform(1 + static_cast<std::uint32_t>(a)) < open) flags |= static_cast<std::uint8_t>(cell_joined << a);
    }
  return cells;
}

/// One hash of the sets of all cells along the curve.
std::uint64_t hash_of(Comm& comm, const std::vector<std::int32_t>& mine) {
  std::uint64_t hash = 1;
  for (const std::int32_t s : gather_all(comm, mine)) hash = mix(hash * 3 + static_cast<std::uint64_t>(s + 1));
  return hash;
}

}  // namespace

void check_connected(Exec& exec) {
  const std::vector<BucketKey> keys = all_keys();
  const int ranks = exec.comm.size();
  // About equal shares of the buckets, of other weights, and by the curve alone, where some ranks have none.
  const auto root_topology = Topology::build(1, keys, Partition{}, *make_single_comm());
  std::vector<std::uint64_t> positions;
  std::vector<std::int64_t> equal, skewed;
  if (exec.comm.root())
    for (int b = 0; b < root_topology->local_count(); ++b) {
      positions.push_back(root_topology->curve(b));
      equal.push_back(1), skewed.push_back(b < 10 ? 50 : 1);
    }
  const Partition partitions[] = {Partition::by_weight(exec.comm, positions, equal),
                                  Partition::by_weight(exec.comm, positions, skewed),
                                  ranks > 1 ? Partition::even(ranks) : Partition{}};
  for (const double members : {0.1, 0.5, 1.0})
    for (const double open : {0.3, 0.6, 1.0})
      for (const std::int64_t least : {1, 20}) {
        std::string first;
        for (const Partition& partition : partitions) {
          const auto t = Topology::build(1, keys, partition, exec.comm);
          const ConnectedCells sets = connect_cells(exec, *t, scatter(*t, members, open), least);
          std::int64_t cells = 0, largest = 0;
          for (const std::int64_t s : sets.sizes) cells += s, largest = std::max(largest, s);
          std::int64_t counted = 0;
          for (const std::int32_t s : sets.set) counted += s >= 0;
          require(exec.comm.sum(counted) == cells, "sizes count the cells of all ranks");
          std::string said = "members " + std::to_string(members) + " open " + std::to_string(open) + ": " +
                             std::to_string(sets.sizes.size()) + " sets of " + std::to_string(cells) +
                             " cells, the largest of " + std::to_string(largest) + ", hash " +
                             std::to_string(hash_of(exec.comm, sets.set));
          if (first.empty()) first = said;
          require(said == first, "sets do not depend on the partition");
        }
        print_same(exec, first);
      }
}

}  // namespace aegir::ranks
