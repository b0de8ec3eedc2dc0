// Volumes that push: a uniform field is gravity, a mask switches it off, a force per volume divides by the density.
#include <unistd.h>

#include <filesystem>

#include "io/vdb.h"
#include "liquid/liquid_laboratory.h"

namespace aegir::test {
namespace {

/// A volume with one value in the 4 × 4 × 4 buckets of half-metre cells around the origin.
VolumeGrid uniform_volume(const std::string& name, const Vec3f& value, bool vector, double above = -100) {
  VolumeGrid grid;
  grid.name = name, grid.kind = vector ? VolumeGrid::vector : VolumeGrid::scalar, grid.voxel_size = 0.5;
  for (int i = -2; i < 2; ++i)
    for (int j = -2; j < 2; ++j)
      for (int k = -2; k < 2; ++k) grid.buckets.push_back({i, j, k});
  grid.values.resize(grid.buckets.size() * 512 * static_cast<std::size_t>(grid.components()));
  for (std::size_t b = 0; b < grid.buckets.size(); ++b)
    for (int a = 0; a < grid.components(); ++a)
      for (int c = 0; c < 512; ++c) {
        const double y = (grid.buckets[b].y * 8 + (c >> 3 & 7) + 0.5) * 0.5;
        grid.plane(b, a)[static_cast<std::size_t>(c)] = y > above ? value[a] : 0.0f;
      }
  return grid;
}

class ForceFieldFile : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = std::filesystem::temp_directory_path() / fmt::format("aegir_field_{}.vdb", ::getpid());
    ASSERT_TRUE(write_volumes(
        path_, {uniform_volume("pull", {0, -9.80665f, 0}, true), uniform_volume("upper", {1, 0, 0}, false, 0.5)}));
  }
  void TearDown() override { std::filesystem::remove(path_); }

  /// Height of the middle of a block of water of some density after half a second of free fall from y = 1.
  double fallen(const std::string& force, double density = 1000) {
    LiquidLaboratory lab("{fps: 24, frames: [0, 12], substeps: 4}",
                         fmt::format("{}  - hybrid: water\n    voxel_size: 0.1\n    density: {}\n    fill: {{shape: "
                                     "{{kind: box, center: [0, 1, 0], size: [0.4, 0.4, 0.4]}}}}\n"
                                     "  - pressure: p\n",
                                     force, density));
    lab.run();
    double sum = 0, count = 0;
    for (const auto& [id, p] : lab.particles("water")) sum += p.x.y, count += 1;
    return sum / count;
  }
  std::string field(const std::string& more) const {
    return fmt::format("  - force_field: f\n    file: {}\n    volume: pull\n{}", path_, more);
  }

  std::string path_;
};

TEST_F(ForceFieldFile, UniformFieldIsGravity) {
  const double gravity = fallen("  - gravity: earth\n");
  EXPECT_NEAR(gravity, 1 - 0.5 * 9.80665 * 0.25, 0.03);
  EXPECT_NEAR(fallen(field("")), gravity, 1e-4);
}

TEST_F(ForceFieldFile, PerVolumeDividesByTheDensity) {
  EXPECT_NEAR(fallen(field("    per: volume\n    scale: 500\n"), 500), fallen("  - gravity: earth\n"), 1e-3);
}

TEST_F(ForceFieldFile, MaskSwitchesItOff) {
  // Falls freely for half a metre, then keeps its speed v = sqrt(2 g h) for what is left of half a second.
  const double g = 9.80665, time = std::sqrt(1 / g);
  const double expected = 0.5 - g * time * (0.5 - time);
  EXPECT_NEAR(fallen(field("    mask_volume: upper\n")), expected, 0.04);
  EXPECT_LT(fallen(field("")), expected - 0.1);
}

}  // namespace
}  // namespace aegir::test
