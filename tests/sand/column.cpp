// Collapse of granular columns. Run-out: G. Lube, H. E. Huppert, R. S. J. Sparks, M. A. Hallworth, J. Fluid Mech. 508
// (2004) 175 (round), G. Lube, H. E. Huppert, R. S. J. Sparks, A. Freundt, Phys. Rev. E 72 (2005) 041301 (flat).
// Heights there: 0.88 a^(1/6) r0 (round), 0.65 a^(2/5) r0 (flat) for tall columns; a low column keeps its height, here
// up to where both laws meet. E. Lajeunesse, A. Mangeney-Castelnau, J. P. Vilotte, Phys. Fluids 16 (2004) 2371 and
// E. Lajeunesse, J. B. Monnier, G. M. Homsy, Phys. Fluids 17 (2005) 103302 found, with glass beads, 0.74 r0 (round) and
// a^(1/3) r0 (flat).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sand/sandbox.h"

namespace aegir::test {
namespace {

struct Column {
  bool round;
  double a, radius, voxel, mu, width;
  int cells;
};

Column column_of(const Options& o) {
  Column c;
  c.round = o.text("shape", "round") == "round";
  c.a = o.number("a", 1), c.radius = o.number("radius", 0.1), c.cells = o.integer("cells", 16);
  c.voxel = c.radius / c.cells;
  c.mu = o.number("mu", std::tan(o.number("phi", 30) * degree));
  c.width = o.integer("thickness", 4) * c.voxel;
  return c;
}

double runout_law(const Column& c) {
  if (c.round) return c.a < 1.7 ? 1.24 * c.a : 1.6 * std::sqrt(c.a);
  return c.a < 2.3 ? 1.2 * c.a : 1.9 * std::pow(c.a, 2.0 / 3);
}

double height_law(const Column& c) {
  return std::min(c.a, c.round ? 0.88 * std::pow(c.a, 1.0 / 6) : 0.65 * std::pow(c.a, 0.4));
}

double glass_height_law(const Column& c) { return std::min(c.a, c.round ? 0.74 : std::pow(c.a, 1.0 / 3)); }

Scene scene_of(const Options& o, const Column& c) {
  const double height = c.a * c.radius, far = c.radius * (3 + 2.5 * runout_law(c));
  Scene scene;
  scene.voxel = c.voxel;
  scene.seconds = 8 * std::sqrt(height / g) + 5 * std::sqrt(c.radius / g);
  const Vec3d high{far, height + 4 * c.voxel, c.round ? far : c.width};
  scene.nodes = "  - gravity: earth\n" + smooth_box(o, {0, -0.1, 0}, high) + rough_floor(c.mu);
  scene.fill = c.round ? fmt::format("{{shape: {{kind: cylinder, center: [0, {}, 0], radius: {}, height: {}}}}}",
                                     height / 2, c.radius, height)
                       : box_fill({0, 0, 0}, {c.radius, height, c.width});
  return scene;
}

/// Distance from the axis or from the mirror.
double reach(const Column& c, const Vec3d& x) { return c.round ? std::hypot(x.x, x.z) : x.x; }

struct Deposit {
  double runout, farthest, height;
};

Deposit deposit_of(const Column& c, const Grains& grains) {
  std::vector<double> distances, heights;
  for (const Vec3d& x : grains.x) {
    distances.push_back(reach(c, x));
    if (distances.back() < 2 * c.voxel) heights.push_back(x.y);
  }
  // The highest places near the axis, without the few grains that lie on top.
  const double height = quantile(heights, 0.98) / 0.98;
  return {quantile(distances, 0.99), *std::max_element(distances.begin(), distances.end()), height};
}

}  // namespace

Figures column(const Options& o) {
  const Column c = column_of(o);
  const Scene scene = scene_of(o, c);
  Sandbox box(o, scene);
  const double mass = box.audit().mass, height = c.a * c.radius, energy = 0.5 * mass * g * height;
  const double unit = std::sqrt(height / g);
  const std::string name = fmt::format("sand_column_{}_a{}_{}", c.round ? "round" : "flat", c.a, c.cells);
  Curve front(o, name + "_front", "t,runout,height,kinetic");
  double stop = 0, next = 0;
  while (!box.finished()) {
    box.step();
    const double share = box.audit().kinetic_energy / energy;
    if (share > 1e-4) stop = box.time();
    if (box.time() >= next && o.has("out")) {
      const Deposit now = deposit_of(c, box.grains());
      front.row({box.time() / unit, now.runout / c.radius, now.height / c.radius, share});
      next += 0.1 * unit;
    }
    if (box.time() > 3 * unit && box.time() > stop + 2 * unit) break;
  }
  const Grains grains = box.grains();
  const Deposit end = deposit_of(c, grains);
  Curve profile(o, name + "_profile", "r,height");
  for (double r = 0.5 * c.voxel; const double h : heights(grains, c.voxel, c.round ? 0 : c.width, scene.density))
    profile.row({r / c.radius, h / c.radius}), r += c.voxel;
  Figures f("column" + o.summary());
  const double runout = end.runout / c.radius - 1, law = runout_law(c);
  f.add("runout", runout), f.add("law", law), f.add("error", runout / law - 1);
  f.add("farthest", end.farthest / c.radius - 1);
  f.add("height", end.height / c.radius), f.add("height_law", height_law(c));
  f.add("height_error", end.height / c.radius / height_law(c) - 1), f.add("height_glass", glass_height_law(c));
  f.add("stop", stop / unit), f.add("end", box.time() / unit), f.add("kinetic", box.audit().kinetic_energy / energy);
  f.add("creep", std::sqrt(2 * box.audit().kinetic_energy / mass) / c.voxel);
  f.add("particles", static_cast<double>(box.audit().particles));
  f.add("filled", mass / scene.density / (height * (c.round ? degree * 45 * c.radius * c.radius : c.radius * c.width)));
  f.add("drift", box.audited("volume_drift", 0));
  box.add_cost(f);
  return f;
}

}  // namespace aegir::test
