#include "io/mesh.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include <gtest/gtest.h>

#include "base/random.h"
#include "io/ply.h"
#include "io/test_support.h"

namespace aegir {
namespace {

const std::string square_ply =
    "ply\r\nformat ascii 1.0\r\ncomment a square\r\nelement vertex 4\r\nproperty float x\r\nproperty float "
    "y\r\nproperty float "
    "z\r\nproperty uchar red\r\nproperty double wet\r\nelement face 1\r\nproperty uchar flag\r\nproperty list uchar "
    "int "
    "vertex_index\r\nelement extra 1\r\nproperty list int float stuff\r\nend_header\r\n"
    "0 0 0 1 0.5\r\n1 0 0 2 0.25\r\n1 1e0 0 3 +0.125\r\n0 1 0 255 -1\r\n7 4 0 1 2 3\r\n2 0.5 0.5\r\n";

TEST(Ply, AsciiWithPropertiesAndPolygons) {
  const auto mesh = parse_ply(square_ply, "square.ply");
  ASSERT_TRUE(mesh) << mesh.error().text();
  EXPECT_EQ(mesh->positions[2], (Vec3d{1, 1, 0}));
  EXPECT_EQ(mesh->triangles, (std::vector<Vec3i>{{0, 1, 2}, {0, 2, 3}}));
  EXPECT_EQ(mesh->scalars.at("red"), (std::vector<float>{1, 2, 3, 255}));
  EXPECT_EQ(mesh->scalars.at("wet"), (std::vector<float>{0.5f, 0.25f, 0.125f, -1}));
}

template <class T>
void put(std::string& out, T value, bool big) {
  char raw[sizeof(T)];
  std::memcpy(raw, &value, sizeof(T));
  if (big) std::reverse(raw, raw + sizeof(T));
  out.append(raw, sizeof(T));
}

TEST(Ply, BinaryOfBothEndiannesses) {
  for (const bool big : {false, true}) {
    std::string text =
        std::string("ply\nformat ") + (big ? "binary_big_endian" : "binary_little_endian") +
        " 1.0\nelement vertex 3\nproperty double x\nproperty float y\nproperty short z\nproperty ushort w\n"
        "element face 1\nproperty list ushort uint vertex_indices\nend_header\n";
    for (int v = 0; v < 3; ++v) {
      put(text, 0.1 * v, big), put(text, 2.5f * static_cast<float>(v), big),
          put<std::int16_t>(text, static_cast<std::int16_t>(-v), big);
      put<std::uint16_t>(text, 60000, big);
    }
    put<std::uint16_t>(text, 3, big);
    for (std::uint32_t k : {2u, 1u, 0u}) put(text, k, big);
    const auto mesh = parse_ply(text, "b.ply");
    ASSERT_TRUE(mesh) << mesh.error().text();
    EXPECT_EQ(mesh->positions[2], (Vec3d{0.2, 5, -2}));
    EXPECT_EQ(mesh->triangles[0], (Vec3i{2, 1, 0}));
    EXPECT_EQ(mesh->scalars.at("w")[0], 60000);
    for (std::size_t cut = 0; cut < text.size(); ++cut) EXPECT_FALSE(parse_ply(text.substr(0, cut), "b.ply")) << cut;
  }
}

TEST(Ply, MistakesAreLocated) {
  const std::string head =
      "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n";
  const std::string faces = "element face 1\nproperty list uchar int vertex_indices\nend_header\n";
  const auto error = [](const std::string& text) {
    const auto mesh = parse_ply(text, "a.ply");
    return mesh ? std::string("none") : mesh.error().text();
  };
  EXPECT_EQ(error("png\n").substr(0, 10), "a.ply:1:1:");
  EXPECT_EQ(error("ply\nformat ascii 2.0\n").substr(0, 10), "a.ply:2:1:");
  EXPECT_EQ(error(head + "property float x\n").substr(0, 10), "a.ply:7:1:");
  EXPECT_EQ(error(head + "propretty\n").substr(0, 10), "a.ply:7:1:");
  EXPECT_EQ(error(head + faces + "0 0 0\n1 0 zero\n0 1 0\n3 0 1 2\n").substr(0, 12), "a.ply:11:5: ");
  EXPECT_NE(error(head + faces + "0 0 0\n1 0 0\n0 1 0\n3 0 1 7\n").find("vertex 7 of 3"), std::string::npos);
  EXPECT_NE(error(head + faces + "0 0 0\n1 0 0\n0 1 0\n3 0 1 -1\n").find("index"), std::string::npos);
  EXPECT_NE(error(head + faces + "0 0 0\n1 0 nan\n0 1 0\n3 0 1 2\n").find("finite"), std::string::npos);
  EXPECT_NE(error(head + faces + "0 0 0\n1 0 1e999\n0 1 0\n3 0 1 2\n").find("finite"), std::string::npos);
  EXPECT_NE(error(head + faces + "0 0 0\n1 0 0\n0 1 0\n4000000000 0 1 2\n").find("list"), std::string::npos);
  for (const char* huge : {"99999999999", "18446744073709551615", "99999999999999999999999", "-1"})
    EXPECT_NE(error("ply\nformat binary_little_endian 1.0\nelement vertex " + std::string(huge) +
                    "\nproperty float x\nproperty float y\nproperty float z\nend_header\nabc"),
              "none");
}

TEST(Ply, FlippedBytesNeverCrash) {
  for (std::uint32_t k = 0; k < 5000; ++k) {
    const Random r(11, k, 0, Purpose::test);
    std::string broken = square_ply;
    for (std::uint32_t n = 0; n < 1 + k % 3; ++n)
      broken[r.bits(2 * n) % broken.size()] = static_cast<char>(r.bits(2 * n + 1) & 127);
    (void)parse_ply(broken, "a.ply");
  }
}

TEST(Mesh, PlyRoundTripWithScalarsAndVelocity) {
  TestFolder folder;
  TriangleMesh mesh;
  mesh.positions = {{0, 0, 0}, {1.5, 0, 0}, {0, 0.25, -3}};
  mesh.triangles = {{0, 1, 2}, {2, 1, 0}};
  mesh.scalars["wet"] = {0, 0.5f, 1};
  const std::vector<Vec3f> velocity = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}};
  ASSERT_TRUE(write_ply(folder / "a.ply", mesh, velocity));
  const auto back = read_mesh(folder / "a.ply");
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(back->positions, mesh.positions);
  EXPECT_EQ(back->triangles, mesh.triangles);
  EXPECT_EQ(back->scalars.at("wet"), mesh.scalars.at("wet"));
  EXPECT_EQ(back->scalars.at("vy"), (std::vector<float>{2, 5, 8}));
  {
    const FileSizeLimit limited(200);
    EXPECT_FALSE(write_ply(folder / "b.ply", mesh));
  }
  EXPECT_EQ(folder.names(), std::vector<std::string>{"a.ply"});
}

const char* cube_obj =
    "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 2\nv 1 0 2\nv 1 1 2\nv 0 1 2\n"
    "f 4 3 2 1\nf 5 6 7 8\nf 1 2 6 5\nf 2 3 7 6\nf 3 4 8 7\nf 4 1 5 8\n";

TEST(Mesh, ObjWithUnitsAndUpAxis) {
  TestFolder folder;
  write_bytes(folder / "cube.obj", cube_obj);
  const auto mesh = read_mesh(folder / "cube.obj");
  ASSERT_TRUE(mesh) << mesh.error().text();
  EXPECT_EQ(mesh->positions.size(), 8u);
  EXPECT_EQ(mesh->triangles.size(), 12u);
  const auto turned = read_mesh(folder / "cube.obj", {.up = MeshImportOptions::z, .metres_per_unit = 0.5});
  ASSERT_TRUE(turned);
  Box box;
  double volume = 0;
  for (const auto& p : turned->positions) box.add(p);
  for (const auto& t : turned->triangles) {
    const auto at = [&](int v) { return turned->positions[static_cast<std::size_t>(v)]; };
    volume += dot(at(t.x), cross(at(t.y), at(t.z))) / 6;
  }
  EXPECT_EQ(box.min, (Vec3d{0, 0, -0.5}));
  EXPECT_EQ(box.max, (Vec3d{0.5, 1, 0}));
  EXPECT_NEAR(volume, 0.25, 1e-9);
  EXPECT_FALSE(read_mesh(folder / "cube.obj", {.metres_per_unit = 0}));
}

TEST(Mesh, StlIsJoinedAndGltfNodesAreApplied) {
  TestFolder folder;
  write_bytes(
      folder / "a.stl",
      "solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\n"
      "facet normal 0 0 1\nouter loop\nvertex 1 0 0\nvertex 1 1 0\nvertex 0 1 0\nendloop\nendfacet\nendsolid a\n");
  const auto stl = read_mesh(folder / "a.stl");
  ASSERT_TRUE(stl) << stl.error().text();
  EXPECT_EQ(stl->positions.size(), 4u);
  EXPECT_EQ(stl->triangles.size(), 2u);

  std::string bin;
  for (float f : {0.f, 0.f, 0.f, 1.f, 0.f, 0.f, 0.f, 1.f, 0.f}) put(bin, f, false);
  write_bytes(folder / "a.bin", bin);
  write_bytes(folder / "a.gltf",
              R"({"asset":{"version":"2.0"},"scene":0,"scenes":[{"nodes":[0]}],
"nodes":[{"translation":[10,0,0],"children":[1]},{"scale":[2,2,-2],"mesh":0}],
"meshes":[{"primitives":[{"attributes":{"POSITION":0}}]}],
"accessors":[{"bufferView":0,"componentType":5126,"count":3,"type":"VEC3","min":[0,0,0],"max":[1,1,0]}],
"bufferViews":[{"buffer":0,"byteLength":36}],"buffers":[{"uri":"a.bin","byteLength":36}]})");
  const auto gltf = read_mesh(folder / "a.gltf");
  ASSERT_TRUE(gltf) << gltf.error().text();
  ASSERT_EQ(gltf->positions.size(), 3u);
  Box box;
  for (const auto& p : gltf->positions) box.add(p);
  EXPECT_EQ(box.max, (Vec3d{12, 2, 0}));
  // The mirror is undone in the order of the corners: the normal is that of the mirrored triangle's outside.
  const Vec3i t = gltf->triangles[0];
  const auto at = [&](int v) { return gltf->positions[static_cast<std::size_t>(v)]; };
  EXPECT_LT(cross(at(t.y) - at(t.x), at(t.z) - at(t.x)).z, 0);
}

TEST(Mesh, BadFilesAreErrors) {
  TestFolder folder;
  EXPECT_FALSE(read_mesh(folder / "none.obj"));
  EXPECT_FALSE(read_mesh(folder.path()));
  for (const char* name : {"a.obj", "a.ply", "a.stl", "a.glb", "a.gltf", "a.xyz", "a"}) {
    write_bytes(folder / name, std::string("\x01\x02 nonsense \xff\xfe", 14));
    EXPECT_FALSE(read_mesh(folder / name)) << name;
    write_bytes(folder / name, "");
    EXPECT_FALSE(read_mesh(folder / name)) << name;
  }
  write_bytes(folder / "points.obj", "v 0 0 0\nv 1 0 0\n");
  EXPECT_FALSE(read_mesh(folder / "points.obj"));
}

}  // namespace
}  // namespace aegir
