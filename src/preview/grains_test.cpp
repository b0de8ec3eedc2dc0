#include "preview/grains.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace aegir {
namespace {

TEST(Grains, AGrainKeepsItsColourAndNeighboursDiffer) {
  const Vec3f rest{0.25f, 0.0f, -1.5f};
  EXPECT_EQ(sand_color(grain_of(rest)), sand_color(grain_of(Vec3f{0.25f, -0.0f, -1.5f})));
  EXPECT_EQ(sand_color(grain_of(std::int64_t{7})), sand_color(grain_of(std::int64_t{7})));
  EXPECT_NE(sand_color(grain_of(rest)), sand_color(grain_of(Vec3f{0.25f, 1e-6f, -1.5f})));
  EXPECT_NE(sand_color(grain_of(std::int64_t{7})), sand_color(grain_of(std::int64_t{8})));
}

TEST(Grains, SandIsWarmAndVaried) {
  constexpr int count = 10000;
  double sum = 0, squares = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const Vec3f c = sand_color(grain_of(i));
    EXPECT_GT(c.x, c.y);
    EXPECT_GT(c.y, c.z);
    EXPECT_GT(c.z, 0);
    EXPECT_LT(c.x, 1);
    sum += static_cast<double>(c.y), squares += static_cast<double>(c.y) * static_cast<double>(c.y);
  }
  const double mean = sum / count, deviation = std::sqrt(squares / count - mean * mean);
  EXPECT_NEAR(mean, static_cast<double>(plain_sand().y), 0.05 * mean);
  EXPECT_GT(deviation, 0.1 * mean);
}

TEST(Grains, LayersAreCountedFromZeroAndTakeTurns) {
  EXPECT_EQ(layer_of(0.05, 0.1), 0);
  EXPECT_EQ(layer_of(0.15, 0.1), 1);
  EXPECT_EQ(layer_of(-0.05, 0.1), -1);
  EXPECT_EQ(layer_of(std::nan(""), 0.1), 0);
  EXPECT_EQ(layer_of(1e30, 0.1), 0);
  const std::uint64_t grain = grain_of(std::int64_t{3});
  for (int layer = -5; layer < 5; ++layer) {
    EXPECT_EQ(sand_color(grain, layer), sand_color(grain, layer + 4));
    // Neighbours differ by more than grains of one layer do.
    const Vec3f here = sand_color(grain, layer), above = sand_color(grain, layer + 1);
    const float lightness = std::max(here.y, above.y) / std::min(here.y, above.y);
    EXPECT_GT(lightness, 1.6f) << layer;
  }
}

TEST(Grains, SpecklesKeepTheMeanColour) {
  double sum = 0;
  int places = 0;
  for (std::int64_t i = 0; i < 200; ++i)
    for (float x = -0.9f; x < 1; x += 0.3f)
      for (float y = -0.9f; y < 1; y += 0.3f)
        sum += static_cast<double>(speckle(sand_color(grain_of(i)), {x, y, 0.2f})), ++places;
  EXPECT_NEAR(sum / places, 1, 0.02);
}

TEST(Grains, SpecklesAndRoughnessAreOfCells) {
  double sum = 0;
  Vec3d tilt;
  for (int i = -20; i < 20; ++i)
    for (int j = -20; j < 20; ++j) {
      const Vec3f place{static_cast<float>(i) + 0.25f, static_cast<float>(j) + 0.5f, -3.5f};
      EXPECT_EQ(speckle(place), speckle(place + Vec3f(0.4f)));
      EXPECT_NE(speckle(place), speckle(place + Vec3f{1, 0, 0}));
      sum += static_cast<double>(speckle(place)), tilt += Vec3d(roughness(place));
    }
  EXPECT_NEAR(sum / 1600, 1, 0.02);
  EXPECT_LT(length(tilt / 1600), 0.06);
  EXPECT_TRUE(std::isfinite(speckle(Vec3f{1e30f, std::nanf(""), 0})));
}

}  // namespace
}  // namespace aegir
