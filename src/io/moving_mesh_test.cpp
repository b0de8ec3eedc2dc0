// Meshes that move: glTF animations, sequences of files, MDD and PC2.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "io/gltf_motion.h"
#include "io/gltf_scene.h"
#include "io/mesh.h"
#include "io/mesh_sequence.h"
#include "io/obj.h"
#include "io/point_cache.h"
#include "io/test_gltf.h"
#include "io/test_support.h"

namespace aegir {
namespace {

void expect_near(const Vec3d& a, const Vec3d& b, double tolerance) {
  EXPECT_NEAR(length(a - b), 0, tolerance)
      << a.x << " " << a.y << " " << a.z << " instead of " << b.x << " " << b.y << " " << b.z;
}

std::vector<float> turned(std::initializer_list<double> degrees, Vec3d axis) {
  std::vector<float> values;
  for (const double d : degrees) {
    const double half = d * std::numbers::pi / 360;
    for (int k = 0; k < 3; ++k) values.push_back(static_cast<float>(axis[k] * std::sin(half)));
    values.push_back(static_cast<float>(std::cos(half)));
  }
  return values;
}

/// Where a vertex of the file's mesh (as it stands at rest) is at a time.
Vec3d follow(const GltfMotion& m, const Vec3d& rest, double time) {
  return Motion::create(m.keys, m.interpolation)->at(time).apply(m.rest.apply_inverse(rest));
}

TEST(Gltf, OneNodeMovesAsItsKeysSay) {
  TestFolder folder;
  for (const char* name : {"a.glb", "a.gltf"}) {
    TestGltf file;
    file.add_mesh();
    const int times = file.numbers({0.5f, 1.5f}, 1), later = file.numbers({0.5f, 1, 2.5f}, 1);
    const int places = file.numbers({0, 0, 0, 2, 4, -6}, 3);
    const int turns = file.numbers(turned({0, 90, 180}, {0, 1, 0}), 4);
    file.nodes = R"([{"name": "box", "mesh": 0, "translation": [7, 0, 0]}])";
    file.animations =
        file.animation(0, "translation", times, places) + "," + file.animation(0, "rotation", later, turns);
    file.write(folder / name);
    const auto motion = read_gltf_motion(folder / name, {}, 24);
    ASSERT_TRUE(motion) << motion.error().text();
    expect_near(motion->rest.translation, {7, 0, 0}, 1e-12);
    EXPECT_EQ(motion->keys.size(), 4u);
    // The corner that is at rest at (7.5, 0.5, 0.5) is (0.5, 0.5, 0.5) from the node.
    expect_near(follow(*motion, {7.5, 0.5, 0.5}, 0), {0.5, 0.5, 0.5}, 1e-6);
    expect_near(follow(*motion, {7.5, 0.5, 0.5}, 1), Vec3d{1, 2, -3} + Vec3d{0.5, 0.5, -0.5}, 1e-6);
    const double a = 120 * std::numbers::pi / 180;  // a third of the second turn
    expect_near(
        follow(*motion, {7.5, 0.5, 0.5}, 1.5),
        Vec3d{2, 4, -6} + Vec3d{0.5 * std::cos(a) + 0.5 * std::sin(a), 0.5, 0.5 * std::cos(a) - 0.5 * std::sin(a)},
        1e-6);
    const auto mesh = read_mesh(folder / name);
    ASSERT_TRUE(mesh) << mesh.error().text();
    expect_near(mesh->bounds().center(), {7, 0, 0}, 1e-6);
  }
}

TEST(Gltf, ParentsUpAxisUnitsAndScaleCount) {
  TestFolder folder;
  TestGltf file;
  file.add_mesh();
  const int times = file.numbers({0, 1}, 1), places = file.numbers({0, 0, 0, 1, 0, 0}, 3);
  file.nodes =
      R"([{"children": [1], "rotation": [0, 0, 0.70710678, 0.70710678], "scale": [2, 2, 2]}, {"children": [2]},
          {"mesh": 0, "scale": [1, 3, 1]}])";
  file.animations = file.animation(1, "translation", times, places);
  file.write(folder / "a.glb");
  const auto motion = read_gltf_motion(folder / "a.glb", {.up = MeshImportOptions::z, .metres_per_unit = 0.01}, 24);
  ASSERT_TRUE(motion) << motion.error().text();
  // Along the child's x: the parent turns that to y and doubles it; z up makes y to -z.
  expect_near(motion->keys.back().translation, {0, 0, -0.02}, 1e-8);
  EXPECT_NEAR(motion->keys.back().scale, 2, 1e-6);
  expect_near(follow(*motion, {0.1, 0.2, 0.3}, 1), {0.1, 0.2, 0.28}, 1e-7);
}

TEST(Gltf, HierarchiesAndCurvesAreFollowedInBetween) {
  TestFolder folder;
  TestGltf file;
  file.add_mesh();
  const int times = file.numbers({0, 1}, 1), turns = file.numbers(turned({0, 170}, {0, 0, 1}), 4);
  // A cubic without slopes at its ends: 3s² - 2s³.
  const int places = file.numbers({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0}, 3);
  file.nodes = R"([{"children": [1]}, {"mesh": 0}])";
  file.animations = file.animation(0, "rotation", times, turns, "LINEAR", "spin") + "," +
                    file.animation(1, "translation", times, places, "CUBICSPLINE", "slide");
  file.write(folder / "a.glb");
  const auto motion = read_gltf_motion(folder / "a.glb", {}, 24);
  ASSERT_TRUE(motion) << motion.error().text();
  for (const double t : {0.1, 0.25, 0.5, 0.77}) {
    const double x = 4 * (3 * t * t - 2 * t * t * t), a = 170 * t * std::numbers::pi / 180;
    expect_near(follow(*motion, {}, t), {x * std::cos(a), x * std::sin(a), 0}, 1e-3);
  }
}

TEST(Gltf, AnyTurnSurvivesItsAngles) {
  // Through the pole of the angles, and past 180 degrees.
  TestFolder folder;
  for (const Vec3d axis : {Vec3d{0, 1, 0}, Vec3d{1, 0, 0}, Vec3d{0, 0, 1}, normalized(Vec3d{1, 2, 3})}) {
    TestGltf file;
    file.add_mesh();
    const int times = file.numbers({0, 1, 2, 3, 4, 5}, 1);
    const int turns = file.numbers(turned({0, 90, 170, 200, 270, 360}, axis), 4);
    file.nodes = R"([{"mesh": 0}])";
    file.animations = file.animation(0, "rotation", times, turns);
    file.write(folder / "a.glb");
    const auto motion = read_gltf_motion(folder / "a.glb", {}, 24);
    ASSERT_TRUE(motion) << motion.error().text();
    const Vec3d x{0.3, -0.2, 0.5};
    for (double t = 0; t <= 5; t += 0.25) {
      const int k = std::min(static_cast<int>(t), 4);
      const double key[6] = {0, 90, 170, 200, 270, 360};
      const double a = (key[k] + (key[k + 1] - key[k]) * (t - k)) * std::numbers::pi / 180;
      const Vec3d wanted = x * std::cos(a) + cross(axis, x) * std::sin(a) + axis * (dot(axis, x) * (1 - std::cos(a)));
      expect_near(follow(*motion, x, t), wanted, 1e-6);
    }
  }
}

TEST(Gltf, WhatIsNotRigidIsRefusedWithARemedy) {
  TestFolder folder;
  const auto error = [&](const std::string& nodes, const std::string& path, const std::string& more,
                         std::vector<float> values = {0, 0, 0, 1, 0, 0}, int node = 0) {
    TestGltf file;
    file.add_mesh();
    const int times = file.numbers({0, 1}, 1), v = file.numbers(values, 3);
    file.nodes = nodes;
    file.animations = file.animation(node, path, times, v) + more;
    file.write(folder / "a.glb");
    const auto motion = read_gltf_motion(folder / "a.glb", {}, 24);
    return motion ? std::string("accepted") : motion.error().text();
  };
  const auto has = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  EXPECT_EQ(error(R"([{"mesh": 0}])", "translation", ""), "accepted");
  has(error(R"([{"mesh": 0, "skin": 0, "name": "arm"}])", "translation", ""), "bones bend the mesh of node 'arm'");
  has(error(R"([{"mesh": 0}])", "weights", ""), "morphs the mesh");
  has(error(R"([{"mesh": 0, "name": "p"}, {"mesh": 0, "name": "q"}])", "translation", ""), "accepted");  // q is unseen
  has(error(R"([{"children": [1, 2]}, {"mesh": 0, "name": "p"}, {"mesh": 0, "name": "q"}])", "translation", "",
            {0, 0, 0, 1, 0, 0}, 1),
      "'p' and 'q' move differently");
  has(error(R"([{"mesh": 0}])", "scale", "", {1, 1, 1, 1, 2, 1}), "scaled differently along its axes at 1 s");
  has(error(R"([{"mesh": 0}])", "scale", "", {1, 1, 1, 0, 0, 0}), "scaled to nothing");
  has(error(R"([{"mesh": 0, "children": [1]}, {}])", "translation", "", {0, 0, 0, 1, 0, 0}, 1),
      "no animation of the file moves its mesh");
  has(error(R"([{"mesh": 0}])", "translation", "," + TestGltf::animation(0, "translation", 2, 3, "LINEAR", "other")),
      "'a' and 'other' both move");
}

TEST(Gltf, DamagedFilesSayWhatIsWrong) {
  TestFolder folder;
  TestGltf file;
  file.add_mesh();
  const int times = file.numbers({0, 1}, 1), places = file.numbers({0, 0, 0, 1, 0, 0}, 3);
  file.nodes = R"([{"mesh": 0}])";
  file.animations = file.animation(0, "translation", times, places);
  file.write(folder / "a.glb");
  const std::string whole = bytes_of(folder / "a.glb");
  for (std::size_t size = 0; size < whole.size(); size += 7) {
    write_bytes(folder / "cut.glb", whole.substr(0, size));
    EXPECT_FALSE(read_gltf_scene(folder / "cut.glb")) << size;
  }
  for (std::size_t at = 0; at < whole.size(); at += 3) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    write_bytes(folder / "bad.glb", damaged);
    const auto scene = read_gltf_motion(folder / "bad.glb", {}, 24);  // whatever it says, it says it in peace
    EXPECT_TRUE(scene || !scene.error().message.empty());
  }
  EXPECT_FALSE(read_gltf_scene(folder / "missing.glb"));
}

TriangleMesh cloth(double height) {
  TriangleMesh mesh;
  mesh.positions = {{0, height, 0}, {1, 2 * height, 0}, {1, 0, 1}, {0, 0, 1}};
  mesh.triangles = {{0, 3, 1}, {1, 3, 2}};
  return mesh;
}

TEST(MeshSequence, FilesAreJoinedByStraightLinesAndHeld) {
  TestFolder folder;
  for (int f = 1001; f <= 1004; ++f)
    ASSERT_TRUE(write_ply(folder / fmt::format("c.{}.ply", f), cloth((f - 1001) * (f - 1001))));
  for (const char* pattern : {"c.$F4.ply", "c.%04d.ply", "c.####.ply", "c.{frame}.ply"}) {
    auto sequence = MeshSequence::open(folder / pattern, "", {.fps = 24, .first_frame = 1001});
    ASSERT_TRUE(sequence) << sequence.error().text();
    EXPECT_EQ((*sequence)->samples(), 4u);
    EXPECT_EQ((*sequence)->files().size(), 4u);
    std::vector<Vec3d> p;
    const auto at = [&](double frame) {
      EXPECT_TRUE((*sequence)->positions((frame - 1001) / 24, p));
      return p[0].y;
    };
    const auto fastest = [&](double first, double last) {
      return (*sequence)->fastest((first - 1001) / 24, (last - 1001) / 24);
    };
    EXPECT_NEAR(fastest(1002.5, 1003.5), 2 * 5 * 24, 1e-4);  // the second vertex, from 2 · 4 to 2 · 9 in a frame
    EXPECT_NEAR(fastest(1001, 1002), 2 * 24, 1e-4);
    EXPECT_EQ(fastest(1000, 1001), 0) << "it rests before the first sample";
    EXPECT_EQ(fastest(1004, 1010), 0) << "and after the last";
    EXPECT_NEAR(at(1001), 0, 1e-9);
    EXPECT_NEAR(at(1002.5), 2.5, 1e-6);
    EXPECT_NEAR(at(1003.75), 7.75, 1e-6);
    EXPECT_NEAR(at(990), 0, 0);
    EXPECT_NEAR(at(1010), 9, 0);
    EXPECT_NEAR(at(1001.5), 0.5, 1e-6);  // back again
  }
  auto later = MeshSequence::open(folder / "c.$F4.ply", "", {.fps = 24, .first_frame = 1001, .offset = 2});
  ASSERT_TRUE(later);
  std::vector<Vec3d> p;
  ASSERT_TRUE((*later)->positions(3.5 / 24, p));
  EXPECT_NEAR(p[0].y, 2.5, 1e-6);
}

TEST(MeshSequence, MistakesNameFilesAndNumbers) {
  TestFolder folder;
  const auto error = [&](const std::string& file, const std::string& deformation = "") {
    auto sequence = MeshSequence::open(folder / file, deformation.empty() ? "" : folder / deformation, {});
    if (!sequence) return sequence.error().text();
    std::vector<Vec3d> p;
    for (double t = 0; t < 1; t += 0.02)
      if (const Status s = (*sequence)->positions(t, p); !s) return s.error().text();
    return std::string("accepted");
  };
  const auto has = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(error("c.$F.ply"), "no file matches");
  has(error("c.ply"), "names one file");
  for (int f : {1, 2, 4}) ASSERT_TRUE(write_ply(folder / fmt::format("c.{}.ply", f), cloth(f)));
  has(error("c.$F.ply"), "c.3.ply' is missing");
  TriangleMesh other = cloth(1);
  other.positions.push_back({5, 5, 5});
  ASSERT_TRUE(write_ply(folder / "c.3.ply", other));
  const std::string counts = error("c.$F.ply");
  has(counts, "c.3.ply' has 5 vertices and 2 triangles"), has(counts, "c.1.ply' has 4 and 2");
  other = cloth(1);
  other.triangles[1] = {1, 2, 3};
  ASSERT_TRUE(write_ply(folder / "c.3.ply", other));
  has(error("c.$F.ply"), "different triangles, the first is number 1");
  write_bytes(
      folder / "c.3.ply",
      "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\nelement "
      "face 2\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 nan 0\n1 0 1\n0 0 1\n3 0 3 1\n3 1 3 2\n");
  has(error("c.$F.ply"), "vertex 1 is not finite");
  ASSERT_TRUE(write_ply(folder / "base.ply", cloth(1)));
  write_mdd(folder / "five.mdd", {0, 1}, {std::vector<Vec3d>(5), std::vector<Vec3d>(5)});
  has(error("base.ply", "five.mdd"), "moves 5 vertices, but");
  has(error("base.glb", "five.mdd"), "does not keep the order");
  has(error("c.$F.ply", "five.mdd"), "is a frame pattern");
}

TEST(PointCache, MddAndPc2HoldWhatWasWritten) {
  TestFolder folder;
  const std::vector<std::vector<Vec3d>> samples{cloth(1).positions, cloth(3).positions, cloth(2).positions};
  write_mdd(folder / "a.mdd", {0, 0.5f, 1.5f}, samples);
  write_pc2(folder / "a.pc2", 12, 0.5f, samples);
  std::vector<Vec3d> p;
  for (const char* name : {"a.mdd", "a.pc2"}) {
    const auto cache = PointCache::open(folder / name);
    ASSERT_TRUE(cache) << cache.error().text();
    ASSERT_EQ(cache->points(), 4u);
    ASSERT_EQ(cache->samples(), 3u);
    for (std::size_t s = 0; s < 3; ++s) {
      ASSERT_TRUE(cache->read(s, p));
      for (int v = 0; v < 4; ++v) expect_near(p[v], samples[s][v], 1e-6);
    }
  }
  // MDD counts seconds from the begin of the run, PC2 counts frames.
  write_bytes(folder / "base.obj",
              "# by hand\nv 0 0 0\nv 1 0 0\nv 1 0 1\nv 0 0 1\nvn 0 1 0\nf 1//1 4//1 2//1\nf -3 -1 3\n");
  auto mdd = MeshSequence::open(folder / "base.obj", folder / "a.mdd", {.fps = 10, .first_frame = 11});
  ASSERT_TRUE(mdd) << mdd.error().text();
  EXPECT_EQ((*mdd)->first().triangles[1], (Vec3i{1, 3, 2}));
  ASSERT_TRUE((*mdd)->positions(0.25, p));
  EXPECT_NEAR(p[1].y, 4, 1e-6);
  auto pc2 = MeshSequence::open(
      folder / "base.obj", folder / "a.pc2",
      {.import = {.up = MeshImportOptions::z, .metres_per_unit = 0.1}, .fps = 10, .first_frame = 11});
  ASSERT_TRUE(pc2) << pc2.error().text();
  EXPECT_NEAR((*pc2)->time(1), 0.15, 1e-12);
  ASSERT_TRUE((*pc2)->positions(0.125, p));  // half way from sample 0 to 1
  EXPECT_NEAR(p[1].z, -0.4, 1e-6);
}

TEST(PointCache, DamagedFilesSayWhatIsWrong) {
  TestFolder folder;
  write_pc2(folder / "a.pc2", 1, 1, {cloth(1).positions, cloth(2).positions});
  write_mdd(folder / "a.mdd", {0, 1}, {cloth(1).positions, cloth(2).positions});
  for (const char* name : {"a.pc2", "a.mdd"}) {
    const std::string whole = bytes_of(folder / name);
    for (std::size_t size = 0; size < whole.size(); ++size) {
      write_bytes(folder / "cut", whole.substr(0, size));
      EXPECT_FALSE(PointCache::open(folder / "cut")) << name << " " << size;
    }
  }
  write_pc2(folder / "b.pc2", 1, 0, {cloth(1).positions, cloth(2).positions});
  EXPECT_FALSE(PointCache::open(folder / "b.pc2"));  // times that do not increase
  write_mdd(folder / "n.mdd", {0, 1}, {cloth(1).positions, cloth(std::nan("")).positions});
  const auto cache = PointCache::open(folder / "n.mdd");
  ASSERT_TRUE(cache);
  std::vector<Vec3d> p;
  EXPECT_TRUE(cache->read(0, p));
  EXPECT_NE(cache->read(1, p).error().text().find("vertex 0 of sample 2 is not finite"), std::string::npos);
}

TEST(Obj, MistakesHaveALine) {
  EXPECT_EQ(parse_obj("v 1 2 3\nv 1 x 3\n", "a.obj").error().text(), "a.obj:2:1: a vertex needs three numbers");
  EXPECT_EQ(parse_obj("v 1 2 3\nf 1 2 0\n", "a.obj").error().text(), "a.obj:2:1: '0' is not the index of a vertex");
  EXPECT_NE(parse_obj("v 1 2 3\nf 1 2 9\n", "a.obj").error().text().find("vertex 2 of 1"), std::string::npos);
}

}  // namespace
}  // namespace aegir
