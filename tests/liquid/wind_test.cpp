// Wind on liquids: a drop feels what a particle of its size feels, the bulk feels nothing, and what is thin lies
// between.
#include <unistd.h>

#include <filesystem>

#include "io/vdb.h"
#include "liquid/liquid_laboratory.h"

namespace aegir::test {
namespace {

/// One particle of a liquid with cells of 2 cm.
constexpr const char* drop =
    "  - hybrid: water\n    voxel_size: 0.02\n    jitter: 0\n    fill: {shape: {kind: box, center: [0.015, 0.015, "
    "0.015], size: [0.008, 0.008, 0.008]}}\n  - pressure: p\n";

/// The same as a particle, in a group of its own.
std::string particle_like(double radius, double mass) {
  return fmt::format(
      "  - group: alone\n    behaviors:\n      - particles: dust\n        voxel_size: 0.1\n      - emitter: once\n     "
      "   "
      "shape: {{kind: sphere, center: [0.015, 0.015, 0.015], radius: 1e-9}}\n        count: 1\n        radius: [{}, "
      "{}]\n    "
      "   "
      " density: {}\n",
      radius, radius, mass / (4.0 / 3 * M_PI * radius * radius * radius));
}

constexpr double drop_radius = 0.01 * 0.62035049089940;  // of a ball as large as a cube of a centimetre

Vec3d velocity_of(const std::map<std::int64_t, Particle>& all) { return all.begin()->second.v; }

TEST(Wind, DropReachesTheTerminalSpeedOfAParticle) {
  const double wind = 6;
  for (const char* law : {"sphere", "newton", "stokes"}) {
    // Viscous enough for the stokes law to end in time.
    const std::string air = fmt::format("  - gravity: g\n  - wind_drag: w\n    velocity: [{}, 0, 0]\n    law: {}\n{}",
                                        wind, law, law == std::string("stokes") ? "    air_viscosity: 0.05\n" : "");
    LiquidLaboratory lab("{fps: 24, frames: [0, 200], substeps: 8}", air + drop + particle_like(drop_radius, 1e-3));
    ASSERT_EQ(lab.particles("water").size(), 1u);
    ASSERT_NEAR(lab.particles("water").begin()->second.radius, drop_radius, 1e-7);
    ASSERT_NEAR(lab.particles("water").begin()->second.mass, lab.particles("alone/dust").begin()->second.mass, 1e-9);
    lab.run();
    const Vec3d of_drop = velocity_of(lab.particles("water")), of_particle = velocity_of(lab.particles("alone/dust"));
    printf("%s: drop (%.3f, %.3f) m/s, particle (%.3f, %.3f) m/s\n", law, of_drop.x, of_drop.y, of_particle.x,
           of_particle.y);
    EXPECT_NEAR(of_drop.x, wind, 0.02 * wind);
    EXPECT_NEAR(of_drop.y, of_particle.y, 0.01 * std::abs(of_particle.y));
    if (law == std::string("newton")) {
      const double terminal = std::sqrt(2 * 1e-3 * 9.80665 / (1.204 * 0.44 * M_PI * drop_radius * drop_radius));
      EXPECT_NEAR(of_drop.y, -terminal, 0.01 * terminal);
    }
  }
}

/// Mean acceleration (m/s²) along x of water in one substep of wind that a lone drop is given `alone` by.
double acceleration(const std::string& fill, double& alone, const std::string& more = "") {
  const std::string wind = "  - wind_drag: w\n    velocity: [10, 0, 0]\n" + more;
  const auto measure = [&](const std::string& nodes) {
    LiquidLaboratory lab("{fps: 1000, frames: [0, 1], substeps: 1}", wind + nodes);
    lab.run();
    double sum = 0;
    const auto all = lab.particles("water");
    for (const auto& [id, p] : all) sum += p.v.x;
    return sum / static_cast<double>(all.size()) * 1000;
  };
  alone = measure(drop);
  return measure("  - hybrid: water\n    voxel_size: 0.02\n    fill: {shape: {" + fill + "}}\n");
}

TEST(Wind, IsFeltWhereLiquidIsThin) {
  double alone = 0;
  const auto share = [&](const std::string& fill, const std::string& more = "") {
    const double a = acceleration(fill, alone, more);
    return a / alone;
  };
  const double bulk = share("kind: box, center: [0, 0, 0], size: [0.4, 0.4, 0.4]"),
               odd = share("kind: box, center: [0.003, 0.007, 0.001], size: [0.3, 0.31, 0.27]"),
               sheet = share("kind: box, center: [0.01, 0, 0], size: [0.02, 0.4, 0.4]"),
               slab = share("kind: box, center: [0, 0, 0], size: [0.08, 0.4, 0.4]"),
               thread = share("kind: box, center: [0.01, 0.01, 0], size: [0.02, 0.02, 0.6]"),
               everywhere = share("kind: box, center: [0, 0, 0], size: [0.4, 0.4, 0.4]", "    thickness: 0\n");
  printf(
      "share of a lone drop's acceleration: bulk %.4f, %.4f; slab of 4 cells %.4f; sheet of 1 cell %.3f; thread %.3f\n",
      bulk, odd, slab, sheet, thread);
  EXPECT_LT(bulk, 0.01);
  EXPECT_LT(odd, 0.01);
  EXPECT_LT(slab, 0.01);
  EXPECT_GT(sheet, 0.9);
  EXPECT_GT(thread, 0.9);
  EXPECT_NEAR(everywhere, 1, 0.02);
}

TEST(Wind, BulkBetweenWallsIsNotThin) {
  // Without gravity nothing else moves it; walls take volume from the neighbourhood of cells, not liquid.
  LiquidLaboratory lab(
      "{fps: 1000, frames: [0, 1], substeps: 1}",
      "  - wind_drag: w\n    velocity: [10, 0, 0]\n  - domain: d\n    box: {min: [0, 0, 0], max: [0.2, 0.5, "
      "0.2]}\n  - hybrid: water\n    voxel_size: 0.02\n    fill: {below: 0.13}\n");
  lab.run();
  for (const auto& [id, p] : lab.particles("water")) ASSERT_LT(std::abs(p.v.x), 1e-9);
}

TEST(Wind, ComesFromAVolume) {
  // A volume whose wind along x grows with y: 1 m/s per metre, from -4 to 4 m.
  VolumeGrid grid;
  grid.name = "vel", grid.kind = VolumeGrid::vector, grid.voxel_size = 0.5;
  for (int i = -1; i < 1; ++i)
    for (int j = -1; j < 1; ++j)
      for (int k = -1; k < 1; ++k) grid.buckets.push_back({i, j, k});
  grid.values.resize(grid.buckets.size() * 512 * 3);
  for (std::size_t b = 0; b < grid.buckets.size(); ++b)
    for (int c = 0; c < 512; ++c)
      grid.plane(b, 0)[static_cast<std::size_t>(c)] =
          static_cast<float>((grid.buckets[b].y * 8 + (c >> 3 & 7) + 0.5) * 0.5);
  const std::string file = std::filesystem::temp_directory_path() / fmt::format("aegir_wind_{}.vdb", ::getpid());
  ASSERT_TRUE(write_volumes(file, {grid}));
  // Stokes drag is linear: after one step of dt the velocity is w z (1 + z/2) / (1 + z + z²/2), z = λ dt.
  Laboratory lab(
      "{fps: 100, frames: [0, 1], substeps: 1}",
      fmt::format(
          "  - particles: dust\n    voxel_size: 0.5\n  - emitter: e\n    shape: {{kind: box, center: [0, 0, 0], "
          "size: [2, 4, 2]}}\n    count: 300\n    radius: [1 mm, 1 mm]\n    density: 1000\n  - wind_drag: w\n    "
          "velocity: [0.5, 0, 2]\n    velocity_file: {}\n    law: stokes\n",
          file));
  std::filesystem::remove(file);
  const auto before = lab.particles();
  lab.run();
  const double r = 1e-3, mass = 4.0 / 3 * M_PI * r * r * r * 1000, z = 6 * M_PI * 1.813e-5 * r / mass * 0.01,
               taken = z * (1 + z / 2) / (1 + z + z * z / 2);
  ASSERT_EQ(before.size(), 300u);
  for (const auto& [id, p] : lab.particles()) {
    EXPECT_NEAR(p.v.x, taken * (before.at(id).x.y + 0.5), 1e-6 * taken + 1e-9);
    EXPECT_NEAR(p.v.z, taken * 2, 1e-5 * taken);
  }
}

}  // namespace
}  // namespace aegir::test
