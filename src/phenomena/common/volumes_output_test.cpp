#include "phenomena/common/volumes_output.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "domain/for_each_bucket.h"
#include "io/test_support.h"
#include "io/vdb.h"
#include "io/vdb_volumes.h"
#include "phenomena/common/register.h"
#include "pipeline/model/behavior.h"
#include "pipeline/model/object.h"
#include "pipeline/schedule/simulation.h"
#include "pipeline/schema/catalog.h"

namespace aegir {
namespace {

constexpr double spacing = 0.1;
constexpr CellChannel<float> surface{"surface_distance", {}, 4.0f};
constexpr FaceChannel<float> velocity{"vel", unit::metre_per_second};
constexpr CellChannel<double> pressure{"pressure", unit::metre_per_second};

/// Distance to a ball of 2.3 m in cells; velocities that turn about y; buckets far around it.
class Ball final : public Object, public VolumeSource {
 public:
  Ball(std::string path, Exec exec) : Object(std::move(path)), grid_(this->path(), make_topology(exec.comm)) {
    grid_.declare(surface);
    grid_.declare(velocity);
    grid_.declare(pressure);
    for_each_bucket(
        exec, "ball", grid_.topology(),
        [](const Bucket& b, auto& distance, auto& u, auto& p) {
          for (int o = 0; o < bucket_cells; ++o) {
            const Vec3d corner = b.origin() + Vec3d(o >> 6, o >> 3 & 7, o & 7) * spacing;
            const double phi = length(corner + Vec3d(spacing / 2)) - 2.3;
            distance[o] = static_cast<float>(std::max(-50.0, phi / spacing));
            const bool wet = phi < 0;
            u[0][o] = wet ? static_cast<float>(corner.z + spacing / 2) : 0.0f;
            u[1][o] = 0;
            u[2][o] = wet ? static_cast<float>(-corner.x - spacing / 2) : 0.0f;
            p[o] = wet ? -phi : 0.0;
          }
        },
        grid_.overwrite(surface), grid_.overwrite(velocity), grid_.overwrite(pressure));
  }
  void plan(TaskList&) override {}
  std::vector<VolumeDescription> volumes() override {
    return {{.name = "surface",
             .volume = &grid_,
             .channel = surface.name,
             .kind = VolumeGrid::level_set,
             .scale = spacing,
             .background = 3 * spacing},
            {.name = "vel", .volume = &grid_, .channel = velocity.name, .kind = VolumeGrid::vector},
            {.name = "pressure", .volume = &grid_, .channel = pressure.name, .scale = 1000}};
  }
  const Topology& topology() const { return grid_.topology(); }

 private:
  static std::shared_ptr<const Topology> make_topology(Comm& comm) {
    std::vector<BucketKey> keys;
    for (int i = -6; i < 6; ++i)
      for (int j = -6; j < 6; ++j)
        for (int k = -6; k < 6; ++k) keys.push_back({{i, j, k}, 0});
    return Topology::build(spacing, keys, Partition::even(comm.size()), comm);
  }
  DiscreteVolume grid_;
};

class BallBehavior final : public Behavior {
 public:
  struct Settings {
    double unused = 0;
  };
  static TypeInfo info() { return {"ball", Category::object, "Ball", "A ball of water.", "A test."}; }
  static void describe(Schema<Settings>& s) { s.field("unused", &Settings::unused).doc("Nothing."); }
  explicit BallBehavior(Scoped<Settings>) {}
  Status create_objects(Builder& build) override {
    build.add(std::make_unique<Ball>(build.path(), build.exec()));
    return {};
  }
};

/// Makes frames 1 to 3 of a setup with these outputs; the errors of a wrong one.
std::vector<Error> run_outputs(const std::string& outputs, const std::string& folder,
                               const char* ball = "ball: water") {
  Catalog catalog;
  register_common(catalog);
  catalog.add<BallBehavior>();
  Messages messages;
  auto setup = parse_setup(
      fmt::format(
          "aegir: 1\ntimeline: {{frames: [1, 3], substeps: 1}}\nsetup:\n  - group: bulk\n    behaviors:\n      - "
          "{}\noutputs:\n{}",
          ball, outputs),
      "t.yaml", {}, catalog, messages);
  if (!setup) return messages.errors;
  const auto comm = make_single_comm();
  Profile profile;
  auto simulation = Simulation::create(std::move(*setup), Exec{*comm, profile}, messages);
  if (!simulation) return messages.errors;
  (*simulation)->set_output_directory(folder);
  if (auto r = (*simulation)->start(); !r) messages.errors.push_back(r.error());
  while (!(*simulation)->finished())
    if (auto r = (*simulation)->advance(); !r) return messages.errors.push_back(r.error()), messages.errors;
  return messages.errors;
}

TEST(VolumesOutput, OtherProgramsFindTheBallWhereItIs) {
  TestFolder folder;
  for (const Error& e : run_outputs("  - volumes: cache\n    fields: [surface, vel, pressure]\n", folder.path()))
    FAIL() << e.text();
  for (const char* frame : {"0001", "0002", "0003"})
    EXPECT_TRUE(std::filesystem::exists(folder / "bulk/water/water.volumes." + frame + ".vdb"));
  const std::string path = folder / "bulk/water/water.volumes.0003.vdb";
  const auto phi = VolumeField::read(path, "surface"), vel = VolumeField::read(path, "vel"),
             p = VolumeField::read(path, "pressure");
  ASSERT_TRUE(phi && vel && p);
  EXPECT_TRUE((*phi)->is_level_set());
  for (int i = 0; i < 300; ++i) {
    const Vec3d direction = normalized(Vec3d(std::sin(i), std::cos(1.7 * i), std::sin(0.3 * i + 1)));
    const double r = 0.015 * i;
    const Vec3d x = direction * r;
    // Where the band ends the distance has a kink, which interpolation rounds off.
    EXPECT_NEAR((*phi)->value(x), std::clamp(r - 2.3, -0.3, 0.3), std::abs(r - 2.3) < 0.15 ? 0.005 : 0.02) << r;
    if (r < 2.1) {
      EXPECT_NEAR(length(Vec3d((*vel)->vector(x)) - Vec3d{x.z, 0, -x.x}), 0, 1e-5) << r;
      EXPECT_NEAR((*p)->value(x), 1000 * (2.3 - r), r > 0.3 ? 20 : 100) << r;  // its peak is rounded off
    }
    if (r > 2.6) {
      EXPECT_EQ((*vel)->vector(x), Vec3f());
    }
  }
}

TEST(VolumesOutput, BucketsOfBackgroundAreLeftOut) {
  const auto comm = make_single_comm();
  Profile profile;
  Ball ball("water", {*comm, profile});
  for (const VolumeDescription& d : ball.volumes()) {
    SCOPED_TRACE(d.name);
    const VolumeGrid grid = gather_volume(extract_volume(d), *comm);
    EXPECT_GT(grid.buckets.size(), 100u);
    EXPECT_LT(grid.buckets.size(), static_cast<std::size_t>(ball.topology().local_count()) / 2);
    for (std::size_t b = 0; b < grid.buckets.size(); ++b) {
      bool background = true;
      for (int c = 0; c < grid.components(); ++c)
        for (float v : grid.plane(b, c)) background &= v == grid.background;
      EXPECT_FALSE(background);
    }
    std::uint64_t active = 0;
    for (std::uint64_t word : grid.active) active += static_cast<std::uint64_t>(__builtin_popcountll(word));
    EXPECT_LT(active, grid.buckets.size() * 512);
  }
}

TEST(VolumesOutput, EveryHalfAndNamesOfBlender) {
  TestFolder folder;
  for (const Error& e : run_outputs("  - volumes: cache\n    objects: water\n    every: 2\n    half: true\n    "
                                    "compression: zip\n    naming: blender\n",
                                    folder.path()))
    FAIL() << e.text();
  EXPECT_FALSE(std::filesystem::exists(folder / "bulk/water/water.volumes.0001.vdb"));
  const auto grids = read_volumes(folder / "bulk/water/water.volumes.0002.vdb");
  ASSERT_TRUE(grids) << grids.error().text();
  ASSERT_EQ(grids->size(), 2u);
  EXPECT_EQ((*grids)[0].name, "phi");
  EXPECT_EQ((*grids)[1].name, "velocity");
}

TEST(VolumesOutput, MistakesAreNamedWithTheirPlace) {
  TestFolder folder;
  const auto wrong = run_outputs("  - volumes: cache\n    fields: [surface, velo]\n", folder.path());
  ASSERT_EQ(wrong.size(), 1u);
  EXPECT_NE(wrong[0].text().find("t.yaml:8:5"), std::string::npos) << wrong[0].text();
  EXPECT_NE(wrong[0].text().find("'vel'"), std::string::npos) << wrong[0].text();
  const auto absent = run_outputs("  - volumes: cache\n    objects: [watr]\n", folder.path());
  ASSERT_EQ(absent.size(), 1u);
  EXPECT_NE(absent[0].text().find("did you mean"), std::string::npos) << absent[0].text();
  // Nothing has volumes: the output takes no part.
  EXPECT_TRUE(run_outputs("  - volumes: cache\n", folder.path(), "particles: dust").empty());
  EXPECT_TRUE(folder.names().empty());
}

}  // namespace
}  // namespace aegir
