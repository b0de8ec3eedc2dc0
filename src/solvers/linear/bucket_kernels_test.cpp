#include "solvers/linear/bucket_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "solvers/linear/coarsen.h"
#include "solvers/linear/multigrid.h"
#include "solvers/linear/network_test_system.h"

namespace aegir {
namespace {

using Values = std::vector<double>;

double dot(const Values& a, const Values& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}
double norm(const Values& a) { return std::sqrt(dot(a, a)); }
Values difference(Values a, const Values& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] -= b[i];
  return a;
}
std::vector<float> narrowed(const Values& a) { return {a.begin(), a.end()}; }

/// A x by the kernel that judges convergence.
Values product(TestNetwork& network, const Level& level, const Values& x) {
  Values y(x.size(), 0.0);
  alignas(64) float zero[bucket_cells] = {};
  for (int b = 0; b < network.topology->local_count(); ++b) {
    if (level.kind(b) == BucketKind::empty) continue;
    PaddedTile<double, 1> tile;
    load_tile<Star<1>>(tile, *network.topology, b, x.data(), 0.0);
    mirror(tile, level.bucket_operator(b).closed);
    true_residual(tile, zero, level.bucket_operator(b), y.data() + b * bucket_cells);
  }
  for (double& v : y) v = -v;
  return y;
}

TEST(PressureOperator, IsSymmetricAndPositive) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    TestNetwork network({3, 2, 2});
    network.scatter(seed);
    const auto level = network.level(true);
    const Values x = network.noise(*level, seed), y = network.noise(*level, seed + 10);
    const Values ax = product(network, *level, x), ay = product(network, *level, y);
    EXPECT_NEAR(dot(x, ay), dot(ax, y), 1e-14 * norm(x) * norm(ay));
    EXPECT_GT(dot(x, ax), 0);
    EXPECT_GT(dot(y, ay), 0);
    EXPECT_LE(norm(difference(ax, network.times(x))), 1e-14 * norm(ax)) << "it is that of the network";
  }
}

TEST(PressureOperator, KernelsInSingleAndDoubleAgree) {
  TestNetwork network({3, 2, 2});
  network.scatter(4);
  const auto level = network.level(false);  // with uniform buckets where there are some
  const Values x = network.noise(*level, 4), b = network.noise(*level, 5);
  const std::vector<float> xf = narrowed(x), bf = narrowed(b);
  const Values ax = network.times(x);
  Values single(x.size(), 0.0), moved = b;
  double sum = 0, squares = 0;
  const double alpha = 0.37;
  for (int k = 0; k < network.topology->local_count(); ++k) {
    if (level->kind(k) == BucketKind::empty) continue;
    const BucketOperator a = level->bucket_operator(k);
    UnknownTile tile;
    load_bucket(tile, *network.topology, k, xf.data(), a);
    alignas(64) float out[bucket_cells];
    residual(tile, bf.data() + k * bucket_cells, a, out);
    std::copy_n(out, bucket_cells, single.begin() + k * bucket_cells);
    sum += energy(tile, a);
    squares += subtract_product(tile, a, alpha, moved.data() + k * bucket_cells);
  }
  EXPECT_LE(norm(difference(single, difference(b, ax))), 1e-6 * norm(ax));
  EXPECT_NEAR(sum, dot(x, ax), 1e-6 * dot(x, ax));
  Values expected = b;
  for (std::size_t i = 0; i < b.size(); ++i) expected[i] -= alpha * ax[i];
  EXPECT_LE(norm(difference(moved, expected)), 1e-13 * norm(ax));
  EXPECT_NEAR(squares, dot(moved, moved), 1e-12 * squares);
}

/// Far bounds change nothing, near ones are kept; in mixed and in uniform buckets with closed sides, both ways.
TEST(PressureOperator, ProjectedRelaxationIsRelaxationWithinBounds) {
  TestNetwork network({3, 2, 2});
  network.scatter(8);
  const auto level = network.level(false);
  const std::vector<float> x = narrowed(network.noise(*level, 8)), rhs = narrowed(network.noise(*level, 9));
  alignas(64) float far[bucket_cells], near[bucket_cells];
  std::fill_n(far, bucket_cells, -1e30f), std::fill_n(near, bucket_cells, -0.1f);
  for (int b = 0; b < network.topology->local_count(); ++b) {
    if (level->kind(b) == BucketKind::empty) continue;
    std::vector<BucketOperator> operators{level->bucket_operator(b)};
    if (!operators[0].network)
      for (const Sides closed : {Sides{0}, Sides{9}, Sides{38}, Sides{63}}) operators.push_back({nullptr, 2, closed});
    for (const BucketOperator& a : operators)
      for (const bool reverse : {false, true}) {
        UnknownTile plain, projected;
        for (UnknownTile* tile : {&plain, &projected}) load_bucket(*tile, *network.topology, b, x.data(), a);
        relax(plain, rhs.data() + b * bucket_cells, a, 3, reverse);
        relax_projected(projected, rhs.data() + b * bucket_cells, a, far, 3, reverse);
        alignas(64) float one[bucket_cells], other[bucket_cells];
        store_own(plain, one), store_own(projected, other);
        EXPECT_TRUE(std::equal(one, one + bucket_cells, other));
        relax_projected(projected, rhs.data() + b * bucket_cells, a, near, 2, reverse);
        store_own(projected, other);
        EXPECT_EQ(*std::min_element(other, other + bucket_cells), -0.1f) << "some are at their bound, none below";
      }
  }
}

/// Buckets are coarsened alike whether or not it is known how far away the next cell is that is not uniform.
TEST(PressureOperator, WhatIsOutOfReachDoesNotMatter) {
  for (int depth = 0; depth < 8; ++depth) {
    TestNetwork network({4, 4, 4});
    network.make_solid({8 + depth, 16 + depth, 23 - depth});
    network.sink(1, {16 + depth, 8 + depth, 15 - depth}) = 2;
    std::int64_t unknowns = 0;
    std::vector<BucketShape> known = network.shapes(unknowns), unknown = known;
    for (BucketShape& s : unknown) s = {s.kind, s.closed};
    const auto load = network.loader();
    const Level one(network.exec, network.topology, known, 1, false, load);
    const Level other(network.exec, network.topology, unknown, 1, false, load);
    for (int a = 0; a < 3; ++a) {
      const auto bytes = static_cast<std::size_t>(one.coarse_topology->local_count()) * bucket_cells * sizeof(float);
      EXPECT_EQ(std::memcmp(one.coarse_network->link[a].data(), other.coarse_network->link[a].data(), bytes), 0);
      EXPECT_EQ(std::memcmp(one.coarse_network->sink[a].data(), other.coarse_network->sink[a].data(), bytes), 0);
    }
    for (int b = 0; b < network.topology->local_count(); ++b) {
      const TransferWeights *s = one.transfer(b), *t = other.transfer(b);
      ASSERT_EQ(s == nullptr, t == nullptr);
      if (s) {
        EXPECT_EQ(std::memcmp(s, t, sizeof *s), 0);
      }
    }
  }
}

TEST(PressureOperator, WhatIsHeldIsNoUnknown) {
  TestNetwork network({3, 2, 2});
  network.scatter(6);
  const auto base = network.level(false), level = network.level(false);
  const int buckets = network.topology->local_count();
  BucketField held(buckets, bucket_cells);
  std::vector<std::int32_t> all;
  Values x = network.noise(*base, 7);
  for (int b = 0; b < buckets; ++b) {
    all.push_back(b);
    for (int c = b; b % 3 < 2 && c < bucket_cells; c += 5) held.at(b)[c] = 1, x[b * bucket_cells + c] = 0;
  }
  level->hold(*base, held, all);
  Values expected = product(network, *base, x);
  for (std::size_t i = 0; i < x.size(); ++i)
    if (held.data()[i] != 0) expected[i] = 0;
  EXPECT_LE(norm(difference(product(network, *level, x), expected)), 1e-14 * norm(expected));
  for (const std::int32_t b : all)
    for (int c = 0; c < bucket_cells && level->kind(b) != BucketKind::empty; ++c)
      if (held.at(b)[c] != 0) {
        EXPECT_EQ(level->bucket_operator(b).network->relax[c], 0);
      }
  std::fill_n(held.data(), x.size(), 0.0f);
  level->hold(*base, held, all);
  for (const std::int32_t b : all)
    EXPECT_EQ(level->bucket_operator(b).network, base->bucket_operator(b).network) << "free again, it is as before";
}

/// A bucket of equal links with closed sides is the same whether stored or not.
TEST(PressureOperator, ClosedSidesAreLinksOfZero) {
  for (int closed = 0; closed < 64; ++closed) {
    auto tile = std::make_unique<NetworkTile>();
    for (int a = 0; a < 3; ++a) {
      std::fill_n(tile->link[a], NetworkTile::cells, 2.0f);
      for (int u = 0; u < 8; ++u)
        for (int v = 0; v < 8; ++v)
          for (int upper = 0; upper < 2; ++upper) {
            int c[3];
            c[a] = 8 * upper, c[(a + 1) % 3] = u, c[(a + 2) % 3] = v;
            if (closed >> (2 * a + upper) & 1) tile->link[a][NetworkTile::at(c[0], c[1], c[2])] = 0;
          }
    }
    auto stored = std::make_unique<NetworkBucket>();
    extract(*tile, *stored);
    const BucketOperator plain{nullptr, 2.0f, static_cast<Sides>(closed)}, full{stored.get(), 2.0f, 0};
    UnknownTile u;
    for (int i = 0; i < UnknownTile::side * UnknownTile::side * UnknownTile::pitch; ++i)
      u.values[i] = static_cast<float>(Random(6, static_cast<std::uint64_t>(i), 0, Purpose::test).uniform(0, -1, 1));
    UnknownTile mirrored = u;
    mirror(mirrored, plain.closed);
    alignas(64) float rhs[bucket_cells] = {}, a[bucket_cells], b[bucket_cells];
    for (int c = 0; c < bucket_cells; ++c) rhs[c] = u.values[c] + 0.25f;
    residual(mirrored, rhs, plain, a);
    residual(u, rhs, full, b);
    for (int c = 0; c < bucket_cells; ++c) ASSERT_NEAR(a[c], b[c], 1e-5f) << "sides " << closed;
    EXPECT_NEAR(energy(mirrored, plain), energy(u, full), 1e-3);
  }
}

/// Relaxation brings the error down in the norm of the operator, whatever the weights.
TEST(Relax, LowersTheEnergyOfTheError) {
  for (const bool reverse : {false, true}) {
    TestNetwork network({2, 1, 1});
    network.scatter(7);
    const auto level = network.level(true);
    Values x = network.noise(*level, 8);
    double before = dot(x, network.times(x));
    for (int sweep = 0; sweep < 20; ++sweep) {
      std::vector<float> values = narrowed(x);
      const std::vector<float> rhs(x.size(), 0.0f);  // the solution is zero
      for (int b = 0; b < 2; ++b) {
        UnknownTile tile;
        load_bucket(tile, *network.topology, b, values.data(), level->bucket_operator(b));
        relax(tile, rhs.data(), level->bucket_operator(b), 1, reverse);
        store_own(tile, values.data() + b * bucket_cells);
      }
      x.assign(values.begin(), values.end());
      const double after = dot(x, network.times(x));
      EXPECT_LE(after, before * (1 + 1e-6));
      before = after;
    }
  }
}

TransferWeights random_weights(std::uint64_t seed) {
  TransferWeights w;
  const auto fill = [&](float* own, float* next, std::size_t count, std::uint64_t part) {
    for (std::size_t i = 0; i < count; ++i) {
      const Random random(seed + part, i, 0, Purpose::test);
      own[i] = static_cast<float>(random.uniform(0));
      next[i] = random.uniform(1) < 0.2 ? 0.0f : 1.0f - own[i];
    }
  };
  fill(w.own_x, w.next_x, std::size(w.own_x), 0);
  fill(w.own_y, w.next_y, std::size(w.own_y), 1);
  fill(w.own_z, w.next_z, std::size(w.own_z), 2);
  return w;
}

/// r · P c = Pᵀ r · c.
TEST(Transfer, RestrictionIsTheAdjointOfInterpolation) {
  const TransferWeights weights = random_weights(9);
  for (const TransferWeights* w : {&weights, static_cast<const TransferWeights*>(nullptr)}) {
    alignas(64) float c[coarse_pitch] = {}, r[bucket_cells], pc[bucket_cells], rr[coarse_pitch] = {};
    for (int i = 0; i < coarse_values; ++i)
      c[i] = static_cast<float>(Random(10, static_cast<std::uint64_t>(i), 0, Purpose::test).uniform(0, -1, 1));
    for (int i = 0; i < bucket_cells; ++i)
      r[i] = static_cast<float>(Random(11, static_cast<std::uint64_t>(i), 0, Purpose::test).uniform(0, -1, 1));
    prolong_bucket(c, w, pc);
    restrict_bucket(r, w, rr);
    double fine = 0, coarse = 0, size = 0;
    for (int i = 0; i < bucket_cells; ++i) {
      fine += static_cast<double>(r[i]) * static_cast<double>(pc[i]);
      size += std::abs(static_cast<double>(r[i]) * static_cast<double>(pc[i]));
    }
    for (int i = 0; i < coarse_values; ++i) coarse += static_cast<double>(rr[i]) * static_cast<double>(c[i]);
    EXPECT_NEAR(fine, coarse, 1e-6 * size);
  }
}

TEST(Transfer, WithoutWeightsIsTrilinear) {
  alignas(64) float c[coarse_pitch] = {}, fine[bucket_cells];
  const auto plane = [](double i, double j, double k) { return 1 + 2 * i - 3 * j + 0.5 * k + i * j * k; };
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 5; ++j)
      for (int k = 0; k < 5; ++k) c[(i * 5 + j) * 5 + k] = static_cast<float>(plane(i, j, k));
  prolong_bucket(c, nullptr, fine);
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j)
      for (int k = 0; k < 8; ++k)
        EXPECT_NEAR(static_cast<double>(fine[cell_offset(i, j, k)]), plane(i * 0.5, j * 0.5, k * 0.5), 1e-5);
}

/// One whole cycle from zero.
Values cycled(TestNetwork& network, Multigrid& cycle, const Values& r) {
  const std::vector<float> rhs = narrowed(r);
  Values z(r.size(), 0.0);
  const auto of = [&](int b, float*) -> const float* { return rhs.data() + b * bucket_cells; };
  cycle.begin(network.exec, of, of);
  cycle.finish(network.exec, of,
               [&](int b, const float* values) { std::copy_n(values, bucket_cells, z.begin() + b * bucket_cells); });
  return z;
}

/// Conjugate gradients need it: r1 · B r2 = B r1 · r2 and r · B r > 0, here to the rounding of single precision.
TEST(Cycle, IsSymmetricAndPositive) {
  for (const std::uint64_t seed : {12, 13, 14, 15}) {
    for (const std::int64_t direct : {40, 600}) {
      TestNetwork network({4, 2, 3});
      network.scatter(seed);
      std::int64_t unknowns = 0;
      auto shapes = network.shapes(unknowns);
      Multigrid cycle(network.exec, network.topology, shapes, unknowns, network.loader(), {.direct_unknowns = direct});
      EXPECT_GT(cycle.level_count(), 1);
      const Values r1 = network.noise(cycle.level(0), seed), r2 = network.noise(cycle.level(0), seed + 100);
      const Values z1 = cycled(network, cycle, r1), z2 = cycled(network, cycle, r2);
      const double size = std::sqrt(dot(r1, z1) * dot(r2, z2));
      EXPECT_GT(dot(r1, z1), 0);
      EXPECT_GT(dot(r2, z2), 0);
      EXPECT_NEAR(dot(r1, z2), dot(z1, r2), 1e-5 * size) << "seed " << seed << ", " << cycle.level_count() << " levels";
    }
  }
}

/// A cycle is linear and brings a smooth error down by an order of magnitude in a plain box with a surface on top.
TEST(Cycle, SolvesAPlainBoxToATenth) {
  TestNetwork network({4, 4, 4});
  network.for_cells([&](const Vec3i& c) {
    if (c.y == network.size().y - 1) network.sink(1, c) = 2;
  });
  std::int64_t unknowns = 0;
  auto shapes = network.shapes(unknowns);
  EXPECT_EQ(unknowns, 32 * 32 * 32);
  Multigrid cycle(network.exec, network.topology, shapes, unknowns, network.loader(), {});
  const Values x = network.noise(cycle.level(0), 16), b = network.times(x);
  Values error = difference(x, cycled(network, cycle, b));
  EXPECT_LT(std::sqrt(dot(error, network.times(error))), 0.2 * std::sqrt(dot(x, network.times(x))));
  error = difference(error, cycled(network, cycle, network.times(error)));
  EXPECT_LT(std::sqrt(dot(error, network.times(error))), 0.04 * std::sqrt(dot(x, network.times(x))));
}

}  // namespace
}  // namespace aegir
