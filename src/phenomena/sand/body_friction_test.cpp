#include "phenomena/sand/body_friction.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "parallel/comm.h"

namespace aegir::sand {
namespace {

constexpr double creep = 1e-7, weight = 20, mu = 0.4;  // impulses: of a body of 10 kg that gains 2 m/s downwards
constexpr double mass = 10, inertia = 5;

/// A plate of 10 × 10 contacts on a plane y = 0 that bears its weight.
struct Plate {
  std::unique_ptr<Comm> comm = make_single_comm();
  Profile profile;
  Exec exec{*comm, profile};
  std::vector<std::vector<BodyContact>> contacts{4};

  explicit Plate(double load = weight, double stiff = 0, const Vec3d& solid = {}) {
    for (int i = 0; i < 10; ++i)
      for (int k = 0; k < 10; ++k)
        contacts[static_cast<std::size_t>((i + k) % 4)].push_back({.place = Vec3d{0.2 * i - 0.9, 0, 0.2 * k - 0.9},
                                                                   .normal = {0, 1, 0},
                                                                   .solid = solid,
                                                                   .load = load / 100,
                                                                   .rough = mu,
                                                                   .stiff = stiff});
  }
  /// Motion under friction of what would move as `free` without it.
  Row6 rub(const Row6& free, double recede = std::numeric_limits<double>::infinity()) {
    Equations body{};
    for (std::size_t i = 0; i < 6; ++i) {
      const double size = i < 3 ? mass : inertia;
      body[upper_place(i, i)] = size, body[matrix_numbers + i] = size * free[i];
    }
    for (const auto& list : contacts)
      for (const BodyContact& c : list)
        add_row(body.data(), row_of(c.normal, c.place), c.stiff, dot(c.normal, c.solid));
    return rub_bodies(exec, std::vector{body}, contacts, creep, recede).front();
  }
  Vec3d friction() const {
    Vec3d sum;
    for (const auto& list : contacts)
      for (const BodyContact& c : list) sum += c.friction;
    return sum;
  }
};

TEST(BodyFriction, RestsBelowTheAngleOfFrictionAndSlidesAboveAsCoulombSays) {
  for (const double angle : {0.0, 0.3, 1.2}) {  // of the way, in the plane
    const Vec3d way{std::cos(angle), 0, std::sin(angle)};
    for (const double ratio : {0.5, 0.95, 0.999}) {
      Plate plate;
      const double pull = ratio * mu * weight / mass;
      const Row6 motion = plate.rub({pull * way.x, 0, pull * way.z, 0, 0, 0});
      EXPECT_LT(length(velocity_at(motion, {})), creep);
      EXPECT_NEAR(dot(plate.friction(), way), -mass * pull, 1e-4 * mass * pull);
    }
    for (const double ratio : {1.001, 1.05, 5.0}) {
      Plate plate;
      const double pull = ratio * mu * weight / mass;
      const Row6 motion = plate.rub({pull * way.x, 0, pull * way.z, 0, 0, 0});
      EXPECT_NEAR(dot(velocity_at(motion, {}), way), pull - mu * weight / mass, 1e-6);
      EXPECT_NEAR(dot(plate.friction(), way), -mu * weight, 1e-6 * weight);
    }
  }
}

TEST(BodyFriction, ATurningPlateLosesTheMomentOfItsContacts) {
  Plate plate;
  double arms = 0;
  for (const auto& list : plate.contacts)
    for (const BodyContact& c : list) arms += length(c.place);
  const double moment = mu * weight / 100 * arms;
  EXPECT_NEAR(plate.rub({0, 0, 0, 0, 3, 0})[4], 3 - moment / inertia, 1e-6);
  EXPECT_NEAR(plate.rub({0, 0, 0, 0, 0.9 * moment / inertia, 0})[4], 0, 1e-6);
}

TEST(BodyFriction, WhatTurnsSlidesMoreEasily) {
  // Friction is shared between slide and turn: a plate that spins glides where it would rest.
  Plate still, spinning;
  const double pull = 0.8 * mu * weight / mass;
  EXPECT_LT(still.rub({pull, 0, 0, 0, 0, 0})[0], creep);
  EXPECT_GT(spinning.rub({pull, 0, 0, 0, 10, 0})[0], 0.5 * pull);
}

TEST(BodyFriction, ASolidThatMovesCarriesItsLoadAlong) {
  Plate plate(weight, 0, {0.3, 0, -0.1});
  const Row6 motion = plate.rub({});
  EXPECT_NEAR(motion[0], 0.3, 1e-6);
  EXPECT_NEAR(motion[2], -0.1, 1e-6);
}

TEST(BodyFriction, WhatHoldsTheBodyUpAddsToItsLoad) {
  // Without any load of its own the body falls onto the plane, which stops it, and rubs under what that takes.
  Plate plate(0, 1e6);
  const Row6 motion = plate.rub({1, -weight / mass, 0, 0, 0, 0});
  EXPECT_NEAR(motion[1], 0, 1e-5);
  EXPECT_NEAR(motion[0], 1 - mu * weight / mass, 1e-5);
}

TEST(BodyFriction, ASolidThatMovesOffDoesNotPull) {
  Plate plate(weight, 1e4 * mass);  // on a floor, and under a lid that rises
  for (std::size_t n = 0; n < 4; ++n)
    for (const BodyContact& c : std::vector(plate.contacts[n])) {
      BodyContact lid = c;
      lid.normal = {0, -1, 0}, lid.solid = {0, 0.5, 0};
      plate.contacts[n].push_back(lid);
    }
  EXPECT_LT(length(velocity_at(plate.rub({0.1, -0.03, 0, 0, 0, 0}, 3e-3), {})), 2e-5);
  for (const auto& list : plate.contacts)
    for (const BodyContact& c : list) EXPECT_EQ(c.holds, c.normal.y > 0);
  // A floor that falls away lets it fall.
  Plate falling(0, 1e4 * mass, {0, -1, 0});
  EXPECT_NEAR(falling.rub({0, -0.03, 0, 0, 0, 0}, 3e-3)[1], -0.03, 1e-9);
  // Solids that may pull hold it both: the mean.
  EXPECT_NEAR(plate.rub({0, -0.03, 0, 0, 0, 0})[1], 0.25, 1e-3);
}

TEST(BodyFriction, ItIsTheLeastOfAllMotions) {
  // A body that tips, turns and slides at once: no motion nearby leaves less.
  Plate plate;
  const Row6 free{1.3, 0.2, -0.4, 0.3, 2, -0.1};
  const Row6 found = plate.rub(free);
  const auto value = [&](const Row6& v) {
    double sum = 0;
    for (std::size_t i = 0; i < 6; ++i) sum += (i < 3 ? mass : inertia) * v[i] * (0.5 * v[i] - free[i]);
    for (const auto& list : plate.contacts)
      for (const BodyContact& c : list) {
        Vec3d slip = velocity_at(v, c.place);
        slip.y = 0;
        sum += c.most * length(slip);
      }
    return sum;
  };
  for (std::size_t i = 0; i < 6; ++i)
    for (const double step : {-1e-3, 1e-3}) {
      Row6 other = found;
      other[i] += step;
      EXPECT_GT(value(other), value(found)) << i;
    }
}

}  // namespace
}  // namespace aegir::sand
