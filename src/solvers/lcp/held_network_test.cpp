#include "solvers/lcp/held_network.h"

#include <gtest/gtest.h>

#include <cstring>

#include "domain/volume/tile.h"
#include "solvers/linear/multigrid.h"
#include "solvers/linear/network_test_system.h"

namespace aegir {
namespace {

/// A network with cells held by chance, as bits and as values.
struct HeldNetwork {
  TestNetwork network{{3, 3, 2}};
  HeldSet bits{*network.topology};
  BucketField values{network.topology->total_count(), bucket_cells};

  HeldNetwork(std::uint64_t seed, double share) {
    network.scatter(seed);
    for (int b = 0; b < network.topology->local_count(); b += 2)
      for (int c = 0; c < bucket_cells; ++c) {
        const auto id = static_cast<std::uint64_t>(b * bucket_cells + c);
        if (Random(seed, id, 3, Purpose::test).uniform(0) >= share) continue;
        values.at(b)[c] = 1;
        bits.rows(b)[c >> 3] = static_cast<std::uint8_t>(bits.rows(b)[c >> 3] | 1 << (c & 7));
      }
    bits.prepare(network.exec);
  }
};

TEST(HeldSet, BitsHoldWhatValuesHold) {
  HeldNetwork held(1, 0.1);
  const HeldCells cells = held.bits.cells();
  NetworkTile with_bits, with_values;
  for (int b = 0; b < held.network.topology->local_count(); ++b) {
    held.network.fields->load(*held.network.topology, b, with_bits);
    held.network.fields->load(*held.network.topology, b, with_values);
    PaddedTile<float, 4> tile;
    load_tile<Halo<4>>(tile, *held.network.topology, b, const_cast<const float*>(held.values.data()), 0.0f);
    hold(with_values, tile.values);
    cells.hold(b, with_bits);
    for (int a = 0; a < 3; ++a) {
      EXPECT_EQ(std::memcmp(with_bits.link[a], with_values.link[a], NetworkTile::cells * sizeof(float)), 0);
      EXPECT_EQ(std::memcmp(with_bits.sink[a], with_values.sink[a], NetworkTile::cells * sizeof(float)), 0);
    }
  }
}

/// Coarse levels are those of the held network, the operators those of the whole one; however the hierarchy is built.
TEST(HeldSet, CoarseLevelsHoldAndTheFinestDoesNot) {
  HeldNetwork held(2, 0.02);
  std::int64_t unknowns = 0;
  const std::vector<BucketShape> shapes = held.network.shapes(unknowns);
  const HeldCells cells = held.bits.cells();
  constexpr Multigrid::Settings few{.direct_unknowns = 60};
  Exec& exec = held.network.exec;
  const auto load = held.network.loader();
  const Multigrid base(exec, held.network.topology, shapes, unknowns, load, {.direct_unknowns = 60, .base_only = true});
  ASSERT_GE(base.level_count(), 2);
  const Multigrid derived(exec, base, cells, load, few),
      whole(exec, held.network.topology, shapes, unknowns, load, few, &cells);
  const auto load_held = [&](int b, NetworkTile& tile) { load(b, tile), cells.hold(b, tile); };
  std::vector<BucketShape> mixed = shapes;  // held cells make them so
  for (BucketShape& s : mixed) s = s.kind == BucketKind::empty ? s : BucketShape{BucketKind::mixed, 0};
  const Multigrid expected(exec, held.network.topology, mixed, unknowns, load_held, few);
  for (const Multigrid* cycle : {&derived, &whole}) {
    for (int b = 0; b < held.network.topology->local_count(); ++b) {
      const BucketOperator one = cycle->level(0).bucket_operator(b), other = base.level(0).bucket_operator(b);
      ASSERT_EQ(one.network == nullptr, other.network == nullptr);
      EXPECT_EQ(one.closed, other.closed);
      if (one.network) {
        EXPECT_EQ(std::memcmp(one.network, other.network, sizeof(NetworkBucket)), 0);
      }
    }
    const Level &coarse = cycle->level(1), &exact = expected.level(1);
    for (int b = 0; b < coarse.topology().local_count(); ++b) {
      ASSERT_EQ(coarse.kind(b), exact.kind(b));
      if (coarse.kind(b) != BucketKind::mixed) continue;
      const NetworkBucket &one = *coarse.bucket_operator(b).network, &other = *exact.bucket_operator(b).network;
      EXPECT_EQ(std::memcmp(one.sink, other.sink, sizeof one.sink), 0);
      EXPECT_EQ(std::memcmp(one.x, other.x, sizeof one.x), 0);
    }
  }
}

}  // namespace
}  // namespace aegir
