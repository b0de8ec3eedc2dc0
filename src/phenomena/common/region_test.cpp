#include "phenomena/common/region.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <vector>

#include "parallel/comm.h"

namespace aegir {
namespace {

std::vector<Vec3d> seeds(const Region& region, const SeedSettings& settings) {
  const auto comm = make_single_comm();
  Profile profile;
  Exec exec{*comm, profile};
  std::vector<Vec3d> all;
  const auto take = [&](const Seeds& s) { all.insert(all.end(), s.position.begin(), s.position.end()); };
  const std::int64_t count = seed(
      exec, Partition::even(1), region, settings, [](const Vec3d&) { return true; }, take);
  EXPECT_EQ(count, static_cast<std::int64_t>(all.size()));
  return all;
}

Region ball(double radius) {
  const Result<Shape> shape = Shape::create({.kind = ShapeKind::sphere, .radius = radius});
  return inside(*shape);
}

Region pipe(double radius) {
  const Result<Shape> shape =
      Shape::create({.kind = ShapeKind::cylinder, .radius = radius, .height = 8, .axis = {1, 0, 0}});
  return inside(*shape);
}

/// Particles next to the surface lie exactly half their spacing below it, as in Zhu 2005 (thesis, §3.2): none is
/// nearer, and the first layer is there wherever one looks.
TEST(Seeding, FirstLayerLiesHalfASpacingBelowTheSurface) {
  for (const double spacing : {0.1, 0.05}) {
    const double step = spacing / 2;
    double nearest = -1e300;
    std::size_t layer = 0;
    const auto all = seeds(ball(1), {.spacing = spacing, .jitter = 0.5});
    for (const Vec3d& x : all) {
      const double d = length(x) - 1;
      nearest = std::max(nearest, d);
      layer += std::abs(d + 0.5 * step) < 1e-6;
    }
    EXPECT_NEAR(nearest, -0.5 * step, 1e-6);
    // A shell as thick as a spacing holds the particles of its volume.
    const double shell = 4.18879 * (1 - std::pow(1 - step, 3)) / std::pow(step, 3);
    EXPECT_NEAR(static_cast<double>(layer) / shell, 1, 0.02);
    EXPECT_NEAR(static_cast<double>(all.size()) * std::pow(step, 3) / 4.18879, 1, 0.005);
  }
}

/// Without jitter particles stay on their lattice.
TEST(Seeding, RegularLatticeIsNotMoved) {
  for (const Vec3d& x : seeds(ball(0.5), {.spacing = 0.1, .jitter = 0}))
    for (int a = 0; a < 3; ++a) EXPECT_NEAR(std::remainder(x[a] / 0.05 - 0.5, 1.0), 0, 1e-6);
}

/// A flat surface is flat wherever its level lies between two cells.
TEST(Seeding, TopLayerFollowsTheLevel) {
  for (const double level : {0.5, 0.513, 0.537, 0.561}) {
    const auto all = seeds(below_level(level, {{0, 0, 0}, {1, 1, 1}}), {.spacing = 0.1, .jitter = 0.5});
    std::size_t layer = 0;
    for (const Vec3d& x : all) {
      EXPECT_LT(x.y, level - 0.0249);
      layer += std::abs(x.y - (level - 0.025)) < 1e-6;
    }
    EXPECT_EQ(layer, 400u);
  }
}

/// Every layer of a staggered lattice brings the volume of the region on average, however few particles wide it is and
/// wherever it lies: within 1 % over a length of eighty cells.
TEST(Seeding, StaggeredLatticeFollowsTheSection) {
  for (const double radius : {0.15, 0.23, 0.4})
    for (const double offset : {0.0, 0.017, 0.033}) {
      const auto all =
          seeds(pipe(radius),
                {.spacing = 0.1, .jitter = 0.5, .offset = {0, offset, 0}, .smooth_surface = false, .stagger = 0});
      const double volume = 3.14159265 * radius * radius * 8;
      EXPECT_NEAR(static_cast<double>(all.size()) * std::pow(0.05, 3) / volume, 1, 0.01) << radius << " " << offset;
      // No layers: slices a third of a spacing thick hold alike.
      std::map<int, double> slices;
      for (const Vec3d& x : all) slices[static_cast<int>(std::floor((x.x + 4.1) / 0.05 * 3)) % 3] += 1;
      for (const auto& [phase, count] : slices)
        EXPECT_NEAR(count * 3 / static_cast<double>(all.size()), 1, 0.1) << radius << " " << phase;
    }
}

TEST(ProjectedArea, IsThatOfTheShadow) {
  EXPECT_NEAR(projected_area(ball(0.3), {1, 2, -0.5}) / (3.14159265 * 0.09), 1, 0.005);
  EXPECT_NEAR(projected_area(pipe(0.2), {1, 0, 0}) / (3.14159265 * 0.04), 1, 0.005);
  EXPECT_NEAR(projected_area(pipe(0.2), {0, 0, 1}) / (0.4 * 8), 1, 0.005);
  EXPECT_EQ(projected_area(ball(0.3), {0, 0, 0}), 0);
}

}  // namespace
}  // namespace aegir
