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

// A small body between solids that part, as a shot met it. Normals that are unit in single precision only made slip of
// what is left of its speed along them: second derivatives were no longer positive, and the search left for infinity.
TEST(BodyFriction, NormalsNeedNotBeExact) {
  const Equations body{3.6259176406742299,    -0.010992504957919796, 14.571690649102202,     10.484701861395811,
                       2.6689419876089442,    -2.6089157960392204,   0.0015143331994738919,  -0.046040846736830822,
                       -0.092081655997139397, 0.046040856080778611,  0.02198905649998361,    58.584231902917864,
                       42.329998521715787,    10.566676268153985,    -10.53074271747659,     107.43638481925996,
                       -15.479300007506744,   -26.740213909278047,   77.07261420984041,      3.8363202010573154,
                       6.6574956788177273,    0.54002317149940982,   -0.0017054914760565969, 2.1761538610382334,
                       1.5656857738588825,    0.3987416369185906,    -0.38880663395422554};
  const struct {
    Vec3d place;
    Vec3f normal;
    double load;
  } touched[] = {{{1, 0, -1}, {-0.241921932, 3.72529074e-09, -0.970295727}, 0.00086150098810589351},
                 {{1, 0, 0}, {-0.241921887, 0, -0.970295787}, 2.0549260753422549e-05},
                 {{1, 1, -1}, {-0.241921932, 3.72529074e-09, -0.970295727}, 0.0010111961573284404},
                 {{1, 1, 0}, {-0.241921887, 0, -0.970295787}, 1.5776548950809281e-05},
                 {{1, 2, -1}, {-0.241921932, 3.72529074e-09, -0.970295727}, 0.0008658471793394414},
                 {{1, 2, 0}, {-0.232206434, 0.0136977211, -0.972570062}, 1.7746808419751788e-05},
                 {{-2, -1, 0}, {-0.241921902, 0, -0.970295787}, 0.00027822723808975069},
                 {{-2, 0, 0}, {-0.241921902, 0, -0.970295787}, 0.00027021940683446698},
                 {{-2, 1, 0}, {-0.241921902, 0, -0.970295787}, 0.00027825672951313935},
                 {{-1, -1, 0}, {-0.241921902, 0, -0.970295787}, 0.00048043207548331918},
                 {{-1, 0, 0}, {-0.241921902, 0, -0.970295787}, 0.00040083242349495796},
                 {{-1, 1, 0}, {-0.241921902, 0, -0.970295787}, 0.00053632127538040184},
                 {{-1, 2, 0}, {-0.241921902, 0, -0.970295787}, 0.00048366665634844082},
                 {{0, -1, 0}, {-0.241921902, 0, -0.970295787}, 0.00070747130062296781},
                 {{0, 0, 0}, {-0.241921902, 0, -0.970295787}, 0.00048185470192215038},
                 {{0, 1, 0}, {-0.241921902, 0, -0.970295787}, 0.00078671595689789621},
                 {{0, 2, 0}, {-0.241921902, 0, -0.970295787}, 0.00083332146957232681},
                 {{0, 3, 0}, {-0.241921902, 0, -0.970295787}, 0.00041742497120599069}};
  for (const bool exact : {true, false}) {
    Plate plate;
    std::vector<BodyContact> list;
    for (const auto& c : touched)
      list.push_back({.place = c.place,
                      .normal = exact ? normalized(Vec3d(c.normal)) : Vec3d(c.normal),
                      .solid = {0.14932085573673248, 0, 0},
                      .load = c.load,
                      .rough = 0.3,
                      .stiff = 3.456});
    plate.contacts = {list};
    const Row6 motion = rub_bodies(plate.exec, std::vector{body}, plate.contacts, 6.06472e-07, 0.00606472).front();
    for (const double v : motion) EXPECT_LT(std::abs(v), 0.5);
  }
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
