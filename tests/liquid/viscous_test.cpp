// Viscous liquids, whole steps: between plates, in vortices, in layers, and spreading over a floor.
#include <map>
#include <numbers>

#include "liquid/liquid_laboratory.h"

namespace aegir::test {
namespace {

constexpr double pi = std::numbers::pi;

/// A slug of liquid 3 m long between two plates a metre apart, free at its other sides: air bears no traction, so far
/// from its ends the flow is plane.
class Slug : public LiquidLaboratory {
 public:
  static constexpr double step = 0.0025, slug_length = 3;

  /// Flow for `end` seconds; `plates` and `more` are nodes.
  Slug(int cells, double end, const std::string& fill, const std::string& plates, const std::string& more)
      : LiquidLaboratory(fmt::format("{{fps: {}, frames: [0, {}], substeps: 1}}", 1 / step, std::lround(end / step)),
                         fmt::format("{}  - hybrid: water\n    voxel_size: {}\n    flip_ratio: 1\n    rest: true\n{}"
                                     "  - pressure: p\n    solids: no_slip\n{}",
                                     plates, 1.0 / cells, fill, more)),
        cells_(cells) {}

  static std::string plates_at_rest() {
    return "  - domain: plates\n    box: {min: [-5, 0, -1], max: [5, 1, 1]}\n    limits: {sides: open, bottom: wall, "
           "top: wall}\n";
  }
  static std::string plate(const char* name, double y, double speed, double end) {
    return fmt::format(
        "  - collider: {}\n    shape: {{kind: box, size: [12, 0.5, 4]}}\n    translate: {{keys: {{0: [0, {}, "
        "0], {}: [{}, {}, 0]}}, interpolation: linear}}\n",
        name, y, std::lround(end / step), speed * end, y);
  }
  static std::string box(double bottom, double top, int cells) {
    return fmt::format("shape: {{kind: box, center: [0, {}, 0], size: [{}, {}, {}]}}", 0.5 * (bottom + top),
                       slug_length, top - bottom, 6.0 / cells);
  }

  /// Greatest difference between the velocity in the middle of the slug and `exact(y)`.
  template <class Exact>
  double error(const Exact& exact) {
    double middle = 0;
    const auto all = particles("water");
    for (const auto& [id, p] : all) middle += p.x.x / static_cast<double>(all.size());
    double worst = 0;
    for (int j = 0; j < cells_; ++j) {
      const double y = (j + 0.5) / cells_;
      const double u = value("vel", {middle, y, 0.5 / cells_}, 1e3);
      worst = std::max(worst, std::abs(u - exact(y)));
    }
    return worst;
  }

  void run_until(double t) {
    while (ok() && time() < t - 1e-9) Laboratory::step();
  }

 private:
  int cells_;
};

/// Pushed along the plates from rest: u = a y (1 - y) / (2 nu), less a series of decaying sines.
TEST(Poiseuille, ProfileBetweenPlatesDevelopsAsInTheory) {
  for (const int cells : {16, 32}) {
    const double a = 2, top_speed = a / 8;
    Slug slug(cells, 0.4, "    fill: {" + Slug::box(0, 1, cells) + "}\n", Slug::plates_at_rest(),
              "  - gravity: push\n    acceleration: [2, 0, 0]\n  - viscosity: thick\n    dynamic: 1000\n");
    for (const double t : {0.1, 0.2, 0.4}) {
      slug.run_until(t);
      const double error = slug.error([&](double y) {
        double u = 0.5 * a * y * (1 - y);
        for (int n = 1; n < 40; n += 2)
          u -= 4 * a / std::pow(n * pi, 3) * std::sin(n * pi * y) * std::exp(-n * n * pi * pi * t);
        return u;
      });
      std::printf("Poiseuille, %d cells, %.2f s: greatest error %.2f %% of the greatest speed\n", cells, t,
                  100 * error / top_speed);
      EXPECT_LT(error / top_speed, cells == 32 ? 0.02 : 0.04) << cells << " cells, " << t << " s";
    }
  }
}

/// Between plates that begin to move at once in opposite directions: a straight line, less a series.
TEST(Couette, ProfileBetweenMovingPlatesDevelopsAsInTheory) {
  for (const int cells : {16, 32}) {
    const double speed = 0.5;
    Slug slug(cells, 0.15, "    fill: {" + Slug::box(0, 1, cells) + "}\n",
              Slug::plate("lower", -0.25, -speed, 0.15) + Slug::plate("upper", 1.25, speed, 0.15),
              "  - viscosity: thick\n    dynamic: 1000\n");
    for (const double t : {0.05, 0.15}) {
      slug.run_until(t);
      const double error = slug.error([&](double y) {
        const double from_middle = 2 * y - 1;
        double u = from_middle;
        for (int n = 1; n < 40; ++n)
          u += 2 * (n % 2 ? -1 : 1) / (n * pi) * std::sin(n * pi * from_middle) * std::exp(-4 * n * n * pi * pi * t);
        return speed * u;
      });
      std::printf("Couette, %d cells, %.2f s: greatest error %.2f %% of the plates' speed\n", cells, t,
                  100 * error / speed);
      EXPECT_LT(error / speed, cells == 32 ? 0.02 : 0.04) << cells << " cells, " << t << " s";
    }
  }
}

/// Two layers under one stress, their viscosity an attribute of particles: the speed where they meet is as the
/// resistances h / mu below and above it.
TEST(Couette, LayersOfDifferentViscosityShareOneStress) {
  for (const int cells : {16, 32}) {
    const double speed = 0.25, thin = 1000, thick = 4000, meeting = speed * thick / (thin + thick);
    Slug slug(cells, 0.3,
              "    attributes: {viscosity: 4000}\n    fill: {" + Slug::box(0, 0.5, cells) +
                  ", attributes: {viscosity: 1000}}\n",
              Slug::plate("lower", -0.25, 0, 0.3) + Slug::plate("upper", 1.25, speed, 0.3),
              "  - source: above\n    " + Slug::box(0.5, 1, cells) +
                  "\n  - viscosity: layered\n    dynamic: {attribute: viscosity, default: 1}\n");
    slug.run();
    const double error =
        slug.error([&](double y) { return y < 0.5 ? meeting * 2 * y : meeting + (speed - meeting) * (2 * y - 1); });
    std::printf("two layers, %d cells: greatest error %.2f %% of the plate's speed\n", cells, 100 * error / speed);
    EXPECT_LT(error / speed, cells == 32 ? 0.02 : 0.04) << cells << " cells";

    ParticleSystem& s = *slug.water().particles();
    const auto rest = s.read(particle::rest);
    const auto viscosity = s.read(ParticleChannel<float>{"viscosity"});
    std::int64_t wrong = 0;
    for (int b = 0; b < s.topology().local_count(); ++b)
      for (std::size_t i = 0; i < s.count(b); ++i)
        wrong += viscosity(b)[i] != static_cast<float>(rest(b)[i].y < 0.5f ? thin : thick);
    EXPECT_EQ(wrong, 0);
  }
}

/// Taylor–Green vortices u = (sin kx cos ky, -cos kx sin ky, 0), k = pi, in a box whose walls let slip: the energy
/// decays as exp(-2 nu |k|² t), |k|² = 2 pi².
TEST(TaylorGreen, EnergyDecaysWithViscosity) {
  for (const int cells : {16, 32}) {
    const double nu = 0.02;
    LiquidLaboratory lab(
        "{fps: 24, frames: [0, 24], substeps: 12}",
        fmt::format("  - domain: box\n    box: {{min: [0, 0, 0], max: [1, 1, {}]}}\n    limits: {{top: wall}}\n"
                    "  - hybrid: water\n    voxel_size: {}\n    flip_ratio: 1\n    fill: {{in: box}}\n"
                    "  - pressure: p\n    density_correction: false\n  - viscosity: thick\n    dynamic: {}\n    "
                    "walls: free_slip\n",
                    8.0 / cells, 1.0 / cells, 1000 * nu));
    ParticleSystem& s = *lab.water().particles();
    const auto p = s.read(particle::position);
    auto v = s.write(particle::velocity);
    for (int b = 0; b < s.topology().local_count(); ++b) {
      ParticleWrite<Vec3f>::View view;
      v.load(view, b);
      for (std::size_t i = 0; i < s.count(b); ++i) {
        const Vec3d x = s.world(b, p(b)[i]) * pi;
        view.span.set(i, Vec3f(Vec3d{std::sin(x.x) * std::cos(x.y), -std::cos(x.x) * std::sin(x.y), 0}));
      }
    }
    const auto energy = [&] {
      double sum = 0;
      const GridStore& u = lab.water().grid().store("vel");
      lab.for_each_liquid_cell([&](int b, int c, const Vec3d&) {
        for (int a = 0; a < 3; ++a) sum += std::pow(static_cast<double>(u.plane<float>(a)[b * bucket_cells + c]), 2);
      });
      return sum;
    };
    lab.step();
    const double begin = lab.time(), first = energy();
    lab.run();
    const double rate = std::log(first / energy()) / (lab.time() - begin), theory = 2 * nu * 2 * pi * pi;
    std::printf("Taylor-Green, %d cells: energy decays with %.4f of the rate of theory\n", cells, rate / theory);
    EXPECT_NEAR(rate / theory, 1, cells == 32 ? 0.03 : 0.06);
  }
}

/// A round slug of viscous liquid spreads on a floor as r = 0.894 (g Q³ / 3 nu)^(1/8) t^(1/8) [Huppert 1982], Q being
/// its volume; of the particles of that solution the mean of r² is 3/7 of the front's.
TEST(GravityCurrent, RadiusGrowsWithTheEighthRootOfTime) {
  for (const int cells : {6, 8}) {  // in the height at the begin
    const double g = 9.80665, nu = 2, radius = 1, height = 0.5, first = 20, last = 200;
    LiquidLaboratory lab(
        "{fps: 0.5, frames: [0, 100], substeps: {cfl: 1, max: 32}}",
        fmt::format("  - gravity: earth\n  - domain: floor\n    box: {{min: [-4, 0, -4], max: [4, 2, 4]}}\n    limits: "
                    "{{sides: open, top: open}}\n  - hybrid: water\n    voxel_size: {}\n    transfer: apic\n    "
                    "velocity: [0, -0.5, 0]\n    fill: "
                    "{{shape: {{kind: cylinder, center: [0, {}, 0], radius: {}, height: {}}}}}\n  - pressure: p\n    "
                    "solids: no_slip\n  - viscosity: thick\n    dynamic: {}\n",
                    height / cells, 0.5 * height, radius, height, 1000 * nu));
    const auto front = [&] {
      double sum = 0;
      const auto all = lab.particles("water");
      for (const auto& [id, p] : all) sum += p.x.x * p.x.x + p.x.z * p.x.z;
      return std::sqrt(7.0 / 3 * sum / static_cast<double>(all.size()));
    };
    // The slope of log r over log t by least squares, over a decade of time.
    double n = 0, st = 0, sr = 0, stt = 0, str = 0, next = first;
    while (lab.ok() && !lab.simulation().finished()) {
      lab.step();
      if (lab.time() < next - 1e-6) continue;
      next *= std::pow(last / first, 1.0 / 12);
      const double t = std::log(lab.time()), r = std::log(front());
      n += 1, st += t, sr += r, stt += t * t, str += t * r;
    }
    const double slope = (n * str - st * sr) / (n * stt - st * st);
    const double volume = pi * radius * radius * height;
    const double theory = 0.894 * std::pow(g * std::pow(volume, 3) / (3 * nu) * last, 0.125);
    std::printf("gravity current, %d cells high: r ~ t^%.4f, radius at the end %.3f of theory\n", cells, slope,
                front() / theory);
    EXPECT_NEAR(slope, 0.125, 0.0125);
    EXPECT_NEAR(front() / theory, 1, 0.1);
  }
}

}  // namespace
}  // namespace aegir::test
