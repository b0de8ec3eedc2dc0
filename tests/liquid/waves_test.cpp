// A standing wave between two walls swings with the frequency of theory: ω² = g k tanh(k h), and at an amplitude a the
// wave is slower by the factor 1 - (k a)²/8 (deep water; Rayleigh 1915, Tadjbakhsh & Keller 1960): 0.44 % at 0.03
// wavelengths.
#include <filesystem>
#include <fstream>

#include "liquid/liquid_laboratory.h"

namespace aegir::test {
namespace {

constexpr double g = 9.80665, pi = 3.14159265358979;

/// The body of water under η = depth + a cos(k x), 0 ≤ x ≤ length, as a closed mesh in a PLY file.
std::string write_wave(double length, double width, double depth, double amplitude, double k) {
  constexpr int n = 128;
  std::vector<Vec3d> points;
  std::vector<std::array<int, 4>> faces;
  for (int i = 0; i <= n; ++i) {
    const double x = length * i / n, top = depth + amplitude * std::cos(k * x);
    // A little wider than the tank, so that only the upper side is a surface of the liquid.
    const double wide = i == 0 ? -0.1 : i == n ? length + 0.1 : x;
    for (const auto& [y, z] : {std::pair{-0.1, -0.1}, {-0.1, width + 0.1}, {top, width + 0.1}, {top, -0.1}})
      points.push_back({wide, y, z});
  }
  for (int i = 0; i < n; ++i)
    for (int e = 0; e < 4; ++e)
      faces.push_back({4 * i + e, 4 * i + (e + 1) % 4, 4 * i + 4 + (e + 1) % 4, 4 * i + 4 + e});
  faces.push_back({3, 2, 1, 0}), faces.push_back({4 * n, 4 * n + 1, 4 * n + 2, 4 * n + 3});
  const std::string path = std::filesystem::temp_directory_path() /
                           fmt::format("aegir_wave_{}_{}.ply", ::getpid(), static_cast<int>(1e4 * amplitude));
  std::ofstream out(path);
  out << "ply\nformat ascii 1.0\nelement vertex " << points.size()
      << "\nproperty double x\nproperty double y\nproperty double z\nelement face " << faces.size()
      << "\nproperty list uchar int vertex_indices\nend_header\n";
  out.precision(12);
  for (const Vec3d& p : points) out << p.x << ' ' << p.y << ' ' << p.z << '\n';
  for (const auto& f : faces) out << "4 " << f[0] << ' ' << f[1] << ' ' << f[2] << ' ' << f[3] << '\n';
  return path;
}

/// ω of the first mode over that of linear theory, from the zero crossings of two periods.
double frequency_ratio(int cells_per_wavelength, const std::string& transfer, int substeps) {
  const double wavelength = 1, length = wavelength / 2, depth = 0.5, k = 2 * pi / wavelength,
               dx = wavelength / cells_per_wavelength, width = 10 * dx;
  const double omega = std::sqrt(g * k * std::tanh(k * depth)), period = 2 * pi / omega;
  const std::string mesh = write_wave(length, width, depth, 0.03 * wavelength, k);
  const int frames = static_cast<int>(std::ceil(1.95 * period * 24));
  LiquidLaboratory lab(fmt::format("{{fps: 24, frames: [0, {}], substeps: {}}}", frames, substeps),
                       fmt::format("  - gravity: earth\n  - domain: tank\n    box: {{min: [0, 0, 0], max: [{}, 1, "
                                   "{}]}}\n  - hybrid: water\n    voxel_size: {}\n    transfer: {}\n"
                                   "    fill: {{input: wave}}\n  - pressure: p\n",
                                   length, width, dx, transfer),
                       fmt::format("inputs: {{wave: {{file: {}}}}}\n", mesh));
  std::filesystem::remove(mesh);
  std::vector<double> crossings, amplitudes;
  double before = 0, before_time = 0;
  while (lab.ok() && !lab.simulation().finished()) {
    lab.step();
    const double time = lab.time() - lab.report().dt;  // the surface is that of the substep's begin
    double mode = 0;
    const int n = cells_per_wavelength / 2;
    for (int i = 0; i < n; ++i) {
      const double x = (i + 0.5) * dx;
      mode += 2.0 / n * lab.level(x, 0.5 * width, 0, 0.9) * std::cos(k * x);
    }
    amplitudes.resize(crossings.size() + 1);
    amplitudes.back() = std::max(amplitudes.back(), std::abs(mode));
    if (before != 0 && (mode > 0) != (before > 0))
      crossings.push_back(before_time + (time - before_time) * before / (before - mode));
    before = mode, before_time = time;
  }
  if (crossings.size() < 4) return ADD_FAILURE() << "only " << crossings.size() << " zero crossings", 0;
  // Crossings lie at (n + 1/2) π / ω: the mean over all of them.
  double ratio = 0;
  for (std::size_t n = 0; n < 4; ++n) ratio += 0.25 * (static_cast<double>(n) + 0.5) * pi / omega / crossings[n];
  const double slower = 1 - std::pow(0.03 * k, 2) / 8;
  std::printf(
      "%s, %d cells per wavelength, %d substeps: frequency %.4f of linear theory, %.4f of that at this amplitude; "
      "crossings at",
      transfer.c_str(), cells_per_wavelength, substeps, ratio, ratio / slower);
  for (std::size_t n = 0; n < 4; ++n) std::printf(" %.4f", crossings[n] * omega / pi);
  std::printf(" half periods; greatest amplitudes between them");
  for (const double a : amplitudes) std::printf(" %.4f", a);
  std::printf("\n");
  // Water loses next to nothing in two periods, and never gains.
  for (std::size_t n = 0; n < 4; ++n) EXPECT_NEAR(amplitudes[n], 0.03, 0.0015) << "after " << n << " half periods";
  return ratio;
}

TEST(StandingWave, FrequencyOfTheory) {
  for (const int substeps : {4, 8}) {
    EXPECT_NEAR(frequency_ratio(32, "flip", substeps), 1, 0.03);
    EXPECT_NEAR(frequency_ratio(64, "flip", substeps), 1, 0.01);
  }
  EXPECT_NEAR(frequency_ratio(64, "apic", 4), 1, 0.01);
}

}  // namespace
}  // namespace aegir::test
