// A block of sand that holds together slides on a plane as Coulomb says: it rests for tan theta < mu, and above has the
// acceleration g (sin theta - mu cos theta).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sand/sandbox.h"

namespace aegir::test {
namespace {

struct Motion {
  double place = 0, speed = 0;  // of the centre of mass, along the slope
  double length = 0;            // of the block, without the outermost hundredth at both ends
};

Motion motion_of(const Grains& grains, const Vec3d& along) {
  Motion m;
  double mass = 0;
  std::vector<double> places;
  for (std::size_t i = 0; i < grains.size(); ++i) {
    places.push_back(dot(grains.x[i], along));
    m.place += grains.mass[i] * places.back(), m.speed += grains.mass[i] * dot(grains.v[i], along);
    mass += grains.mass[i];
  }
  m.place /= mass, m.speed /= mass;
  m.length = quantile(places, 0.99) - quantile(places, 0.01);
  return m;
}

Scene scene_of(const Options& o, double theta, double mu) {
  Scene scene;
  const double dx = scene.voxel = o.number("voxel", 0.01);
  scene.seconds = o.number("time", 0.5);
  const int cells = o.integer("cells", 8);
  const double high = cells * dx, half = 0.5 * o.integer("long", 2 * cells) * dx;
  if (o.text("tilt", "gravity") == "gravity") {
    scene.nodes = tilted_gravity(theta) + rough_floor(mu);
    scene.fill = box_fill({-half, 0, -half}, {half, high, half});
    return scene;
  }
  // Down the slope is +x. The plane goes through the origin, wherever that is in a cell.
  const Vec3d normal{std::sin(theta), std::cos(theta), 0};
  scene.nodes = fmt::format(
      "  - gravity: earth\n  - collider: floor\n    shape: {{kind: plane, center: [0, 0, 0], axis: [{0}, {1}, 0]}}\n   "
      " "
      "friction: {2}\n  - source: block\n    shape: {{kind: box, center: [0, {3}, 0], size: [{4}, {5}, {4}]}}\n    "
      "rotate: [0, 0, {6}]\n",
      normal.x, normal.y, mu, high / 2, 2 * half, high, -theta);
  return scene;
}

}  // namespace

Figures block(const Options& o) {
  const double mu = o.number("mu", 0.4),
               theta = o.number("theta", std::atan(o.number("ratio", 2) * mu) / degree) * degree;
  const double dx = o.number("voxel", 0.01);
  const Options asked = o.has("cohesion") ? o : o.with("cohesion", "3000");
  const Vec3d along =
      o.text("tilt", "gravity") == "gravity" ? Vec3d{1, 0, 0} : Vec3d{std::cos(theta), -std::sin(theta), 0};
  Sandbox box(asked, scene_of(o, theta, mu));
  const Motion begin = motion_of(box.grains(), along);
  Motion early, half;
  double early_time = 0, half_time = 0;
  const double fifth = 0.2 * o.number("time", 0.5);
  while (!box.finished()) {
    box.step();
    if (early_time == 0 && box.time() >= fifth) early = motion_of(box.grains(), along), early_time = box.time();
    if (half_time == 0 && box.time() >= 2.5 * fifth) half = motion_of(box.grains(), along), half_time = box.time();
  }
  const Motion end = motion_of(box.grains(), along);
  Figures f("block" + o.summary());
  const double law = g * (std::sin(theta) - mu * std::cos(theta));
  const double found = (end.speed - early.speed) / (box.time() - early_time);
  f.add("speed", end.speed), f.add("distance", (end.place - begin.place) / dx);
  f.add("late", (end.place - half.place) / dx);
  f.add("acceleration", found), f.add("coulomb", std::max(0.0, law)), f.add("error", law > 0 ? found / law - 1 : 0);
  f.add("spread", (end.length - begin.length) / dx);
  f.add("particles", static_cast<double>(box.audit().particles));
  box.add_cost(f);
  return f;
}

}  // namespace aegir::test
