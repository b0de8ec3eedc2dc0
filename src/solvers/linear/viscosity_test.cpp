// The laws of viscous flow: profiles between walls, decay rates, what a free surface must leave alone.
#include "solvers/linear/viscosity.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "solvers/linear/viscosity_test_system.h"

namespace aegir {
namespace {

constexpr double pi = std::numbers::pi;

/// A channel along x, a metre wide in y between two walls, open to the air along z, with solid ends that have the
/// velocity of the flow. Its lower wall is `offset` cells above a face.
struct Channel {
  Channel(int cells, double offset)
      : n(cells), h(1.0 / cells), bottom(2 + offset), liquid({2, (cells + 6 + 7) / 8, 1}, h) {
    liquid.fill_solid([&](const Vec3d& x) {
      return std::min(std::min(x.y - bottom, bottom + n - x.y), std::min(x.x - 2, 14 - x.x));
    });
    liquid.fill_distance([](const Vec3d& x) { return std::max(1 - x.z, x.z - 7); });
  }
  double y(const Vec3d& x) const { return (x.y - bottom) * h; }

  /// Solves u - dt nu u'' = u* for velocities along x and returns the greatest difference from `exact`.
  template <class Exact, class Before>
  double error(const Exact& exact, const Before& before, const ViscositySettings& settings, bool variable = false) {
    liquid.fill_velocity([&](int a, const Vec3d& x) { return a == 0 ? before(y(x)) : 0.0; });
    liquid.fill_velocity([&](int a, const Vec3d& x) { return a == 0 ? exact(std::clamp(y(x), 0.0, 1.0)) : 0.0; },
                         "solid_velocity");
    const SolveReport report = liquid.solve(settings, variable);
    EXPECT_TRUE(report.converged) << report.trouble;
    double worst = 0;
    liquid.for_cells([&](const Vec3i& c, std::size_t at) {
      const Vec3d x = TestLiquid::face(0, c);
      if (y(x) <= 0 || y(x) >= 1 || x.x < 2 || x.x > 14 || x.z < 1 || x.z > 7) return;
      worst = std::max(worst, std::abs(static_cast<double>(liquid.plane("velocity")[at]) - exact(y(x))));
    });
    return worst;
  }

  int n;
  double h, bottom;
  TestLiquid liquid;
};

constexpr ViscositySettings exactly{.dt = 0.5, .density = 2, .constant_viscosity = 1, .tolerance = 1e-9};

double poiseuille_error(int n, double offset) {
  const double a = exactly.dt * exactly.constant_viscosity / exactly.density;
  return Channel(n, offset).error([](double y) { return 4 * y * (1 - y); },
                                  [&](double y) { return 4 * y * (1 - y) + 8 * a; }, exactly);
}

TEST(ViscosityLaws, PoiseuilleBetweenWallsOnFacesIsSecondOrder) {
  const double e8 = poiseuille_error(8, 0), e16 = poiseuille_error(16, 0), e32 = poiseuille_error(32, 0);
  std::printf("Poiseuille, walls on faces: %.2e %.2e %.2e, order %.2f %.2f\n", e8, e16, e32, std::log2(e8 / e16),
              std::log2(e16 / e32));
  EXPECT_GT(std::log2(e8 / e16), 1.8);
  EXPECT_GT(std::log2(e16 / e32), 1.8);
  EXPECT_LT(e32, 2e-3);
}

TEST(ViscosityLaws, PoiseuilleBetweenWallsAtAnyOffsetIsFirstOrderAtLeast) {
  double worst[3] = {};
  for (const double offset : {0.05, 0.2, 0.35, 0.45, 0.55, 0.7, 0.8, 0.97})
    for (int level = 0; level < 3; ++level) worst[level] = std::max(worst[level], poiseuille_error(8 << level, offset));
  std::printf("Poiseuille, walls anywhere: %.2e %.2e %.2e, order %.2f %.2f\n", worst[0], worst[1], worst[2],
              std::log2(worst[0] / worst[1]), std::log2(worst[1] / worst[2]));
  EXPECT_GT(std::log2(worst[0] / worst[1]), 0.9);
  EXPECT_GT(std::log2(worst[1] / worst[2]), 0.9);
}

/// Exact, but for the corners at the ends of the channel, where the distance to two walls has a kink.
TEST(ViscosityLaws, CouetteIsExactButForCorners) {
  const auto profile = [](double y) { return y; };
  for (const double offset : {0.0, 0.3, 0.5, 0.8}) {
    const double e8 = Channel(8, offset).error(profile, profile, exactly);
    const double e16 = Channel(16, offset).error(profile, profile, exactly);
    EXPECT_LT(e8, offset == 0 || offset == 0.5 ? 2e-6 : 2e-3) << "offset " << offset;
    EXPECT_LT(e16, std::max(2e-6, e8 / std::exp2(0.9))) << "offset " << offset;
  }
}

/// Two layers under one stress: the gradients are as the reciprocal viscosities.
TEST(ViscosityLaws, TwoLayersHaveOneStress) {
  const double thin = 1, thick = 9;
  for (const int n : {8, 16}) {
    Channel channel(n, 0);
    channel.liquid.fill_viscosity([&](const Vec3d& x) { return channel.y(x) < 0.5 ? thin : thick; });
    const auto profile = [&](double y) {
      const double stress = 1 / (0.5 / thin + 0.5 / thick);
      return y < 0.5 ? stress * y / thin : 1 - stress * (1 - y) / thick;
    };
    EXPECT_LT(channel.error(profile, profile, exactly, true), 2e-6);
  }
}

/// sin(pi y) between walls decays with nu pi²; implicit Euler divides by 1 + nu pi² dt.
TEST(ViscosityLaws, ShearWaveDecaysWithNuKSquared) {
  double before = 0;
  for (const int n : {16, 32}) {
    Channel channel(n, 0);
    const ViscositySettings settings{.dt = 1e-2, .density = 1000, .constant_viscosity = 500, .tolerance = 1e-9};
    const auto wave = [](double y) { return std::sin(pi * y); };
    const double rate = settings.constant_viscosity / settings.density * pi * pi;
    channel.error([&](double y) { return wave(y) / (1 + rate * settings.dt); }, wave, settings);
    const double after = channel.liquid.speed(0, {8, 2 + n / 2, 4}), y = (0.5 + n / 2) / n;
    const double measured = (wave(y) / after - 1) / settings.dt, error = std::abs(measured / rate - 1);
    std::printf("shear wave, %d cells: rate %.4f of nu k²\n", n, measured / rate);
    EXPECT_LT(error, 0.01);
    if (before > 0) {
      EXPECT_LT(error, before / 3);
    }
    before = error;
  }
}

/// Taylor–Green vortices decay with 2 nu k²; walls beyond the box move with them.
TEST(ViscosityLaws, TaylorGreenDecaysWithTwoNuKSquared) {
  for (const int n : {24, 48}) {
    const int low = 4;
    TestLiquid liquid({(n + 8 + 7) / 8, (n + 8 + 7) / 8, 1}, 1.0 / n);
    liquid.fill_solid([&](const Vec3d& x) {
      return std::min(std::min(x.x - low, low + n - x.x), std::min(x.y - low, low + n - x.y));
    });
    liquid.fill_distance([](const Vec3d& x) { return std::max(1 - x.z, x.z - 7); });
    const auto vortex = [&](int a, const Vec3d& x) {
      const double p = 2 * pi * (x.x - low) / n, q = 2 * pi * (x.y - low) / n;
      return a == 0 ? std::sin(p) * std::cos(q) : a == 1 ? -std::cos(p) * std::sin(q) : 0.0;
    };
    const ViscositySettings settings{.dt = 0.02, .density = 1000, .constant_viscosity = 30, .tolerance = 1e-9};
    const double rate = 2 * settings.constant_viscosity / settings.density * 4 * pi * pi;
    liquid.fill_velocity(vortex);
    liquid.fill_velocity([&](int a, const Vec3d& x) { return vortex(a, x) / (1 + rate * settings.dt); },
                         "solid_velocity");
    ASSERT_TRUE(liquid.solve(settings).converged);
    const Vec3i place{low + n / 4, low + n / 2, 4};
    const double after = liquid.speed(0, place), start = vortex(0, TestLiquid::face(0, place));
    const double measured = (start / after - 1) / settings.dt;
    std::printf("Taylor-Green, %d cells: rate %.4f of 2 nu k²\n", n, measured / rate);
    EXPECT_NEAR(measured / rate, 1, 0.01);
  }
}

/// Between walls that let slip the vortices need no one to move the walls; a sliding block needs nothing at all.
TEST(ViscosityLaws, WallsThatLetSlipBearNoShear) {
  for (const double viscosity : {3.0, 3000.0}) {
    const int n = 24, low = 4;
    TestLiquid liquid({(n + 8 + 7) / 8, (n + 8 + 7) / 8, 1}, 1.0 / n);
    liquid.fill_solid([&](const Vec3d& x) {
      return std::min(std::min(x.x - low, low + n - x.x), std::min(x.y - low, low + n - x.y));
    });
    liquid.fill_distance([](const Vec3d& x) { return std::max(1 - x.z, x.z - 7); });
    liquid.fill_velocity([&](int a, const Vec3d& x) {
      const double p = 2 * pi * (x.x - low) / n, q = 2 * pi * (x.y - low) / n;
      return a == 0 ? std::sin(p) * std::cos(q) : a == 1 ? -std::cos(p) * std::sin(q) : 0.0;
    });
    const Vec3i place{low + n / 4, low + n / 2, 4};
    const double start = liquid.speed(0, place);
    const ViscositySettings settings{
        .dt = 0.02, .density = 1000, .constant_viscosity = viscosity, .free_slip = true, .tolerance = 1e-9};
    ASSERT_TRUE(liquid.solve(settings).converged);
    const double rate = (start / liquid.speed(0, place) - 1) / settings.dt;
    EXPECT_NEAR(rate / (2 * settings.constant_viscosity / settings.density * 4 * pi * pi), 1, 0.01);
  }
  for (const double offset : {0.0, 0.3, 0.8}) {
    TestLiquid liquid({2, 2, 2}, 0.1);
    liquid.fill_solid([&](const Vec3d& x) { return x.y - 3 - offset; });
    liquid.fill_distance([](const Vec3d& x) {
      return std::max({std::abs(x.x - 8) - 5, std::abs(x.y - 5) - 5, std::abs(x.z - 8) - 5});
    });
    liquid.fill_velocity([](int a, const Vec3d&) { return a == 0 ? 1.0 : a == 1 ? 0.0 : -2.0; });
    ASSERT_TRUE(liquid.solve({.dt = 0.1, .density = 1, .constant_viscosity = 10, .free_slip = true, .tolerance = 1e-9})
                    .converged);
    for (int y = 4; y < 10; ++y) {
      EXPECT_NEAR(liquid.speed(0, {8, y, 8}), 1, 1e-5) << offset << ' ' << y;
      EXPECT_NEAR(liquid.speed(2, {8, y, 8}), -2, 1e-5) << offset << ' ' << y;
    }
  }
}

/// Momentum and angular momentum about the origin, of the mass that the system gives to faces.
std::array<double, 6> momentum(TestLiquid& liquid) {
  std::array<double, 6> sum{};
  const ViscosityLevel level(liquid.exec, liquid.input(1), nullptr);
  for (const int bucket : level.buckets())
    for (int f = 0; f < face_values; ++f) {
      const int a = f / bucket_cells, cell = f % bucket_cells, b = (a + 1) % 3, c = (a + 2) % 3;
      const double mass = level.bucket(bucket) ? static_cast<double>(level.bucket(bucket)->mass[f]) : 1;
      const double p = mass * static_cast<double>(liquid.plane("velocity", a)[bucket * bucket_cells + cell]);
      const Vec3d x = TestLiquid::face(
          a, level.topology().key(bucket).coord * bucket_size + Vec3i{cell >> 6, (cell >> 3) & 7, cell & 7});
      sum[static_cast<std::size_t>(a)] += p;
      sum[static_cast<std::size_t>(3 + c)] -= x[b] * p, sum[static_cast<std::size_t>(3 + b)] += x[c] * p;
    }
  return sum;
}

double ball(const Vec3d& x, double radius) { return length(x - Vec3d(8.3, 7.9, 8.1)) - radius; }

TEST(ViscosityLaws, RigidMotionOfAFreeBallIsUntouched) {
  for (const int scale : {1, 2})
    for (const double k : {0.1, 10.0, 1000.0}) {
      TestLiquid liquid(Vec3i(2 * scale), 0.1);
      liquid.fill_distance([&](const Vec3d& x) { return scale * ball(x * (1.0 / scale), 5.4); });
      const auto rigid = [&](int a, const Vec3d& x) {
        const Vec3d y = x * (1.0 / scale) - Vec3d(8), w{0.3, -0.5, 0.7}, v{2, 1, -1};
        return v[a] + cross(w, y)[a];
      };
      liquid.fill_velocity(rigid);
      const SolveReport report =
          liquid.solve({.dt = 0.01, .density = 1000, .constant_viscosity = k * 1000, .tolerance = 1e-6});
      EXPECT_TRUE(report.converged) << report.trouble;
      double worst = 0;
      liquid.for_cells([&](const Vec3i& c, std::size_t at) {
        for (int a = 0; a < 3; ++a)
          worst = std::max(
              worst, std::abs(static_cast<double>(liquid.plane("velocity", a)[at]) - rigid(a, TestLiquid::face(a, c))));
      });
      EXPECT_LT(worst, 2e-5) << "scale " << scale << ", k " << k;
    }
}

TEST(ViscosityLaws, FreeBlobKeepsMomentumAndAngularMomentum) {
  for (const int scale : {1, 2}) {
    TestLiquid liquid(Vec3i(2 * scale), 0.1);
    liquid.fill_distance([&](const Vec3d& x) {
      const Vec3d y = x * (1.0 / scale);
      return scale * std::min(ball(y, 4.1), length(y - Vec3d(11, 11, 9)) - 2.6);
    });
    liquid.fill_velocity([&](int a, const Vec3d& x) {
      const Vec3d y = x * (1.0 / scale);
      return std::sin(0.7 * y.x + a) * std::cos(0.5 * y.y - a) + 0.3 * std::sin(0.9 * y.z) + (a == 1);
    });
    const auto before = momentum(liquid);
    const SolveReport report =
        liquid.solve({.dt = 0.01, .density = 1000, .constant_viscosity = 3000, .tolerance = 1e-8});
    EXPECT_TRUE(report.converged) << report.trouble;
    const auto after = momentum(liquid);
    double size = 0;
    for (const double m : before) size = std::max(size, std::abs(m));
    for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(after[i], before[i], 1e-5 * size) << i;
  }
}

/// Two streams side by side mix their momentum, but for a sheet between them that is thinner than a cell.
TEST(ViscosityLaws, SheetThinnerThanACellKeepsStreamsApart) {
  for (const int scale : {1, 2})
    for (const bool sheet : {false, true}) {
      TestLiquid liquid(Vec3i(2 * scale), 0.1);
      const int middle = 7 * scale;
      liquid.fill_distance([&](const Vec3d& x) { return scale * ball(x * (1.0 / scale), 5.4); });
      liquid.fill_velocity([&](int a, const Vec3d& x) { return a == 0 ? 0.0 : x.x < middle ? -1.0 : 1.0; });
      liquid.fill_velocity([&](int a, const Vec3d& x) { return sheet && a == 0 && x.x == middle ? 0.0 : 1.0; }, "area");
      liquid.sheets = true;
      const SolveReport report =
          liquid.solve({.dt = 0.01, .density = 1000, .constant_viscosity = 3000, .tolerance = 1e-7});
      EXPECT_TRUE(report.converged) << report.trouble;
      const float below = liquid.speed(1, {middle - 1, middle, middle}),
                  above = liquid.speed(1, {middle, middle, middle});
      if (sheet) {
        EXPECT_NEAR(below, -1, 1e-5);
        EXPECT_NEAR(above, 1, 1e-5);
      } else {
        EXPECT_LT(above - below, 1);
      }
    }
}

}  // namespace
}  // namespace aegir
