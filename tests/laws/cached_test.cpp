// A cached run is an Object: between frames it follows the paths of its particles.
#include <filesystem>

#include <unistd.h>

#include "laws/laboratory.h"

namespace aegir::test {
namespace {

class Cached : public testing::Test {
 protected:
  Cached() : folder(fmt::format("{}/aegir_cached_{}", std::filesystem::temp_directory_path().string(), getpid())) {
    Catalog catalog;
    register_common(catalog);
    Messages messages;
    auto setup = parse_setup(
        "aegir: 1\ntimeline: {fps: 24, frames: [1, 9], substeps: 3}\nsetup:\n  - particles: dust\n  - gravity: g\n  - "
        "emitter: e\n    shape: {kind: box}\n    count: 50\n    rate: 480\n"
        "    velocity: [1, 2, 3]\noutputs:\n  - points: cache\n",
        "first.yaml", {}, catalog, messages);
    auto comm = make_single_comm();
    Profile profile;
    auto simulation = Simulation::create(std::move(*setup), Exec{*comm, profile}, messages);
    (*simulation)->set_output_directory(folder);
    EXPECT_TRUE((*simulation)->start());
    while (!(*simulation)->finished()) EXPECT_TRUE((*simulation)->advance());
  }
  ~Cached() override { std::filesystem::remove_all(folder); }
  std::string folder;
};

TEST_F(Cached, FollowsTheParabolaBetweenFrames) {
  Laboratory lab("{fps: 24, frames: [1, 12], substeps: 5}", "  - cached: dust\n    from: " + folder + "\n");
  ASSERT_TRUE(lab.ok());
  const auto start = lab.particles();
  ASSERT_EQ(start.size(), 50u);
  while (!lab.simulation().finished()) {
    lab.step();
    const double t = std::min(lab.time(), 8 / 24.0);  // holds after the last frame
    const auto now = lab.particles();
    for (const auto& [id, p] : start) {
      const Vec3d exact = p.x + p.v * t + Vec3d{0, -0.5 * 9.80665 * t * t, 0};
      ASSERT_LT(length(now.at(id).x - exact), 2e-5) << lab.time();
    }
  }
  EXPECT_NEAR(static_cast<double>(lab.particles().size()), 50 + 160, 1);
}

TEST_F(Cached, CanBeShiftedAndWrittenAgain) {
  Laboratory lab("{fps: 24, frames: [101, 103], substeps: 1}",
                 "  - cached: ghost\n    from: " + folder + "\n    object: dust\n    offset: 100\n");
  ASSERT_TRUE(lab.ok());
  EXPECT_EQ(lab.particles("ghost").size(), 50u);
  lab.step();
  EXPECT_NEAR(static_cast<double>(lab.particles("ghost").size()), 50 + 20, 1);
}

}  // namespace
}  // namespace aegir::test
