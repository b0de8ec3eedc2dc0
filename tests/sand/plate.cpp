// A plate that lies on sand is lifted off. Nothing holds the sand to it.
#include <fmt/format.h>

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

}  // namespace aegir::test
