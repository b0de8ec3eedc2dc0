// A particle falls into droplets: mass, momentum and centre of mass stay, sizes follow their law.
#include "phenomena/coupling/split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace aegir {
namespace {

constexpr double ball = 4.1887902047863905;

Whole whole(double radius, double excess = 1) {
  return {{3, -2, 7},
          {4, -1, 2.5},
          radius,
          static_cast<double>(static_cast<float>(1000 * ball * std::pow(radius, 3))),
          excess};
}

TEST(Split, KeepsMassMomentumAndCentre) {
  double worst_mass = 0, worst_momentum = 0, worst_centre = 0, farthest = 0;
  for (std::uint64_t n = 0; n < 20000; ++n) {
    const Random draw(5, n, 0, Purpose::test);
    const Whole w = whole(std::pow(10.0, draw.uniform(0, -4, 0)), draw.uniform(1));
    SplitRules rules;
    rules.smallest = w.radius * std::pow(10.0, draw.uniform(2, -3, 0.3));
    rules.greatest = rules.smallest * std::pow(10.0, draw.uniform(3, 0, 2));
    rules.most = 1 + static_cast<int>(draw.uniform(4) * 60), rules.amount = draw.uniform(5, 0, 2);
    rules.spread = draw.uniform(6, 0, 3), rules.weighting = draw.uniform(7);
    rules.law = n % 3 ? SizeLaw::inverse_cubic : SizeLaw::uniform;
    std::vector<Splinter> droplets;
    split(w, rules, Random(1, n, 0, Purpose::transition), droplets);
    ASSERT_GE(droplets.size(), 1u);
    ASSERT_LE(static_cast<int>(droplets.size()), rules.most);
    double mass = 0, volume = 0;
    Vec3d momentum, centre;
    for (const Splinter& d : droplets) {
      const auto m = static_cast<double>(d.mass);
      ASSERT_GT(d.mass, 0);
      ASSERT_GT(d.radius, 0);
      mass += m, momentum += Vec3d(d.velocity) * m, centre += (d.position - w.position) * m;
      volume += std::pow(static_cast<double>(d.radius), 3);
      farthest = std::max(farthest, length(d.position - w.position) / w.radius);
      ASSERT_LE(length(Vec3d(d.velocity) - w.velocity), 2 * rules.spread + 1e-5);
    }
    worst_mass = std::max(worst_mass, std::abs(mass / w.mass - 1));
    worst_momentum = std::max(worst_momentum, length(momentum / w.mass - w.velocity) / length(w.velocity));
    worst_centre = std::max(worst_centre, length(centre) / (w.mass * w.radius));
    ASSERT_NEAR(volume / std::pow(w.radius, 3), 1, 1e-5);
  }
  std::printf("  mass %.1e, momentum %.1e, centre %.1e, farthest %.3f radii\n", worst_mass, worst_momentum,
              worst_centre, farthest);
  EXPECT_LT(worst_mass, 1e-7);
  EXPECT_LT(worst_momentum, 2e-7);
  EXPECT_LT(worst_centre, 1e-6);
  EXPECT_LE(farthest, 1 + 1e-9) << "beyond the rounding of world positions";
}

/// Greatest distance between the distribution of numbers and a law.
template <class Law>
double distance_to(std::vector<double> values, Law&& law) {
  std::sort(values.begin(), values.end());
  double worst = 0;
  const auto n = static_cast<double>(values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    worst = std::max({worst, std::abs(law(values[i]) - static_cast<double>(i) / n),
                      std::abs(law(values[i]) - static_cast<double>(i + 1) / n)});
  return worst;
}

/// F(r) = (a⁻² - r⁻²) / (a⁻² - b⁻²). A particle that makes many droplets is a fair sample of it.
TEST(Split, RadiiFollowTheInverseCube) {
  const double a = 1e-3, b = 8e-3;
  const auto law = [&](double r) {
    return std::clamp((1 / (a * a) - 1 / (r * r)) / (1 / (a * a) - 1 / (b * b)), 0.0, 1.0);
  };
  for (const auto& [size, bound] : {std::pair(0.2, 0.01), std::pair(0.05, 0.02)}) {
    std::vector<double> radii;
    for (std::uint64_t n = 0; radii.size() < 50000; ++n) {
      std::vector<Splinter> droplets;
      split(whole(size, 0), {.smallest = a, .greatest = b, .most = 1000000}, Random(1, n, 0, Purpose::transition),
            droplets);
      for (const Splinter& d : droplets) radii.push_back(static_cast<double>(d.radius));
    }
    const double apart = distance_to(radii, law);
    std::printf("  particle of %.2f m: %zu droplets, Kolmogorov distance %.4f\n", size, radii.size(), apart);
    EXPECT_LT(apart, bound);
  }
}

/// Who is far beyond the threshold falls into more and smaller droplets that fly farther apart.
TEST(Split, TheMetricDecidesSizeAndSpread) {
  const SplitRules rules{.smallest = 1e-3, .greatest = 8e-3, .most = 100000, .spread = 1};
  const auto measure = [&](double excess, double weighting) {
    SplitRules r = rules;
    r.weighting = weighting;
    double count = 0, speed = 0;
    for (std::uint64_t n = 0; n < 50; ++n) {
      std::vector<Splinter> droplets;
      const Whole w = whole(0.03, excess);
      split(w, r, Random(1, n, 0, Purpose::transition), droplets);
      count += static_cast<double>(droplets.size());
      for (const Splinter& d : droplets) speed = std::max(speed, length(Vec3d(d.velocity) - w.velocity));
    }
    return std::pair(count, speed);
  };
  const auto barely = measure(0, 1), half = measure(0.5, 1), far = measure(1, 1);
  EXPECT_LT(barely.first * 1.2, half.first);
  EXPECT_LT(half.first * 1.2, far.first);
  EXPECT_LT(barely.second, 1e-5);
  EXPECT_LT(half.second, 0.6);
  EXPECT_GT(far.second, 0.9);
  EXPECT_EQ(measure(0, 0), measure(1, 0));
}

TEST(Split, AmountLeavesWholeOrMakesFiner) {
  const auto count = [](double amount) {
    std::vector<Splinter> droplets;
    split(whole(0.01), {.smallest = 2e-3, .greatest = 5e-3, .amount = amount, .most = 100000},
          Random(1, 3, 0, Purpose::transition), droplets);
    return droplets.size();
  };
  EXPECT_EQ(count(0), 1u);
  EXPECT_LT(count(0.5), count(1));
  EXPECT_LT(count(1), count(1.5));
}

}  // namespace
}  // namespace aegir
