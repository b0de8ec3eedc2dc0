#include "domain/grid/connected_cells.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "parallel/threads.h"

namespace aegir {
namespace {

/// Flags of cells over some buckets, and the sets that a flood fill finds in them.
struct Field {
  std::unique_ptr<Comm> comm = make_single_comm();
  Profile profile;
  Exec exec{*comm, profile};
  std::shared_ptr<const Topology> topology;
  std::vector<std::uint8_t> cells;

  explicit Field(const std::vector<BucketKey>& keys) : topology(Topology::build(1, keys, Partition{}, *comm)) {
    cells.resize(static_cast<std::size_t>(topology->local_count()) * bucket_cells);
  }
  ConnectedCells sets(std::int64_t least = 1) { return connect_cells(exec, *topology, cells, least); }

  /// Index of a cell of the whole grid; -1 where no bucket is.
  std::ptrdiff_t index(const Vec3i& c) const {
    const int b = topology->find({{c.x >> 3, c.y >> 3, c.z >> 3}, 0});
    return b < 0 ? -1 : std::ptrdiff_t{b} * bucket_cells + cell_offset(c.x & 7, c.y & 7, c.z & 7);
  }
  Vec3i cell(std::size_t i) const {
    const int c = static_cast<int>(i % bucket_cells);
    return topology->key(static_cast<int>(i / bucket_cells)).coord * bucket_size + Vec3i{c >> 6, c >> 3 & 7, c & 7};
  }
  std::uint8_t& at(const Vec3i& c) { return cells[static_cast<std::size_t>(index(c))]; }

  ConnectedCells flooded(std::int64_t least) const {
    ConnectedCells found;
    found.set.assign(cells.size(), -1);
    std::vector<std::uint8_t> seen(cells.size(), 0);
    for (std::size_t start = 0; start < cells.size(); ++start) {
      if (seen[start] || !(cells[start] & cell_member)) continue;
      std::vector<std::size_t> members{start};
      seen[start] = 1;
      for (std::size_t n = 0; n < members.size(); ++n)
        for (int axis = 0; axis < 3; ++axis)
          for (const int way : {-1, 1}) {
            Vec3i there = cell(members[n]);
            there[axis] += way;
            const std::ptrdiff_t other = index(there);
            if (other < 0) continue;
            const auto o = static_cast<std::size_t>(other);
            const std::uint8_t face = cells[way < 0 ? members[n] : o];
            if (seen[o] || !(cells[o] & cell_member) || !(face & (cell_joined << axis))) continue;
            seen[o] = 1;
            members.push_back(o);
          }
      if (static_cast<std::int64_t>(members.size()) < least) continue;
      for (const std::size_t m : members) found.set[m] = static_cast<std::int32_t>(found.sizes.size());
      found.sizes.push_back(static_cast<std::int64_t>(members.size()));
    }
    return found;
  }
};

std::vector<BucketKey> block(const Vec3i& from, const Vec3i& to) {
  std::vector<BucketKey> keys;
  for (int x = from.x; x < to.x; ++x)
    for (int y = from.y; y < to.y; ++y)
      for (int z = from.z; z < to.z; ++z) keys.push_back({{x, y, z}, 0});
  return keys;
}

constexpr std::uint8_t all_faces = cell_joined << 0 | cell_joined << 1 | cell_joined << 2;

/// Members and open faces by chance.
void scatter(Field& f, std::uint64_t seed, double members, double open) {
  for (std::size_t i = 0; i < f.cells.size(); ++i) {
    const Random r(seed, i, 0, Purpose::test);
    f.cells[i] = r.uniform(0) < members ? cell_member : 0;
    for (int a = 0; a < 3; ++a)
      if (r.uniform(1 + static_cast<std::uint32_t>(a)) < open)
        f.cells[i] |= static_cast<std::uint8_t>(cell_joined << a);  // also of cells that are no members
  }
}

TEST(ConnectedCells, IsWhatAFloodFillFinds) {
  std::vector<BucketKey> keys = block(Vec3i(-2), Vec3i(2));
  for (const BucketKey& k : block({5, 0, 0}, {8, 1, 2})) keys.push_back(k);  // apart from the rest
  keys.erase(keys.begin() + 17);                                             // and with a hole
  int many = 0, large = 0;
  std::uint64_t seed = 0;
  for (const double members : {0.05, 0.3, 0.5, 0.9, 1.0})
    for (const double open : {0.2, 0.5, 0.7, 1.0}) {  // below and above the threshold of percolation
      Field f(keys);
      scatter(f, ++seed, members, open);
      for (const std::int64_t least : {1, 2, 8, 500}) {
        const ConnectedCells found = f.sets(least), expected = f.flooded(least);
        ASSERT_EQ(found.sizes, expected.sizes) << members << " " << open << " " << least;
        ASSERT_EQ(found.set, expected.set) << members << " " << open << " " << least;
        many += found.sizes.size() > 100;
        large += !found.sizes.empty() && *std::max_element(found.sizes.begin(), found.sizes.end()) > 10 * bucket_cells;
      }
    }
  EXPECT_GT(many, 5);  // both kinds were among them
  EXPECT_GT(large, 5);
}

TEST(ConnectedCells, SizesCountTheCellsOfTheSets) {
  Field f(block(Vec3i(0), Vec3i(3)));
  scatter(f, 99, 0.4, 0.8);
  const ConnectedCells sets = f.sets();
  std::vector<std::int64_t> counted(sets.sizes.size(), 0);
  std::int32_t next = 0;
  for (std::size_t i = 0; i < f.cells.size(); ++i) {
    ASSERT_EQ(sets.set[i] >= 0, (f.cells[i] & cell_member) != 0);  // with `least` 1 every member has a set
    if (sets.set[i] < 0) continue;
    ASSERT_LE(sets.set[i], next) << "sets are not numbered by their first cells";
    next = std::max(next, sets.set[i] + 1);
    ++counted[static_cast<std::size_t>(sets.set[i])];
  }
  EXPECT_EQ(counted, sets.sizes);
  EXPECT_GT(sets.sizes.size(), 50u);
}

TEST(ConnectedCells, SmallSetsAreLeftOutAndTheOthersMoveUp) {
  Field f(block(Vec3i(0), Vec3i(1)));
  const auto bar = [&](int i, int length) {
    for (int k = 0; k < length; ++k) f.at({i, 0, k}) = cell_member | all_faces;
  };
  bar(0, 3), bar(2, 1), bar(4, 5), bar(6, 4);
  EXPECT_EQ(f.sets().sizes, (std::vector<std::int64_t>{3, 1, 5, 4}));
  const ConnectedCells sets = f.sets(4);
  EXPECT_EQ(sets.sizes, (std::vector<std::int64_t>{5, 4}));
  EXPECT_EQ(sets.of(0, cell_offset(0, 0, 0)), -1);
  EXPECT_EQ(sets.of(0, cell_offset(2, 0, 0)), -1);
  EXPECT_EQ(sets.of(0, cell_offset(4, 0, 4)), 0);
  EXPECT_EQ(sets.of(0, cell_offset(6, 0, 3)), 1);
  EXPECT_TRUE(f.sets(6).sizes.empty());
}

TEST(ConnectedCells, ClosedFacesPartSets) {
  for (int axis = 0; axis < 3; ++axis)
    for (const int wall : {3, 8}) {  // inside a bucket and between two
      Field f(block(Vec3i(0), Vec3i(2)));
      for (std::size_t i = 0; i < f.cells.size(); ++i) {
        f.cells[i] = cell_member | all_faces;
        if (f.cell(i)[axis] == wall) f.cells[i] &= static_cast<std::uint8_t>(~(cell_joined << axis));
      }
      const std::int64_t low = wall * 256, high = 4096 - low;
      ConnectedCells sets = f.sets();
      ASSERT_EQ(sets.sizes.size(), 2u);
      EXPECT_EQ(sets.sizes[0] + sets.sizes[1], low + high);
      EXPECT_EQ(std::min(sets.sizes[0], sets.sizes[1]), std::min(low, high));
      for (std::size_t i = 0; i < f.cells.size(); ++i)
        ASSERT_EQ(sets.set[i] == sets.set[static_cast<std::size_t>(f.index(Vec3i(0)))], f.cell(i)[axis] < wall);
      // One open face in the wall joins them again.
      Vec3i gap{5, 12, 2};
      gap[axis] = wall;
      f.at(gap) |= static_cast<std::uint8_t>(cell_joined << axis);
      sets = f.sets();
      ASSERT_EQ(sets.sizes.size(), 1u);
      EXPECT_EQ(sets.sizes[0], 4096);
    }
}

TEST(ConnectedCells, ALongWindingSetIsOne) {
  // A path through all cells of 4³ buckets, one after the other; without one of its links it is two.
  Field f(block(Vec3i(0), Vec3i(4)));
  constexpr int n = 32;
  std::fill(f.cells.begin(), f.cells.end(), cell_member);
  Vec3i before;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j)
      for (int k = 0; k < n; ++k) {
        const int y = i % 2 ? n - 1 - j : j;
        const Vec3i here{i, y, (i * n + j) % 2 ? n - 1 - k : k};
        if (i || j || k)
          for (int a = 0; a < 3; ++a)
            if (here[a] != before[a])
              f.at(here[a] > before[a] ? here : before) |= static_cast<std::uint8_t>(cell_joined << a);
        before = here;
      }
  ASSERT_EQ(f.sets().sizes, (std::vector<std::int64_t>{n * n * n}));
  // All the links between x = 15 and x = 16 are one.
  int cut = 0;
  for (int j = 0; j < n; ++j)
    for (int k = 0; k < n; ++k)
      if (std::uint8_t& c = f.at({16, j, k}); c & cell_joined) c &= static_cast<std::uint8_t>(~cell_joined), ++cut;
  ASSERT_EQ(cut, 1);
  EXPECT_EQ(f.sets().sizes, (std::vector<std::int64_t>{n * n * n / 2, n * n * n / 2}));
}

TEST(ConnectedCells, NothingIsNoSet) {
  Field none(std::vector<BucketKey>{});
  EXPECT_TRUE(none.sets().sizes.empty());
  Field f(block(Vec3i(0), Vec3i(2)));
  std::fill(f.cells.begin(), f.cells.end(), all_faces);
  const ConnectedCells sets = f.sets(0);
  EXPECT_TRUE(sets.sizes.empty());
  EXPECT_TRUE(std::all_of(sets.set.begin(), sets.set.end(), [](std::int32_t s) { return s == -1; }));
}

TEST(ConnectedCells, TheSameOnAnyNumberOfThreads) {
  Field f(block(Vec3i(-2), Vec3i(2)));
  scatter(f, 7, 0.6, 0.5);
  std::vector<ConnectedCells> found;
  for (const int threads : {1, 2, 7}) ThreadScope(threads).run([&] { found.push_back(f.sets(3)); });
  for (const ConnectedCells& other : found) {
    EXPECT_EQ(other.set, found[0].set);
    EXPECT_EQ(other.sizes, found[0].sizes);
  }
  EXPECT_GT(found[0].sizes.size(), 100u);
}

}  // namespace
}  // namespace aegir
