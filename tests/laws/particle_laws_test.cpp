// Laws of flight: free fall, drag, orbits.
#include <cmath>

#include "laws/laboratory.h"

namespace aegir::test {
namespace {

constexpr double g = 9.80665;
const std::string gravity = "  - gravity: earth\n";

TEST(FreeFall, FollowsTheParabolaForAnySubstep) {
  for (int substeps : {1, 7}) {
    const Vec3d x0{0.3, 2, -0.4}, v0{1.5, 3, -0.25};
    Laboratory lab(timeline(48, substeps), one_particle(x0, v0) + gravity);
    ASSERT_TRUE(lab.ok());
    lab.run();
    const double t = lab.time();
    EXPECT_NEAR(t, 2, 1e-12);
    const Vec3d exact = x0 + v0 * t + Vec3d{0, -0.5 * g * t * t, 0};
    // Only the rounding of single precision is left: 1e-7 of 20 m/s, and of positions in cells, per substep.
    EXPECT_LT(length(lab.only().x - exact), 48 * substeps * 1e-6) << substeps;
    EXPECT_LT(std::abs(lab.only().v.y - (v0.y - g * t)), 48 * substeps * 1e-6) << substeps;
  }
}

TEST(FreeFall, ConservesEnergyInTheAudit) {
  Laboratory lab(timeline(24, 2), one_particle({0, 5, 0}, {1, 2, 3}) + gravity);
  const double before = lab.audit().kinetic_energy + lab.audit().potential_energy;
  lab.run();
  EXPECT_NEAR((lab.audit().kinetic_energy + lab.audit().potential_energy) / before, 1, 2e-6);
}

/// Speed after one second of Stokes drag, λ = 6 π μ r / m, against v0 exp(-λ t).
double stokes_error(int substeps) {
  const double radius = 2e-4, mass = 1000 * 4.18879020478639 * radius * radius * radius,
               lambda = 6 * M_PI * 2e-5 * radius / mass;
  Laboratory lab(timeline(24, substeps), one_particle({0, 0, 0}, {4, 0, 0}, "    radius: [0.2 mm, 0.2 mm]\n") +
                                             "  - air_drag: air\n    law: stokes\n    air_viscosity: 2e-5 Pa s\n");
  EXPECT_TRUE(lab.ok());
  lab.run();
  return lab.only().v.x - 4 * std::exp(-lambda * lab.time());
}

TEST(StokesDrag, IsSecondOrderInTheSubstep) {
  const double coarse = stokes_error(1), fine = stokes_error(2);
  EXPECT_GT(std::abs(coarse), 1e-5);  // large enough to measure an order
  EXPECT_NEAR(std::log2(coarse / fine), 2, 0.25);
}

/// Distance fallen error under quadratic drag from rest: v = v_t tanh(g t / v_t).
double newton_error(int substeps) {
  Laboratory lab(timeline(24, substeps),
                 one_particle({0, 0, 0}, {0, 0, 0}, "    radius: [1 cm, 1 cm]\n    density: 100\n") + gravity +
                     "  - air_drag: air\n    law: newton\n");
  EXPECT_TRUE(lab.ok());
  lab.run();
  const double terminal = std::sqrt(2 * 100 * (4.0 / 3) * 0.01 * g / (1.204 * 0.44));
  return -lab.only().v.y - terminal * std::tanh(g * lab.time() / terminal);
}

TEST(NewtonDrag, ConvergesWithTheSubstep) {
  const double coarse = newton_error(1), fine = newton_error(4);
  EXPECT_GT(std::log2(std::abs(coarse / fine)) / 2, 0.9);
}

TEST(Drag, ARainDropFallsAsMeasuredWhateverTheSubstep) {
  // A water drop of 1 mm diameter: 4.03 m/s (Gunn & Kinzer 1949, J. Meteor. 6, 243).
  double fall[2];
  for (int i = 0; i < 2; ++i) {
    Laboratory lab(timeline(96, i == 0 ? 1 : 8), one_particle({0, 0, 0}, {0, 0, 0}, "    radius: [0.5 mm, 0.5 mm]\n") +
                                                     gravity + "  - air_drag: air\n");
    ASSERT_TRUE(lab.ok());
    lab.run();
    fall[i] = -lab.only().v.y;
    EXPECT_NEAR(fall[i], 4.03, 0.15);
  }
  EXPECT_NEAR(fall[0], fall[1], 1e-5);  // the balance of forces does not depend on dt
}

TEST(Drag, StiffDropletsFollowTheWindWithoutOvershoot) {
  // Fog of 2 µm relaxes in 0.5 ms; a step of 42 ms is 80 times that.
  Laboratory lab(timeline(4, 1), one_particle({0, 0, 0}, {-20, 0, 0}, "    radius: [2e-6 m, 2e-6 m]\n") +
                                     "  - wind_drag: gust\n    velocity: [3 m/s, 0, 0]\n");
  ASSERT_TRUE(lab.ok());
  for (int i = 0; i < 4; ++i) {
    lab.step();
    EXPECT_LT(lab.only().v.x, 3.0001);
  }
  EXPECT_NEAR(lab.only().v.x, 3, 1e-4);
}

/// Greatest relative energy error over ten circular orbits of radius 1 m and period 1 s.
double orbit_drift(int substeps, double& radius_error) {
  const double k = 4 * M_PI * M_PI;
  Laboratory lab(timeline(240, substeps),
                 one_particle({1, 0, 0}, {0, 0, 2 * M_PI}) +
                     fmt::format("  - attractor: star\n    strength: {}\n    softening: 0\n", k));
  EXPECT_TRUE(lab.ok());
  const double start = lab.audit().kinetic_energy + lab.audit().potential_energy;
  double worst = 0;
  radius_error = 0;
  while (lab.ok() && !lab.simulation().finished()) {
    lab.step();
    worst = std::max(worst, std::abs((lab.audit().kinetic_energy + lab.audit().potential_energy) / start - 1));
    radius_error = std::max(radius_error, std::abs(length(lab.only().x) - 1));
  }
  return worst;
}

TEST(Orbit, KeepsEnergyAndRadiusToSecondOrderOverTenTurns) {
  double coarse_radius, fine_radius;
  const double coarse = orbit_drift(2, coarse_radius), fine = orbit_drift(4, fine_radius);
  EXPECT_LT(coarse, 0.01);
  EXPECT_LT(coarse_radius, 0.02);
  EXPECT_GT(std::log2(coarse_radius / fine_radius), 1.7);
  EXPECT_LT(fine, coarse);
}

TEST(Orbit, KeepsAngularMomentum) {
  Laboratory lab(timeline(48, 8),
                 one_particle({1, 0, 0}, {0, 1, 5}) + "  - attractor: star\n    strength: 30\n    softening: 0\n");
  const Vec3d before = lab.audit().angular_momentum;
  lab.run();
  EXPECT_LT(length(lab.audit().angular_momentum - before) / length(before), 1e-5);
}

TEST(Positions, KeepTheirPrecisionFarFromTheOrigin) {
  const Vec3d far{50000, 20000, -30000};
  Laboratory near_lab(timeline(24, 1), one_particle({0, 0, 0}, {1.5, 3, -0.25}) + gravity),
      far_lab(timeline(24, 1), one_particle(far, {1.5, 3, -0.25}) + gravity);
  near_lab.run(), far_lab.run();
  EXPECT_LT(length(far_lab.only().x - far - near_lab.only().x), 2e-6);
}

}  // namespace
}  // namespace aegir::test
