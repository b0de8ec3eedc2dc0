// Vortices in a closed box: who keeps their energy, who takes it, and how fast viscosity does.
#include "liquid/liquid_laboratory.h"

namespace aegir::test {
namespace {

constexpr double pi = 3.14159265358979;

/// Taylor–Green vortices u = U (sin kx cos ky, -cos kx sin ky, 0) in a full unit box with walls that let slip.
class Vortices : public LiquidLaboratory {
 public:
  Vortices(int cells, const std::string& transfer, int frames, const std::string& more = "")
      : LiquidLaboratory(fmt::format("{{fps: 24, frames: [0, {}], substeps: 36}}", frames),
                         fmt::format("  - domain: box\n    box: {{min: [0, 0, 0], max: [1, 1, {}]}}\n    limits: "
                                     "{{top: wall}}\n  - hybrid: water\n    voxel_size: {}\n{}"
                                     "    fill: {{in: box}}\n  - pressure: p\n    density_correction: false\n{}",
                                     8.0 / cells, 1.0 / cells, transfer, more)) {
    ParticleSystem& s = *water().particles();
    const auto p = s.read(particle::position);
    auto v = s.write(particle::velocity);
    for (int b = 0; b < s.topology().local_count(); ++b) {
      ParticleWrite<Vec3f>::View view;
      v.load(view, b);
      for (std::size_t i = 0; i < s.count(b); ++i) {
        const Vec3d x = s.world(b, p(b)[i]);
        view.span.set(
            i, Vec3f(Vec3d{std::sin(pi * x.x) * std::cos(pi * x.y), -std::cos(pi * x.x) * std::sin(pi * x.y), 0}));
      }
    }
  }
};

/// Share of the kinetic energy of the particles that is lost per turnover, 2 π / (k U) = 2 s, from half of one. Steps
/// are short: moving first and projecting afterwards loses dt |∇p|²/2 per second by itself, 1.1 % per turnover here.
double loss_per_turnover(int cells, const std::string& transfer) {
  Vortices lab(cells, transfer, 24);
  lab.step();
  const double first = lab.audit().kinetic_energy, begin = lab.time();
  lab.run();
  const double loss = 1 - std::pow(lab.audit().kinetic_energy / first, 2.0 / (lab.time() - begin));
  std::printf("%d cells, %s: %.2f %% of the energy lost per turnover\n", cells, transfer.substr(14, 4).c_str(),
              100 * loss);
  return loss;
}

TEST(TaylorGreen, FlipKeepsTheEnergyApicMostOfItPicLosesIt) {
  for (const int cells : {32, 64}) {
    const double flip = loss_per_turnover(cells, "    transfer: flip\n    flip_ratio: 1\n"),
                 apic = loss_per_turnover(cells, "    transfer: apic\n"),
                 pic = loss_per_turnover(cells, "    transfer: pic\n");
    EXPECT_LT(flip, 0.02);
    EXPECT_LT(flip, apic);
    EXPECT_LT(apic, pic);
  }
}

}  // namespace
}  // namespace aegir::test
