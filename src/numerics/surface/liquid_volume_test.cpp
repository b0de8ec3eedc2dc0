#include "numerics/surface/liquid_volume.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "domain/for_each_bucket.h"
#include "numerics/surface/redistance.h"
#include "numerics/surface/surface_test_support.h"

namespace aegir {
namespace {

using namespace surface_test;

TEST(LiquidVolume, share_of_a_cube_below_a_plane_is_exact) {
  EXPECT_NEAR(share_below({0, 1, 0}, 0), 0.5, 1e-9);
  EXPECT_NEAR(share_below({0, 1, 0}, -0.25), 0.75, 1e-3);
  EXPECT_EQ(share_below({0, 1, 0}, -0.6), 1);
  EXPECT_EQ(share_below({0, 1, 0}, 0.6), 0);
  const Vec3d n = normalized(Vec3d{1, 2, -3});
  for (const double d : {-0.7, -0.3, 0.1, 0.5}) {
    int inside = 0, all = 0;
    for (double x = -0.495; x < 0.5; x += 0.01)
      for (double y = -0.495; y < 0.5; y += 0.01)
        for (double z = -0.495; z < 0.5; z += 0.01) ++all, inside += dot(n, {x, y, z}) + d < 0;
    EXPECT_NEAR(share_below(n, d), static_cast<double>(inside) / all, 1e-3);
  }
}

TEST(LiquidVolume, a_ball_of_particles_has_the_volume_of_a_ball) {
  for (const double radius : {8.0, 16.0}) {
    const Vec3d centre{0.3, -0.4, 0.15};
    Liquid liquid;
    const double r = radius + 1;
    liquid.fill(lattice({centre - Vec3d(r), centre + Vec3d(r)}, 2, 1,
                        [&](const Vec3d& p) { return length(p - centre) < radius; }));
    liquid.find_distance();
    const double truth = 4.0 / 3 * M_PI * radius * radius * radius;
    const double error = liquid_volume(liquid.exec, liquid.volume, distance) / truth - 1;
    std::printf("ball of radius %g: volume %+.2f %%\n", radius, 100 * error);
    EXPECT_LT(std::abs(error), radius < 10 ? 0.02 : 0.01);
  }
}

TEST(LiquidVolume, solids_take_their_share) {
  Liquid liquid;
  const auto solid_at = [](const Vec3d& x) { return 4.3 - x.x; };
  liquid.fill(lattice({{-8, -8, -8}, {8, 8, 8}}, 2, 0, [&](const Vec3d& p) { return solid_at(p) > 0; }));
  liquid.set_solid(solid_at);
  liquid.find_distance(true);
  const double box = liquid_volume(liquid.exec, liquid.volume, distance, &solid);
  EXPECT_NEAR(box, 12.3 * 16 * 16, 0.03 * 12.3 * 16 * 16);
}

TEST(Redistance, gives_the_distance_to_a_ball_and_keeps_its_surface) {
  Liquid liquid;
  liquid.fill(lattice({{-10, -10, -10}, {10, 10, 10}}, 2, 0, everywhere));
  const double radius = 7.3;
  // A squashed and cut off distance, as particles give it.
  for_each_bucket(
      liquid.exec, "ball", liquid.volume.topology(),
      [&](const Bucket& b, auto& d) {
        for (int c = 0; c < bucket_cells; ++c) {
          const double r = length(b.origin() + Vec3d(c >> 6, (c >> 3) & 7, c & 7) + Vec3d(0.5)) - radius;
          d[c] = static_cast<float>(r > 1.5 ? 4.0 : std::clamp(r * (1 + 0.05 * r), -1.5, 1.5));
        }
      },
      liquid.volume.overwrite(distance));
  redistance(liquid.exec, liquid.volume, distance, 3);
  double worst = 0, near = 0;
  liquid.each([&](const Vec3d& x, double d) {
    const double truth = std::clamp(length(x) - radius, -3.0, 3.0), e = std::abs(d - truth);
    worst = std::max(worst, e);
    if (std::abs(truth) < 0.5) near = std::max(near, e);
  });
  std::printf("redistanced ball of radius %g: worst %.4f, near the surface %.4f\n", radius, worst, near);
  EXPECT_LT(worst, 0.12);
  EXPECT_LT(near, 0.05);
}

TEST(Redistance, planes_are_exact) {
  Liquid liquid;
  liquid.fill(lattice({{-10, -10, -10}, {10, 10, 10}}, 2, 0, everywhere));
  const Vec3d n = normalized(Vec3d{1, 2, 0.5});
  for_each_bucket(
      liquid.exec, "plane", liquid.volume.topology(),
      [&](const Bucket& b, auto& d) {
        for (int c = 0; c < bucket_cells; ++c)
          d[c] = static_cast<float>(dot(n, b.origin() + Vec3d(c >> 6, (c >> 3) & 7, c & 7)));
      },
      liquid.volume.overwrite(distance));
  redistance(liquid.exec, liquid.volume, distance, 3);
  liquid.each([&](const Vec3d& x, double d) {
    const Vec3d corner = x - Vec3d(0.5);
    if (std::max({std::abs(corner.x), std::abs(corner.y), std::abs(corner.z)}) < 8) {
      EXPECT_NEAR(d, std::clamp(dot(n, corner), -3.0, 3.0), 0.02);
    }
  });
}

}  // namespace
}  // namespace aegir
