#include "io/gltf_camera.h"

#include <gtest/gtest.h>

#include "io/test_gltf.h"

namespace aegir {
namespace {

constexpr const char* cameras =
    R"(,"cameras":[{"type":"perspective","perspective":{"yfov":0.5,"znear":0.1}},{"type":"orthographic"}])";

TEST(GltfCamera, StandsWhereItsNodesPutIt) {
  const TestFolder folder;
  TestGltf file;
  file.more = cameras;
  // The parent turns by 90 degrees around y: what looks along -z then looks along -x.
  file.nodes = R"([{"name":"rig","translation":[1,2,3],"rotation":[0,0.70710678,0,0.70710678],"children":[1,2]},
                   {"name":"shotcam","translation":[0,0,2],"camera":0},{"name":"flat","camera":1}])";
  const std::string path = folder.path() + "/shot.gltf";
  file.write(path);
  const auto camera = GltfCamera::read(path, "shotcam");
  ASSERT_TRUE(camera) << camera.error().message;
  const CameraPose pose = camera->at(0);
  EXPECT_LT(length(pose.eye - Vec3d(3, 2, 3)), 1e-6);
  EXPECT_LT(length(pose.forward - Vec3d(-1, 0, 0)), 1e-6);
  EXPECT_DOUBLE_EQ(pose.field_of_view, 0.5);
  EXPECT_TRUE(GltfCamera::read(path, ""));
  const auto flat = GltfCamera::read(path, "flat");  // orthographic
  ASSERT_FALSE(flat);
  EXPECT_NE(flat.error().message.find("'shotcam'"), std::string::npos);
}

TEST(GltfCamera, FollowsItsKeys) {
  const TestFolder folder;
  TestGltf file;
  file.more = cameras;
  file.nodes = R"([{"name":"cam","camera":0}])";
  const int times = file.numbers({0, 2}, 1), places = file.numbers({0, 0, 0, 4, 0, 0}, 3);
  file.animations = file.animation(0, "translation", times, places);
  const std::string path = folder.path() + "/moving.glb";
  file.write(path);
  const auto camera = GltfCamera::read(path, "");
  ASSERT_TRUE(camera) << camera.error().message;
  EXPECT_LT(length(camera->at(0.5).eye - Vec3d(1, 0, 0)), 1e-6);
  EXPECT_LT(length(camera->at(9).eye - Vec3d(4, 0, 0)), 1e-6);
  EXPECT_LT(length(camera->at(-1).eye), 1e-6);
}

}  // namespace
}  // namespace aegir
