// Every law of sizes against itself: Kolmogorov-Smirnov distance to the law's sum, and moments.
#include "phenomena/common/size_distribution.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/random.h"

namespace aegir {
namespace {

constexpr double smallest = 0.1e-3, largest = 2e-3;
constexpr int drops = 200000;

/// ∫ r^power n(r) dr by Simpson's rule over ln r.
double integral(const std::function<double(double)>& n, double power, double from, double to) {
  const int steps = 20000;
  const double h = std::log(to / from) / steps;
  double sum = 0;
  for (int i = 0; i <= steps; ++i) {
    const double r = from * std::exp(h * i);
    sum += (i == 0 || i == steps ? 1 : i % 2 ? 4 : 2) * std::pow(r, power + 1) * n(r);
  }
  return sum * h / 3;
}

struct Law {
  const char* name;
  SizeSettings settings;
  std::function<double(double)> density;
};

std::vector<Law> laws() {
  const double m = std::sqrt(smallest * largest);
  const auto bell = [](double middle, double spread) {
    return [=](double r) { return std::exp(-0.5 * std::pow(std::log(r / middle) / spread, 2)) / r; };
  };
  const auto spray = [](double middle, double q) {
    return [=](double r) { return std::pow(r, q - 4) * std::exp(-std::log(2.0) * std::pow(r / middle, q)); };
  };
  return {{"uniform", {SizeLaw::uniform, {}}, [](double) { return 1.0; }},
          {"inverse cubic", {SizeLaw::inverse_cubic, {}}, [](double r) { return 1 / (r * r * r); }},
          {"log normal", {SizeLaw::log_normal, {}}, bell(m, 0.5)},
          {"log normal, narrow", {SizeLaw::log_normal, 1e-3, 0.02}, bell(1e-3, 0.02)},
          {"log normal, cut", {SizeLaw::log_normal, 1.9e-3, 1.5}, bell(1.9e-3, 1.5)},
          {"Rosin-Rammler", {SizeLaw::rosin_rammler, {}, 0.5, 3}, spray(m, 3)},
          {"Rosin-Rammler, flat", {SizeLaw::rosin_rammler, 0.5e-3, 0.5, 1.5}, spray(0.5e-3, 1.5)},
          {"Rosin-Rammler, steep", {SizeLaw::rosin_rammler, 0.8e-3, 0.5, 12}, spray(0.8e-3, 12)}};
}

TEST(SizeDistribution, FollowsItsLaw) {
  for (const Law& law : laws()) {
    const SizeDistribution sizes(law.settings, smallest, largest);
    std::vector<double> radii;
    for (int k = 0; k < drops; ++k)
      radii.push_back(sizes.radius(Random(1, static_cast<std::uint64_t>(k), 0, Purpose::test).uniform(0)));
    std::sort(radii.begin(), radii.end());
    EXPECT_GE(radii.front(), smallest);
    EXPECT_LE(radii.back(), largest);
    // Kolmogorov-Smirnov: larger than 1.95/√n happens once in a thousand times.
    const double all = integral(law.density, 0, smallest, largest);
    double distance = 0;
    for (int i = 0; i <= 100; ++i) {
      const double r = smallest * std::pow(largest / smallest, i / 100.0);
      const double share = static_cast<double>(std::upper_bound(radii.begin(), radii.end(), r) - radii.begin()) / drops;
      distance = std::max(distance, std::abs(share - (i ? integral(law.density, 0, smallest, r) / all : 0)));
    }
    EXPECT_LT(distance, 1.95 / std::sqrt(drops)) << law.name;
    // Moments: mean radius and mean volume within five standard errors.
    double error[2];
    for (const int power : {1, 3}) {
      double mean = 0, square = 0;
      for (double r : radii) mean += std::pow(r, power) / drops, square += std::pow(r, 2 * power) / drops;
      const double exact = integral(law.density, power, smallest, largest) / all,
                   deviation = std::sqrt(std::max(0.0, square - mean * mean) / drops);
      error[power == 3] = mean / exact - 1;
      EXPECT_NEAR(mean, exact, 5 * deviation) << law.name << " moment " << power;
    }
    printf("%-22s KS %.5f, mean radius %+.3f %%, mean volume %+.3f %%\n", law.name, distance, 100 * error[0],
           100 * error[1]);
  }
}

TEST(SizeDistribution, InvertsTheSumToSixDigits) {
  for (const Law& law : laws()) {
    const SizeDistribution sizes(law.settings, smallest, largest);
    const double all = integral(law.density, 0, smallest, largest);
    double before = 0;
    for (const double u : {0.0, 1e-6, 0.01, 0.3, 0.5, 0.9, 0.999, 1.0}) {
      const double r = sizes.radius(u);
      EXPECT_GE(r, before) << law.name;
      before = r;
      EXPECT_NEAR(r > smallest ? integral(law.density, 0, smallest, r) / all : 0, u, 2e-6) << law.name << " " << u;
    }
    EXPECT_GE(sizes.radius(0), smallest);
    EXPECT_LE(sizes.radius(1), largest);
    if (law.settings.law == SizeLaw::uniform || law.settings.law == SizeLaw::inverse_cubic) {
      EXPECT_EQ(sizes.radius(0), smallest);
      EXPECT_NEAR(sizes.radius(1), largest, 1e-12 * largest);
    }
  }
}

TEST(SizeDistribution, HalfOfARosinRammlerVolumeIsBelowTheMedian) {
  // Wide limits cut nothing: the law's own meaning holds.
  const double median = 1e-3, q = 5;
  const SizeDistribution sizes({SizeLaw::rosin_rammler, median, 0.5, q}, 1e-4, 1e-2);
  double below = 0, all = 0;
  for (int k = 0; k < drops; ++k) {
    const double r = sizes.radius((k + 0.5) / drops), volume = r * r * r;
    all += volume, below += r < median ? volume : 0;
  }
  EXPECT_NEAR(below / all, 0.5, 1e-3);
}

TEST(SizeDistribution, EqualLimitsGiveOneRadius) {
  for (const Law& law : laws()) {
    SizeSettings s = law.settings;
    s.median.reset();
    const SizeDistribution sizes(s, 1e-3, 1e-3);
    for (const double u : {0.0, 0.3, 0.9999999}) EXPECT_EQ(sizes.radius(u), 1e-3);
  }
}

TEST(SizeDistribution, ExtremeLimitsStayFinite) {
  for (const SizeLaw law : {SizeLaw::inverse_cubic, SizeLaw::log_normal, SizeLaw::rosin_rammler})
    for (const double spread : {0.01, 5.0})
      for (const double exponent : {0.5, 20.0}) {
        const SizeDistribution sizes({law, {}, spread, exponent}, 1e-9, 1e3);
        for (const double u : {0.0, 1e-12, 0.5, 1 - 1e-12, 1.0}) {
          const double r = sizes.radius(u);
          EXPECT_TRUE(r >= 1e-9 && r <= 1e3) << static_cast<int>(law) << " " << u;
        }
      }
}

TEST(SizeDistribution, SaysWhatIsWrong) {
  EXPECT_EQ(check_sizes({}, 1e-3, 2e-3), "");
  EXPECT_EQ(check_sizes({SizeLaw::log_normal, 1.5e-3}, 1e-3, 2e-3), "");
  EXPECT_NE(check_sizes({SizeLaw::log_normal, 3e-3}, 1e-3, 2e-3), "");
  EXPECT_NE(check_sizes({SizeLaw::inverse_cubic, 1.5e-3}, 1e-3, 2e-3), "");
}

}  // namespace
}  // namespace aegir
