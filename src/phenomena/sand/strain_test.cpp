#include "phenomena/sand/strain.h"

#include <gtest/gtest.h>

#include "phenomena/sand/sand_test_support.h"

namespace aegir::sand {
namespace {

TEST(Strain, ARigidMotionHasNone) {
  const Vec3d v{0.4, -1.2, 0.7}, omega{0.3, 0.2, -0.5};
  for (const bool on_floor : {false, true}) {
    Bed bed;
    on_floor ? heap(bed) : free_ball(bed);
    bed.move([&](const Vec3d& x) { return v + cross(omega, x); });
    bed.strain();
    int cells = 0;
    bed.cells([&](const Vec3i& c) {
      if (!bed.sand(c)) return;
      ASSERT_LT(std::sqrt(bed.square("strain", "shear_rate", c)), 5e-6) << c.x << " " << c.y << " " << c.z;
      ++cells;
    });
    EXPECT_GT(cells, 1000);
  }
}

TEST(Strain, OfALinearFlowIsItsDeviatoricSymmetricPart) {
  Bed bed;
  free_ball(bed);
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    double g[3][3];
    const Random r(31, seed, 0, Purpose::test);
    for (std::uint32_t i = 0; i < 9; ++i) g[i / 3][i % 3] = r.uniform(i, -1, 1);
    bed.move([&](const Vec3d& x) {
      Vec3d u;
      for (int a = 0; a < 3; ++a)
        for (int b = 0; b < 3; ++b) u[a] += g[a][b] * x[b];
      return u;
    });
    bed.strain();
    const double third = (g[0][0] + g[1][1] + g[2][2]) / 3;
    int cells = 0;
    bed.cells([&](const Vec3i& c) {
      if (!(bed.at("surface_distance", 0, c) < -2)) return;  // all faces and edges around bear stress
      for (int a = 0; a < 3; ++a) {
        const int p = (a + 1) % 3, q = (a + 2) % 3;
        ASSERT_NEAR(bed.at("strain", a, c), g[a][a] - third, 2e-5);
        ASSERT_NEAR(bed.at("shear_rate", a, c), 0.5 * (g[p][q] + g[q][p]), 2e-5);
      }
      ++cells;
    });
    EXPECT_GT(cells, 1000);
  }
}

}  // namespace
}  // namespace aegir::sand
