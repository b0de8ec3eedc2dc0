#include "phenomena/sand/contacts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "numerics/solids/solid_test_support.h"
#include "phenomena/sand/sand_test_support.h"

namespace aegir::sand {
namespace {

constexpr double spacing = 0.5;
const Vec3d normals[] = {normalized(Vec3d{0.4, 1, 0}), normalized(Vec3d{-0.8, 1, 0}), normalized(Vec3d{0.5, 1, -0.7}),
                         normalized(Vec3d{0, -1, 0.1})};

/// A ball of sand, cut by a plane through the middle; places in cells.
struct Slope {
  Bed bed{2, spacing};
  SolidGrid solids;
  TestSolid plane;
  Vec3d normal;

  explicit Slope(const Vec3d& n, double mu = 0.4, double offset = 0.137)
      : plane(half_space(n, offset * spacing)), normal(n) {
    plane.mu = mu;
    const std::vector<const Solid*> list{&plane};
    solids.update(bed.exec, bed.volume, list, {},
                  {test_inputs.solid_distance, test_inputs.open_area, test_inputs.solid_velocity});
    bed.fill(ball_of_sand({0, 0, 0}, 9));
    bed.find();
  }
  Contacts contacts(const Vec3d& gained = {}) { return {.buckets = {}, .faces = {}, .across = find(gained)}; }
  CellContacts find(const Vec3d& gained = {}) {
    return find_contacts(bed.exec, bed.volume, solids, test_inputs, gained);
  }
};

Vec3d total(const Contacts& contacts) {
  Vec3d sum;
  for (const auto& list : contacts.across.cells)
    for (const CellContact& c : list) sum += Vec3d(c.impulse);
  return sum;
}
double total_bound(const Contacts& contacts) {
  double sum = 0;
  for (const auto& list : contacts.across.cells)
    for (const CellContact& c : list) sum += c.bound;
  return sum;
}

TEST(Contacts, BearThePressureOnTheirPartOfThePlane) {
  // A pressure that falls off along the plane: the sum over cut cells is the integral over the plane.
  for (const Vec3d& n : normals)
    for (const double offset : {0.0, 0.137, 0.5, 0.71}) {
      Slope slope(n, 0.4, offset);
      const double radius = 7;
      slope.bed.press([&](const Vec3d& x) {
        const Vec3d away = x - n * dot(x, n);
        return length(x) < 9 ? std::max(0.0, 1 - dot(away, away) / (radius * radius)) : 0.0;
      });
      const double wanted = 0.4 * 0.5 * std::numbers::pi * radius * radius;
      EXPECT_NEAR(total_bound(slope.contacts()) / wanted, 1, 0.01) << n.x << " " << n.z << " " << offset;
    }
}

TEST(Contacts, TheWeightBetweenCentreAndSolidCounts) {
  // Hydrostatic: pressure at centres, and the weight below them, make the pressure at the plane.
  const Vec3d n = normals[0];
  Slope slope(n);
  const auto along = [&](const Vec3d& x) { return x - n * dot(x, n); };
  slope.bed.press([&](const Vec3d& x) {
    return length(x) < 8 ? 0.1 * (9 - dot(x, n)) * std::max(0.0, 1 - dot(along(x), along(x)) / 49) : 0.0;
  });
  const double wanted = 0.4 * 0.5 * std::numbers::pi * 49 * 0.1 * (9 - 0.137);
  EXPECT_NEAR(total_bound(slope.contacts(-0.1 * n)) / wanted, 1, 0.01);
}

TEST(Contacts, WhatSlidesIsRubbedAgainstItsWayByMuTimesWhatPresses) {
  for (const Vec3d& n : normals) {
    Slope slope(n);
    Bed& bed = slope.bed;
    const Vec3d way = normalized(cross(n, Vec3d{0.3, 0, 1}));
    bed.press([](const Vec3d& x) { return length(x) < 8 ? 0.1 : 0.0; });
    find_yield(bed.exec, bed.volume, test_inputs, {.cohesion = 1e6});
    bed.move([&](const Vec3d&) { return 5.0 * way; });
    const Motion before = bed.motion();
    Contacts contacts = slope.contacts();
    scale_stress(bed.exec, bed.volume, bed.buckets, 0);
    apply_kept(bed.exec, bed.volume, test_inputs, bed.buckets);
    take_base(bed.exec, bed.volume, test_inputs, bed.buckets);
    sweep(bed.exec, bed.volume, test_inputs, bed.buckets, contacts, {.sweeps = 200});
    const double most = total_bound(contacts);
    EXPECT_GT(most, 5);
    EXPECT_LT(length(total(contacts) + most * way), 0.01 * most) << n.x << " " << n.z;
    EXPECT_LT(length(bed.motion().linear - before.linear - total(contacts)), 0.01 * most)
        << "stress gives nothing to the solid, and what contacts give arrives";
    EXPECT_LT(bed.motion().energy, before.energy);
  }
}

/// Sand at rest on a plane that moves along itself, after some sweeps.
Contacts carried(Slope& slope, const Vec3d& way, int sweeps) {
  slope.plane.velocity_of = [way](const Vec3d&) { return 0.2 * way; };
  slope.plane.moving = true;
  Bed& bed = slope.bed;
  const std::vector<const Solid*> list{&slope.plane};
  slope.solids.update(bed.exec, bed.volume, list, {},
                      {test_inputs.solid_distance, test_inputs.open_area, test_inputs.solid_velocity});
  bed.press([](const Vec3d& x) { return length(x) < 8 ? 100.0 : 0.0; });
  find_yield(bed.exec, bed.volume, test_inputs, {.cohesion = 1e6});
  bed.move([&](const Vec3d&) { return Vec3d{}; });
  Contacts contacts = slope.contacts();
  scale_stress(bed.exec, bed.volume, bed.buckets, 0);
  apply_kept(bed.exec, bed.volume, test_inputs, bed.buckets);
  take_base(bed.exec, bed.volume, test_inputs, bed.buckets);
  sweep(bed.exec, bed.volume, test_inputs, bed.buckets, contacts, {.sweeps = sweeps});
  return contacts;
}

TEST(Contacts, WhatFrictionCanHoldGoesWithTheSolid) {
  for (const Vec3d& n : normals) {
    Slope slope(n);
    Bed& bed = slope.bed;
    const Vec3d way = normalized(cross(n, Vec3d{0.3, 0, 1}));
    carried(slope, way, 1500);
    double mass = 0, momentum = 0;
    bed.cells([&](const Vec3i& c) {
      const double d = dot(Bed::middle(c), n) - 0.137;
      if (!bed.sand(c) || d < 0 || d > 1) return;
      for (int a = 0; a < 3; ++a) momentum += bed.mass(c, a) * bed.at("vel", a, c) * way[a];
      for (int a = 0; a < 3; ++a) mass += bed.mass(c, a) * way[a] * way[a];
    });
    EXPECT_NEAR(momentum / mass, 0.2, 0.02) << n.x << " " << n.z;
  }
}

TEST(Contacts, NoneSlipsWhileTheSolidCarriesTheSandAlong) {
  // But slivers of cells, which bear next to nothing, and only in a search as long as a first substep's: the impulses
  // of neighbours that share faces can cancel, and what 1500 sweeps let grow in that way ends at the bounds.
  for (const Vec3d& n : normals) {
    Slope slope(n);
    const Contacts contacts = carried(slope, normalized(cross(n, Vec3d{0.3, 0, 1})), 100);
    for (const auto& list : contacts.across.cells)
      for (const CellContact& c : list) {
        EXPECT_GT(c.bound, 1e-6) << "air that moves with the solid is no contact";
        const bool slips = length(c.impulse) > 0.99f * c.bound;
        const double most = slips ? 0.1 * 0.4 * 100 : 1e9;  // a tenth of a cell's side
        EXPECT_LT(c.bound, most) << n.x << " " << n.z;
      }
  }
}

TEST(Contacts, SurfacesAlongTheGridAreNoneOfThem) {
  for (const double offset : {0.0, 0.3}) {
    Slope slope({0, 1, 0}, 0.4, offset);
    slope.bed.press([](const Vec3d& x) { return length(x) < 8 ? 0.1 : 0.0; });
    EXPECT_FALSE(slope.find().any);
  }
}

}  // namespace
}  // namespace aegir::sand
