#include "preview/outline.h"

#include <gtest/gtest.h>

#include "preview/points.h"

namespace aegir {
namespace {

constexpr int width = 200, height = 150;
const Box box{{-1, 0, -1}, {1, 1, 1}};

View some_view() { return View::perspective(fit_camera(box, double(width) / height, {}), width, height); }

float at(const std::vector<float>& strength, const Vec3f& pixel) {
  return strength[static_cast<std::size_t>(pixel.y) * width + static_cast<std::size_t>(pixel.x)];
}

TEST(Outline, EdgesAreDrawnAndFacesAreNot) {
  const View view = some_view();
  const std::vector<float> lines = find_outline(view, box, find_visible(view, {}, 0.8f));
  EXPECT_EQ(at(lines, view.project({0.3, 0, 1})), 1);    // lower front edge
  EXPECT_EQ(at(lines, view.project({-1, 0.4, 1})), 1);   // an upright one
  EXPECT_EQ(at(lines, view.project({1, 1, -0.2})), 1);   // upper right
  EXPECT_EQ(at(lines, view.project({0.2, 0.5, 1})), 0);  // in the middle of the front
}

TEST(Outline, WhatStandsInFrontHidesMostOfAnEdge) {
  const View view = some_view();
  const std::vector<Vec3d> ball{{0, 0.5, 0}};
  const std::vector<float> radius{0.9f};
  const std::vector<float> lines = find_outline(view, box, find_visible(view, {ball, radius, {}}, 0.8f));
  const Vec3f front = view.project({-1, 0.4, 1}), back = view.project({0.3, 0, -1});
  EXPECT_EQ(at(lines, front), 1);
  EXPECT_GT(at(lines, back), 0);
  EXPECT_LT(at(lines, back), 0.5f);
}

TEST(Outline, EdgesBehindTheEyeAreLeftOut) {
  const View inside = View::perspective({{0, 0.5, 0}, {0, 0.5, -1}}, width, height);
  const std::vector<float> lines = find_outline(inside, box, find_visible(inside, {}, 0.8f));
  EXPECT_EQ(lines.size(), static_cast<std::size_t>(width * height));
}

TEST(RenderPoints, LiquidIsSeenThroughGlassAndNotThroughASolid) {
  TriangleMesh wall;  // in front of the particles, towards the camera
  wall.positions = {{-2, -1, 1.2}, {2, -1, 1.2}, {2, 2, 1.2}, {-2, 2, 1.2}};
  wall.triangles = {{0, 1, 2}, {0, 2, 3}};
  const std::vector<Vec3d> positions{{0, 0.5, 0}};
  ViewSettings settings;
  settings.width = width, settings.height = height;
  settings.bounds = box;
  settings.direction = {0, 0.1};
  settings.low = 0, settings.high = 1;
  const auto middle = [&](const std::vector<TriangleMesh>& solids) {
    return render_points({positions, {0.0f}, {0.4f}}, solids, settings).at(width / 2, height / 2);
  };
  const auto free = middle({}), behind_wall = middle({wall});
  settings.glass = {wall};
  const auto behind_glass = middle({});
  const auto blueness = [](const auto& c) { return int(c[2]) - int(c[0]); };  // slow particles are blue, walls grey
  EXPECT_GT(blueness(free), 60);
  EXPECT_LT(blueness(behind_wall), 30);
  EXPECT_GT(blueness(behind_glass), 40);
  EXPECT_NE(free, behind_glass);
}

}  // namespace
}  // namespace aegir
