// Water at rest in a box whose walls lie across the grid stays at rest.
#include "liquid/liquid_laboratory.h"

namespace aegir::test {
namespace {

constexpr double g = 9.80665;
constexpr double tilt = 20 * 3.14159265358979 / 180;

/// Turned by 20° about z, then about x.
Vec3d turned(const Vec3d& v) {
  const double c = std::cos(tilt), s = std::sin(tilt);
  const Vec3d a{c * v.x - s * v.y, s * v.x + c * v.y, v.z};
  return {a.x, c * a.y - s * a.z, s * a.y + c * a.z};
}

struct TiltedTank {
  int cells = 16;  // per metre
  double level = 0.02;
  double jitter = 0;
  bool correction = false;
  int substeps = 1;
};

/// Floor and four sides of a box one metre wide, as planes; it is open above. The water's level is about that of the
/// middle of the box, and the deepest corner lies `depth` below.
std::string tank(const TiltedTank& t) {
  std::string nodes = "  - gravity: earth\n";
  int number = 0;
  for (const Vec3d& inward : {Vec3d{0, 1, 0}, Vec3d{1, 0, 0}, Vec3d{-1, 0, 0}, Vec3d{0, 0, 1}, Vec3d{0, 0, -1}}) {
    const Vec3d n = turned(inward), place = n * -0.5;
    nodes += fmt::format(
        "  - collider: wall_{}\n    shape: {{kind: plane, center: [{}, {}, {}], axis: [{}, {}, {}]}}\n    friction: "
        "0\n",
        number++, place.x, place.y, place.z, n.x, n.y, n.z);
  }
  return nodes + fmt::format(
                     "  - hybrid: water\n    voxel_size: {}\n    jitter: {}\n    fill: {{below: {}, shape: {{kind: "
                     "box, size: [3, 3, 3]}}}}\n  - pressure: p\n    density_correction: {}\n",
                     1.0 / t.cells, t.jitter, t.level, t.correction);
}

double depth(double level) {
  double lowest = 0;
  for (int corner = 0; corner < 4; ++corner)
    lowest = std::min(lowest, turned({corner & 1 ? 0.5 : -0.5, -0.5, corner & 2 ? 0.5 : -0.5}).y);
  return level - lowest;
}

struct Rest {
  GridSpeed worst, early, late;  // over all, the second quarter and the last quarter of the time
};

Rest watch(const TiltedTank& t) {
  LiquidLaboratory lab(fmt::format("{{fps: 24, frames: [0, 48], substeps: {}}}", t.substeps), tank(t));
  Rest rest;
  const auto take = [](GridSpeed& to, const GridSpeed& s) {
    to.max = std::max(to.max, s.max), to.rms = std::max(to.rms, s.rms);
  };
  const double count = static_cast<double>(lab.ok() ? lab.audit().particles : 0);
  while (lab.ok() && !lab.simulation().finished()) {
    lab.step();
    const GridSpeed s = lab.speed();
    take(rest.worst, s);
    if (lab.time() > 0.5 && lab.time() <= 1) take(rest.early, s);
    if (lab.time() > 1.5) take(rest.late, s);
  }
  EXPECT_TRUE(lab.ok());
  const double scale = std::sqrt(2 * g * depth(t.level));
  for (GridSpeed* s : {&rest.worst, &rest.early, &rest.late}) s->max /= scale, s->rms /= scale;
  std::printf(
      "%d cells per metre, level %.2f, %.0f particles, jitter %.1f, %d substeps: max %.2e (early %.2e, late %.2e), rms "
      "%.2e (early "
      "%.2e, late %.2e) of sqrt(2gh)\n",
      t.cells, t.level, count, t.jitter, t.substeps, rest.worst.max, rest.early.max, rest.late.max, rest.worst.rms,
      rest.early.rms, rest.late.rms);
  return rest;
}

/// Several levels: which particles lie at the very edge of a wall is another matter in each, and so is what walls cut
/// off the weights of cells nearly out of their reach.
TEST(HydrostaticRest, RegularParticlesInATiltedBoxHardlyMove) {
  for (const int cells : {16, 32})
    for (const double level : {0.02, -0.01, 0.0, 0.01, 0.03, 0.04, -0.02, -0.04})
      EXPECT_LT(watch({.cells = cells, .level = level}).worst.max, 1e-3);
}

TEST(HydrostaticRest, JitteredParticlesInATiltedBoxStayCalm) {
  for (const int cells : {16, 32}) {
    const Rest rest = watch({.cells = cells, .jitter = 0.5, .correction = true});
    EXPECT_LT(rest.worst.rms, 2e-3);
    EXPECT_LT(rest.worst.max, 2e-2);
    EXPECT_LE(rest.late.rms, rest.early.rms) << "the noise grows";
  }
}

}  // namespace
}  // namespace aegir::test
