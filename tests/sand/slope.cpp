// A layer on a slope, far from its ends: it rests up to theta = phi, and above it gains speed as
// dv/dt = g (sin theta - tan phi cos theta), all of it alike, since it shears at its base.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sand/sandbox.h"

namespace aegir::test {
namespace {

/// What the middle third of the layer does.
struct Middle {
  double way = 0, drift = 0, drift_max = 0;  // downhill; in any direction
};

Middle middle_of(const Grains& now, const Grains& begin, double first, double last) {
  Middle m;
  double n = 0;
  std::size_t j = 0;
  for (std::size_t i = 0; i < now.size(); ++i) {
    while (begin.id[j] < now.id[i]) ++j;
    if (begin.x[j].x < first || begin.x[j].x > last) continue;
    const double way = length(now.x[i] - begin.x[j]);
    m.way += now.x[i].x - begin.x[j].x, m.drift += way, m.drift_max = std::max(m.drift_max, way), n += 1;
  }
  m.way /= n, m.drift /= n;
  return m;
}

}  // namespace

Figures slope(const Options& o) {
  const double phi = o.number("phi", 30) * degree, theta = o.number("theta", o.number("phi", 30) + 5) * degree;
  const double dx = o.number("voxel", 0.01), depth = o.integer("depth", 8) * dx, span = o.integer("length", 300) * dx;
  const double width = o.integer("thickness", 4) * dx, gap = 24 * dx, far = gap + 4 * span;
  Scene scene;
  scene.voxel = dx, scene.seconds = o.number("time", 1);
  scene.nodes = tilted_gravity(theta) + smooth_box(o, {0, -0.1, 0}, {far, depth + 16 * dx, width}) +
                rough_floor(o.number("mu", 2));
  scene.fill = box_fill({gap, 0, 0}, {gap + span, depth, width});
  Sandbox box(o, scene);
  const Grains begin = box.grains();
  const double first = gap + span * o.number("from", 1.0 / 3), last = gap + span * o.number("to", 2.0 / 3);
  Curve curve(o, fmt::format("sand_slope_{:.0f}_{:.2f}", phi / degree, theta / degree), "t,way,drift,drift_max");
  double half_way = 0, half_time = 0, next = 0;
  while (!box.finished()) {
    box.step();
    const bool at_half = half_time == 0 && box.time() >= 0.5 * scene.seconds;
    if (!at_half && !(o.has("out") && box.time() >= next)) continue;
    const Middle m = middle_of(box.grains(), begin, first, last);
    if (at_half) half_way = m.way, half_time = box.time();
    curve.row({box.time(), m.way, m.drift / dx, m.drift_max / dx});
    next = box.time() + scene.seconds / 50;
  }
  const Grains end = box.grains();
  const Middle m = middle_of(end, begin, first, last);
  const double late = (m.way - half_way) / (box.time() - half_time), middle_time = 0.5 * (box.time() + half_time);
  std::vector<double> ends;
  for (const Vec3d& x : end.x) ends.push_back(x.x);
  Figures f("slope" + o.summary());
  f.add("speed", late), f.add("early", half_way / half_time);
  f.add("coulomb", g * middle_time * std::max(0.0, std::sin(theta) - std::tan(phi) * std::cos(theta)));
  // A layer a fifth of a degree too steep gets this fast; one at rest should not.
  f.add("flows", late > g * middle_time * std::sin(0.2 * degree) ? 1 : 0);
  f.add("drift", m.drift / dx), f.add("drift_max", m.drift_max / dx);
  f.add("retreat", (quantile(ends, 0.99) - gap - 0.99 * span) / dx);
  f.add("volume_drift", box.audited("volume_drift", 0));
  box.add_cost(f);
  return f;
}

Figures critical_slope(const Options& o) {
  const double phi = o.number("phi", 30), range = o.number("range", 6), within = o.number("within", 0.25);
  double low = phi - range, high = phi + range, seconds = 0;
  while (high - low > 2 * within) {
    const double middle = 0.5 * (low + high);
    const Figures f = slope(o.with("theta", middle));
    if (o.has("trace")) print(f);
    (f["flows"] > 0 ? high : low) = middle, seconds += f["seconds"];
  }
  Figures f("critical_slope" + o.summary());
  f.add("angle", 0.5 * (low + high)), f.add("error", 0.5 * (low + high) - phi), f.add("seconds", seconds);
  return f;
}

}  // namespace aegir::test
