// A solid that changes its volume pushes as much liquid away as it takes the place of.
#include "liquid/deforming_ball.h"
#include "liquid/liquid_laboratory.h"

namespace aegir::test {
namespace {

/// A ball in a shell of water swells by U a second, with no gravity: the water goes away from it with U (R / r)², and
/// its outer radius grows by as much volume as the ball does.
void swell(int cells, int substeps, double speed) {
  const Vec3d centre{0.013, 0.021, 0.008};
  const double first = 0.15, outer = 0.35, dx = 1.0 / cells;
  const DeformingBall ball(centre, 12, [&](double frame, const Vec3d&) { return first + speed * frame / 24; });
  LiquidLaboratory lab(
      fmt::format("{{fps: 24, frames: [0, 10], substeps: {}}}", substeps),
      fmt::format(
          "  - collider: ball\n    input: ball\n  - hybrid: water\n    voxel_size: {}\n    fill: {{shape: "
          "{{kind: sphere, center: [{}, {}, {}], radius: {}}}}}\n  - pressure: p\n    density_correction: false\n",
          dx, centre.x, centre.y, centre.z, outer),
      ball.inputs());
  ASSERT_TRUE(lab.ok());
  double worst = 0, rms = 0, farthest = 0;
  while (lab.ok() && !lab.simulation().finished()) {
    lab.step();
    const double radius = first + speed * lab.time();
    double sum = 0;
    const auto all = lab.particles("water");
    farthest = 0;
    for (const auto& [id, p] : all) {
      const Vec3d from = p.x - centre;
      const double r = length(from), error = length(p.v - from * (speed * radius * radius / (r * r * r)));
      worst = std::max(worst, error), sum += error * error, farthest = std::max(farthest, r);
    }
    rms = std::max(rms, std::sqrt(sum / static_cast<double>(all.size())));
  }
  const double last = first + speed * lab.time();
  const double exact = std::cbrt(outer * outer * outer + last * last * last - first * first * first);
  std::printf(
      "%d cells per metre, %d substeps, %+.2f m/s: velocity off by %.3f of the ball's (rms), %.3f at most; outer "
      "radius "
      "%.4f m of %.4f\n",
      cells, substeps, speed, rms / std::abs(speed), worst / std::abs(speed), farthest, exact);
  EXPECT_LT(rms, 0.05 * std::abs(speed));
  EXPECT_LT(worst, 0.5 * std::abs(speed));
  EXPECT_NEAR(farthest, exact, 0.5 * dx);
}

TEST(SwellingBall, PushesWaterAwayByTheSquareOfTheDistance) {
  swell(40, 2, 0.2);
  swell(40, 6, 0.2);
  swell(80, 2, 0.2);
}
TEST(ShrinkingBall, LetsWaterCloseIn) {
  swell(40, 2, -0.1);
  swell(80, 2, -0.1);
}

}  // namespace
}  // namespace aegir::test
