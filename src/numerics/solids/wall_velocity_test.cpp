#include "numerics/solids/wall_velocity.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "numerics/solids/solid_test_support.h"

namespace aegir {
namespace {

constexpr double dx = 0.1;
const FaceChannel<float> flow_velocity{"vel", unit::metre_per_second};
const CellChannel<double> pressure{"pressure", unit::pascal, 0.0};

struct FlowScene : SolidScene {
  explicit FlowScene(int half = 1) : SolidScene(dx, block_of_keys(Vec3i(-half), Vec3i(half))), reach(8 * half) {
    volume.declare(flow_velocity), volume.declare(pressure);
  }
  template <class Flow>
  void fill(Flow flow) {
    for_box(Vec3i(-reach), Vec3i(reach), [&](const Vec3i& c) {
      for (int a = 0; a < 3; ++a) {
        Vec3d x = (Vec3d(c) + Vec3d(0.5)) * dx;
        x[a] -= 0.5 * dx;
        set("vel", a, c, static_cast<float>(Vec3d(flow(x))[a]));
      }
    });
  }
  template <class Press>
  void press(Press p) {
    for_box(Vec3i(-reach), Vec3i(reach), [&](const Vec3i& c) {
      const int b = volume.topology().find({{c.x >> 3, c.y >> 3, c.z >> 3}, 0});
      volume.store("pressure").plane<double>(0)[b * bucket_cells + cell_offset(c.x & 7, c.y & 7, c.z & 7)] =
          p((Vec3d(c) + Vec3d(0.5)) * dx);
    });
  }
  float u(int axis, const Vec3i& c) const { return at("vel", axis, c); }
  int reach;
};

TEST(ConstrainVelocity, walls_on_faces_are_exact_and_let_slip) {
  FlowScene scene;
  std::mt19937 random(8);
  std::uniform_real_distribution<double> any(-1, 1);
  scene.fill([&](const Vec3d&) { return Vec3d{any(random), any(random), any(random)}; });
  FlowScene before;
  for_box(Vec3i(-8), Vec3i(8), [&](const Vec3i& c) {
    for (int a = 0; a < 3; ++a) before.set("vel", a, c, scene.u(a, c));
  });
  scene.update({}, Walls{{Vec3d(-5 * dx), Vec3d(6 * dx)}, {true, true, true, true, true, true}, 0});
  constrain_velocity(scene.exec, scene.volume, scene.grid, flow_velocity, solid_channels);
  for_box(Vec3i(-6), Vec3i(7), [&](const Vec3i& c) {
    for (int a = 0; a < 3; ++a) {
      int outside = 0;  // beyond how many walls, apart from those along the face
      for (int b = 0; b < 3; ++b) outside += b != a && (c[b] < -5 || c[b] >= 6);
      if (outside == 0 && (c[a] == -5 || c[a] == 6)) {
        ASSERT_EQ(scene.u(a, c), 0);
      } else if (outside <= 1 && c[a] > -5 && c[a] < 6) {
        ASSERT_EQ(scene.u(a, c), before.u(a, c));
      }
    }
  });
}

TEST(ConstrainVelocity, what_may_leave_keeps_its_way_out_of_a_wall_and_no_other) {
  for (const double away : {-1.0, 1.0}) {
    FlowScene scene;
    scene.fill([&](const Vec3d&) { return Vec3d{0, away, 0}; });
    scene.update({}, Walls{{Vec3d(-5 * dx), Vec3d(6 * dx)}, {true, true, true, true, true, true}, 0});
    constrain_velocity(scene.exec, scene.volume, scene.grid, flow_velocity, solid_channels, {.leaves = true});
    EXPECT_EQ(scene.u(1, {0, -5, 0}), away > 0 ? 1 : 0);
    EXPECT_EQ(scene.u(1, {0, 6, 0}), away > 0 ? 0 : -1);
  }
}

TEST(ConstrainVelocity, only_the_tangential_part_enters_a_tilted_solid_that_moves) {
  const Vec3d n = normalized(Vec3d{0.3, 1, -0.5}), flow{1, -2, 0.7}, motion{0.2, 0.4, -0.1};
  TestSolid wall = half_space(n, 0.013);
  wall.velocity_of = [=](const Vec3d&) { return motion; };
  for (const bool no_slip : {false, true}) {
    FlowScene scene(2);
    scene.update({&wall});
    scene.fill([&](const Vec3d&) { return flow; });
    constrain_velocity(scene.exec, scene.volume, scene.grid, flow_velocity, solid_channels, {.no_slip = no_slip});
    const Vec3d wanted = no_slip ? motion : flow - n * dot(flow - motion, n);
    int inside = 0;
    for_box(Vec3i(-12), Vec3i(12), [&](const Vec3i& c) {
      for (int a = 0; a < 3; ++a) {
        Vec3d x = (Vec3d(c) + Vec3d(0.5)) * dx;
        x[a] -= 0.5 * dx;
        const double d = wall.distance_of(x) / dx;
        if (d > 1e-5) {
          ASSERT_EQ(scene.u(a, c), static_cast<float>(flow[a]));
        } else if (d < -1e-5 && d > -0.8) {
          ASSERT_NEAR(scene.u(a, c), wanted[a], 1e-5);
          ++inside;
        }
      }
    });
    EXPECT_GT(inside, 300);
  }
}

TEST(ConstrainVelocity, a_face_closed_by_a_sheet_gets_the_velocity_of_the_sheet) {
  const auto shape = Shape::create({.kind = ShapeKind::rectangle, .center = {0, 0.024, 0}, .size = {6, 0, 6}});
  TestSolid sheet = solid_of(*shape);
  sheet.velocity_of = [](const Vec3d&) { return Vec3d{5, 0.25, 5}; };
  FlowScene scene;
  scene.update({&sheet});
  scene.fill([](const Vec3d& x) { return x.y > 0.024 ? Vec3d{1, -1, 0} : Vec3d{2, 1, 0}; });
  constrain_velocity(scene.exec, scene.volume, scene.grid, flow_velocity, solid_channels);
  for_box(Vec3i(-7), Vec3i(7), [&](const Vec3i& c) {
    ASSERT_EQ(scene.u(1, c), c.y == 0 ? 0.25f : c.y > 0 ? -1.0f : 1.0f);
    ASSERT_EQ(scene.u(0, c), c.y >= 0 ? 1.0f : 2.0f);
  });
}

/// Momentum that friction takes from a layer of liquid per area of wall: every face stands for c cells of liquid.
double momentum_loss(const FlowScene& before, const FlowScene& after, const TestSolid& floor, int half,
                     double density) {
  double loss = 0;
  for_box({-half, -15, -half}, {half, 15, half}, [&](const Vec3i& c) {
    const Vec3d x = (Vec3d(c) + Vec3d{0, 0.5, 0.5}) * dx;
    const double d = floor.distance_of(x) / dx;
    const double felt = friction_reach(d);
    loss += (before.u(0, c) - after.u(0, c)) * felt * density * dx;
  });
  return loss / (4 * half * half);
}

TEST(WallFriction, a_layer_on_a_floor_loses_speed_at_mu_g) {
  const double g = 9.81, mu = 0.4, density = 1000, depth = 0.8, dt = 1e-3;
  for (const double level : {0.0, 0.01, 0.03, 0.05, 0.07, 0.08, 0.09}) {
    TestSolid floor = half_space({0, 1, 0}, level);
    floor.mu = mu;
    FlowScene scene(2), before(2);
    scene.update({&floor});
    scene.fill([](const Vec3d&) { return Vec3d{1, 0, 0.5}; });
    before.fill([](const Vec3d&) { return Vec3d{1, 0, 0.5}; });
    scene.press([&](const Vec3d& x) { return std::max(0.0, density * g * (level + depth - x.y)); });
    wall_friction(scene.exec, scene.volume, scene.grid, {flow_velocity, solid_channels, pressure}, {dt, density});
    // Along the velocity (1, 0, 0.5) the layer loses mu g dt of its speed; this is the x part.
    const double loss = momentum_loss(before, scene, floor, 6, density) / (density * depth);
    EXPECT_NEAR(loss, mu * g * dt / std::sqrt(1.25), 0.03 * mu * g * dt) << level;
  }
}

TEST(WallFriction, on_a_slope_it_is_bounded_by_the_pressure_across_it) {
  const double mu = 0.3, density = 1000, dt = 1e-3, pressure_at_wall = 5000, angle = 0.35;
  TestSolid floor = half_space({-std::sin(angle), std::cos(angle), 0}, 0.017);
  floor.mu = mu;
  const Vec3d along{std::cos(angle), std::sin(angle), 0};
  FlowScene scene(2), before(2);
  scene.update({&floor});
  scene.fill([&](const Vec3d&) { return along; });
  before.fill([&](const Vec3d&) { return along; });
  scene.press([&](const Vec3d& x) { return pressure_at_wall - 8000 * floor.distance_of(x); });
  wall_friction(scene.exec, scene.volume, scene.grid, {flow_velocity, solid_channels, pressure}, {dt, density});
  // Per horizontal area the wall is larger by 1/cos, and x is its part cos of the direction.
  const double loss = momentum_loss(before, scene, floor, 7, density);
  std::printf("slope: %.3f of the bound\n", loss / (mu * pressure_at_wall * dt));
  EXPECT_NEAR(loss / (mu * pressure_at_wall * dt), 1, 0.1);
}

TEST(WallFriction, stops_and_never_turns_around_and_drags_along) {
  TestSolid belt = half_space({0, 1, 0}, 0);
  belt.mu = 10;
  belt.velocity_of = [](const Vec3d&) { return Vec3d{2, 0, 0}; };
  FlowScene scene;
  scene.update({&belt});
  scene.fill([](const Vec3d&) { return Vec3d{-1, 0.25, 0}; });
  scene.press([](const Vec3d&) { return 1e4; });
  wall_friction(scene.exec, scene.volume, scene.grid, {flow_velocity, solid_channels, pressure}, {1.0, 1000});
  for_box(Vec3i(-6), Vec3i(7), [&](const Vec3i& c) {
    ASSERT_EQ(scene.u(0, c), c.y == 0 ? 2.0f : -1.0f);
    ASSERT_EQ(scene.u(1, c), 0.25f);
  });
  scene.fill([](const Vec3d&) { return Vec3d{-1, 0, 0}; });
  scene.press([](const Vec3d&) { return -1e4; });
  wall_friction(scene.exec, scene.volume, scene.grid, {flow_velocity, solid_channels, pressure}, {1.0, 1000});
  for_box(Vec3i(-6), Vec3i(7), [&](const Vec3i& c) { ASSERT_EQ(scene.u(0, c), -1) << "suction does not rub"; });
}

TEST(WallVelocity, same_bits_on_any_number_of_threads) {
  std::string first;
  TestSolid round = ball({0.1, 0.2, 0}, 0.5);
  round.mu = 0.3;
  for (const int threads : {1, 2, 7}) {
    ThreadScope scope(threads);
    scope.run([&] {
      FlowScene scene(2);
      scene.update({&round});
      scene.fill([](const Vec3d& x) { return Vec3d{std::sin(9 * x.y), std::cos(7 * x.z), std::sin(5 * x.x + x.y)}; });
      scene.press([](const Vec3d& x) { return 1000 * (2 - x.y); });
      wall_friction(scene.exec, scene.volume, scene.grid, {flow_velocity, solid_channels, pressure}, {1e-2, 1000});
      constrain_velocity(scene.exec, scene.volume, scene.grid, flow_velocity, solid_channels);
      if (first.empty()) first = scene.bits();
      EXPECT_TRUE(first == scene.bits()) << threads;
    });
  }
}

}  // namespace
}  // namespace aegir
