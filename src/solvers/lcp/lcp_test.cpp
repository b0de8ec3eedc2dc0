// The conditions of complementarity themselves are the law: x >= l, A x >= b, one of them an equality.
#include "solvers/lcp/lcp.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "base/random.h"
#include "domain/for_each_bucket.h"
#include "parallel/threads.h"

namespace aegir {
namespace {

constexpr FaceChannel<float> area{"area", {}, 0.0f};
constexpr CellChannel<float> distance{"distance", {}, 1.0f};
constexpr CellChannel<float> rhs{"rhs"};
constexpr CellChannel<double> pressure{"pressure"};
constexpr CellChannel<float> lower{"lower", {}, -1e38f};
constexpr PressureChannels channels{area, distance, rhs, pressure};

/// A closed box of n³ cells, liquid up to `height`, with a right-hand side that pulls in its upper part: wall cells
/// have a bound.
class Tank {
 public:
  Tank(int n, int height, float bound = 0) : n_(n), comm_(make_single_comm()), exec_{*comm_, profile_} {
    std::vector<BucketKey> keys;
    for (int x = 0; x < n / 8; ++x)
      for (int y = 0; y <= std::min(height, n - 1) / 8; ++y)
        for (int z = 0; z < n / 8; ++z) keys.push_back({{x, y, z}, 0});
    volume_ = std::make_unique<DiscreteVolume>("tank", Topology::build(1.0, keys, Partition{}, *comm_));
    volume_->declare(area), volume_->declare(distance), volume_->declare(rhs), volume_->declare(pressure),
        volume_->declare(lower);
    for_each_bucket(
        exec_, "fill", volume_->topology(),
        [&](const Bucket& b, auto& w, auto& d, auto& f, auto& l) {
          const Vec3i origin = volume_->topology().key(b.index).coord * bucket_size;
          for (int c = 0; c < bucket_cells; ++c) {
            const Vec3i q = origin + Vec3i{c >> 6, (c >> 3) & 7, c & 7};
            for (int a = 0; a < 3; ++a) w[static_cast<std::size_t>(a)][c] = q[a] > 0 && q[a] < n ? 1.0f : 0.0f;
            d[c] = static_cast<float>(q.y - height) + 0.5f;
            const bool liquid = q.y < height;
            const Random random(7, static_cast<std::uint64_t>((q.x * n + q.y) * n + q.z), 0, Purpose::test);
            f[c] =
                liquid ? static_cast<float>(q.y < height / 2 ? 0.3 : -0.5) + 0.2f * (random.uniform(0) - 0.5f) : 0.0f;
            const bool wall = q.x == 0 || q.x == n - 1 || q.z == 0 || q.z == n - 1 || q.y == 0;
            l[c] = liquid && wall ? bound : -1e38f;
          }
        },
        volume_->write(area), volume_->write(distance), volume_->write(rhs), volume_->write(lower));
  }

  SolveReport solve(const LcpSettings& settings, LcpHierarchy* kept = nullptr) {
    return solve_lcp(exec_, *volume_, channels, lower, settings, kept);
  }
  SolveReport solve_linear(double tolerance) {
    return solve_pressure(exec_, *volume_, channels, {.tolerance = tolerance});
  }
  template <class T>
  T* plane(const char* name) {
    return volume_->store(name).plane<T>(0);
  }
  std::size_t size() const { return static_cast<std::size_t>(volume_->topology().local_count()) * bucket_cells; }

  /// Value of a channel at a cell, 0 outside.
  template <class T>
  double value(const char* name, const Vec3i& q) {
    const int b = volume_->topology().find({{q.x >> 3, q.y >> 3, q.z >> 3}, 0});
    if (b < 0) return 0;
    return static_cast<double>(plane<T>(name)[static_cast<std::size_t>(b) * bucket_cells +
                                              static_cast<std::size_t>(cell_offset(q.x & 7, q.y & 7, q.z & 7))]);
  }
  template <class T>
  void set(const char* name, const Vec3i& q, T to) {
    const int b = volume_->topology().find({{q.x >> 3, q.y >> 3, q.z >> 3}, 0});
    plane<T>(name)[static_cast<std::size_t>(b) * bucket_cells +
                   static_cast<std::size_t>(cell_offset(q.x & 7, q.y & 7, q.z & 7))] = to;
  }
  /// The worst breach of the conditions, written out from the equations, and how many cells are held.
  struct Check {
    double worst = 0;
    int held = 0, bounded = 0;
  };
  Check check(int height) {
    Check result;
    for (int x = 0; x < n_; ++x)
      for (int y = 0; y < height; ++y)
        for (int z = 0; z < n_; ++z) {
          const Vec3i q{x, y, z};
          double excess = -value<float>("rhs", q);
          for (int a = 0; a < 3; ++a)
            for (const int s : {-1, 1}) {
              Vec3i o = q;
              o[a] += s;
              if (o[a] < 0 || o[a] >= n_) continue;
              // The surface lies half a cell above the last centre: the ghost fluid's sink is 2.
              excess += o.y >= height ? 2 * value<double>("pressure", q)
                                      : value<double>("pressure", q) - value<double>("pressure", o);
            }
          const double l = value<float>("lower", q), p = value<double>("pressure", q);
          if (l > -1e30) {
            ++result.bounded;
            result.held += p <= l;
            result.worst = std::max(result.worst, std::abs(std::min(p - l, excess)));
          } else {
            result.worst = std::max(result.worst, std::abs(excess));
          }
        }
    return result;
  }

 private:
  int n_;
  std::unique_ptr<Comm> comm_;
  Profile profile_;
  Exec exec_;
  std::unique_ptr<DiscreteVolume> volume_;
};

TEST(Lcp, MeetsTheConditionsOfComplementarity) {
  Tank tank(32, 20);
  const SolveReport report = tank.solve({.tolerance = 1e-7});
  ASSERT_TRUE(report.converged) << report.trouble;
  const auto check = tank.check(20);
  EXPECT_LT(check.worst, 1e-5);
  EXPECT_GT(check.held, check.bounded / 10) << "a test where nothing is held shows nothing";
  EXPECT_LT(check.held, check.bounded * 9 / 10);
}

TEST(Lcp, BoundsOtherThanZero) {
  Tank tank(16, 12, -0.25f);
  const SolveReport report = tank.solve({.tolerance = 1e-8});
  ASSERT_TRUE(report.converged) << report.trouble;
  EXPECT_LT(tank.check(12).worst, 1e-6);
}

TEST(Lcp, WithoutBoundsItIsTheLinearSystem) {
  Tank bounded(16, 12), free(16, 12);
  std::fill_n(bounded.plane<float>("lower"), bounded.size(), -1e38f);
  ASSERT_TRUE(bounded.solve({.tolerance = 1e-9}).converged);
  ASSERT_TRUE(free.solve_linear(1e-9).converged);
  for (std::size_t i = 0; i < free.size(); ++i)
    EXPECT_NEAR(free.plane<double>("pressure")[i], bounded.plane<double>("pressure")[i], 1e-5);
  EXPECT_LT(bounded.check(12).worst, 1e-6);
}

/// A full box: nothing fixes the constant, and only what sums to zero can be met.
TEST(Lcp, ClosedPoolWithoutBoundsIsSolvedUpToAConstant) {
  Tank tank(16, 16);
  std::fill_n(tank.plane<float>("lower"), tank.size(), -1e38f);
  const SolveReport report = tank.solve({.tolerance = 1e-6});
  EXPECT_TRUE(report.converged) << report.trouble;
  EXPECT_EQ(report.closed_pools, 1);
  EXPECT_GT(report.incompatible, 0.01);
}

/// A full box that is torn from its walls has a solution, one that is pressed together has none.
TEST(Lcp, ClosedPoolWithBounds) {
  Tank torn(16, 16);
  for (std::size_t i = 0; i < torn.size(); ++i) torn.plane<float>("rhs")[i] = -1;
  const SolveReport good = torn.solve({.tolerance = 1e-5});
  EXPECT_TRUE(good.converged) << good.trouble;
  EXPECT_GT(torn.check(16).held, 0);
  Tank pressed(16, 16);
  for (std::size_t i = 0; i < pressed.size(); ++i) pressed.plane<float>("rhs")[i] = 1;
  const SolveReport bad = pressed.solve({.tolerance = 1e-5});
  EXPECT_FALSE(bad.converged);
  EXPECT_NE(bad.trouble.find("closed pool"), std::string::npos) << bad.trouble;
}

/// Where everything pulls, everything is held.
TEST(Lcp, AllCellsHeld) {
  Tank tank(16, 12);
  for (std::size_t i = 0; i < tank.size(); ++i) tank.plane<float>("lower")[i] = 100, tank.plane<float>("rhs")[i] = -1;
  const SolveReport report = tank.solve({.tolerance = 1e-6});
  EXPECT_TRUE(report.converged) << report.trouble;
  for (int x = 0; x < 16; ++x) EXPECT_EQ(tank.value<double>("pressure", {x, 3, 3}), 100);
  EXPECT_EQ(tank.value<double>("pressure", {3, 13, 3}), 0) << "no unknown, no pressure";
}

/// Sand: every cell has a bound, and large parts fall freely. From the pressure of the load before, the solution is the
/// same as from nothing.
TEST(Lcp, EveryCellBoundedFromTheLoadBefore) {
  constexpr int n = 48, height = 40;
  Tank sand(n, height), anew(n, height);
  for (Tank* tank : {&sand, &anew})
    for (int x = 0; x < n; ++x)
      for (int y = 0; y < height; ++y)
        for (int z = 0; z < n; ++z) tank->set<float>("lower", {x, y, z}, 0.0f);
  const SolveReport first = sand.solve({.tolerance = 1e-6});
  ASSERT_TRUE(first.converged) << first.trouble;
  const auto check = sand.check(height);
  EXPECT_LT(check.worst, 1e-3);
  EXPECT_EQ(check.bounded, n * n * height);
  EXPECT_GT(check.held, check.bounded / 10);
  EXPECT_LT(check.held, check.bounded * 9 / 10);
  for (Tank* tank : {&sand, &anew})
    for (std::size_t i = 0; i < tank->size(); ++i)
      tank->plane<float>("rhs")[i] *= 1 + 0.1f * std::sin(0.01f * static_cast<float>(i % 4096));
  const SolveReport warm = sand.solve({.tolerance = 1e-6, .warm_start = true});
  const SolveReport cold = anew.solve({.tolerance = 1e-6});
  ASSERT_TRUE(warm.converged && cold.converged) << warm.trouble << cold.trouble;
  EXPECT_LE(warm.iterations, 10);
  double greatest = 0, differs = 0;
  for (std::size_t i = 0; i < sand.size(); ++i) {
    greatest = std::max(greatest, anew.plane<double>("pressure")[i]);
    differs = std::max(differs, std::abs(anew.plane<double>("pressure")[i] - sand.plane<double>("pressure")[i]));
  }
  EXPECT_LT(differs, 1e-3 * greatest);
}

/// Where there is no pressure yet, there is nothing to start from.
TEST(Lcp, ZeroIsNoStart) {
  Tank warm(32, 20), cold(32, 20);
  ASSERT_TRUE(warm.solve({.tolerance = 1e-6, .warm_start = true}).converged);
  ASSERT_TRUE(cold.solve({.tolerance = 1e-6}).converged);
  EXPECT_EQ(std::memcmp(warm.plane<double>("pressure"), cold.plane<double>("pressure"), warm.size() * sizeof(double)),
            0);
}

TEST(Lcp, WhatLiesOutsideTheUnknownsIsNotRead) {
  Tank tank(16, 12), clean(16, 12);
  ASSERT_TRUE(clean.solve({.tolerance = 1e-6, .warm_start = true}).converged);
  for (int x = 0; x < 16; ++x)
    for (int z = 0; z < 16; ++z) {
      tank.set<float>("rhs", {x, 14, z}, std::numeric_limits<float>::quiet_NaN());
      tank.set<double>("pressure", {x, 12, z}, std::numeric_limits<double>::quiet_NaN());
    }
  ASSERT_TRUE(tank.solve({.tolerance = 1e-6, .warm_start = true}).converged);
  EXPECT_EQ(std::memcmp(tank.plane<double>("pressure"), clean.plane<double>("pressure"), tank.size() * sizeof(double)),
            0);
  Tank guessed(16, 12);
  guessed.set<float>("rhs", {3, 14, 3}, std::numeric_limits<float>::quiet_NaN());
  EXPECT_TRUE(guessed.solve({.tolerance = 1e-6}).converged);
}

TEST(Lcp, StartsThatAreFarOffAreOvercome) {
  for (const double garbage : {1e6, 1e30, 1e200}) {
    Tank tank(16, 12);
    std::fill_n(tank.plane<double>("pressure"), tank.size(), garbage);
    EXPECT_TRUE(tank.solve({.tolerance = 1e-6, .warm_start = true}).converged) << garbage;
    EXPECT_LT(tank.check(12).worst, 1e-3);
  }
}

TEST(Lcp, BoundsThatAreNoNumbersAreReported) {
  for (const float bound : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    Tank tank(16, 12);
    tank.plane<float>("lower")[7] = bound;
    const SolveReport report = tank.solve({});
    EXPECT_FALSE(report.converged);
    EXPECT_NE(report.trouble.find("'lower'"), std::string::npos) << report.trouble;
  }
}

TEST(Lcp, StartingFromTheSolutionTakesNoIterations) {
  Tank tank(16, 12);
  ASSERT_TRUE(tank.solve({.tolerance = 1e-6}).converged);
  const SolveReport again = tank.solve({.tolerance = 1e-6, .warm_start = true});
  EXPECT_TRUE(again.converged);
  EXPECT_EQ(again.iterations, 0);
}

TEST(Lcp, SameBitsForAnyThreads) {
  std::vector<double> first;
  for (const int threads : {1, 2, 7}) {
    Tank tank(32, 20);
    ThreadScope scope(threads);
    scope.run([&] { EXPECT_TRUE(tank.solve({.tolerance = 1e-6}).converged); });
    const std::vector<double> p(tank.plane<double>("pressure"), tank.plane<double>("pressure") + tank.size());
    if (first.empty()) first = p;
    EXPECT_EQ(std::memcmp(first.data(), p.data(), p.size() * sizeof(double)), 0) << threads << " threads";
  }
}

TEST(Lcp, BadInputIsReported) {
  Tank tank(16, 12);
  tank.plane<float>("rhs")[100] = std::numeric_limits<float>::quiet_NaN();
  const SolveReport report = tank.solve({});
  EXPECT_FALSE(report.converged);
  EXPECT_NE(report.trouble.find("'rhs' of cell"), std::string::npos) << report.trouble;
  // Also where the second right-hand side is the one that is wrong.
  Tank kept(16, 12);
  LcpHierarchy hierarchy;
  EXPECT_TRUE(kept.solve({}, &hierarchy).converged);
  kept.plane<float>("rhs")[100] = std::numeric_limits<float>::quiet_NaN();
  const SolveReport later = kept.solve({}, &hierarchy);
  EXPECT_FALSE(later.converged);
  EXPECT_NE(later.trouble.find("'rhs' of cell"), std::string::npos) << later.trouble;
}

// What a solve has built serves others with other right-hand sides and bounds: the bits are those of a solve alone.
TEST(Lcp, KeptHierarchyGivesTheSameBits) {
  Tank alone(32, 24), kept(32, 24);
  LcpHierarchy hierarchy;
  for (int solve = 0; solve < 3; ++solve) {
    for (Tank* tank : {&alone, &kept})
      for (std::size_t i = 0; i < tank->size(); ++i) {
        tank->plane<float>("rhs")[i] *= solve == 1 ? -0.5f : 1.5f;
        float& bound = tank->plane<float>("lower")[i];
        if (bound > -1e30f) bound -= 0.1f * static_cast<float>(solve);
      }
    const SolveReport a = alone.solve({.tolerance = 1e-5}), b = kept.solve({.tolerance = 1e-5}, &hierarchy);
    EXPECT_TRUE(a.converged && b.converged) << a.trouble << b.trouble;
    EXPECT_EQ(a.unknowns, b.unknowns);
    EXPECT_EQ(a.pools, b.pools);
    EXPECT_EQ(std::memcmp(alone.plane<double>("pressure"), kept.plane<double>("pressure"), alone.size() * 8), 0);
  }
}

}  // namespace
}  // namespace aegir
