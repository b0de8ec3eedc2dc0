// Water at rest stays at rest, and its pressure is that of its depth.
#include "liquid/liquid_laboratory.h"

namespace aegir::test {
namespace {

constexpr double g = 9.80665;

struct Tank {
  int cells = 16;  // of water, in height
  double jitter = 0;
  bool correction = false;
  bool tilted = false;
  double level = 1;  // m
};

std::string tank(const Tank& t) {
  const double dx = 1.0 / t.cells;
  std::string nodes = "  - gravity: earth\n";
  // A box tilted about z and x around the water, as planes; or walls on grid faces.
  if (t.tilted)
    nodes += fmt::format(
        "  - collider: tray\n    shape: {{kind: box, size: [3, 3, 3]}}\n    hollow: true\n    translate: [0.5, 1.2, "
        "0.5]\n");
  else
    nodes +=
        "  - domain: box\n    box: {min: [0, 0, 0], max: [1, 2, 1]}\n    limits: {sides: wall, bottom: wall, top: "
        "open}\n";
  nodes += fmt::format(
      "  - hybrid: water\n    voxel_size: {}\n    jitter: {}\n    fill: {{below: {}}}\n  - pressure: p\n    "
      "density_correction: {}\n",
      dx, t.jitter, t.level, t.correction);
  return nodes;
}

struct Rest {
  GridSpeed worst, late;  // over the whole time; over its last quarter
  double pressure = 0;    // two cells below the level, over that at rest, mean over the second half
};

/// Mean pressure of the layer of cells that holds the height y, over that of water at rest.
double layer_pressure(LiquidLaboratory& lab, double y, double level) {
  const double dx = lab.water().spacing(), middle = (std::floor(y / dx) + 0.5) * dx;
  double sum = 0, count = 0;
  lab.for_each_liquid_cell([&](int, int, const Vec3d& x) {
    if (std::abs(x.y - middle) < 0.1 * dx && lab.open(x)) sum += lab.pressure(x), count += 1;
  });
  return sum / count / (1000 * g * (level - middle));
}

Rest watch(LiquidLaboratory& lab, double dx, double level) {
  Rest rest;
  double steps = 0;
  while (lab.ok() && !lab.simulation().finished()) {
    lab.step();
    const GridSpeed s = lab.speed();
    rest.worst.max = std::max(rest.worst.max, s.max), rest.worst.rms = std::max(rest.worst.rms, s.rms);
    if (lab.time() < 1) continue;
    rest.late.max = std::max(rest.late.max, s.max), rest.late.rms = std::max(rest.late.rms, s.rms);
    rest.pressure += layer_pressure(lab, level - 2 * dx + 1e-6, level), steps += 1;
  }
  rest.pressure /= steps;
  return rest;
}

TEST(HydrostaticRest, RegularParticlesInABoxDoNotMove) {
  for (const int cells : {16, 32})
    for (const double level : {1.0, 0.97}) {
      LiquidLaboratory lab("{fps: 24, frames: [0, 48], substeps: 1}", tank({.cells = cells, .level = level}));
      ASSERT_TRUE(lab.ok());
      const double dx = 1.0 / cells, scale = std::sqrt(2 * g * level);
      const Rest rest = watch(lab, dx, level);
      std::printf("%d cells, level %.2f: max %.2e, rms %.2e of sqrt(2gh); pressure %.4f of rho g d\n", cells, level,
                  rest.worst.max / scale, rest.worst.rms / scale, rest.pressure);
      EXPECT_LT(rest.worst.max, 1e-3 * scale);
      EXPECT_NEAR(rest.pressure, 1, 0.01);
    }
}

TEST(HydrostaticRest, JitteredParticlesInABoxStayCalm) {
  for (const int cells : {16, 32}) {
    LiquidLaboratory lab("{fps: 24, frames: [0, 48], substeps: 1}",
                         tank({.cells = cells, .jitter = 0.5, .correction = true}));
    ASSERT_TRUE(lab.ok());
    const double dx = 1.0 / cells, scale = std::sqrt(2 * g);
    const Rest rest = watch(lab, dx, 1.0);
    std::printf("%d cells: max %.2e (late %.2e), rms %.2e (late %.2e) of sqrt(2gh); pressure %.4f\n", cells,
                rest.worst.max / scale, rest.late.max / scale, rest.worst.rms / scale, rest.late.rms / scale,
                rest.pressure);
    EXPECT_LT(rest.worst.max, 2e-2 * scale);
    EXPECT_LT(rest.worst.rms, 2e-3 * scale);
    EXPECT_LE(rest.late.rms, rest.worst.rms) << "the noise grows";
    // The surface of jittered particles reads up to 0.05 cells high: 2 to 3 per cent of two cells' depth.
    EXPECT_NEAR(rest.pressure, 1, 0.04);
  }
}

}  // namespace
}  // namespace aegir::test
