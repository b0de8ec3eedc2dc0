#include "numerics/solids/solid_grid.h"

#include <gtest/gtest.h>

#include <random>

#include "numerics/solids/solid_test_support.h"

namespace aegir {
namespace {

TEST(SolidGrid, walls_on_faces_are_exact_wherever_the_lattice_puts_them) {
  for (const double dx : {0.1, 0.03, 1.0 / 128, 1.0 / 3}) {
    SolidScene scene(dx, block_of_keys({-2, -2, -2}, {2, 2, 2}));
    // Eleven cells below zero and nine above, said in decimal numbers.
    scene.update({}, Walls{{Vec3d(-11 * dx), {9 * dx, 9 * dx, 9 * dx}}, {true, true, true, true, true, false}, 0});
    for_box(Vec3i(-16), Vec3i(15), [&](const Vec3i& c) {
      for (int a = 0; a < 3; ++a) {
        bool open = true;
        for (int b = 0; b < 3; ++b) {
          const int high = b == 2 ? 1000 : 9;
          open &= b == a ? c[b] > -11 && c[b] < high : c[b] >= -11 && c[b] < high;
        }
        ASSERT_EQ(scene.area(a, c), open ? 1.0f : 0.0f) << dx << " " << a << " " << c.x << " " << c.y << " " << c.z;
        ASSERT_EQ(scene.velocity(a, c), 0);
      }
    });
  }
}

TEST(SolidGrid, a_wall_inside_a_cell_leaves_its_share) {
  SolidScene scene(1, block_of_keys({0, 0, 0}, {1, 1, 1}));
  scene.update({}, Walls{{{-100, 2.25, -100}, Vec3d(100)}, {true, true, true, true, true, true}, 0});
  EXPECT_EQ(scene.area(0, {4, 2, 4}), 0.75f);
  EXPECT_EQ(scene.area(0, {4, 1, 4}), 0);
  EXPECT_EQ(scene.area(0, {4, 3, 4}), 1);
  EXPECT_EQ(scene.area(1, {4, 2, 4}), 0);
  EXPECT_EQ(scene.area(1, {4, 3, 4}), 1);
}

TEST(SolidGrid, nothing_anywhere_leaves_backgrounds) {
  SolidScene scene(0.1, block_of_keys({0, 0, 0}, {2, 2, 2}));
  const std::string before = scene.bits();
  scene.update({});
  const TestSolid far = ball({10, 10, 10}, 1);
  scene.update({&far});
  EXPECT_EQ(before, scene.bits());
  EXPECT_TRUE(scene.grid.touched().empty());
}

struct SphereErrors {
  double volume, surface;
};
SphereErrors sphere_errors(int cells_per_radius, const Vec3d& center) {
  const double dx = 1.0 / cells_per_radius;
  const int b = (cells_per_radius + 3) / 8 + 2;
  const TestSolid sphere = ball(center * dx, 1);
  SolidScene scene(dx, block_of_keys(Vec3i(-b), Vec3i(b)));
  scene.update({&sphere});
  double volume = 0, surface = 0;
  for_box(Vec3i(-8 * b), Vec3i(8 * b - 1), [&](const Vec3i& c) {
    Vec3d sum;
    for (int a = 0; a < 3; ++a) sum[a] = scene.area(a, step(c, a, 1)) - scene.area(a, c);
    surface += length(sum) * dx * dx;
    volume += (3 - scene.area(0, c) - scene.area(1, c) - scene.area(2, c)) / 3.0 * dx * dx * dx;
  });
  return {std::abs(volume / (4 * std::numbers::pi / 3) - 1), std::abs(surface / (4 * std::numbers::pi) - 1)};
}

TEST(SolidGrid, sphere_converges_at_second_order) {
  std::array<SphereErrors, 3> mean{};
  const std::array<int, 3> sizes{6, 12, 24};
  for (std::size_t n = 0; n < sizes.size(); ++n)
    for (const Vec3d& c : {Vec3d{0, 0, 0}, Vec3d{0.3, 0.1, 0.7}, Vec3d{0.5, 0.5, 0.5}}) {
      const SphereErrors e = sphere_errors(sizes[n], c);
      mean[n].volume += e.volume / 3, mean[n].surface += e.surface / 3;
    }
  for (const SphereErrors& e : mean) std::printf("volume %.2e surface %.2e\n", e.volume, e.surface);
  EXPECT_GT(std::log2(mean[0].volume / mean[2].volume) / 2, 1.8);
  EXPECT_GT(std::log2(mean[0].surface / mean[2].surface) / 2, 1.8);
  EXPECT_LT(mean[2].volume, 2e-3);
}

TEST(SolidGrid, overlapping_and_nested_solids_are_their_union) {
  const double dx = 0.1;
  TestSolid a = ball({0, 0, 0}, 0.7), b = ball({0.5, 0.1, 0}, 0.6), nested = ball({0.1, 0, 0}, 0.3);
  TestSolid together;
  together.distance_of = [&](const Vec3d& x) { return std::min(a.distance_of(x), b.distance_of(x)); };
  const auto keys = block_of_keys(Vec3i(-2), Vec3i(2));
  SolidScene parts(dx, keys), whole(dx, keys);
  parts.update({&a, &nested, &b});
  whole.update({&together});
  int inside = 0;
  for_box(Vec3i(-16), Vec3i(16), [&](const Vec3i& c) {
    if (std::isnan(whole.distance(c))) return;
    if (whole.distance(c) < 3 || parts.distance(c) < 3) {
      ASSERT_EQ(whole.distance(c), parts.distance(c));
    }
    inside += whole.distance(c) < 0;
    for (int axis = 0; axis < 3; ++axis) ASSERT_EQ(whole.area(axis, c), parts.area(axis, c));
  });
  EXPECT_GT(inside, 1000);
}

TEST(SolidGrid, faces_of_a_moving_solid_have_its_velocity) {
  const double dx = 0.1;
  TestSolid spin = ball({0.02, 0.01, 0.03}, 0.6), still = ball({-1.2, 0, 0}, 0.4);
  const Vec3d drift{1, -2, 0.5}, turn{0.3, 1, -2};
  spin.velocity_of = [=](const Vec3d& x) { return drift + cross(turn, x); };
  spin.moving = true;
  SolidScene scene(dx, block_of_keys(Vec3i(-2), Vec3i(2)));
  scene.update({&spin, &still});
  int checked = 0;
  for_box(Vec3i(-15), Vec3i(15), [&](const Vec3i& c) {
    for (int a = 0; a < 3; ++a) {
      Vec3d x = (Vec3d(c) + Vec3d(0.5)) * dx;
      x[a] -= 0.5 * dx;
      const double own = spin.distance_of(x), other = still.distance_of(x);
      if (own > -1.5 * dx && scene.area(a, c) < 1 && own < other - 0.3) {
        ASSERT_NEAR(scene.velocity(a, c), spin.velocity_of(x)[a], 1e-5);
        ++checked;
      }
      if ((other < -dx && own > 3 * dx) || (own > 2.3 * dx && other > 2.3 * dx)) {
        ASSERT_EQ(scene.velocity(a, c), 0);
      }
    }
  });
  EXPECT_GT(checked, 500);
}

/// Solids that keep moving while buckets come and go.
TEST(SolidGrid, what_is_kept_has_the_bits_of_what_is_worked_out_anew) {
  const double dx = 0.05;
  const auto plate = Shape::create({.kind = ShapeKind::box, .size = {0.9, 0.004, 0.9}, .axis = {0.3, 1, 0.2}});
  ASSERT_TRUE(plate);
  TestSolid moving = ball({0, 0, 0}, 0.2), thin = solid_of(*plate), sometimes = ball({0.5, 0.5, 0.3}, 0.15);
  moving.moving = true;
  const Walls walls{{Vec3d(-0.6), Vec3d(0.7)}, {true, true, true, false, true, true}, 0.2};
  SolidScene scene(dx, block_of_keys({-1, -1, -1}, {1, 1, 1}));
  std::mt19937 random(4);
  int evaluated = 0, possible = 0;
  for (int substep = 0; substep < 12; ++substep) {
    const Vec3d at{0.1 * substep - 0.6, 0.3 - 0.02 * substep, 0.1};
    const Vec3d u{0.1 * substep, 1, 2};
    moving.distance_of = [=](const Vec3d& x) { return length(x - at) - 0.2; };
    moving.velocity_of = [=](const Vec3d&) { return u; };
    moving.box = {at - Vec3d(0.2), at + Vec3d(0.2)};
    sometimes.moving = substep == 4 || substep == 5;
    sometimes.velocity_of = [=](const Vec3d&) { return Vec3d(substep == 4 || substep == 5 ? 3 : 0); };
    if (substep % 3 != 2) {
      std::vector<BucketKey> keys = block_of_keys({-2, -2, -2}, {2, 2, 2});
      std::erase_if(keys, [&](const BucketKey&) { return random() % 4 == 0; });
      scene.volume.adopt(scene.build(keys));
    }
    scene.update({&moving, &thin, &sometimes}, walls);
    evaluated += scene.grid.evaluated(), possible += scene.volume.topology().local_count();
    const auto local = scene.volume.topology().local_keys();
    SolidScene fresh(dx, {local.begin(), local.end()});
    fresh.update({&moving, &thin, &sometimes}, walls);
    ASSERT_TRUE(scene.bits() == fresh.bits()) << substep;
  }
  EXPECT_LT(evaluated, possible * 7 / 10);
}

TEST(SolidGrid, an_update_without_changes_works_nothing_out) {
  const TestSolid a = ball({0, 0, 0}, 0.3);
  SolidScene scene(0.05, block_of_keys(Vec3i(-2), Vec3i(2)));
  scene.update({&a});
  EXPECT_EQ(scene.grid.evaluated(), 64);
  scene.update({&a});
  EXPECT_EQ(scene.grid.evaluated(), 0);
  const std::string with = scene.bits();
  scene.update({});
  SolidScene none(0.05, block_of_keys(Vec3i(-2), Vec3i(2)));
  EXPECT_EQ(scene.bits(), none.bits());
  scene.update({&a});
  EXPECT_EQ(scene.bits(), with);
}

TEST(SolidGrid, same_bits_on_any_number_of_threads) {
  const auto plate = Shape::create({.kind = ShapeKind::box, .size = {0.9, 0.004, 0.9}, .axis = {0.3, 1, 0.2}});
  TestSolid thin = solid_of(*plate), round = ball({0.2, 0.1, 0}, 0.25);
  round.velocity_of = [](const Vec3d& x) { return cross(Vec3d{1, 2, 3}, x); };
  std::string first;
  for (const int threads : {1, 2, 7}) {
    ThreadScope scope(threads);
    scope.run([&] {
      SolidScene scene(0.05, block_of_keys(Vec3i(-2), Vec3i(2)));
      scene.update({&thin, &round}, Walls{{Vec3d(-0.71), Vec3d(0.7)}, {true, true, true, true, true, true}, 0});
      if (first.empty()) first = scene.bits();
      EXPECT_TRUE(first == scene.bits()) << threads;
    });
  }
}

}  // namespace
}  // namespace aegir
