// Water at rest stays at rest, and its pressure is that of its depth.
#include "liquid/liquid_laboratory.h"

namespace aegir::test {
namespace {

constexpr double g = 9.80665;

struct Tank {
  int cells = 16;  // of water, in height
  double jitter = 0;
  bool correction = false;
  double level = 1;  // m
};

std::string tank(const Tank& t) {
  const double dx = 1.0 / t.cells;
  std::string nodes = "  - gravity: earth\n";
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
  GridSpeed worst;              // over the whole time
  double middle = 0, late = 0;  // greatest rms in the second and in the last third of the time
  double pressure = 0;          // two cells below the level, over that at rest, mean over the second half
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
    if (lab.time() >= 4.0 / 3)
      rest.late = std::max(rest.late, s.rms);
    else if (lab.time() >= 2.0 / 3)
      rest.middle = std::max(rest.middle, s.rms);
    if (lab.time() < 1) continue;
    rest.pressure += layer_pressure(lab, level - 2 * dx + 1e-6, level), steps += 1;
  }
  rest.pressure /= steps;
  return rest;
}

TEST(HydrostaticRest, RegularParticlesInABoxDoNotMove) {
  for (const int cells : {16, 32})
    for (const double level : {1.0, 0.97, 0.98}) {  // the last puts the first layer of air beside other buckets
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
    std::printf("%d cells: max %.2e, rms %.2e (second third %.2e, last %.2e) of sqrt(2gh); pressure %.4f\n", cells,
                rest.worst.max / scale, rest.worst.rms / scale, rest.middle / scale, rest.late / scale, rest.pressure);
    EXPECT_LT(rest.worst.max, 2e-2 * scale);
    EXPECT_LT(rest.worst.rms, 2e-3 * scale);
    EXPECT_LE(rest.late, rest.middle) << "the noise grows";
    EXPECT_NEAR(rest.pressure, 1, 0.01);
  }
}

}  // namespace
}  // namespace aegir::test
