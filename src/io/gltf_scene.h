// Nodes and animations of a glTF 2.0 file (.gltf, .glb); meshes come through io/mesh.h.
//
//   Result<GltfScene> scene = read_gltf_scene("geo/paddle.glb");
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/vec.h"

namespace aegir {

/// A node: its own transform applies scale, rotation, translation in this order, or a matrix.
struct GltfNode {
  std::string name;  ///< made up from the number where the file gives none
  int parent = -1;
  bool in_scene = false;            ///< reached from the scene that the file shows
  bool has_mesh = false;            ///< with triangles
  bool has_skin = false;            ///< bones bend its mesh
  double camera_field_of_view = 0;  ///< vertical, radians, of a perspective camera at this node; 0: none
  Vec3d translation;
  double rotation[4] = {0, 0, 0, 1};  ///< quaternion x, y, z, w
  Vec3d scale{1, 1, 1};
  bool has_matrix = false;
  Mat3d linear = Mat3d::identity();  ///< of a matrix; its translation is `translation`
};

/// One animated property of a node.
struct GltfCurve {
  enum class Target { translation, rotation, scale, weights };
  enum class Interpolation { linear, step, cubic };
  std::string animation;
  int node = -1;
  Target target = Target::translation;
  Interpolation interpolation = Interpolation::linear;
  std::vector<double> times;   ///< seconds, increasing
  std::vector<double> values;  ///< 3 or 4 numbers per time; cubic: in-tangent, value, out-tangent. Empty for weights
};

struct GltfScene {
  std::vector<GltfNode> nodes;
  std::vector<GltfCurve> curves;
};

/// Reads nodes and animations; refuses damaged files with what is wrong.
Result<GltfScene> read_gltf_scene(const std::string& path);

}  // namespace aegir
