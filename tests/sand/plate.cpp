// A plate that lies on sand is lifted off: nothing holds the sand to it. A board is pushed through sand: nothing is
// faster than what it pushes. Grains lie by themselves.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sand/sandbox.h"

namespace aegir::test {

Figures lifted_plate(const Options& o) {
  Scene scene;
  const double dx = scene.voxel = o.number("voxel", 0.01), deep = o.integer("cells", 8) * dx, wide = 1.5 * deep;
  const double mu = o.number("mu", std::tan(30 * degree)), start = 0.05, speed = o.number("speed", 0.5);
  scene.seconds = o.number("time", 0.4);
  const double longest = o.number("dt", 0.2) * std::sqrt(dx / g), last = std::ceil(scene.seconds / longest);
  scene.nodes = fmt::format(
      "  - gravity: earth\n{}{}{}    translate: {{keys: {{0: [0, 0, 0], {}: [0, 0, 0], {}: [0, {}, 0]}}}}\n",
      smooth_box(o, {-wide, -0.1, -wide}, {wide, 2 * deep + speed * scene.seconds, wide}), rough_floor(mu),
      box_collider("plate", {-deep, deep, -deep}, {deep, 1.5 * deep, deep}, mu), std::ceil(start / longest), last,
      speed * (last - std::ceil(start / longest)) * longest);
  scene.fill = box_fill({-wide, 0, -wide}, {wide, deep, wide});
  Sandbox box(o, scene);
  const Grains begin = box.grains();
  while (!box.finished()) box.step();
  const Grains end = box.grains();
  std::vector<double> rise;
  for (std::size_t i = 0; i < end.size(); ++i) rise.push_back((end.x[i].y - begin.x[i].y) / dx);
  Figures f("lifted_plate" + o.summary());
  f.add("most", quantile(rise, 1)), f.add("rise", quantile(rise, 0.99)), f.add("sunk", -quantile(rise, 0.01));
  f.add("particles", static_cast<double>(end.size()));
  box.add_cost(f);
  return f;
}

Figures pushed_board(const Options& o) {
  Scene scene;
  const double dx = scene.voxel = o.number("voxel", 0.01), deep = o.integer("cells", 8) * dx, wide = 2 * deep;
  const double speed = o.number("speed", 0.4), mu = o.number("mu", 0.3), thick = o.number("thick", 2) * dx;
  scene.seconds = o.number("time", 0.4);
  const double longest = o.number("dt", 0.2) * std::sqrt(dx / g), last = std::ceil(scene.seconds / longest);
  // From the left, lower edge ahead and a little askew, a cell and a bit above the floor.
  const double ahead = 1.5 * deep;
  scene.nodes = fmt::format(
      "  - gravity: earth\n{}{}{}"
      "    rotate: [0, 14 deg, 12 deg]\n"
      "    translate: {{keys: {{0: [{}, {}, 0], {}: [{}, {}, 0]}}}}\n",
      smooth_box(o, {-2 * wide, -0.1, -wide}, {2 * wide, 4 * deep, wide}), rough_floor(0.6),
      box_collider("board", {-thick / 2, 0, -deep}, {thick / 2, 2 * deep, deep}, mu), -ahead, 1.2 * dx, last,
      -ahead + speed * last * longest, 1.2 * dx);
  scene.fill = box_fill({-wide, 0, -wide}, {wide, deep, wide});
  Sandbox box(o, scene);
  double fastest = 0, settled = 0.1 * scene.seconds;
  while (!box.finished()) {
    box.step();
    if (box.time() > settled) fastest = std::max(fastest, box.audit().max_speed);
  }
  Figures f("pushed_board" + o.summary());
  f.add("fastest", fastest / speed), f.add("particles", static_cast<double>(box.grains().size()));
  box.add_cost(f);
  return f;
}

Figures lone_grains(const Options& o) {
  Scene scene;
  const double dx = scene.voxel = o.number("voxel", 0.01), theta = o.number("theta", 0) * degree;
  scene.seconds = o.number("time", 1);
  const Vec3d up{std::sin(theta), std::cos(theta), 0}, down{up.y, -up.x, 0};
  const double far = 60 * dx;
  scene.nodes = fmt::format(
      "  - gravity: earth\n{}"
      "  - collider: floor\n"
      "    shape: {{kind: plane, center: [0, 0, 0], axis: [{}, {}, 0]}}\n"
      "    friction: {}\n",
      smooth_box(o, {-far, -far, -far}, {far, far, far}), up.x, up.y, o.number("mu", 0.8));
  for (int n = -2; n <= 2; ++n) {
    const Vec3d at = down * (10.37 * n * dx) + up * (0.7 * dx);
    scene.nodes += fmt::format("  - source: grain{}\n    shape: {{kind: sphere, center: [{}, {}, {}], radius: {}}}\n",
                               n + 2, at.x, at.y, (n % 2 == 0 ? 4.2 : -4.6) * dx, 0.45 * dx);
  }
  Sandbox box(o, scene);
  Grains settled;
  double last = 0;
  while (!box.finished()) {
    box.step();
    last = box.report().dt;
    if (settled.size() == 0 && box.time() > 0.1 * scene.seconds) settled = box.grains();
  }
  const Grains now = box.grains();
  double moved = 0;
  for (std::size_t i = 0; i < now.size(); ++i) moved = std::max(moved, length(now.x[i] - settled.x[i]));
  Figures f("lone_grains" + o.summary());
  f.add("gradient", box.greatest_gradient() / (g * last)), f.add("moved", moved / dx);
  f.add("particles", static_cast<double>(now.size()));
  box.add_cost(f);
  return f;
}

}  // namespace aegir::test
