#include "preview/points.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/random.h"
#include "parallel/threads.h"
#include "preview/color_map.h"
#include "preview/visibility.h"

namespace aegir {
namespace {

TEST(SpeedColor, LightnessGrowsEvenly) {
  // Lightness as the eye sees it: CIE L*, from relative luminance.
  const auto lightness = [](float t) {
    const Vec3f c = speed_color(t);
    return 116 * std::cbrt(0.2126f * c.x + 0.7152f * c.y + 0.0722f * c.z) - 16;
  };
  const float step = (lightness(1) - lightness(0)) / 16;
  EXPECT_GT(step, 3);
  for (int i = 0; i < 16; ++i) {
    const float t = static_cast<float>(i) / 16;
    EXPECT_NEAR(lightness(t + 1.0f / 16) - lightness(t), step, 0.5f * step) << t;
  }
  EXPECT_EQ(speed_color(-3), speed_color(0));
  EXPECT_EQ(speed_color(std::numeric_limits<float>::quiet_NaN()), speed_color(0));
}

TEST(SpeedColor, EncodingIsInvertible) {
  for (int i = 0; i <= 255; ++i)
    EXPECT_NEAR(to_srgb(from_srgb(static_cast<float>(i) / 255)) * 255, static_cast<float>(i), 1e-2);
}

TEST(View, UnprojectInvertsProject) {
  const View eye = View::perspective({{3, 2, 5}, {0, 1, 0}, 0.7}, 640, 360);
  const View light = View::orthographic({1, 3, 2}, {{-1, 0, -1}, {1, 2, 1}}, 256);
  for (const View* view : {&eye, &light})
    for (const Vec3d& p : {Vec3d{0, 1, 0}, Vec3d{-1, 0.2, 0.7}, Vec3d{1, 2, 1}}) {
      const Vec3f q = view->project(p);
      EXPECT_LT(length(view->unproject(q.x, q.y, q.z) - p), 1e-4);
    }
  EXPECT_LT(length(Vec3d(eye.project({0, 1, 0})) - Vec3d(320, 180, std::sqrt(35.0))), 1e-3);
}

TEST(View, FittedCameraHasTheWholeBoxInTheFrameAndFillsIt) {
  const Box boxes[] = {{{-1, 0, -1}, {1, 2, 1}},
                       {{-10, 0, -0.1}, {10, 0.5, 0.1}},
                       {{5, 5, 5}, {6, 50, 6}},
                       {{1e3, 0, 0}, {1e3 + 1e-2, 1e-2, 1e-2}}};
  for (const Box& box : boxes)
    for (const double aspect : {16.0 / 9, 1.0, 0.5}) {
      const int height = 900, width = static_cast<int>(height * aspect);
      const View view = View::perspective(fit_camera(box, aspect, {}), width, height);
      Box seen;
      for (int i = 0; i < 8; ++i)
        seen.add(Vec3d(view.project(
            {i & 1 ? box.max.x : box.min.x, i & 2 ? box.max.y : box.min.y, i & 4 ? box.max.z : box.min.z})));
      EXPECT_GE(seen.min.x, 0);
      EXPECT_GE(seen.min.y, 0);
      EXPECT_LE(seen.max.x, width);
      EXPECT_LE(seen.max.y, height);
      EXPECT_GT(std::max(seen.size().x / width, seen.size().y / height), 0.9);
    }
}

TEST(Visibility, NearerThingsHideFartherOnes) {
  const View view = View::perspective({{0, 0, 10}, {0, 0, 0}, 0.5}, 64, 64);
  const std::vector<Vec3d> positions{{0, 0, -1}, {0, 0, 1}, {0, 0, 20}};
  const std::vector<float> radius{0.5f};
  TriangleMesh plate;
  plate.positions = {{-5, -5, 0}, {5, -5, 0}, {0, 5, 0}, {0, 5, 500}};
  plate.triangles = {{0, 1, 2}};
  const std::vector<TriangleMesh> solids{plate};
  const std::size_t middle = 32 * 64 + 32;
  const Visibility seen = find_visible(view, {positions, radius, solids}, 0.5f);
  EXPECT_EQ(seen.item[middle], 1u);
  EXPECT_NEAR(seen.depth[middle], 8.5f, 0.01f);
  const Visibility behind = find_visible(view, {std::span(positions).first(1), radius, solids}, 0.5f);
  EXPECT_EQ(behind.item[middle], 1u) << "the plate, counted after the one sphere, hides it";
  EXPECT_NEAR(behind.depth[middle], 10, 1e-4);
  EXPECT_EQ(seen.item[0], nothing_seen);
}

TEST(Visibility, TriangleThroughTheEyeIsCutNotMirrored) {
  const View view = View::perspective({{0, 0.1, 10}, {0, 0.1, 0}, 0.5}, 64, 64);
  TriangleMesh floor;
  floor.positions = {{-100, 0, -100}, {100, 0, -100}, {0, 0, 100}};
  floor.triangles = {{0, 1, 2}};
  const std::vector<TriangleMesh> solids{floor};
  const Visibility seen = find_visible(view, {{}, {}, solids}, 0.5f);
  EXPECT_EQ(seen.item[60 * 64 + 32], 0u);
  EXPECT_EQ(seen.item[4 * 64 + 32], nothing_seen);
}

struct Cloud {
  std::vector<Vec3d> positions;
  std::vector<float> speed;
};

Cloud cloud(std::uint64_t count) {
  Cloud c;
  for (std::uint64_t i = 0; i < count; ++i) {
    const Random random(7, i, 0, Purpose::test);
    c.positions.push_back(random.direction(0) * random.uniform(2) + Vec3d{0, 1, 0});
    c.speed.push_back(static_cast<float>(random.uniform(3, 0, 5)));
  }
  return c;
}

ViewSettings small_view() {
  ViewSettings settings;
  settings.width = 160, settings.height = 90;
  return settings;
}

TEST(RenderPoints, SamePictureOnAnyNumberOfThreads) {
  const Cloud c = cloud(5000);
  std::vector<Image> pictures;
  for (const int count : {1, 2, 7}) {
    ThreadScope threads(count);
    threads.run([&] { pictures.push_back(render_points({c.positions, c.speed, {0.02f}}, {}, small_view())); });
  }
  EXPECT_EQ(pictures[0].pixels(), pictures[1].pixels());
  EXPECT_EQ(pictures[0].pixels(), pictures[2].pixels());
}

TEST(RenderPoints, FastIsGoldSlowIsBlue) {
  ViewSettings settings = small_view();
  settings.bounds = {{-1, -1, -1}, {1, 1, 1}};
  settings.low = 0, settings.high = 5;
  settings.legend.clear();
  const Color slow = render_points({{{0, 0, 0}}, {0}, {0.8f}}, {}, settings).at(80, 45);
  const Color fast = render_points({{{0, 0, 0}}, {5}, {0.8f}}, {}, settings).at(80, 45);
  EXPECT_GT(slow[2], slow[0] + 40);
  EXPECT_GT(fast[0], fast[2] + 40);
}

TEST(RenderPoints, GroundIsDarkerUnderASphere) {
  ViewSettings settings = small_view();
  settings.bounds = {{-1, 0, -1}, {1, 2, 1}};
  const Image bare = render_points({}, {}, settings);
  const Image with = render_points({{{0, 0.5, 0}}, {}, {0.5f}}, {}, settings);
  int darker = 0, lighter = 0;
  for (std::size_t i = 0; i < bare.pixels().size(); ++i) {
    const int change = with.pixels()[i][0] - bare.pixels()[i][0];
    darker += change < -10 && with.pixels()[i][0] > with.pixels()[i][2] - 30;
    lighter += change > 10;
  }
  EXPECT_GT(darker, 100);
}

TEST(RenderPoints, OddInputStillGivesAPicture) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(render_points({}, {}, small_view()).width(), 160);
  EXPECT_FALSE(render_points({{{0, 0, 0}}, {1}, {0}}, {}, small_view()).empty());
  EXPECT_FALSE(
      render_points({{{nan, 0, 0}, {infinity, 0, 0}, {1, 1, 1}}, {1, 2, std::numeric_limits<float>::quiet_NaN()}, {}},
                    {}, small_view())
          .empty());
  EXPECT_FALSE(render_points({{{1e12, 0, 0}, {-1e12, 1, 0}}, {}, {1e3f}}, {}, small_view()).empty());
  ViewSettings inside = small_view();
  inside.camera = Camera{{0, 1, 0}, {0, 1, -1}, 0.6};
  EXPECT_FALSE(render_points({cloud(500).positions, {}, {0.05f}}, {}, inside).empty());
  ViewSettings from_above = small_view();
  from_above.camera = Camera{{0, 5, 0}, {0, 0, 0}, 0.6};
  EXPECT_FALSE(render_points({cloud(500).positions, {}, {0.05f}}, {}, from_above).empty());
  ViewSettings tiny = small_view();
  tiny.width = tiny.height = 1;
  tiny.caption = "frame 1";
  EXPECT_EQ(render_points({cloud(50).positions, cloud(50).speed}, {}, tiny).pixels().size(), 1u);
}

// A bed of grains, seen from above.
ShownPoints bed(std::uint64_t count, const Vec3f& color) {
  ShownPoints points{{}, {}, {0.05f}};
  for (std::uint64_t i = 0; i < count; ++i) {
    const Random random(9, i, 0, Purpose::test);
    points.positions.push_back({random.uniform(0, -1, 1), random.uniform(1, 0, 0.1), random.uniform(2, -1, 1)});
    points.grain.push_back(color);
  }
  return points;
}

TEST(RenderPoints, GrainsHaveTheirOwnColourAndNoHighlight) {
  ViewSettings settings = small_view();
  settings.bounds = {{-1, 0, -1}, {1, 1, 1}};
  settings.camera = Camera{{0.5, 3, 0.5}, {0, 0, 0}, 0.5};
  settings.low = 0, settings.high = 5;
  const auto brightest = [](const Image& image) {
    int most = 0;
    for (int y = 20; y < 70; ++y)
      for (int x = 40; x < 120; ++x) most = std::max<int>(most, image.at(x, y)[1]);
    return most;
  };
  const Image sand = render_points(bed(4000, {0.44f, 0.29f, 0.15f}), {}, settings);
  const Color middle = sand.at(80, 45);
  EXPECT_GT(middle[0], middle[1]);
  EXPECT_GT(middle[1], middle[2]);
  ShownPoints drops = bed(4000, Vec3f(-1.0f));  // no grains
  EXPECT_GT(render_points(drops, {}, settings).at(80, 45)[2], middle[2] + 40);
  // Dull: what is dark stays dark in full light.
  EXPECT_LT(brightest(render_points(bed(4000, Vec3f(0.02f)), {}, settings)), 100);
  EXPECT_GT(brightest(render_points(drops, {}, settings)), 200);
}

TEST(RenderPoints, GrainsDoNotDependOnTheirOrder) {
  ViewSettings settings = small_view();
  settings.bounds = {{-1, 0, -1}, {1, 1, 1}};
  ShownPoints points = bed(3000, {0.44f, 0.29f, 0.15f});
  for (std::size_t i = 0; i < points.grain.size(); ++i)
    points.grain[i] = points.grain[i] * (0.5f + static_cast<float>(i % 7) / 14);
  const Image before = render_points(points, {}, settings);
  std::reverse(points.positions.begin(), points.positions.end());
  std::reverse(points.grain.begin(), points.grain.end());
  EXPECT_EQ(before.pixels(), render_points(points, {}, settings).pixels());
}

TEST(FramingBox, LeavesOutStrayPoints) {
  std::vector<Vec3d> positions = cloud(10000).positions;
  positions.push_back({1000, 0, 0});
  positions.push_back({std::numeric_limits<double>::quiet_NaN(), 0, 0});
  const Box box = framing_box(positions);
  EXPECT_LT(box.max.x, 1);
  EXPECT_GT(box.max.x, 0.8);
  EXPECT_TRUE(framing_box({}).empty());
}

}  // namespace
}  // namespace aegir
