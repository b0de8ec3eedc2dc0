#include "numerics/solids/face_area.h"

#include <gtest/gtest.h>

#include <random>

#include "numerics/solids/solid_test_support.h"

namespace aegir {
namespace {

TEST(FaceArea, whole_squares) {
  EXPECT_EQ(open_area(1, 1, 1, 1), 1);
  EXPECT_EQ(open_area(-1, -1, -1, -1), 0);
  EXPECT_EQ(open_area(0, 0, 0, 0), 0) << "a face in the surface is closed";
  EXPECT_EQ(open_area(0, 0, 1, 1), 1) << "a face that stands on the surface is open";
  EXPECT_EQ(open_area(0, 0, -1, -1), 0);
  EXPECT_EQ(open_area(0, 1, 1, 1), 1);
  EXPECT_EQ(open_area(-0.25, 0.75, -0.25, 0.75), 0.75);
}

TEST(FaceArea, mirrors_and_complements) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> any(-1, 1);
  for (int n = 0; n < 2000; ++n) {
    const double a = any(random), b = any(random), c = any(random), d = any(random);
    const double area = open_area(a, b, c, d);
    EXPECT_GE(area, 0);
    EXPECT_LE(area, 1);
    EXPECT_EQ(area, open_area(b, a, d, c));
    EXPECT_EQ(area, open_area(c, d, a, b));
    EXPECT_EQ(area, open_area(a, c, b, d));
    EXPECT_NEAR(area, 1 - open_area(-a, -b, -c, -d), 1e-14);
  }
}

TEST(FaceArea, continuous_in_each_corner) {
  std::mt19937 random(2);
  std::uniform_real_distribution<double> any(-1, 1);
  for (int n = 0; n < 500; ++n) {
    const double b = any(random), c = any(random), d = any(random);
    if (b * c > 0 && d * b < 0) continue;  // the saddle changes its connection at once
    EXPECT_NEAR(open_area(1e-9, b, c, d), open_area(-1e-9, b, c, d), 1e-6 + (b <= 0 && c <= 0 && d <= 0 ? 1 : 0));
  }
}

/// Area of the part of the plane dot(x, n) = offset in the unit cube, by clipping a large square.
double cut_area(const Vec3d& n, double offset) {
  const Vec3d p = normalized(cross(n, std::abs(n.x) < 0.6 ? Vec3d{1, 0, 0} : Vec3d{0, 1, 0})), q = cross(n, p);
  std::vector<Vec3d> polygon;
  for (const auto& [s, t] : {std::pair{-9, -9}, {9, -9}, {9, 9}, {-9, 9}})
    polygon.push_back(n * offset + p * double(s) + q * double(t));
  for (int side = 0; side < 6; ++side) {
    const auto inside = [&](const Vec3d& x) { return side & 1 ? 1 - x[side / 2] : x[side / 2]; };
    std::vector<Vec3d> clipped;
    for (std::size_t i = 0; i < polygon.size(); ++i) {
      const Vec3d &a = polygon[i], &b = polygon[(i + 1) % polygon.size()];
      const double da = inside(a), db = inside(b);
      if (da >= 0) clipped.push_back(a);
      if (da * db < 0) clipped.push_back(a + (b - a) * (da / (da - db)));
    }
    polygon = std::move(clipped);
  }
  Vec3d sum{};
  for (std::size_t i = 2; i < polygon.size(); ++i) sum += cross(polygon[i - 1] - polygon[0], polygon[i] - polygon[0]);
  return 0.5 * length(sum);
}

TEST(FaceArea, open_faces_and_wall_of_a_cell_close_for_planes_at_any_tilt) {
  std::mt19937 random(3);
  std::normal_distribution<double> gauss;
  std::uniform_real_distribution<double> any(0, 1);
  double worst = 0;
  for (int trial = 0; trial < 40; ++trial) {
    const Vec3d n = normalized(Vec3d{gauss(random), gauss(random), gauss(random)});
    const double dx = 0.05, offset = dx * (any(random) - 0.5);
    const TestSolid wall = half_space(n, offset);
    SolidScene scene(dx, block_of_keys({-1, -1, -1}, {1, 1, 1}));
    scene.update({&wall});
    for_box({-8, -8, -8}, {7, 7, 7}, [&](const Vec3i& c) {
      Vec3d sum;
      bool snapped = false;
      for (int a = 0; a < 3; ++a)
        for (int side = 0; side < 2; ++side) {
          const Vec3i f = step(c, a, side);
          const float area = scene.area(a, f);
          sum[a] += side ? area : -area;
          snapped |= area == 0 && scene.distance(f) != -3;
        }
      if (snapped) return;  // may have lost up to least_open_area
      const double wet = cut_area(n, (offset - dot(Vec3d(c) * dx, n)) / dx);
      worst = std::max(worst, length(sum - n * wet));
    });
  }
  EXPECT_LT(worst, 1e-6);
  std::printf("closed to %.1e\n", worst);
}

}  // namespace
}  // namespace aegir
