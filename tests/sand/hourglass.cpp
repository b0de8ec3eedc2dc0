// Discharge of a bin through an opening in its floor. Sand leaves at a rate that does not depend on how much is left
// (W. A. Beverloo, H. A. Leniger, J. van de Velde, Chem. Eng. Sci. 15 (1961) 260); water's falls with the root of its
// depth.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "sand/sandbox.h"

namespace aegir::test {
namespace {

struct Bin {
  bool square;
  double voxel, width, half, wide, high, mu;  // half: of the opening
};

Bin bin_of(const Options& o) {
  Bin b;
  b.square = o.text("shape", "flat") == "square";
  b.voxel = o.number("voxel", 0.01), b.width = o.integer("thickness", 4) * b.voxel;
  b.half = o.number("cells", 10) / 2 * b.voxel, b.wide = o.number("wide", 40) / 2 * b.voxel;
  b.high = o.number("high", 60) * b.voxel;
  b.mu = o.number("mu", std::tan(o.number("phi", 30) * degree));
  return b;
}

/// A half of the bin (a quarter of it if the opening is square) beside mirrors.
Scene scene_of(const Options& o, const Bin& b) {
  Scene scene;
  const double dx = scene.voxel = b.voxel, floor = -o.number("throat", 4) * dx, top = b.high + 8 * dx,
               out = b.wide + 8 * dx;
  const double deep = b.square ? b.wide : b.width, far = b.square ? out : b.width;
  scene.seconds = o.number("time", 30);
  scene.nodes = "  - gravity: earth\n" + smooth_box(o, {0, -24 * dx, 0}, {out, top, far});
  scene.nodes += box_collider("floor_x", {b.half, floor, -dx}, {out + dx, 0, far + dx}, b.mu);
  scene.nodes += box_collider("wall_x", {b.wide, 0, -dx}, {out + dx, top, far + dx}, b.mu);
  if (b.square) {
    scene.nodes += box_collider("floor_z", {-dx, floor, b.half}, {b.half, 0, far + dx}, b.mu);
    scene.nodes += box_collider("wall_z", {-dx, 0, b.wide}, {b.wide, top, far + dx}, b.mu);
  }
  scene.fill = box_fill({0, 0, 0}, {b.wide, b.high, deep});
  return scene;
}

double mass_above(const Grains& grains) {
  double mass = 0;
  for (std::size_t i = 0; i < grains.size(); ++i) mass += grains.x[i].y > 0 ? grains.mass[i] : 0;
  return mass;
}

}  // namespace

Figures hourglass(const Options& o) {
  const Bin b = bin_of(o);
  const Scene scene = scene_of(o, b);
  Sandbox box(o, scene);
  const double full = mass_above(box.grains());
  // Times at which 80, 70, … 20 % were left.
  std::array<double, 7> times{};
  std::size_t passed = 0;
  double fill = 1, time = 0;
  const double pause = 0.02 * std::sqrt(b.high / g);
  const std::string what = o.text("kind", "sand") == "water" ? "water"
                           : o.has("tension")                ? o.text("tension")
                                                             : o.text("model", "projection");
  Curve curve(o,
              fmt::format("sand_hourglass_{}_{}_{:.0f}{}", b.square ? "square" : "flat", what, 2 * b.half / b.voxel,
                          o.has("throat") ? "_throat" + o.text("throat") : ""),
              "t,fill");
  curve.row({0, 1});
  while (!box.finished() && passed < times.size()) {
    box.step();
    if (box.time() < time + pause && !box.finished()) continue;
    const double left = mass_above(box.grains()) / full;
    for (; passed < times.size() && left <= 0.8 - 0.1 * static_cast<double>(passed); ++passed)
      times[passed] = time + (box.time() - time) * (fill - 0.8 + 0.1 * static_cast<double>(passed)) / (fill - left);
    fill = left, time = box.time();
    curve.row({time, fill});
  }
  Figures f("hourglass" + o.summary());
  const double depth = b.square ? b.half : b.width, opening = 2 * b.half;
  const double unit = scene.density * std::sqrt(g) * std::pow(opening, 1.5) / 2 * (b.square ? opening / 2 : depth);
  const double mean = passed < times.size() ? 0 : 0.6 / (times.back() - times.front());
  f.add("rate", mean * full / unit);
  double deviation = 0;
  for (std::size_t i = 0; mean > 0 && i + 1 < times.size(); ++i) {
    const double share = 0.1 / (times[i + 1] - times[i]) / mean;
    deviation = std::max(deviation, std::abs(share - 1));
    f.add(fmt::format("part{}", i + 1), share);
  }
  f.add("deviation", mean > 0 ? deviation : 1), f.add("fill", fill), f.add("time", time);
  f.add("particles", full / scene.density / std::pow(b.voxel, 3) * 8), f.add("drift", box.audited("volume_drift", 0));
  box.add_cost(f);
  return f;
}

}  // namespace aegir::test
