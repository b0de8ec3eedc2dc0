// Laws of curl noise: no divergence, unit mean square everywhere and always, isotropy, no period, one function.
#include "base/curl_noise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/random.h"

namespace aegir {
namespace {

constexpr int samples = 100000;

/// Place number i of many, over a thousand spacings.
Vec3d place(int i) {
  const Random r(3, static_cast<std::uint64_t>(i), 0, Purpose::test);
  return {r.uniform(0, -500, 500), r.uniform(1, -500, 500), r.uniform(2, -500, 500)};
}

TEST(CurlNoise, HasNoDivergence) {
  // Central differences over 2h. Across a lattice plane second derivatives jump, so that the error there is of order h.
  const double h = 1e-6;
  for (int octaves : {1, 3}) {
    const CurlNoise noise({.size = 1, .lifetime = 1, .octaves = octaves});
    double worst = 0, gradients = 0;
    int large = 0;
    for (int i = 0; i < 20000; ++i) {
      const Vec3d x = place(i) * 0.02;
      double divergence = 0;
      for (int a = 0; a < 3; ++a) {
        Vec3d step;
        step[a] = h;
        const Vec3d slope = (noise.at(x + step, 0.3) - noise.at(x - step, 0.3)) / (2 * h);
        divergence += slope[a], gradients += dot(slope, slope);
      }
      worst = std::max(worst, std::abs(divergence)), large += std::abs(divergence) > 1e-7;
    }
    const double gradient = std::sqrt(gradients / 20000);
    printf("%d octaves: divergence at most %.2e, above 1e-7 in %d of 20000 places; rms of the gradient %.2f\n", octaves,
           worst, large, gradient);
    EXPECT_GT(gradient, 2);
    EXPECT_LT(worst, 1e-4 * gradient);
    EXPECT_LE(large, 5);  // lattice planes are 6 h wide: fewer than one place in ten thousand
  }
}

TEST(CurlNoise, HasUnitMeanSquareAndIsIsotropic) {
  for (int octaves : {1, 2, 3}) {
    const CurlNoise noise({.size = 1, .lifetime = 0, .octaves = octaves});
    Mat3d covariance;
    Vec3d mean;
    double axis = 0, diagonal = 0;
    const Vec3d n = normalized(Vec3d{1, 1, 1});
    for (int i = 0; i < samples; ++i) {
      const Vec3d v = noise.at(place(i), 0);
      covariance += outer(v, v), mean += v;
      for (int a = 0; a < 3; ++a) axis += std::pow(v[a], 4) / 3;
      diagonal += std::pow(dot(v, n), 4);
    }
    covariance = covariance * (1.0 / samples), mean = mean / samples;
    const double square = covariance(0, 0) + covariance(1, 1) + covariance(2, 2);
    const double kurtosis[2] = {axis / samples / std::pow(square / 3, 2), diagonal / samples / std::pow(square / 3, 2)};
    printf("%d octaves: mean square %.4f, kurtosis %.3f along axes and %.3f along diagonals\n", octaves, square,
           kurtosis[0], kurtosis[1]);
    // The variance of a sample of a component's square is about twice its mean's square.
    const double error = 5 * std::sqrt(2.0 / samples) / 3;
    EXPECT_NEAR(square, 1, 3 * error);
    EXPECT_LT(length(mean), 5 * std::sqrt(1.0 / samples));
    for (int a = 0; a < 3; ++a) {
      EXPECT_NEAR(covariance(a, a), 1.0 / 3, error);
      EXPECT_NEAR(covariance(a, (a + 1) % 3), 0, error);
    }
    EXPECT_NEAR(kurtosis[0] / kurtosis[1], 1, 0.1);
  }
}

TEST(CurlNoise, IsAsStrongEverywhereInACell) {
  // Over many seeds, at fixed places of a lattice cell: the lattice's random offset is taken away again.
  double low = 1e9, high = 0;
  std::vector<double> squares(16, 0.0);
  const int seeds = 4000;
  for (int seed = 1; seed <= seeds; ++seed) {
    const auto s = static_cast<std::uint64_t>(seed);
    const CurlNoise noise({.size = 1, .lifetime = 0, .octaves = 1, .seed = s});
    const Random where(s, 0, ~0ull, Purpose::noise);
    const Vec3d offset{where.uniform(0), where.uniform(1), where.uniform(2)};
    for (std::size_t i = 0; i < squares.size(); ++i) {
      const auto f = static_cast<double>(i);
      const Vec3d in_cell{f / 15, std::fmod(f * 0.4, 1.0), std::fmod(f * 0.7, 1.0)};
      const Vec3d v = noise.at(Vec3d(7, 8, 9) + in_cell - offset, 0);
      squares[i] += dot(v, v) / seeds;
    }
  }
  for (double s : squares) low = std::min(low, s), high = std::max(high, s);
  printf("mean square over a cell: %.3f to %.3f\n", low, high);
  EXPECT_GT(low, 0.94 - 0.065);  // 6 % of the law, five standard errors of 4000 samples
  EXPECT_LT(high, 1.06 + 0.065);
}

TEST(CurlNoise, HasNoPeriod) {
  const CurlNoise noise({.size = 1, .lifetime = 0, .octaves = 1});
  const int n = 5000;
  for (const double shift : {2.0, 16.0, 64.0, 255.0, 256.0, 1024.0, 65536.0, 1048576.0})
    for (const Vec3d& along : {Vec3d{1, 0, 0}, Vec3d{0, 1, 0}, Vec3d{0, 0, 1}, Vec3d{1, 1, 1}, Vec3d{1, -1, 0}}) {
      double correlation = 0;
      for (int i = 0; i < n; ++i) correlation += dot(noise.at(place(i), 0), noise.at(place(i) + along * shift, 0)) / n;
      EXPECT_LT(std::abs(correlation), 5 / std::sqrt(3.0 * n)) << shift;
    }
}

TEST(CurlNoise, ChangesOverItsLifetimeAndKeepsItsStrength) {
  const CurlNoise noise({.size = 1, .lifetime = 2, .octaves = 1});
  const int n = 20000;
  const auto correlation = [&](double t0, double t1) {
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += dot(noise.at(place(i), t0), noise.at(place(i), t1)) / n;
    return sum;
  };
  for (const double t : {0.0, 0.5, 1.0, 1.7, 2.0, 101.3}) EXPECT_NEAR(correlation(t, t), 1, 0.03) << t;
  EXPECT_NEAR(correlation(0, 1), std::sqrt(0.5), 0.03);  // half way: cos 45°
  EXPECT_NEAR(correlation(0, 2), 0, 0.03);
  EXPECT_NEAR(correlation(1, 3), 0.5, 0.03);  // they share one of two knots
  EXPECT_NEAR(correlation(1, 5.1), 0, 0.03);
  for (const double t : {2.0, 4.0, 3.3})  // no jumps at the knots
    EXPECT_LT(length(noise.at({1, 2, 3}, t + 1e-7) - noise.at({1, 2, 3}, t - 1e-7)), 1e-6);
  const CurlNoise still({.size = 1, .lifetime = 0, .octaves = 2});
  EXPECT_EQ(still.at({1, 2, 3}, 0), still.at({1, 2, 3}, 77));
}

TEST(CurlNoise, SmallerOctavesAreSlower) {
  // Structure function of one octave against three: small eddies make neighbours differ more.
  const CurlNoise one({.size = 1, .lifetime = 0, .octaves = 1}), three({.size = 1, .lifetime = 0, .octaves = 3});
  double differ[2] = {0, 0};
  for (int i = 0; i < 5000; ++i)
    for (const bool more : {false, true}) {
      const CurlNoise& noise = more ? three : one;
      const Vec3d d = noise.at(place(i) + Vec3d{0.1, 0, 0}, 0) - noise.at(place(i), 0);
      differ[more] += dot(d, d);
    }
  EXPECT_GT(differ[1], 1.5 * differ[0]);
  EXPECT_LT(differ[1], 8 * differ[0]);
}

TEST(CurlNoise, ManyPlacesAtOnceAreTheSameFunction) {
  const CurlNoise noise({.size = 0.3, .lifetime = 0.5, .octaves = 3, .seed = 9});
  const std::size_t n = 253;  // with a remainder for every vector width
  std::vector<float> x(n), y(n), z(n), v[3];
  for (auto& plane : v) plane.assign(n, 1.0f);
  const Vec3d origin{-12.8, 1000.4, 3.2};
  const double spacing = 0.1;
  for (std::size_t i = 0; i < n; ++i) {
    const Random r(5, i, 0, Purpose::test);
    x[i] = static_cast<float>(r.uniform(0, 0, 8)), y[i] = static_cast<float>(r.uniform(1, 0, 8)),
    z[i] = static_cast<float>(r.uniform(2, 0, 8));
  }
  noise.add({origin, spacing, n, x.data(), y.data(), z.data()}, 1.234, 3, {v[0].data(), v[1].data(), v[2].data()});
  for (std::size_t i = 0; i < n; ++i) {
    const Vec3d exact = noise.at(origin + Vec3d(x[i], y[i], z[i]) * spacing, 1.234) * 3 + Vec3d(1);
    EXPECT_LT(length(Vec3d(v[0][i], v[1][i], v[2][i]) - exact), 1e-4);
    float one[3] = {1, 1, 1};
    noise.add({origin, spacing, 1, &x[i], &y[i], &z[i]}, 1.234, 3, {&one[0], &one[1], &one[2]});
    for (std::size_t a = 0; a < 3; ++a) EXPECT_EQ(one[a], v[a][i]);  // same bits in a vector and alone
  }
}

TEST(CurlNoise, SeedsAreIndependentAndPlacesMayBeAnything) {
  const CurlNoise a({.octaves = 1, .seed = 1}), b({.octaves = 1, .seed = 2});
  double correlation = 0;
  for (int i = 0; i < 20000; ++i) correlation += dot(a.at(place(i), 0), b.at(place(i), 0)) / 20000;
  EXPECT_LT(std::abs(correlation), 0.03);
  const float far[5] = {1e30f, -1e30f, INFINITY, NAN, 0};
  for (const float f : far) {
    float v[3] = {0, 0, 0};
    a.add({{}, 1, 1, &f, &f, &f}, 1e9, 1, {&v[0], &v[1], &v[2]});
    for (const float c : v) EXPECT_TRUE(std::isfinite(c)) << f;
  }
  EXPECT_TRUE(is_finite(a.at({1e300, -1e300, 1e12}, 1e300)));
  EXPECT_TRUE(is_finite(a.at({NAN, INFINITY, 0}, NAN)));
}

}  // namespace
}  // namespace aegir
