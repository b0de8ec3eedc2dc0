// Laws of colliders that files move: they are where the files say, carry what they touch, and let nothing through.
#include <cmath>
#include <numbers>

#include "io/mesh.h"
#include "io/test_gltf.h"
#include "io/test_support.h"
#include "laws/laboratory.h"
#include "phenomena/common/collider.h"
#include "phenomena/common/inputs.h"

namespace aegir::test {
namespace {

constexpr int pieces = 12;

/// Height of a sheet at frame f: a travelling wave on top of a heave.
double wave(double x, double z, double frame) {
  return 0.5 * std::sin(2 * x + 0.9 * frame) * std::cos(1.5 * z - 0.4 * frame) + 0.4 * std::sin(0.7 * frame);
}

TriangleMesh sheet(double frame) {
  TriangleMesh mesh;
  for (int i = 0; i <= pieces; ++i)
    for (int j = 0; j <= pieces; ++j) {
      const double x = 8.0 * i / pieces - 4, z = 8.0 * j / pieces - 4;
      mesh.positions.push_back({x, wave(x, z, frame), z});
    }
  for (int i = 0; i < pieces; ++i)
    for (int j = 0; j < pieces; ++j) {
      const int a = i * (pieces + 1) + j, b = a + pieces + 1;
      mesh.triangles.push_back({a, a + 1, b}), mesh.triangles.push_back({a + 1, b + 1, b});
    }
  return mesh;
}

/// Height of the triangles over a point.
double height(const std::vector<Vec3d>& p, double x, double z) {
  const double u = (x + 4) / 8 * pieces, v = (z + 4) / 8 * pieces;
  const int i = std::clamp(static_cast<int>(u), 0, pieces - 1), j = std::clamp(static_cast<int>(v), 0, pieces - 1);
  const double s = u - i, t = v - j;
  const auto h = [&](int a, int b) { return p[a * (pieces + 1) + b].y; };
  if (s + t <= 1) return h(i, j) + s * (h(i + 1, j) - h(i, j)) + t * (h(i, j + 1) - h(i, j));
  return h(i + 1, j + 1) + (1 - s) * (h(i, j + 1) - h(i + 1, j + 1)) + (1 - t) * (h(i + 1, j) - h(i + 1, j + 1));
}

/// An input with frames 1 … last of the sheet, in three kinds of files.
std::string flapping(const TestFolder& folder, const std::string& kind, int last) {
  if (kind == "sequence") {
    for (int f = 1; f <= last; ++f) EXPECT_TRUE(write_ply(folder / fmt::format("s.{:04}.ply", f), sheet(f)));
    return "{file: " + (folder / "s.$F4.ply") + ", motion: deforming}";
  }
  std::vector<std::vector<Vec3d>> samples;
  std::vector<float> seconds;
  for (int f = 1; f <= last; ++f)
    samples.push_back(sheet(f).positions), seconds.push_back(static_cast<float>((f - 1) / 24.0));
  EXPECT_TRUE(write_ply(folder / "base.ply", sheet(0)));
  const std::string file = folder / ("s." + kind);
  if (kind == "mdd")
    write_mdd(file, seconds, samples);
  else
    write_pc2(file, 1, 1, samples);
  return "{file: " + (folder / "base.ply") + ", motion: deforming, deformation: " + file + "}";
}

TEST(FlappingSheet, NoParticlePassesAtAnySpeed) {
  // The sheet heaves up to 0.7 m per frame; cells of 2 cm, so a frame in one substep is 35 cells.
  for (const char* kind : {"sequence", "mdd", "pc2"})
    for (const int substeps : {1, 3}) {
      TestFolder folder;
      Laboratory lab(
          timeline(16, substeps),
          "  - particles: dust\n    voxel_size: 2 cm\n  - emitter: rain\n    shape: {kind: box, center: [0, 3, "
          "0], size: [4, 1, 4]}\n    count: 3000\n    velocity: [0, -40 m/s, 0]\n    spread: 8 m/s\n  - "
          "gravity: g\n  - collider: sail\n    input: sail\n    restitution: 0.3\n",
          "inputs: {sail: " + flapping(folder, kind, 17) + "}\n");
      ASSERT_TRUE(lab.ok());
      int touched = 0;
      while (lab.ok() && !lab.simulation().finished()) {
        lab.step();
        const auto* sail = dynamic_cast<const Collider*>(lab.simulation().find("sail"));
        ASSERT_TRUE(sail);
        const std::vector<Vec3d> now = sail->mesh(lab.time()).positions;
        for (const auto& [id, p] : lab.particles())
          if (std::abs(p.x.x) < 3.9 && std::abs(p.x.z) < 3.9) {
            const double above = p.x.y - height(now, p.x.x, p.x.z);
            ASSERT_GT(above, 0) << kind << " " << substeps << " frame " << lab.report().frame << " id " << id;
            touched += above < 0.01;
          }
      }
      EXPECT_GT(touched, 300);
    }
}

TEST(FlappingSheet, CarriesWhatRestsOnIt) {
  // A flat floor that rises with 1 m/s in its files.
  for (const int substeps : {1, 4}) {
    TestFolder folder;
    for (int f = 1; f <= 25; ++f) {
      TriangleMesh mesh = sheet(0);
      for (Vec3d& p : mesh.positions) p.y = (f - 1) / 24.0;
      ASSERT_TRUE(write_ply(folder / fmt::format("s.{}.ply", f), mesh));
    }
    Laboratory lab(timeline(36, substeps),
                   one_particle({0.3, 0.001, 0.2}, {0, 0, 0}) +
                       "  - gravity: g\n  - collider: lift\n    input: lift\n    friction: 1\n",
                   "inputs: {lift: {file: " + (folder / "s.$F.ply") + ", motion: deforming}}\n");
    ASSERT_TRUE(lab.ok());
    for (int i = 0; i < 12 * substeps; ++i) lab.step();
    EXPECT_NEAR(lab.only().x.y, 0.5, 2e-3);
    EXPECT_NEAR(lab.only().v.y, 1, 1e-3);
    while (!lab.simulation().finished()) lab.step();
    // The floor stopped at 1 m half a second ago; thrown up with 1 m/s it is back after 2 v / g = 0.2 s.
    EXPECT_NEAR(lab.only().x.y, 1, 2e-3);
    EXPECT_NEAR(lab.only().v.y, 0, 1e-2);
  }
}

TEST(MovingFile, RigidMotionIsThatOfItsKeysAndOfTheNode) {
  TestFolder folder;
  TestGltf file;
  file.add_mesh();
  const int times = file.numbers({0, 1}, 1), places = file.numbers({0, 0, 0, 0, 3, 0}, 3);
  file.nodes = R"([{"mesh": 0}])";
  file.animations = file.animation(0, "translation", times, places);
  file.write(folder / "lift.glb");
  for (const int offset : {0, 6}) {
    Laboratory lab(
        timeline(24, 2),
        one_particle({2, 0.501, 0}, {0, 0, 0}) +
            "  - gravity: g\n  - collider: lift\n    input: lift\n    translate: [2, 0, 0]\n    friction: 1\n",
        fmt::format("inputs: {{lift: {{file: {}, motion: rigid, offset: {}}}}}\n", folder / "lift.glb", offset));
    ASSERT_TRUE(lab.ok());
    lab.run();
    EXPECT_NEAR(lab.only().x.y, 0.5 + 3 * (24 - offset) / 24.0, 0.01);
    const auto* lift = dynamic_cast<const Collider*>(lab.simulation().find("lift"));
    EXPECT_NEAR(lift->velocity({2, 3, 0}).y, 3, 1e-6);
    EXPECT_NEAR(lift->distance({2, 3.5 + 0.75, 0}, 10), 0.75 + 3 * offset / 24.0, 1e-6);
    EXPECT_TRUE(lift->moved());
    EXPECT_FALSE(lift->turning());
  }
}

TEST(MovingFile, ADeformingSolidAnswersWhatSolidsAreAsked) {
  // A cube whose upper half grows to twice its height within a frame.
  TestFolder folder;
  for (int f = 1; f <= 2; ++f) {
    TriangleMesh cube = Shape::create({.kind = ShapeKind::box, .size = {2, 2, 2}})->mesh(6);
    for (Vec3d& p : cube.positions)
      if (p.y > 0 && f == 2) p.y *= 3;
    ASSERT_TRUE(write_ply(folder / fmt::format("c.{}.ply", f), cube));
  }
  Laboratory lab(timeline(3, 1), one_particle({0, 9, 0}, {0, 0, 0}) + "  - collider: cube\n    input: cube\n",
                 "inputs: {cube: {file: " + (folder / "c.$F.ply") + ", motion: deforming}}\n");
  ASSERT_TRUE(lab.ok());
  EXPECT_TRUE(lab.messages().warnings.empty());
  auto& cube = dynamic_cast<Collider&>(*lab.simulation().find("cube"));
  const Solid& solid = cube;
  lab.step();
  EXPECT_FALSE(cube.thin());
  EXPECT_TRUE(solid.moved());
  EXPECT_NEAR(solid.bounds().max.y, 3, 1e-6);
  EXPECT_NEAR(solid.distance({0, 2.9, 0}, 10), -0.1, 1e-6);
  EXPECT_NEAR(solid.distance({0, 3.25, 0}, 10), 0.25, 1e-6);
  EXPECT_NEAR(solid.velocity({0, 3.25, 0}).y, 48, 1e-3);  // 2 m in a frame
  EXPECT_NEAR(solid.friction({0, 3, 0}), 0.3, 0);
  EXPECT_TRUE(solid.blocks({0, 2, 0}, {0, 4, 0}));
  EXPECT_FALSE(solid.blocks({0, 4, 0}, {0, 5, 0}));
  lab.step();  // it holds after its last file, and its velocity is another one than before
  EXPECT_TRUE(solid.moved());
  EXPECT_EQ(solid.velocity({0, 3.25, 0}).y, 0);
  lab.step();
  EXPECT_FALSE(solid.moved());
}

TEST(MovingFile, MistakesAreFoundWhereTheSetupNamesTheFile) {
  TestFolder folder;
  ASSERT_TRUE(write_ply(folder / "a.1.ply", sheet(1)));
  ASSERT_TRUE(write_ply(folder / "a.3.ply", sheet(1)));
  const auto error = [&](const std::string& input, const std::string& user = "collider: c\n    input: x\n") {
    Catalog catalog;
    register_common(catalog);
    Messages messages;
    auto comm = make_single_comm();
    Profile profile;
    auto setup = parse_setup("aegir: 1\ninputs:\n  x: " + input + "\nsetup:\n  - particles: p\n  - " + user, "law.yaml",
                             {}, catalog, messages);
    if (setup) (void)Simulation::create(std::move(*setup), Exec{*comm, profile}, messages);
    return messages.errors.empty() ? std::string("accepted") : messages.errors.front().text();
  };
  const auto has = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
    EXPECT_TRUE(text.starts_with("law.yaml:3:")) << text;
  };
  has(error("{file: " + (folder / "a.$F.ply") + ", motion: deforming}"), "a.2.ply' is missing");
  has(error("{file: " + (folder / "b.$F.ply") + ", motion: deforming}"), "no file matches");
  has(error("{file: " + (folder / "a.1.ply") + ", motion: deforming}"), "names one file");
  has(error("{file: " + (folder / "a.1.ply") + ", motion: rigid}"), "rigid motion is read from glTF");
  has(error("{file: " + (folder / "a.1.ply") + ", deformation: x.mdd}"), "needs 'motion: deforming'");
  has(error("{file: " + (folder / "a.1.ply") + ", motion: deforming, deformation: " + (folder / "x.mdd") + "}"),
      "x.mdd");
  has(error("{file: " + (folder / "a.$F.ply") + ", motion: deforming}", "emitter: e\n    input: x\n    rate: 1\n"),
      "only colliders follow files that move");
}

TEST(MovingFile, FilesOfAnInputAreListed) {
  TestFolder folder;
  for (int f = 1; f <= 3; ++f) ASSERT_TRUE(write_ply(folder / fmt::format("a.{}.ply", f), sheet(1)));
  InputSettings input;
  input.file.resolved = folder / "a.$F.ply";
  EXPECT_EQ(input_files(input).size(), 3u);
  input.file.resolved = folder / "a.1.ply";
  input.deformation = FilePath{"x.mdd", "x.mdd", {}};
  EXPECT_EQ(input_files(input), (std::vector<std::string>{folder / "a.1.ply", "x.mdd"}));
}

}  // namespace
}  // namespace aegir::test
