// Liquid from OpenVDB files: inside level sets, at points, with velocities of a volume.
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "io/vdb.h"
#include "liquid/liquid_laboratory.h"

namespace aegir::test {
namespace {

/// A volume of 8 × 8 × 8 buckets around the origin that holds f at the centres of its cells.
VolumeGrid filled(const char* name, VolumeGrid::Kind kind, double voxel, const std::function<Vec3d(const Vec3d&)>& f) {
  VolumeGrid grid;
  grid.name = name, grid.kind = kind, grid.voxel_size = voxel;
  if (kind == VolumeGrid::level_set) grid.background = static_cast<float>(3 * voxel);
  for (int b = 0; b < 512; ++b) grid.buckets.push_back({(b >> 6) - 4, (b >> 3 & 7) - 4, (b & 7) - 4});
  grid.values.resize(grid.buckets.size() * 512 * static_cast<std::size_t>(grid.components()));
  for (std::size_t b = 0; b < grid.buckets.size(); ++b)
    for (int c = 0; c < 512; ++c) {
      const Vec3d at = (Vec3d(grid.buckets[b]) * 8.0 + Vec3d(c >> 6, c >> 3 & 7, c & 7) + Vec3d(0.5)) * voxel;
      for (int a = 0; a < grid.components(); ++a)
        grid.plane(b, a)[static_cast<std::size_t>(c)] = static_cast<float>(f(at)[a]);
    }
  return grid;
}

Vec3d rotation(const Vec3d& x) { return {-3 * x.y, 3 * x.x, 0.5}; }

class VdbSources : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / fmt::format("aegir_sources_{}", ::getpid());
    std::filesystem::create_directories(folder_);
    constexpr double voxel = 0.02, band = 3 * voxel;
    const auto ball = [&](const Vec3d& x) { return Vec3d(std::clamp(length(x) - 0.4, -band, band)); };
    ASSERT_TRUE(write_volumes(
        file("volumes.vdb"),
        {filled("surface", VolumeGrid::level_set, voxel, ball), filled("vel", VolumeGrid::vector, voxel, rotation),
         filled("density", VolumeGrid::scalar, voxel, [](const Vec3d&) { return Vec3d(1.0); })}));
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string file(const char* name) const { return (folder_ / name).string(); }

  /// What a setup with these lines in a source ends with.
  std::string trouble(const std::string& lines) const {
    Catalog catalog;
    register_common(catalog);
    Messages messages;
    const std::string text = "aegir: 1\ntimeline: {frames: [0, 1]}\nsetup:\n  - hybrid: water\n  - source: s\n" + lines;
    auto setup = parse_setup(text, "law.yaml", {}, catalog, messages);
    const auto comm = make_single_comm();
    Profile profile;
    if (setup) (void)Simulation::create(std::move(*setup), Exec{*comm, profile}, messages);
    return messages.errors.empty() ? "" : messages.errors.front().text();
  }

  std::filesystem::path folder_;
};

/// The ball of a level set holds the volume 4/3 π r³, once filled, once as a source that is moved, once streamed.
TEST_F(VdbSources, LevelSetHoldsItsVolume) {
  for (const int cells : {16, 32}) {
    for (const std::string& nodes :
         {fmt::format("    fill: {{level_set: {{file: {}, volume: surface}}}}\n", file("volumes.vdb")),
          fmt::format("  - source: s\n    level_set: {{file: {}, volume: surface}}\n    translate: [2, 0.013, 0]\n",
                      file("volumes.vdb")),
          fmt::format("  - source: s\n    level_set: {{file: {}, volume: phi}}\n    mode: continuous\n    velocity: "
                      "[1, 0, 0]\n",
                      file("volumes.vdb"))}) {
      LiquidLaboratory lab("{fps: 24, frames: [0, 1]}",
                           fmt::format("  - hybrid: water\n    voxel_size: {}\n{}", 1.0 / cells, nodes));
      ASSERT_TRUE(lab.ok());
      const double volume = lab.audit().mass / 1000 / (4.18879 * 0.064);
      std::printf("%d cells per metre: %.4f of the ball's volume\n", cells, volume);
      EXPECT_NEAR(volume, 1, 0.01);
      Box box;
      for (const auto& [id, p] : lab.particles("water")) box.add(p.x);
      EXPECT_NEAR(box.size().x, 0.8, 1.0 / cells);
    }
  }
}

/// Particles start with the volume's velocity at their place, and what is added to it.
TEST_F(VdbSources, VelocitiesAreThoseOfTheVolume) {
  for (const char* node : {"    fill: {shape: {kind: box, size: [0.5, 0.4, 0.3]}}\n",
                           "  - source: s\n    shape: {kind: box, size: [0.5, 0.4, 0.3]}\n"}) {
    LiquidLaboratory lab(
        "{fps: 24, frames: [0, 1]}",
        fmt::format("  - hybrid: water\n    voxel_size: 0.05\n{}    velocity: {{keys: {{0: [0, 2, 0], 9: "
                    "[9, 9, 9]}}}}\n    velocity_field: {{file: {}, volume: vel}}\n",
                    node, file("volumes.vdb")));
    ASSERT_TRUE(lab.ok());
    const auto all = lab.particles("water");
    EXPECT_GT(all.size(), 3000u);
    for (const auto& [id, p] : all) EXPECT_LT(length(p.v - rotation(p.x) - Vec3d(0, 2, 0)), 1e-5);
  }
}

/// One particle per point, where it is, with its velocity; its mass is that of a ball of its radius.
TEST_F(VdbSources, PointsBecomeParticles) {
  PointSet points;
  for (int i = 0; i < 1000; ++i) points.position.push_back(Vec3d(i % 10, i / 10 % 10, i / 100) * 0.031);
  auto& v = points.add("v", PointAttribute::vec3f);
  for (std::size_t i = 0; i < points.size(); ++i) v.as<Vec3f>()[i] = Vec3f(points.position[i]) * 2.0f;
  auto& dye = points.add("dye", PointAttribute::float32);
  for (std::size_t i = 0; i < points.size(); ++i) dye.as<float>()[i] = 0.5f;
  ASSERT_TRUE(write_points(file("plain.vdb"), points, 0.05));
  auto& radius = points.add("pscale", PointAttribute::float32);
  for (std::size_t i = 0; i < points.size(); ++i) radius.as<float>()[i] = i % 2 ? 0.01f : 0.02f;
  ASSERT_TRUE(write_points(file("sized.vdb"), points, 0.05));
  for (const bool sized : {false, true}) {
    LiquidLaboratory lab(
        "{fps: 24, frames: [0, 1]}",
        fmt::format(
            "  - domain: d\n    box: {{min: [-1, -1, -1], max: [1, 1, 0.2]}}\n  - hybrid: water\n    voxel_size: "
            "0.05\n    attributes: {{dye: 0}}\n  - source: s\n    point_cloud: {{file: {}}}\n    velocity: [0, 0, 1]\n"
            "    translate: [0.5, 0, 0]\n",
            file(sized ? "sized.vdb" : "plain.vdb")));
    ASSERT_TRUE(lab.ok());
    const auto all = lab.particles("water");
    EXPECT_EQ(all.size(), 700u) << "those beyond z = 0.2 are left out";
    double mass = 0;
    for (const auto& [id, p] : all) {
      const Vec3d place = p.x - Vec3d(0.5, 0, 0), index = place / 0.031;
      EXPECT_LT(length(index - Vec3d(std::round(index.x), std::round(index.y), std::round(index.z))), 1e-4);
      EXPECT_LT(length(p.v - place * 2.0 - Vec3d(0, 0, 1)), 1e-5);
      const double r = !sized ? lab.water().particle_radius() : std::lround(index.x) % 2 ? 0.01 : 0.02;
      EXPECT_NEAR(p.radius, r, 1e-6 * r);
      EXPECT_NEAR(p.mass, 1000 * 4.18879020 * r * r * r, 1e-5 * p.mass);
      mass += p.mass;
    }
    ASSERT_EQ(lab.audit().added.size(), 1u);
    EXPECT_EQ(lab.audit().added[0].first, "s");
    EXPECT_NEAR(lab.audit().added[0].second, mass, 1e-6 * mass);
    const ParticleStore& carried = lab.water().particles()->store("dye");
    for (std::size_t i = 0; i < lab.water().particles()->size(); ++i) EXPECT_EQ(carried.plane<float>(0)[i], 0.5f);
  }
}

/// Every mistake is told at the line that makes it, with what to do.
TEST_F(VdbSources, MistakesAreTold) {
  ASSERT_TRUE(write_points(file("empty.vdb"), PointSet{}, 0.05));
  VolumeGrid nothing;
  nothing.name = "surface", nothing.kind = VolumeGrid::level_set, nothing.background = 1;
  ASSERT_TRUE(write_volumes(file("nothing.vdb"), {nothing}));
  const auto expect = [&](const std::string& lines, const std::string& words) {
    const std::string told = trouble(lines);
    EXPECT_NE(told.find(words), std::string::npos) << told;
    EXPECT_TRUE(told.starts_with("law.yaml:")) << told;
  };
  const std::string volumes = file("volumes.vdb"), empty = file("empty.vdb");
  expect(fmt::format("    level_set: {{file: {}}}\n", file("missing.vdb")), "missing.vdb");
  expect(fmt::format("    point_cloud: {{file: {}}}\n", file("missing.vdb")), "missing.vdb");
  expect(fmt::format("    level_set: {{file: {}, volume: surfac}}\n", volumes), "there is no volume 'surfac'");
  expect(fmt::format("    level_set: {{file: {}, volume: density}}\n", volumes), "is no level set");
  expect(fmt::format("    level_set: {{file: {}, volume: vel}}\n", volumes), "is no level set");
  expect(fmt::format("    level_set: {{file: {}}}\n", file("nothing.vdb")), "is empty");
  expect(fmt::format("    point_cloud: {{file: {}}}\n", empty), "holds no points");
  expect(fmt::format("    point_cloud: {{file: {}}}\n", volumes), "points");
  expect(fmt::format("    shape: {{kind: box}}\n    velocity_field: {{file: {}, volume: density}}\n", volumes),
         "has no vectors");
  expect(fmt::format("    shape: {{kind: box}}\n    level_set: {{file: {}}}\n", volumes), "give one of");
  expect(fmt::format("    point_cloud: {{file: {}}}\n    mode: continuous\n    velocity: [1, 0, 0]\n", volumes),
         "put in once");
}

}  // namespace
}  // namespace aegir::test
