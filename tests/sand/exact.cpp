// What must hold without tolerance of a model: free fall, sand without friction is the liquid, friction only takes
// energy.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "sand/sandbox.h"

namespace aegir::test {

Figures free_fall(const Options& o) {
  Scene scene;
  const double dx = scene.voxel = o.number("voxel", 0.01), half = o.integer("cells", 10) / 2 * dx;
  scene.seconds = o.number("time", 0.5);
  scene.nodes = "  - gravity: earth\n";
  scene.fill = box_fill({-half, -half, -half}, {half, half, half});
  const Vec3d start{0.3, 1, -0.2};
  scene.hybrid = fmt::format("    velocity: [{}, {}, {}]\n", start.x, start.y, start.z);
  Sandbox box(o, scene);
  const Grains begin = box.grains();
  // Particles move with the velocity at the end of a substep: x' = x + dt (v + g dt).
  Vec3d stepped;
  while (!box.finished()) {
    box.step();
    stepped += (start + Vec3d{0, -g * box.time(), 0}) * box.report().dt;
  }
  const Grains end = box.grains();
  const double t = box.time(), count = static_cast<double>(end.size());
  const Vec3d parabola = start * t + Vec3d{0, -0.5 * g * t * t, 0}, law = start + Vec3d{0, -g * t, 0};
  Vec3d way, velocity;
  double place = 0, speed = 0;
  for (std::size_t i = 0; i < end.size(); ++i) {
    const Vec3d moved = end.x[i] - begin.x[i];
    place = std::max(place, length(moved - stepped)), speed = std::max(speed, length(end.v[i] - law));
    way += moved * (1 / count), velocity += end.v[i] * (1 / count);
  }
  Figures f("free_fall" + o.summary());
  f.add("place", place / dx), f.add("speed", speed / (g * t));
  f.add("mean_place", length(way - stepped) / dx), f.add("mean_speed", length(velocity - law) / (g * t));
  f.add("parabola", length(way - parabola) / dx);
  f.add("lost", static_cast<double>(begin.size()) - static_cast<double>(end.size()));
  box.add_cost(f);
  return f;
}

Figures same_bits(const Options& o) {
  Scene scene;
  const int cells = o.integer("cells", 12);
  const double dx = scene.voxel = 0.1 / cells;
  scene.seconds = o.number("time", 0.3);
  scene.nodes = "  - gravity: earth\n" + smooth_box(o, {0, -0.1, 0}, {0.4, 1, 0.1}) + rough_floor(0) +
                fmt::format(
                    "  - collider: ball\n    shape: {{kind: sphere, center: [0.2, {}, 0.05], radius: 0.03}}\n    "
                    "friction: 0\n",
                    2.3 * dx);
  scene.fill = box_fill({0, 0, 0}, {0.1, 0.2, 0.1});
  scene.hybrid = "    transfer: apic\n";
  const Options sand = o.with("phi", 0).with("cohesion", "0");
  Sandbox dry(sand, scene), wet(o.with("kind", "water"), scene);
  const auto same = [](double x, double y) { return std::memcmp(&x, &y, sizeof x) == 0; };
  double first = 0;
  while (!dry.finished() && !wet.finished()) {
    dry.step(), wet.step();
    const ObjectAudit &p = dry.audit(), &q = wet.audit();
    if (first == 0 && !(same(p.kinetic_energy, q.kinetic_energy) && same(p.potential_energy, q.potential_energy)))
      first = dry.steps();
  }
  const Grains a = dry.grains(), b = wet.grains();
  double different = static_cast<double>(a.size() != b.size());
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    different += std::memcmp(&a.x[i], &b.x[i], sizeof a.x[i]) != 0 || std::memcmp(&a.v[i], &b.v[i], sizeof a.v[i]) != 0;
  Figures f("same_bits" + o.summary());
  f.add("different", different), f.add("first", first), f.add("particles", static_cast<double>(a.size()));
  dry.add_cost(f);
  return f;
}

Figures friction_energy(const Options& o) {
  Scene scene;
  const double dx = scene.voxel = 0.1 / o.integer("cells", 12);
  scene.seconds = o.number("time", 0.6);
  scene.nodes = "  - gravity: earth\n" + smooth_box(o, {0, -0.1, 0}, {0.5, 0.4, 8 * dx}) +
                rough_floor(o.number("mu", std::tan(30 * degree)));
  scene.fill = box_fill({0, 0, 0}, {0.1, 0.2, 8 * dx});
  Sandbox box(o, scene);
  const double energy = 0.5 * box.audit().mass * g * 0.2;
  // Statistics tell the work of friction since the start, J: what it has added to the kinetic energy.
  double greatest = -1e300, total = 0;
  while (!box.finished()) {
    box.step();
    const double before = std::exchange(total, box.audited("friction_work", std::nan("")));
    greatest = std::max(total - before, greatest);
  }
  Figures f("friction_energy" + o.summary());
  f.add("rise", greatest / energy), f.add("total", total / energy);
  box.add_cost(f);
  return f;
}

}  // namespace aegir::test
