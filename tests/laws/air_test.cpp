// Laws of droplets in air: terminal velocity, drag with a given strength, wind from files over time, eddies, sizes.
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "io/vdb.h"
#include "laws/laboratory.h"
#include "phenomena/common/turbulence.h"

namespace aegir::test {
namespace {

constexpr double g = 9.80665, air = 1.204, viscosity = 1.813e-5, water = 1000;

/// Fall speed at which drag of a sphere carries its weight: g = 3/8 ρ/ρ_w C(Re) v²/r, by halving an interval.
double terminal_speed(double radius) {
  double low = 0, high = 100;
  for (int i = 0; i < 200; ++i) {
    const double v = 0.5 * (low + high), reynolds = 2 * radius * v * air / viscosity,
                 c = std::max(0.44, 0.2924 * std::pow(1 + 9.06 / std::sqrt(reynolds), 2));
    (0.375 * air / water * c * v * v / radius < g ? low : high) = v;
  }
  return low;
}

TEST(Air, DropletsFallAtTheSpeedOfTheDragLaw) {
  // Diameter (mm) and speed (m/s) of water drops in air at 20 °C and 1013 hPa: Gunn and Kinzer 1949, J. Meteorology 6,
  // 243.
  constexpr double measured[][2] = {{0.1, 0.27}, {0.2, 0.72}, {0.3, 1.17}, {0.5, 2.06}, {0.7, 2.87},
                                    {1.0, 4.03}, {1.4, 5.17}, {1.8, 6.09}, {2.2, 6.90}, {2.6, 7.57},
                                    {3.0, 8.06}, {4.0, 8.83}, {5.0, 9.09}};
  std::string nodes = "  - gravity: g\n  - air_drag: still\n  - particles: dust\n    voxel_size: 1 m\n";
  for (std::size_t i = 0; i < std::size(measured); ++i)
    nodes += fmt::format(
        "  - emitter: e{}\n    shape: {{kind: sphere, radius: 1 cm}}\n    count: 1\n    radius: [{} mm, {} mm]\n", i,
        measured[i][0] / 2, measured[i][0] / 2);
  for (int substeps : {2, 8}) {
    Laboratory lab("{fps: 24, frames: [0, 192], substeps: " + std::to_string(substeps) + "}", nodes);
    ASSERT_TRUE(lab.ok());
    lab.run();
    const auto drops = lab.particles();
    ASSERT_EQ(drops.size(), std::size(measured));
    if (substeps == 8) printf("diameter  simulated  drag law  Gunn & Kinzer\n");
    for (const auto& [diameter, speed] : measured) {
      const double d = diameter;
      const auto drop = std::find_if(drops.begin(), drops.end(),
                                     [&](const auto& p) { return std::abs(p.second.radius - d / 2000) < 1e-8; });
      ASSERT_NE(drop, drops.end());
      const double fallen = -drop->second.v.y, law = terminal_speed(drop->second.radius);
      EXPECT_NEAR(fallen, law, 0.01 * law) << diameter << " mm";
      // While drops are round the sphere's law is theirs, too; its curve has too much drag at Reynolds numbers near 1.
      if (diameter <= 2.6) {
        EXPECT_NEAR(fallen, speed, (diameter < 0.2 ? 0.15 : 0.06) * speed) << diameter << " mm";
      }
      if (substeps == 8)
        printf("%5.1f mm %7.3f m/s %6.3f m/s %6.2f m/s (%+.1f %%)\n", diameter, fallen, law, speed,
               100 * (fallen / speed - 1));
    }
  }
}

/// Velocity after one second of a particle that starts at 10 m/s along x.
double slowed(const std::string& drag, double radius, double density = 1000) {
  Laboratory lab(
      timeline(24, 16),
      one_particle({}, {10, 0, 0}, fmt::format("    radius: [{}, {}]\n    density: {}\n", radius, radius, density)) +
          "  - air_drag: air\n" + drag);
  EXPECT_TRUE(lab.ok());
  lab.run();
  return lab.only().v.x;
}

TEST(Air, ScaledDragHasTheGivenStrength) {
  // α/r² = 1/s: 10 exp(-1).   α|u|/r = 2/s at first: 10 / (1 + 2).
  EXPECT_NEAR(slowed("    law: scaled_stokes\n    alpha_stokes: 1e-6 m^2/s\n", 1e-3), 10 * std::exp(-1.0), 1e-3);
  EXPECT_NEAR(slowed("    law: scaled_newton\n    alpha_newton: 2e-4\n", 1e-3), 10.0 / 3, 2e-2);
  // Half the radius: four times and twice as strong.
  EXPECT_NEAR(slowed("    law: scaled_stokes\n    alpha_stokes: 1e-6 m^2/s\n", 0.5e-3), 10 * std::exp(-4.0), 2e-3);
  EXPECT_NEAR(slowed("    law: scaled_newton\n    alpha_newton: 2e-4\n", 0.5e-3), 10.0 / 5, 3e-2);
  // Whatever the mass.
  EXPECT_EQ(slowed("    law: scaled_newton\n", 1e-3, 1000), slowed("    law: scaled_newton\n", 1e-3, 50));
  EXPECT_EQ(slowed("    law: scaled_stokes\n", 1e-3, 1000), slowed("    law: scaled_stokes\n", 1e-3, 50));
}

TEST(Air, ScaledDragWithPhysicalStrengthIsPhysicalDrag) {
  for (const double r : {0.2e-3, 1e-3}) {
    const double newton = 3 * air * 0.44 / (8 * water), stokes = 9 * viscosity / (2 * water);
    EXPECT_NEAR(slowed(fmt::format("    law: scaled_newton\n    alpha_newton: {}\n", newton), r),
                slowed("    law: newton\n", r), 1e-4);
    EXPECT_NEAR(slowed(fmt::format("    law: scaled_stokes\n    alpha_stokes: {}\n", stokes), r),
                slowed("    law: stokes\n", r), 1e-4);
    EXPECT_NEAR(newton, 2e-4, 2e-6);
    EXPECT_NEAR(stokes, 8.2e-8, 1e-9);
  }
}

/// Frames 1 to 3 of a uniform wind along x of 1, 3 and 9 m/s around the origin.
class WindFrames : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / fmt::format("aegir_wind_frames_{}", ::getpid());
    std::filesystem::create_directories(folder_);
    for (int frame : {1, 2, 3}) {
      VolumeGrid grid;
      grid.name = "vel", grid.kind = VolumeGrid::vector, grid.voxel_size = 1;
      for (int b = 0; b < 8; ++b) grid.buckets.push_back({(b >> 2) - 1, (b >> 1 & 1) - 1, (b & 1) - 1});
      grid.values.resize(grid.buckets.size() * 512 * 3);
      for (std::size_t b = 0; b < grid.buckets.size(); ++b)
        std::fill_n(grid.plane(b, 0).data(), 512, static_cast<float>(std::pow(3, frame - 1)));
      ASSERT_TRUE(write_volumes(fmt::format("{}/wind.{:04}.vdb", folder_.string(), frame), {grid}));
    }
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string pattern(const char* frame = "$F4") const {
    return fmt::format("{}/wind.{}.vdb", folder_.string(), frame);
  }

  std::filesystem::path folder_;
};

/// So viscous that particles take the velocity of the air within a substep.
constexpr const char* honey = "    law: stokes\n    air_viscosity: 100 Pa s\n";

TEST_F(WindFrames, AreFollowedLinearlyInTime) {
  for (const char* frame : {"$F4", "%04d", "####"}) {
    Laboratory lab(
        "{fps: 24, frames: [1, 4], substeps: 2}",
        one_particle({}, {}) + fmt::format("  - wind_drag: w\n    velocity_file: {}\n{}",
                                           frame[0] == '#' ? "\"" + pattern(frame) + "\"" : pattern(frame), honey));
    ASSERT_TRUE(lab.ok());
    // At the middle of each substep: frames 1.25, 1.75, 2.25, 2.75, and the last frame holds.
    for (const double expected : {1.5, 2.5, 4.5, 7.5, 9.0, 9.0}) {
      lab.step();
      EXPECT_NEAR(lab.only().v.x, expected, 1e-4) << frame;
    }
  }
}

TEST_F(WindFrames, HoldBeforeTheFirstAndAddToTheVelocity) {
  Laboratory lab(
      "{fps: 24, frames: [-1, 2], substeps: 1}",
      one_particle({}, {}) +
          fmt::format("  - wind_drag: w\n    velocity: [0.5, 2, 0]\n    velocity_file: {}\n{}", pattern(), honey));
  ASSERT_TRUE(lab.ok());
  for (const double expected : {1.5, 1.5, 2.5}) {
    lab.step();
    EXPECT_NEAR(lab.only().v.x, expected, 1e-4);
    EXPECT_NEAR(lab.only().v.y, 2, 1e-4);
  }
}

TEST_F(WindFrames, PushAsAForceField) {
  Laboratory lab("{fps: 24, frames: [1, 3], substeps: 2}",
                 one_particle({}, {}) + fmt::format("  - force_field: f\n    file: {}\n    volume: vel\n", pattern()));
  ASSERT_TRUE(lab.ok());
  lab.run();
  EXPECT_NEAR(lab.only().v.x, (1.5 + 2.5 + 4.5 + 7.5) / 48, 1e-5);
}

TEST_F(WindFrames, MayLieEvenlyApartAndAreOneTaskForAllObjects) {
  std::filesystem::remove(pattern("0002"));
  Laboratory lab("{fps: 24, frames: [1, 3], substeps: 1}",
                 one_particle({}, {}) + "  - particles: other\n" +
                     fmt::format("  - wind_drag: w\n    velocity_file: {}\n{}", pattern(), honey));
  ASSERT_TRUE(lab.ok());
  for (const double expected : {3.0, 7.0}) {  // frames 1 and 3: 1 + 8 (f - 1) / 2
    lab.step();
    EXPECT_NEAR(lab.only().v.x, expected, 1e-4);
  }
  int readers = 0;
  for (const auto& [name, entry] : lab.report().tasks) readers += name.starts_with("w:read");
  EXPECT_EQ(readers, 1);
}

const std::string cloud =
    "  - particles: dust\n    voxel_size: 0.25\n  - emitter: e\n    shape: {kind: box, size: [2, 2, 2]}\n    count: "
    "500\n    radius: [0.1 mm, 0.1 mm]\n";

TEST(Air, EddiesAreThoseOfTheNoise) {
  TurbulenceSettings settings;
  settings.speed = 3.0, settings.size = 0.4, settings.octaves = 3, settings.seed = 5;
  const Turbulence turbulence(settings);
  const std::string eddies = "    turbulence: {speed: 3 m/s, size: 40 cm, octaves: 3, seed: 5}\n";
  Laboratory lab("{fps: 100, frames: [0, 1], substeps: 1}",
                 cloud + "  - wind_drag: w\n    velocity: [1, 0, 0]\n" + eddies + honey);
  const auto before = lab.particles();
  lab.run();
  double square = 0;
  for (const auto& [id, p] : lab.particles()) {
    // They rest at first, so that the middle of the substep is where they were.
    const Vec3d expected = turbulence.at(before.at(id).x, 0.005, 3) + Vec3d{1, 0, 0};
    EXPECT_LT(length(p.v - expected), 1e-3) << id;
    const Vec3d eddy = p.v - Vec3d{1, 0, 0};
    square += dot(eddy, eddy) / 500;
  }
  EXPECT_NEAR(std::sqrt(square), 3, 0.3);
}

TEST(Air, EddiesMayGrowOverTime) {
  Laboratory lab("{fps: 24, frames: [0, 2], substeps: 1}",
                 cloud + "  - wind_drag: w\n    turbulence: {speed: {keys: {0: 0, 1: 2}}, size: 0.3}\n" + honey);
  ASSERT_TRUE(lab.ok());
  lab.step();  // the speed is taken at the begin of a substep
  for (const auto& [id, p] : lab.particles()) EXPECT_EQ(length(p.v), 0);
  lab.step();
  double square = 0;
  for (const auto& [id, p] : lab.particles()) square += dot(p.v, p.v) / 500;
  EXPECT_NEAR(std::sqrt(square), 2, 0.3);
}

TEST(Air, NoiseOfAnEmitterIsThatOfItsPlaceAndTime) {
  TurbulenceSettings settings;
  settings.speed = 0.5, settings.size = 0.2;
  const Turbulence noise(settings);
  Laboratory lab(timeline(2, 1), cloud + "    velocity: [0, 1, 0]\n    noise: {speed: 0.5 m/s, size: 20 cm}\n");
  ASSERT_TRUE(lab.ok());
  for (const auto& [id, p] : lab.particles())
    EXPECT_LT(length(p.v - Vec3d{0, 1, 0} - noise.at(p.x, 0, 0.5)), 1e-4) << id;
}

TEST(Emission, SizesAreThoseOfTheNumberWhateverTheSubsteps) {
  std::map<std::int64_t, Particle> runs[2];
  for (int i = 0; i < 2; ++i) {
    Laboratory lab(
        timeline(12, i ? 5 : 1),
        "  - particles: dust\n  - emitter: e\n    shape: {kind: sphere}\n    rate: 4000\n    radius: [0.1 mm, "
        "2 mm]\n    sizes: inverse_cubic\n");
    ASSERT_TRUE(lab.ok());
    lab.run();
    runs[i] = lab.particles();
  }
  ASSERT_GT(runs[0].size(), 1900u);
  int below = 0;
  for (const auto& [id, p] : runs[0]) {
    ASSERT_TRUE(runs[1].contains(id));
    EXPECT_EQ(p.radius, runs[1].at(id).radius);
    below += p.radius < 0.2e-3;
  }
  // Share below 2 r₀: (1 - 1/4) / (1 - 1/400).
  const auto n = static_cast<double>(runs[0].size());
  EXPECT_NEAR(below / n, 0.75 / (1 - 1.0 / 400), 5 * std::sqrt(0.19 / n));
}

}  // namespace
}  // namespace aegir::test
