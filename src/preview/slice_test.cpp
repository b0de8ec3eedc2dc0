#include "preview/slice.h"

#include <gtest/gtest.h>

#include "parallel/threads.h"

namespace aegir {
namespace {

/// A cube of cells whose value is f(position), around the origin.
template <class F>
std::shared_ptr<const VolumeField> field_of(VolumeGrid::Kind kind, const F& f) {
  VolumeGrid grid;
  grid.name = "thing", grid.kind = kind, grid.voxel_size = 0.125, grid.background = 0;
  for (int i = -1; i < 1; ++i)
    for (int j = -1; j < 1; ++j)
      for (int k = -1; k < 1; ++k) grid.buckets.push_back({i, j, k});
  for (const Vec3i& b : grid.buckets)
    for (int i = 0; i < 8; ++i)
      for (int j = 0; j < 8; ++j)
        for (int k = 0; k < 8; ++k)
          grid.values.push_back(f(Vec3d(8 * b.x + i + 0.5, 8 * b.y + j + 0.5, 8 * b.z + k + 0.5) * 0.125));
  auto field = VolumeField::create(grid);
  EXPECT_TRUE(field);
  return *field;
}

SliceSettings settings(int axis, double at) {
  SliceSettings s;
  s.axis = axis, s.at = at, s.width = 320, s.height = 180;
  s.bounds = {{-0.9, -0.9, -0.9}, {0.9, 0.9, 0.9}};
  return s;
}

TEST(Slice, ColoursFollowTheValuesAcrossThePlane) {
  const auto field = field_of(VolumeGrid::scalar, [](const Vec3d& p) { return static_cast<float>(2 + p.x); });
  SliceSettings s = settings(2, 0);
  s.low = 1.1f, s.high = 2.9f;
  const Image image = render_slice(*field, s);
  // The plane is a square in the middle of the room beside the bar: dark on the left, light on the right.
  const auto brightness = [&](int x, int y) { return image.at(x, y)[0] + image.at(x, y)[1] + image.at(x, y)[2]; };
  int least = 1000, most = 0;
  for (int x = 80; x < 180; ++x) least = std::min(least, brightness(x, 80)), most = std::max(most, brightness(x, 80));
  EXPECT_GT(most, least + 150);
  EXPECT_LT(brightness(85, 80), brightness(175, 80));
  EXPECT_NEAR(brightness(130, 50), brightness(130, 110), 12);  // nothing changes along y
}

TEST(Slice, ThePlaneIsWhereItIsAsked) {
  const auto field = field_of(VolumeGrid::scalar, [](const Vec3d& p) { return static_cast<float>(2 + p.z); });
  for (const double at : {-0.5, 0.0, 0.5}) {
    SliceSettings s = settings(2, at);
    widen_slice(*field, s);
    EXPECT_EQ(s.low, 0) << at;  // outside of the volume
    EXPECT_NEAR(s.high, 2 + at, 1e-3) << at;
  }
  EXPECT_NEAR(slice_value(*field, {0, 0, 0.25}), 2.25f, 1e-4f);
}

TEST(Slice, TheZeroLineOfALevelSetIsDrawn) {
  const auto field =
      field_of(VolumeGrid::level_set, [](const Vec3d& p) { return static_cast<float>(length(p) - 0.5); });
  SliceSettings s = settings(1, 0);
  const Image image = render_slice(*field, s);
  int dark = 0;
  for (const Color& c : image.pixels()) dark += c == Color{20, 20, 22};
  EXPECT_GT(dark, 60);
  EXPECT_LT(dark, 1200);
}

TEST(Slice, AnEmptyVolumeIsAnEmptyPicture) {
  VolumeGrid grid;
  grid.name = "nothing", grid.voxel_size = 0.1;
  const auto field = VolumeField::create(grid);
  ASSERT_TRUE(field);
  SliceSettings s;
  s.width = 64, s.height = 36;
  EXPECT_EQ(render_slice(**field, s).width(), 64);
}

}  // namespace
}  // namespace aegir
