#include "phenomena/sand/friction.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "parallel/threads.h"
#include "phenomena/sand/sand_test_support.h"

namespace aegir::sand {
namespace {

/// Stress by chance where there is any: none along axes that a cell does not span, without trace where it spans all.
void random_stress(Bed& bed, std::uint64_t seed, double size = 1) {
  bed.cells([&](const Vec3i& c) {
    if (!bed.sand(c)) return;
    const Random r = Bed::chance(seed, c);
    double trace = 0, whole = 1;
    for (int a = 0; a < 3; ++a) {
      const double acts = bed.at("sand_span", a, c), s = acts * r.uniform(static_cast<std::uint32_t>(a), -size, size);
      bed.at("sand_stress", a, c) = static_cast<float>(s);
      bed.at("sand_shear", a, c) = static_cast<float>(r.uniform(3 + static_cast<std::uint32_t>(a), -size, size));
      trace += s, whole *= acts;
    }
    for (int a = 0; a < 3; ++a) bed.at("sand_stress", a, c) -= static_cast<float>(whole * trace / 3);
  });
}

/// Pressure under a weight of `gain` a cell, and the strength that follows from it.
void load(Bed& bed, double gain, const Strength& strength) {
  bed.press([&](const Vec3d& x) { return gain * std::max(0.0, 9 - x.y); });
  find_yield(bed.exec, bed.volume, test_inputs, strength);
}

/// From the velocity as it is, without what was kept.
void search(Bed& bed, const SweepSettings& how, Contacts contacts = {}) {
  scale_stress(bed.exec, bed.volume, bed.buckets, 0);
  take_base(bed.exec, bed.volume, test_inputs, bed.buckets);
  sweep(bed.exec, bed.volume, test_inputs, bed.buckets, contacts, how);
}

/// Greatest |s|_F / (√2 yield) of all cells; cells without strength must have no stress.
double greatest_share(Bed& bed) {
  double greatest = 0;
  bed.cells([&](const Vec3i& c) {
    const double s = std::sqrt(bed.square("sand_stress", "sand_shear", c)), y = bed.at("sand_yield", 0, c);
    greatest = std::max(greatest, y > 0 ? s / (std::sqrt(2.0) * y) : s > 0 ? 1e9 : 0.0);
  });
  return greatest;
}

// u = a × x + (γ y, 0, 0) is sheared at γ, however it turns.
TEST(Friction, ShearRateIsThatOfSimpleShear) {
  const CellChannel<float> rate{"rate"};
  for (const double gamma : {0.0, 0.5, 2.0}) {
    Bed bed;
    free_ball(bed);
    bed.volume.declare(rate);
    load(bed, 1, {.tan_angle = 0.5, .least = 0.1});
    bed.move([&](const Vec3d& x) {
      return Vec3d{3, -1, 2} + cross(Vec3d{0.3, -0.2, 0.4}, x) + Vec3d{gamma * x.y, 0, 0};
    });
    measure_shear(bed.exec, bed.volume, test_inputs, rate);
    int inside = 0;
    bed.cells([&](const Vec3i& c) {
      if (bed.at("surface_distance", 0, c) > -2) return;
      EXPECT_NEAR(bed.at("rate", 0, c), gamma, 1e-4);
      ++inside;
    });
    EXPECT_GT(inside, 500);
  }
}

TEST(Friction, StressDoesTheWorkOfTheStrainItResists) {
  // Σ m u · (B s) = -Σ s : E(u): the law that makes friction unable to gain energy.
  for (const bool on_floor : {false, true})
    for (std::uint64_t seed = 1; seed < 4; ++seed) {
      Bed bed;
      on_floor ? heap(bed) : free_ball(bed);
      random_stress(bed, seed);
      apply_kept(bed.exec, bed.volume, test_inputs, bed.buckets);  // on zero: B s
      std::vector<double> pushed;
      bed.cells([&](const Vec3i& c) {
        for (int a = 0; a < 3; ++a) pushed.push_back(bed.mass(c, a) * bed.at("vel", a, c));
      });
      bed.stir(100 + seed);
      bed.strain();
      double power = 0, dissipated = 0, size = 0;
      std::size_t n = 0;
      bed.cells([&](const Vec3i& c) {
        for (int a = 0; a < 3; ++a) {
          power += pushed[n++] * static_cast<double>(bed.at("vel", a, c));
          const double one = static_cast<double>(bed.at("sand_stress", a, c)) * bed.at("strain", a, c) +
                             2.0 * bed.at("sand_shear", a, c) * bed.at("shear_rate", a, c);
          dissipated += one, size += std::abs(one);
        }
      });
      EXPECT_GT(size, 1000);
      EXPECT_NEAR(power, -dissipated, 1e-6 * size);
    }
}

TEST(Friction, StressInFreeSandKeepsMomentum) {
  for (std::uint64_t seed = 1; seed < 4; ++seed) {
    Bed bed;
    free_ball(bed, 8.3);
    random_stress(bed, 40 + seed);
    apply_kept(bed.exec, bed.volume, test_inputs, bed.buckets);
    const Motion m = bed.motion();
    EXPECT_GT(m.size, 1000);
    EXPECT_LT(length(m.linear), 1e-6 * m.size);
    EXPECT_LT(length(m.angular), 1e-6 * m.turn);
  }
}

TEST(Friction, StressDoesNotActOnClosedFacesOrOutsideSand) {
  Bed bed;
  heap(bed);
  random_stress(bed, 3);
  apply_kept(bed.exec, bed.volume, test_inputs, bed.buckets);
  int closed = 0, acting = 0;
  bed.cells([&](const Vec3i& c) {
    for (int a = 0; a < 3; ++a) {
      Vec3i below = c;
      below[a] -= 1;
      const bool beside = bed.sand(c) || (below[a] >= -bed.reach && bed.sand(below));
      const bool open = bed.at("open_area", a, c) > 0;
      ASSERT_EQ(bed.at("sand_ease", a, c) > 0, beside && open);
      if (!beside || !open) {
        ASSERT_EQ(bed.at("vel", a, c), 0);
      }
      closed += beside && !open, acting += bed.at("vel", a, c) != 0;
    }
  });
  EXPECT_GT(closed, 100);
  EXPECT_GT(acting, 1000);
}

TEST(Friction, BaseIsTheVelocityWithoutWhatIsKept) {
  Bed bed;
  heap(bed);
  bed.stir(5);
  const std::vector<float> before = bed.velocities();
  random_stress(bed, 6, 0.3);
  apply_kept(bed.exec, bed.volume, test_inputs, bed.buckets);
  const std::vector<float> with = bed.velocities();
  EXPECT_NE(std::memcmp(with.data(), before.data(), with.size() * sizeof(float)), 0);
  take_base(bed.exec, bed.volume, test_inputs, bed.buckets);
  std::size_t n = 0;
  int checked = 0;
  bed.cells([&](const Vec3i& c) {
    for (int a = 0; a < 3; ++a, ++n)
      if (bed.mass(c, a) > 0) {
        ASSERT_NEAR(bed.at("sand_base", a, c), before[n], 2e-6);
        ++checked;
      }
  });
  EXPECT_GT(checked, 1000);
}

TEST(Friction, KeptStressFollowsTheSubstepAndIsForgottenElsewhere) {
  Bed bed;
  free_ball(bed, 5);
  random_stress(bed, 8);
  const Vec3i here{0, 0, 0}, there{-14, 13, -15};
  const double before = bed.at("sand_shear", 1, here);
  bed.at("sand_shear", 1, there) = 2;
  ASSERT_NE(before, 0);
  const std::vector<int> ours{bed.volume.topology().find({{0, 0, 0}, 0})};
  scale_stress(bed.exec, bed.volume, ours, 0.5);
  EXPECT_FLOAT_EQ(bed.at("sand_shear", 1, here), static_cast<float>(0.5 * before));
  EXPECT_EQ(bed.at("sand_shear", 1, there), 0);
}

TEST(Friction, YieldIsThatOfThePressure) {
  Bed bed;
  free_ball(bed);
  bed.press([](const Vec3d& x) { return x.y; });  // negative below: what would be drawn apart has cohesion only
  find_yield(bed.exec, bed.volume, test_inputs, {.tan_angle = 0.5, .cohesion = 0.25, .least = 0.125});
  bed.cells([&](const Vec3i& c) {
    const double expected = bed.sand(c) ? 0.5 * std::max(0.0, c.y + 0.5) + 0.375 : 0;
    ASSERT_FLOAT_EQ(bed.at("sand_yield", 0, c), static_cast<float>(expected));
  });
}

TEST(Friction, StressIsWithinTheYieldSurface) {
  for (const bool on_floor : {false, true})
    for (const int sweeps : {1, 2, 10, 40}) {
      Bed bed;
      on_floor ? heap(bed) : free_ball(bed);
      bed.stir(11);
      load(bed, 0.02, {.tan_angle = 0.577, .cohesion = 0.001});
      search(bed, {.sweeps = sweeps});
      const double share = greatest_share(bed);
      EXPECT_LE(share, 1 + 1e-5) << sweeps;
      EXPECT_GT(share, 0.99);  // and it yields somewhere
    }
}

TEST(Friction, StressOfTheSubstepBeforeIsBroughtWithinTheYieldSurface) {
  Bed bed;
  heap(bed);
  bed.stir(12, 0.01);
  load(bed, 0.01, {.tan_angle = 0.4, .cohesion = 0.001});
  random_stress(bed, 13, 10);
  take_base(bed.exec, bed.volume, test_inputs, bed.buckets);
  Contacts none;
  sweep(bed.exec, bed.volume, test_inputs, bed.buckets, none, {.sweeps = 1});
  EXPECT_LE(greatest_share(bed), 1 + 1e-5);
}

TEST(Friction, MoreSweepsLeaveLessEnergy) {
  // Fast: nearly all cells yield, and one sweep finds most of it. Slow: friction can hold them, and has to be sought.
  for (const bool on_floor : {false, true})
    for (const double speed : {1.0, 0.03}) {
      double before = 1e300, first = 0, last = 0;
      for (const int sweeps : {1, 2, 4, 8, 16, 32, 64}) {
        Bed bed;
        on_floor ? heap(bed) : free_ball(bed);
        bed.stir(14, speed);
        load(bed, 0.02, {.tan_angle = 0.577, .cohesion = 0.001});
        const double start = bed.motion().energy;
        search(bed, {.sweeps = sweeps});
        const double found = bed.motion().energy;
        EXPECT_LT(found, start);
        EXPECT_LE(found, before * (1 + 1e-4)) << sweeps << " sweeps; momentum may overshoot by a little";
        if (sweeps == 1) first = start - found;
        last = start - found, before = found;
        const double gain = never_gain(bed.exec, bed.volume, test_inputs, bed.buckets);
        EXPECT_LT(gain, 0);
        EXPECT_NEAR(gain, found - start, 1e-5 * start) << "what never_gain tells is the change of kinetic energy";
        EXPECT_EQ(bed.motion().energy, found) << "what gains nothing is left as it is";
      }
      EXPECT_GT(last, (speed < 1 ? 1.2 : 1.0) * first);
      RecordProperty(std::string(on_floor ? "floor" : "free") + (speed < 1 ? "_slow" : "_fast"),
                     std::to_string(last / first));
    }
}

TEST(Friction, WhatWouldGainIsTakenBack) {
  // Steps much too long, ended too early, shoot beyond the least energy.
  Bed bed;
  free_ball(bed);
  bed.stir(15);
  load(bed, 0.2, {.tan_angle = 1, .cohesion = 1});
  const double start = bed.motion().energy;
  search(bed, {.sweeps = 1, .stress_step = 2});
  EXPECT_GT(bed.motion().energy, start);
  const double gain = never_gain(bed.exec, bed.volume, test_inputs, bed.buckets);
  const double left = bed.motion().energy;
  EXPECT_LT(gain, 0);
  EXPECT_LT(left, start);
  EXPECT_NEAR(left - start, gain, 1e-5 * start);
  EXPECT_LE(greatest_share(bed), 1 + 1e-5);
  // Stress was taken back with the velocity: base + B s is the velocity.
  const std::vector<float> moved = bed.velocities();
  bed.cells([&](const Vec3i& c) {
    for (int a = 0; a < 3; ++a) bed.at("vel", a, c) = bed.at("sand_base", a, c);
  });
  apply_kept(bed.exec, bed.volume, test_inputs, bed.buckets);
  std::size_t n = 0;
  bed.cells([&](const Vec3i& c) {
    for (int a = 0; a < 3; ++a, ++n)
      if (bed.mass(c, a) > 0) {
        ASSERT_NEAR(bed.at("vel", a, c), moved[n], 1e-5);
      }
  });
}

TEST(Friction, SandThatNeverYieldsMovesAsOneWithTheMomentumItHad) {
  Bed bed(1);
  bed.fill(ball_of_sand({0.2, 0.1, -0.3}, 4.5));
  bed.find();
  bed.stir(16);
  bed.press([](const Vec3d&) { return 1.0; });
  find_yield(bed.exec, bed.volume, test_inputs, {.tan_angle = 0, .cohesion = 1e6});
  const Motion before = bed.motion();
  const auto deformation = [&] {
    bed.strain();
    double sum = 0;
    bed.cells([&](const Vec3i& c) { sum += bed.sand(c) ? bed.square("strain", "shear_rate", c) : 0.0; });
    return std::sqrt(sum);
  };
  const double at_first = deformation();
  search(bed, {.sweeps = 1500});
  const Motion after = bed.motion();
  EXPECT_LT(length(after.linear - before.linear), 1e-5 * before.size);
  EXPECT_LT(length(after.angular - before.angular), 1e-5 * before.turn);
  EXPECT_LT(deformation(), 1e-3 * at_first);
}

TEST(Friction, AFloorTakesNoMoreThanItsBoundAndNoMoreThanThereIs) {
  for (const float bound : {0.05f, 10.0f})
    for (const float wall_speed : {0.0f, 0.4f}) {
      Bed bed(1);
      bed.fill([](const Vec3d& x) { return std::max({-x.y, x.y - 4, std::abs(x.x) - 5, std::abs(x.z) - 5}); });
      bed.floor();
      bed.find();
      bed.move([](const Vec3d& x) { return x.y > 0 ? Vec3d{1, 0, 0} : Vec3d{}; });
      find_yield(bed.exec, bed.volume, test_inputs, {.cohesion = 1e6});
      Contacts contacts = floor_contacts(bed, bed.buckets, bound, wall_speed);
      double most = 0;
      for (std::size_t n = 0; n < contacts.buckets.size(); ++n)
        for (const WallContact& c : contacts.faces[n])
          if (c.axis == 0)
            most += bound * bed.mass(bed.volume.topology().key(contacts.buckets[n]).coord * bucket_size +
                                         Vec3i{c.cell >> 6, c.cell >> 3 & 7, c.cell & 7},
                                     0);
      const Motion before = bed.motion();
      scale_stress(bed.exec, bed.volume, bed.buckets, 0);
      take_base(bed.exec, bed.volume, test_inputs, bed.buckets);
      sweep(bed.exec, bed.volume, test_inputs, bed.buckets, contacts, {.sweeps = 1500});
      const Motion after = bed.motion();
      const double given = before.linear.x - after.linear.x;
      std::size_t slipping = 0, all = 0;
      for (std::size_t n = 0; n < contacts.buckets.size(); ++n)
        for (const WallContact& c : contacts.faces[n]) {
          const Vec3i cell = bed.volume.topology().key(contacts.buckets[n]).coord * bucket_size +
                             Vec3i{c.cell >> 6, c.cell >> 3 & 7, c.cell & 7};
          slipping += std::abs(bed.at("sand_wall", c.axis, cell)) > 0.99f * c.bound, ++all;
        }
      EXPECT_GT(all, 100u);
      if (bound < 1) {
        EXPECT_NEAR(given, most, 0.02 * most);
        EXPECT_GT(slipping, all / 3);
      } else {  // the lowest layer sticks; above it the block may still tip, which only the pressure prevents
        double fastest = 0;
        bed.cells([&](const Vec3i& c) {
          if (c.y == 0 && bed.mass(c, 0) > 0)
            fastest = std::max(fastest, std::abs(static_cast<double>(bed.at("vel", 0, c) - wall_speed)));
        });
        EXPECT_LT(fastest, 1e-3);
        EXPECT_LT(given, before.linear.x * (1 - static_cast<double>(wall_speed)));
        EXPECT_EQ(slipping, 0u);
      }
      bed.cells([&](const Vec3i& c) {
        for (int a = 0; a < 3; ++a) ASSERT_LE(std::abs(bed.at("sand_wall", a, c)), bound * (1 + 1e-5f));
      });
    }
}

TEST(Friction, ClosedFacesHaveTheVelocityOfTheirSolid) {
  Bed bed;
  heap(bed);
  bed.stir(18);
  bed.cells([&](const Vec3i& c) {
    for (int a = 0; a < 3; ++a) {
      bed.at("solid_velocity", a, c) = static_cast<float>(1 + a);
      if (bed.at("open_area", a, c) == 0) bed.at("vel", a, c) = -9;
    }
  });
  const std::vector<float> before = bed.velocities();
  take_base(bed.exec, bed.volume, test_inputs, bed.buckets);
  const Topology& t = bed.volume.topology();
  int closed = 0, open = 0;
  std::size_t n = 0;
  bed.cells([&](const Vec3i& c) {
    const int b = t.find({{c.x >> 3, c.y >> 3, c.z >> 3}, 0});
    const bool ours = std::find(bed.buckets.begin(), bed.buckets.end(), b) != bed.buckets.end();
    for (int a = 0; a < 3; ++a, ++n) {
      const bool shut = ours && bed.at("open_area", a, c) == 0;
      ASSERT_EQ(bed.at("vel", a, c), shut ? static_cast<float>(1 + a) : before[n]);
      (shut ? closed : open) += 1;
    }
  });
  EXPECT_GT(closed, 100);
  EXPECT_GT(open, 1000);
}

TEST(Friction, WhatIsNoLongerInContactIsForgotten) {
  Bed bed(1);
  bed.fill([](const Vec3d& x) { return std::max({-x.y, x.y - 4, std::abs(x.x) - 5, std::abs(x.z) - 5}); });
  bed.floor();
  bed.find();
  bed.move([](const Vec3d& x) { return x.y > 0 ? Vec3d{0.5, 0, 0} : Vec3d{}; });
  find_yield(bed.exec, bed.volume, test_inputs, {.cohesion = 0.01});
  const Vec3i away{2, 3, 1}, on_floor{2, 0, 1};
  for (const Vec3i& c : {away, on_floor}) bed.at("sand_wall", 0, c) = -0.02f;
  take_base(bed.exec, bed.volume, test_inputs, bed.buckets);
  EXPECT_FLOAT_EQ(bed.at("sand_base", 0, away), 0.52f);
  Contacts contacts = floor_contacts(bed, bed.buckets, 0.1f, 0);
  sweep(bed.exec, bed.volume, test_inputs, bed.buckets, contacts, {.sweeps = 3});
  EXPECT_EQ(bed.at("sand_wall", 0, away), 0);
  EXPECT_LT(bed.at("sand_wall", 0, on_floor), -0.02f);  // goes on from what is kept
}

TEST(Friction, TheSameBitsOnAnyNumberOfThreads) {
  std::vector<std::vector<float>> found;
  std::vector<double> gains;
  for (const int threads : {1, 2, 7})
    ThreadScope(threads).run([&] {
      Bed bed;
      heap(bed);
      bed.stir(17);
      load(bed, 0.02, {.tan_angle = 0.577, .cohesion = 0.001});
      search(bed, {.sweeps = 12}, floor_contacts(bed, bed.buckets, 0.1f, 0));
      gains.push_back(never_gain(bed.exec, bed.volume, test_inputs, bed.buckets));
      found.push_back(bed.velocities());
    });
  for (std::size_t n = 1; n < found.size(); ++n) {
    EXPECT_EQ(std::memcmp(found[n].data(), found[0].data(), found[0].size() * sizeof(float)), 0);
    EXPECT_EQ(gains[n], gains[0]);
  }
}

}  // namespace
}  // namespace aegir::sand
