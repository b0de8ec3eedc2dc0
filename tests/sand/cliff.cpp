// A vertical cut through damp sand stands up to a height, and falls above it.
#include <fmt/format.h>

#include <cmath>

#include "sand/sandbox.h"

namespace aegir::test {

Figures cliff(const Options& o) {
  Scene scene;
  const int cells = o.integer("cells", 24);
  const double dx = scene.voxel = o.number("voxel", 0.005), high = cells * dx, wide = 1.5 * high, deep = 4 * dx;
  const double phi = o.number("phi", 30) * degree, mu = o.number("mu", std::tan(phi));
  scene.seconds = o.number("time", 12) * std::sqrt(high / g);
  // What a cut of this height needs [Coulomb: a plane slides, and friction and cohesion act along it].
  const double unit = scene.density * g * high / (4 * std::tan(45 * degree + 0.5 * phi));
  const Options asked = o.has("cohesion") ? o : o.with("cohesion", unit / o.number("ratio", 1));
  scene.nodes =
      "  - gravity: earth\n" + smooth_box(asked, {0, -0.1, 0}, {3 * wide, high + 4 * dx, deep}) + rough_floor(mu);
  scene.fill = box_fill({0, 0, 0}, {wide, high, deep});
  Sandbox box(asked, scene);
  const Grains before = box.grains();
  while (!box.finished()) box.step();
  const Grains now = box.grains();
  double sunk = 0, most = 0, count = 0;  // of the upper half, within half the height of the edge: what would slide
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (before.x[i].y < 0.5 * high || before.x[i].x < wide - 0.25 * high) continue;
    const double way = before.x[i].y - now.x[i].y;
    sunk += way, most = std::max(most, way), ++count;
  }
  Figures f("cliff" + o.summary());
  f.add("cohesion", asked.number("cohesion", 0)), f.add("sunk", sunk / count / dx), f.add("most", most / dx);
  f.add("creep", std::sqrt(2 * box.audit().kinetic_energy / box.audit().mass) / dx);
  f.add("particles", static_cast<double>(now.size())), f.add("drift", box.audited("volume_drift", 0));
  box.add_cost(f);
  return f;
}

}  // namespace aegir::test
