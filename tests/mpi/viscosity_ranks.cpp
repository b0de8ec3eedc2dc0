#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/random.h"
#include "solvers/linear/viscosity_test_system.h"
#include "tests/mpi/ranks.h"

namespace aegir::ranks {
namespace {

constexpr Vec3i block{5, 4, 3};

/// A wavy pool around a moving ball, between walls; the same on any rank.
void fill(TestLiquid& liquid) {
  liquid.fill_solid([](const Vec3d& x) {
    const double walls = std::min(std::min(x.x - 1.3, 38.6 - x.x), std::min(x.y - 2, std::min(x.z - 1, 22.5 - x.z)));
    return std::min(walls, length(x - Vec3d(18, 12, 11)) - 5.2);
  });
  liquid.fill_distance(
      [](const Vec3d& x) { return std::clamp(x.y - 19 - 2.3 * std::sin(0.3 * x.x) * std::cos(0.4 * x.z), -1.5, 1.5); });
  liquid.fill_velocity([](int a, const Vec3d& x) {
    const std::uint64_t place = static_cast<std::uint64_t>((x.x + 100) * 1e6 + (x.y + 100) * 1e3 + x.z + 100) * 2;
    return std::sin(0.2 * x.x + a) * std::cos(0.15 * x.y - 0.3 * x.z) +
           Random(3, place, static_cast<std::uint64_t>(a), Purpose::test).uniform(0, -0.2, 0.2);
  });
  liquid.fill_velocity([](int a, const Vec3d& x) { return x.x > 10 && x.x < 26 && a == 0 ? 0.4 : 0.0; },
                       "solid_velocity");
  liquid.fill_viscosity([](const Vec3d& x) { return 500 * std::exp2(3 * std::sin(0.2 * x.x + 0.1 * x.z)); });
}

/// One hash of the velocity over all buckets; rank order is curve order.
std::uint64_t velocity_hash(TestLiquid& liquid) {
  const Topology& t = liquid.volume->topology();
  std::vector<std::uint64_t> mine;
  for (int b = 0; b < t.local_count(); ++b) {
    std::uint64_t hash = mix(t.curve(b));
    for (int a = 0; a < 3; ++a)
      for (int c = 0; c < bucket_cells; ++c) {
        std::uint32_t bits;
        std::memcpy(&bits, liquid.plane("velocity", a) + b * bucket_cells + c, sizeof bits);
        hash = mix(hash * 3 + bits);
      }
    mine.push_back(hash);
  }
  std::uint64_t whole = 0;
  for (const std::uint64_t hash : gather_all(liquid.exec.comm, mine)) whole = mix(whole * 3 + hash);
  return whole;
}

/// Where the curve is cut: all ranks hold about as much, or the first hold far less than the last.
Partition cut(Exec& exec, bool skewed) {
  const TestLiquid even(exec.comm, block, 0.1, Partition::even(exec.comm.size()));
  const auto positions = even.volume->topology().local_curve();
  std::vector<std::int64_t> weights(positions.size(), 1);
  if (skewed)
    for (std::size_t i = 0; i < weights.size() / 6; ++i) weights[i] = 100;
  return Partition::by_weight(exec.comm, positions, weights);
}

}  // namespace

void check_viscosity(Exec& exec) {
  for (const bool skewed : {false, true}) {
    const Partition partition = cut(exec, skewed);
    for (const double k : {0.5, 30.0}) {  // with and without coarse levels
      TestLiquid liquid(exec.comm, block, 0.1, partition);
      fill(liquid);
      const ViscositySettings settings{.dt = 0.01, .density = 1000, .constant_viscosity = 1000 * k, .tolerance = 1e-6};
      const SolveReport report = liquid.solve(settings);
      require(report.converged, "viscosity converges");
      print_report(exec, "viscosity", velocity_hash(liquid), report);
    }
    TestLiquid layers(exec.comm, block, 0.1, partition);
    fill(layers);
    for (const char* what : {"variable viscosity", "variable viscosity, on from there"}) {
      const SolveReport report = layers.solve({.dt = 0.1, .tolerance = 1e-6}, true);
      require(report.converged, "variable viscosity converges");
      print_report(exec, what, velocity_hash(layers), report);
    }
    fill(layers);
    const SolveReport assembled =
        layers.solve({.dt = 0.01, .density = 1000, .constant_viscosity = 3000, .tolerance = 1e-6, .max_iterations = 2});
    require(assembled.converged && !assembled.trouble.empty(), "the assembled solver steps in");
    print_report(exec, "assembled", velocity_hash(layers), assembled);
    fill(layers);
    const int bucket = layers.volume->topology().find({{1, 1, 1}, 0});
    if (bucket >= 0 && bucket < layers.volume->topology().local_count())
      layers.plane("velocity", 1)[bucket * bucket_cells + 77] = std::nanf("");
    const SolveReport report = layers.solve({.dt = 0.1, .constant_viscosity = 10});
    require(!report.converged && !report.trouble.empty(), "what is no number is reported on every rank");
    print_report(exec, "not a number", 0, report);
  }
}

}  // namespace aegir::ranks
