// Sand poured slowly onto a floor makes a heap whose flanks have the angle of internal friction.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sand/sandbox.h"

namespace aegir::test {
namespace {

struct Heap {
  bool round;
  double voxel, width, high, spout, speed, phi, pour;  // pour: seconds of pouring
};

Heap heap_of(const Options& o) {
  Heap h;
  h.round = o.text("shape", "flat") == "round";
  h.voxel = o.number("voxel", 0.01), h.width = o.integer("thickness", 4) * h.voxel;
  h.high = o.integer("height", 24) * h.voxel, h.spout = o.integer("spout", 3) * h.voxel;
  h.speed = o.number("speed", 0.25), h.phi = o.number("phi", 30) * degree;
  const double tangent = std::tan(h.phi);
  const double volume =
      h.round ? 15 * degree * std::pow(h.high, 3) / (tangent * tangent) : 0.5 * h.high * h.high / tangent * h.width;
  h.pour = volume / (h.speed * h.spout * (h.round ? h.spout : h.width));
  return h;
}

Scene scene_of(const Options& o, const Heap& h) {
  Scene scene;
  scene.voxel = h.voxel;
  scene.seconds = h.pour + o.number("rest", 1);
  const double mu = o.number("mu", std::tan(h.phi)), far = 4 * h.high / std::tan(h.phi), bottom = h.high + 4 * h.voxel;
  const double last = h.pour / (o.number("dt", 0.2) * std::sqrt(h.voxel / g));
  const Vec3d size{h.spout, 3 * h.voxel, h.round ? h.spout : h.width};
  scene.nodes = "  - gravity: earth\n" +
                smooth_box(o, {0, -0.1, 0}, {far, bottom + 12 * h.voxel, h.round ? far : h.width}) + rough_floor(mu) +
                fmt::format(
                    "  - source: spout\n    mode: continuous\n    shape: {{kind: box, center: [{}, {}, {}], size: [{}, "
                    "{}, {}]}}\n    velocity: [0, {}, 0]\n    emitting: {{keys: {{0: true, {}: false}}, interpolation: "
                    "step}}\n",
                    size.x / 2, bottom + size.y / 2, size.z / 2, size.x, size.y, size.z, -h.speed, std::ceil(last));
  return scene;
}

/// Share of the grains that are farther than `way` from where they were.
double share_moved(const Grains& before, const Grains& now, double way) {
  double moved = 0;
  for (std::size_t i = 0, j = 0; i < now.size() && j < before.size(); ++i) {
    while (j < before.size() && before.id[j] < now.id[i]) ++j;
    if (j < before.size() && before.id[j] == now.id[i]) moved += length(now.x[i] - before.x[j]) > way ? 1 : 0;
  }
  return moved / static_cast<double>(now.size());
}

/// Angle in degrees of a straight line through the part of the profile between two heights.
double angle_of(const std::vector<double>& height, double voxel, double low, double high) {
  double n = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (std::size_t k = 0; k < height.size(); ++k) {
    if (height[k] < low || height[k] > high) continue;
    const double at = (static_cast<double>(k) + 0.5) * voxel;
    n += 1, x += at, y += height[k], xx += at * at, xy += at * height[k];
  }
  return n < 2 ? 0 : std::atan(-(n * xy - x * y) / (n * xx - x * x)) / degree;
}

}  // namespace

Figures heap(const Options& o) {
  const Heap h = heap_of(o);
  const Scene scene = scene_of(o, h);
  Sandbox box(o, scene);
  Grains settled;
  while (!box.finished()) {
    box.step();
    if (settled.size() == 0 && box.time() > 0.5 * (h.pour + scene.seconds)) settled = box.grains();
  }
  const Grains grains = box.grains();
  const std::vector<double> height = heights(grains, h.voxel, h.round ? 0 : h.width, scene.density);
  const double top = *std::max_element(height.begin(), height.end());
  Curve curve(o,
              fmt::format("sand_heap_{}_{:.0f}_{:.0f}{}", h.round ? "round" : "flat", h.phi / degree, h.high / h.voxel,
                          o.has("tension") ? "_" + o.text("tension") : ""),
              "x,height");
  for (std::size_t k = 0; k < height.size(); ++k) curve.row({static_cast<double>(k) + 0.5, height[k] / h.voxel});
  Figures f("heap" + o.summary());
  const double angle = angle_of(height, h.voxel, 0.2 * top, 0.8 * top);
  f.add("angle", angle), f.add("error", angle - h.phi / degree);
  f.add("curvature", angle_of(height, h.voxel, 0.2 * top, 0.5 * top) - angle_of(height, h.voxel, 0.5 * top, 0.8 * top));
  f.add("height", top / h.voxel);
  f.add("creep", std::sqrt(2 * box.audit().kinetic_energy / box.audit().mass) / h.voxel);
  const auto moving =
      std::count_if(grains.v.begin(), grains.v.end(), [&](const Vec3d& v) { return length(v) > 0.1 * h.voxel; });
  f.add("moving", static_cast<double>(moving) / static_cast<double>(grains.size()));
  f.add("moved", share_moved(settled, grains, 0.1 * h.voxel));
  f.add("particles", static_cast<double>(box.audit().particles)), f.add("drift", box.audited("volume_drift", 0));
  box.add_cost(f);
  return f;
}

}  // namespace aegir::test
