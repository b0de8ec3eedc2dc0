// The rigid motion that the animations of a glTF file give to its meshes.
//
//   Result<GltfMotion> moved = read_gltf_motion("geo/paddle.glb", {.up = MeshImportOptions::y}, 24);
//   mesh vertex in the file's rest state x → body: moved->rest.apply_inverse(x)
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "geometry/motion.h"
#include "io/mesh.h"

namespace aegir {

/// All meshes of the file as one body.
struct GltfMotion {
  Pose rest;                    ///< where the body is in the mesh that read_mesh gives
  std::vector<MotionKey> keys;  ///< where it is at times in seconds; time zero is that of the file
  MotionInterpolation interpolation = MotionInterpolation::linear;
};

/// Reads the motion, in our space. Linear keys of one node come as they are; keys of nodes above each other and cubic
/// ones are followed in eighths of a frame.
///
/// Refused, with a remedy: bones and morph targets, meshes that move differently, scales that differ by axis,
/// animations that contradict each other, files in which no mesh moves.
Result<GltfMotion> read_gltf_motion(const std::string& path, const MeshImportOptions& options, double fps);

/// The key that puts a body at a pose; its angles are near those of the key before, so that it turns the shortest way.
MotionKey key_at(double time, const Pose& pose, const MotionKey& before);

}  // namespace aegir
