#include "phenomena/sand/rigid_groups.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "parallel/threads.h"
#include "phenomena/sand/sand_test_support.h"

namespace aegir::sand {
namespace {

constexpr double cell_mass = 3;  // kg

const Vec3d v{0.4, -1.2, 0.7}, omega{0.03, 0.02, -0.05};

/// All sand is rigid; closed faces part it.
ConnectedCells all_sand(Bed& bed, std::int64_t least = 1) {
  const Topology& t = bed.volume.topology();
  std::vector<std::uint8_t> flags(static_cast<std::size_t>(t.local_count()) * bucket_cells, 0);
  for (int b = 0; b < t.local_count(); ++b)
    for (int n = 0; n < bucket_cells; ++n) {
      const Vec3i c = t.key(b).coord * bucket_size + Vec3i{n >> 6, n >> 3 & 7, n & 7};
      std::uint8_t& f = flags[static_cast<std::size_t>(b) * bucket_cells + static_cast<std::size_t>(n)];
      if (bed.sand(c)) f = cell_member;
      for (int a = 0; a < 3; ++a)
        if (bed.at("open_area", a, c) > 0) f |= static_cast<std::uint8_t>(cell_joined << a);
    }
  return connect_cells(bed.exec, t, flags, least);
}

RigidReport rigid(Bed& bed, const ConnectedCells& groups, const Contacts& contacts = {}) {
  return make_rigid(bed.exec, bed.volume, test_inputs, cell_mass, groups, contacts);
}

void two_balls(Bed& bed) {
  bed.fill([](const Vec3d& x) { return std::min(length(x - Vec3d{-7, 0, 1}) - 6, length(x - Vec3d{7, 1, 0}) - 5.5); });
  bed.find();
}
bool left(const Vec3i& c, int) { return c.x < 0; }
bool right(const Vec3i& c, int) { return c.x >= 0; }

/// A block on a floor at y = 0, and its contacts.
struct Block {
  Bed bed{2};
  Contacts contacts;

  Block() {
    bed.fill([](const Vec3d& x) { return std::max({-x.y, x.y - 5, std::abs(x.x) - 6, std::abs(x.z) - 7}); });
    bed.floor();
    bed.find();
  }
  /// A floor that holds whatever lies on it, or rubs next to nothing.
  void touch(bool slip, float speed_along = 0, float speed_up = 0) {
    contacts = floor_contacts(bed, bed.buckets, slip ? 1e-6f : 100.0f, speed_along, speed_up, slip ? 1e-6f : 1.0f);
  }
};

TEST(RigidGroups, ARigidMotionIsKept) {
  Bed bed;
  bed.fill(ball_of_sand({0.3, -0.7, 1.1}, 9));
  bed.find();
  bed.move([](const Vec3d& x) { return v + cross(omega, x); });
  const std::vector<float> before = bed.velocities();
  const ConnectedCells groups = all_sand(bed);
  const RigidReport report = rigid(bed, groups);
  const std::vector<float> after = bed.velocities();
  for (std::size_t i = 0; i < before.size(); ++i) ASSERT_NEAR(after[i], before[i], 1e-6);
  EXPECT_EQ(report.groups, 1);
  EXPECT_EQ(report.cells, groups.sizes[0]);
  const double momentum = cell_mass * bed.motion().size;
  EXPECT_LT(length(report.impulse), 1e-7 * momentum);
  EXPECT_LT(length(report.angular_impulse), 1e-7 * momentum * 10 * bed.volume.topology().spacing());
}

TEST(RigidGroups, AFreeGroupKeepsItsMomentum) {
  for (std::uint64_t seed = 1; seed < 5; ++seed) {
    Bed bed;
    bed.fill([](const Vec3d& x) {  // no symmetry, and across many buckets
      return std::min(length(x - Vec3d{-4, 2, 1}) - 7, length(x - Vec3d{5, -1, -3}) - 6.2);
    });
    bed.find();
    bed.stir(seed);
    const Motion before = bed.motion();
    const RigidReport report = rigid(bed, all_sand(bed));
    const Motion after = bed.motion();
    ASSERT_EQ(report.groups, 1);
    // Velocities are floats; what the group has before they are rounded is kept to the round-off of doubles.
    EXPECT_LT(length(after.linear - before.linear), 1e-7 * before.size);
    EXPECT_LT(length(after.angular - before.angular), 1e-7 * before.turn);
    EXPECT_LT(length(report.impulse), 1e-10 * cell_mass * before.size);
    EXPECT_LT(length(report.angular_impulse), 1e-10 * cell_mass * bed.volume.topology().spacing() * before.turn);
    EXPECT_LT(after.energy, 0.1 * before.energy);  // chance has little of a rigid motion in it
    // It is rigid: nothing deforms.
    bed.strain();
    bed.cells([&](const Vec3i& c) {
      if (bed.sand(c)) {
        ASSERT_LT(std::sqrt(bed.square("strain", "shear_rate", c)), 1e-6);
      }
    });
  }
}

TEST(RigidGroups, ItIsTheNearestRigidMotion) {
  // Least squares: no other motion is nearer, tried along each of the six directions.
  Bed bed;
  bed.fill(ball_of_sand({2.3, -0.7, 1.1}, 5));
  bed.find();
  bed.stir(9);
  const std::vector<float> before = bed.velocities();
  rigid(bed, all_sand(bed));
  const auto apart = [&](const Vec3d& more, const Vec3d& turn) {
    double sum = 0;
    std::size_t n = 0;
    bed.cells([&](const Vec3i& c) {
      for (int a = 0; a < 3; ++a, ++n) {
        const double u = bed.at("vel", a, c) + (more + cross(turn, Bed::face(c, a)))[a];
        sum += bed.mass(c, a) * (u - before[n]) * (u - before[n]);
      }
    });
    return sum;
  };
  const double least = apart({}, {});
  for (int a = 0; a < 3; ++a)
    for (const double step : {-1e-2, 1e-2}) {
      Vec3d more;
      more[a] = step;
      EXPECT_GT(apart(more, {}), least);
      EXPECT_GT(apart({}, 0.1 * more), least);
    }
}

TEST(RigidGroups, TwoGroupsDoNotSeeEachOther) {
  Bed one, other;
  for (Bed* bed : {&one, &other}) two_balls(*bed), bed->stir(3);
  other.cells([&](const Vec3i& c) {
    for (int a = 0; a < 3; ++a)
      if (right(c, a)) other.at("vel", a, c) = 7;
  });
  const Motion before_left = one.motion(left), before_right = one.motion(right);
  const ConnectedCells groups = all_sand(one);
  ASSERT_EQ(groups.sizes.size(), 2u);
  const RigidReport report = rigid(one, groups);
  rigid(other, groups);
  EXPECT_EQ(report.groups, 2);
  EXPECT_EQ(report.cells, groups.sizes[0] + groups.sizes[1]);
  one.cells([&](const Vec3i& c) {
    for (int a = 0; a < 3; ++a)
      if (left(c, a)) {
        ASSERT_EQ(one.at("vel", a, c), other.at("vel", a, c));
      }
  });
  // Each keeps its own momentum, not only their sum.
  EXPECT_LT(length(one.motion(left).linear - before_left.linear), 1e-7 * before_left.size);
  EXPECT_LT(length(one.motion(right).linear - before_right.linear), 1e-7 * before_right.size);
  EXPECT_LT(length(one.motion(right).angular - before_right.angular), 1e-7 * before_right.turn);
}

TEST(RigidGroups, AClosedWallPartsTwoGroupsThatTouchIt) {
  Bed bed;
  bed.fill(ball_of_sand({0, 0, 0}, 8));
  bed.cells([&](const Vec3i& c) {
    if (c.x == 0) bed.at("open_area", 0, c) = 0;
  });
  bed.find();
  bed.move([](const Vec3d& x) { return x.x < 0 ? Vec3d{0, 1, 0} : Vec3d{0, -1, 0}; });
  const std::vector<float> before = bed.velocities();
  const ConnectedCells groups = all_sand(bed);
  ASSERT_EQ(groups.sizes.size(), 2u);
  rigid(bed, groups);
  const std::vector<float> after = bed.velocities();
  for (std::size_t i = 0; i < before.size(); ++i) ASSERT_NEAR(after[i], before[i], 1e-6);
}

TEST(RigidGroups, OtherFacesStayAsTheyAre) {
  Bed bed;
  two_balls(bed);
  bed.stir(4);
  const std::vector<float> before = bed.velocities();
  const ConnectedCells groups = all_sand(bed, 800);  // only the larger one
  ASSERT_EQ(groups.sizes.size(), 1u);
  rigid(bed, groups);
  std::size_t n = 0;
  int changed = 0;
  bed.cells([&](const Vec3i& c) {
    for (int a = 0; a < 3; ++a, ++n) {
      if (right(c, a) || !(bed.mass(c, a) > 0)) {
        ASSERT_EQ(bed.at("vel", a, c), before[n]);
      }
      changed += bed.at("vel", a, c) != before[n];
    }
  });
  EXPECT_GT(changed, 1000);
  EXPECT_EQ(rigid(bed, ConnectedCells{}).groups, 0);  // and without groups nothing happens
}

TEST(RigidGroups, AGroupThatAFloorHoldsComesToRestAndTellsTheImpulse) {
  Block block;
  Bed& bed = block.bed;
  bed.move([](const Vec3d& x) { return x.y > 0 ? Vec3d{0.5, -1, -0.25} : Vec3d{}; });
  const Motion before = bed.motion();
  block.touch(false);
  const RigidReport report = rigid(bed, all_sand(bed), block.contacts);
  const Motion after = bed.motion();
  EXPECT_LT(length(after.linear), 1e-3 * before.size);
  EXPECT_LT(after.energy, 1e-6 * before.energy);
  const Vec3d given = cell_mass * (after.linear - before.linear);
  EXPECT_LT(length(report.impulse - given), 1e-6 * cell_mass * before.size);
  const Vec3d turned = cell_mass * bed.volume.topology().spacing() * (after.angular - before.angular);
  EXPECT_LT(length(report.angular_impulse - turned), 1e-6 * cell_mass * before.turn);
  EXPECT_GT(report.impulse.y, 0);
}

TEST(RigidGroups, AGroupThatSlipsGoesOnAlongTheFloor) {
  Block block;
  Bed& bed = block.bed;
  bed.move([](const Vec3d& x) { return x.y > 0 ? Vec3d{0.5, -1, -0.25} : Vec3d{}; });
  const Motion before = bed.motion();
  block.touch(true);
  const RigidReport report = rigid(bed, all_sand(bed), block.contacts);
  const Motion after = bed.motion();
  EXPECT_NEAR(after.linear.x, before.linear.x, 1e-3 * before.size);
  EXPECT_NEAR(after.linear.z, before.linear.z, 1e-3 * before.size);
  EXPECT_NEAR(after.linear.y, 0, 1e-3 * before.size);
  EXPECT_LT(std::abs(report.impulse.x) + std::abs(report.impulse.z), 1e-3 * report.impulse.y);
}

TEST(RigidGroups, AGroupThatIsHeldGoesWithAMovingFloor) {
  Block block;
  Bed& bed = block.bed;
  bed.stir(6);
  block.touch(false, 0.75f, 0.125f);
  rigid(bed, all_sand(bed), block.contacts);
  bed.cells([&](const Vec3i& c) {
    for (int a = 0; a < 3; ++a)
      if (bed.mass(c, a) > 0) {
        ASSERT_NEAR(bed.at("vel", a, c), (Vec3d{0.75, 0.125, 0})[a], 2e-3);
      }
  });
}

TEST(RigidGroups, FrictionTakesAsMuchAsAllContactsTogetherBear) {
  // A block slides along a plane that leans by 0.4: contacts can stop it, or half of it, or only one of them rubs.
  const Vec3d normal = normalized(Vec3d{0.4, 1, 0}), way = normalized(Vec3d{1, -0.4, 0});
  const auto slide = [&](double impulse, bool one_contact) {
    Block block;
    Bed& bed = block.bed;
    bed.move([&](const Vec3d&) { return 0.5 * way; });
    const double before = dot(bed.motion().linear, way);
    block.contacts = {bed.buckets, {}};
    CellContacts& across = block.contacts.across = {bed.buckets, {}, true};
    int count = 0;
    for (const int b : bed.buckets) {
      auto& list = across.cells.emplace_back();
      for (int c = 0; c < bucket_cells; ++c) {
        const Vec3i cell = bed.volume.topology().key(b).coord * bucket_size + Vec3i{c >> 6, c >> 3 & 7, c & 7};
        if (cell.y != 0 || !bed.sand(cell)) continue;
        list.push_back({.cell = static_cast<std::uint16_t>(c), .normal = Vec3f(normal)});
        ++count;
      }
    }
    bool first = true;
    for (auto& list : across.cells)
      for (CellContact& c : list)
        c.bound = std::exchange(first, false) || !one_contact ? static_cast<float>(impulse * before / count) : 0.0f;
    rigid(bed, all_sand(bed), block.contacts);
    return dot(bed.motion().linear, way) / before;
  };
  EXPECT_LT(slide(1.1, false), 0.01);
  EXPECT_NEAR(slide(0.5, false), 0.5, 0.02);
  EXPECT_NEAR(slide(1.1, true), 1, 0.02) << "one contact of many holds a block";
}

TEST(RigidGroups, AMeanNormalInEdgesAndCornersHoldsNothing) {
  // In the edge between floor and wall, and in the corner of three, the normal is a mean of theirs: what slips along
  // one of them would be stopped by it.
  for (const Vec3f& normal : {normalized(Vec3f{-1, 1, 0}), normalized(Vec3f{-1, 1, -1})})
    for (const bool plain : {false, true}) {
      Block block;
      Bed& bed = block.bed;
      bed.move([](const Vec3d& x) { return x.y > 0 ? Vec3d{0.5, 0, -0.25} : Vec3d{}; });
      const Motion before = bed.motion();
      block.touch(true);
      int corners = 0;
      for (std::size_t n = 0; n < block.contacts.buckets.size(); ++n)
        for (std::size_t i = 0; i < block.contacts.faces[n].size(); ++i) {
          WallContact& c = block.contacts.faces[n][i];
          const int x = bed.volume.topology().key(block.contacts.buckets[n]).coord.x * bucket_size + (c.cell >> 6);
          if (x < 5) continue;  // the last row of the block
          c.normal = normal, c.plain = plain, ++corners;
        }
      ASSERT_GT(corners, 10);
      rigid(bed, all_sand(bed), block.contacts);
      const Motion after = bed.motion();
      if (plain) {
        EXPECT_LT(after.linear.x, 0.8 * before.linear.x) << "what the mean would do";
      } else {
        EXPECT_NEAR(after.linear.x, before.linear.x, 1e-3 * before.size);
        EXPECT_NEAR(after.linear.z, before.linear.z, 1e-3 * before.size);
        EXPECT_NEAR(after.linear.y, 0, 1e-3 * before.size);
      }
    }
}

TEST(RigidGroups, EnergyNeverRises) {
  for (std::uint64_t seed = 1; seed < 9; ++seed) {
    Block block;
    Bed& bed = block.bed;
    if (seed % 2)
      bed.stir(seed, 0.1);
    else
      bed.move(
          [&](const Vec3d& x) { return x.y > 0 ? v + cross(0.1 * static_cast<double>(seed) * omega, x) : Vec3d{}; });
    const double before = bed.motion().energy;
    if (seed % 4 < 2) block.touch(seed % 3 == 0);
    rigid(bed, all_sand(bed), block.contacts);
    EXPECT_LE(bed.motion().energy, before * (1 + 1e-6)) << seed;
  }
}

TEST(RigidGroups, RigidIsWhatNeitherYieldsNorDeforms) {
  Bed bed;
  bed.fill(ball_of_sand({0, 0, 0}, 9));
  bed.find();
  bed.move([](const Vec3d& x) { return x.x < 0 ? v + cross(omega, x) : v + cross(omega, x) + Vec3d{0, 0.3 * x.x, 0}; });
  bed.press([](const Vec3d&) { return 1.0; });
  find_yield(bed.exec, bed.volume, test_inputs, {.tan_angle = 0.5});
  const RigidSettings settings{.slack = 0.05, .rate = 0.01, .least = 8};
  const auto member = [&](const ConnectedCells& sets, const Vec3i& c) {
    return sets.of(bed.volume.topology().find({{c.x >> 3, c.y >> 3, c.z >> 3}, 0}),
                   cell_offset(c.x & 7, c.y & 7, c.z & 7)) >= 0;
  };
  ConnectedCells sets = find_rigid(bed.exec, bed.volume, test_inputs, settings);
  ASSERT_EQ(sets.sizes.size(), 1u);
  bed.cells([&](const Vec3i& c) {
    if (c.x < -1) {
      ASSERT_EQ(member(sets, c), bed.sand(c));
    } else if (bed.sand(c) && length(Vec3d(c)) < 6 && c.x > 0) {
      ASSERT_FALSE(member(sets, c)) << "it deforms";
    }
  });
  // Cells whose stress is on the yield surface are not rigid, those just inside are.
  const auto yielding = [&](double share) {
    bed.cells([&](const Vec3i& c) {  // shear alone: |s|_F = √2 |s_yz|
      if (c.x == -4) bed.at("sand_shear", 0, c) = static_cast<float>(share * 0.5);
    });
    return find_rigid(bed.exec, bed.volume, test_inputs, settings);
  };
  sets = yielding(0.94);
  EXPECT_EQ(sets.sizes.size(), 1u);
  EXPECT_TRUE(member(sets, {-4, 0, 0}));
  sets = yielding(0.96);
  EXPECT_EQ(sets.sizes.size(), 2u);  // the layer parts them
  EXPECT_FALSE(member(sets, {-4, 0, 0}));
  EXPECT_TRUE(member(sets, {-5, 0, 0}));
}

TEST(RigidGroups, TheSameBitsOnAnyNumberOfThreads) {
  std::vector<std::vector<float>> found;
  std::vector<RigidReport> reports;
  for (const int threads : {1, 2, 7})
    ThreadScope(threads).run([&] {
      Block block;
      block.bed.stir(11);
      block.touch(false);
      reports.push_back(rigid(block.bed, all_sand(block.bed), block.contacts));
      found.push_back(block.bed.velocities());
    });
  for (std::size_t n = 1; n < found.size(); ++n) {
    EXPECT_EQ(std::memcmp(found[n].data(), found[0].data(), found[0].size() * sizeof(float)), 0);
    EXPECT_EQ(reports[n].impulse, reports[0].impulse);
    EXPECT_EQ(reports[n].angular_impulse, reports[0].angular_impulse);
  }
}

}  // namespace
}  // namespace aegir::sand
