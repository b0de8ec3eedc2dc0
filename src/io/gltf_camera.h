// The camera of a glTF file, where it is at any time.
//
//   Result<GltfCamera> shot = GltfCamera::read("geo/shot.glb", "shotcam");
//   CameraPose pose = shot->at(0.5);
#pragma once

#include <string>

#include "base/result.h"
#include "io/gltf_scene.h"

namespace aegir {

/// An eye in the world: y up, metres.
struct CameraPose {
  Vec3d eye, forward;          ///< `forward` has length one
  double field_of_view = 0.6;  ///< vertical, radians
};

/// A perspective camera; keyed translations and rotations of it and of the nodes above it are followed, linearly
/// between keys.
class GltfCamera {
 public:
  /// The camera of that node name or the only one; an empty name takes the first.
  static Result<GltfCamera> read(const std::string& path, const std::string& name);
  /// Where it is at a time in seconds; time zero is that of the file.
  CameraPose at(double seconds) const;

 private:
  GltfScene scene_;
  int node_ = -1;
};

}  // namespace aegir
