// Sources emit the volume they are asked for; sinks count what they take.
#include "liquid/liquid_laboratory.h"

namespace aegir::test {
namespace {

/// Volume of all particles that are or were there.
double volume_ever(LiquidLaboratory& lab) {
  double removed = 0;
  for (const auto& [name, value] : lab.audit().more)
    if (std::string(name) == "removed_particles") removed = value;
  const HybridObject& water = lab.water();
  return (static_cast<double>(lab.audit().particles) + removed) * water.particle_mass() / water.settings().density;
}

struct Stream {
  std::string flux = "0.18";
  std::string shape = "kind: box, size: [0.2, 0.3, 0.3]";
  std::string velocity = "[1, 0, 0]";
  std::string more = "";  // nodes around it
  int cells = 16;         // per metre
  std::string substeps = "2";
  int frames = 48;
};

/// What was emitted between half a second and two seconds over what was asked for.
double emitted(const Stream& s, double asked) {
  LiquidLaboratory lab(
      fmt::format("{{fps: 24, frames: [0, {}], substeps: {}}}", s.frames, s.substeps),
      fmt::format("{}  - hybrid: water\n    voxel_size: {}\n  - source: pipe\n    mode: continuous\n    "
                  "shape: {{{}}}\n    velocity: {}\n    flux: {}\n  - pressure: p\n",
                  s.more, 1.0 / s.cells, s.shape, s.velocity, s.flux));
  if (!lab.ok()) return 0;
  while (lab.ok() && lab.time() < 0.5 - 1e-9) lab.step();
  const double first = volume_ever(lab);
  lab.run();
  const double ratio = (volume_ever(lab) - first) / asked;
  std::printf("%d cells per metre, substeps %s, flux %s: %.4f of the volume asked for, %lld particles\n", s.cells,
              s.substeps.c_str(), s.flux.c_str(), ratio, static_cast<long long>(lab.audit().particles));
  return ratio;
}

TEST(SourceFlux, FreeJet) {
  for (const int cells : {16, 32})
    for (const char* substeps : {"1", "{cfl: 1, max: 40}"})
      EXPECT_NEAR(emitted({.cells = cells, .substeps = substeps}, 0.18 * 1.5), 1, 0.01);
}

TEST(SourceFlux, ObliqueJetFromABall) {
  for (const int cells : {16, 32})
    EXPECT_NEAR(emitted({.shape = "kind: sphere, radius: 0.2", .velocity = "[1, 2, 0.5]", .cells = cells}, 0.18 * 1.5),
                1, 0.01);
}

TEST(SourceFlux, FillsATank) {
  const char* tank = "  - gravity: earth\n  - domain: tank\n    box: {min: [-0.5, -1, -0.5], max: [0.5, 0.5, 0.5]}\n";
  for (const int cells : {16, 32})
    for (const char* substeps : {"2", "{cfl: 2, max: 40}"})
      EXPECT_NEAR(emitted({.velocity = "[0, -1, 0]", .more = tank, .cells = cells, .substeps = substeps}, 0.18 * 1.5),
                  1, 0.01);
}

/// A flux that grows from 0.1 to 0.3 m³/s until one second and stays there.
TEST(SourceFlux, FollowsKeyframes) {
  for (const int cells : {16, 32})
    for (const char* substeps : {"2", "4"})
      EXPECT_NEAR(emitted({.flux = "{keys: {0: 0.1, 24: 0.3, 48: 0.3}}", .cells = cells, .substeps = substeps},
                          0.25 * 0.5 + 0.3 * 1),
                  1, 0.01);
}

/// A stream that ends in a sink: what was emitted is there or was counted.
TEST(Sink, CountsWhatItTakes) {
  for (const int cells : {16, 32}) {
    LiquidLaboratory lab(
        "{fps: 24, frames: [0, 48], substeps: {cfl: 2, max: 20}}",
        fmt::format("  - hybrid: water\n    voxel_size: {}\n  - source: pipe\n    mode: continuous\n    shape: {{kind: "
                    "box, size: [0.2, 0.3, 0.3]}}\n    velocity: [1, 0, 0]\n    flux: 0.18\n"
                    "  - sink: drain\n    shape: {{kind: box, center: [0.8, 0, 0], size: [0.4, 1, 1]}}\n  - pressure: "
                    "p\n",
                    1.0 / cells));
    ASSERT_TRUE(lab.ok());
    while (lab.ok() && lab.time() < 0.5 - 1e-9) lab.step();
    const double first = volume_ever(lab);
    lab.run();
    double removed = 0;
    for (const auto& [name, value] : lab.audit().more)
      if (std::string(name) == "removed_particles") removed = value;
    const auto all = lab.particles("water");
    for (const auto& [id, p] : all) EXPECT_LT(p.x.x, 0.6 + 1e-6);
    std::printf("%d cells per metre: %zu particles left, %.0f removed, %.4f of the volume asked for\n", cells,
                all.size(), removed, (volume_ever(lab) - first) / (0.18 * 1.5));
    EXPECT_GT(removed, 0.3 * static_cast<double>(all.size()));
    EXPECT_NEAR((volume_ever(lab) - first) / (0.18 * 1.5), 1, 0.01);
  }
}

}  // namespace
}  // namespace aegir::test
