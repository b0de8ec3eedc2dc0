// What Behaviors make of a setup's inputs and keyframes.
//
//   auto mesh = load_moving_mesh(build, settings.input, thickness);
//   if (!mesh) return mesh.error();
//   auto motion = composed_motion(translate, rotate, mesh->motion, build.timeline());
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "geometry/deforming_surface.h"
#include "geometry/motion.h"
#include "geometry/surface.h"
#include "io/mesh_sequence.h"
#include "pipeline/model/behavior.h"
#include "pipeline/schema/parameter.h"
#include "pipeline/schema/sections.h"
#include "pipeline/schema/types.h"

namespace aegir {

/// Motion that a file brings along; without keys it rests.
struct FileMotion {
  std::vector<MotionKey> keys;  ///< in seconds since the first frame of the run
  MotionInterpolation interpolation = MotionInterpolation::linear;
};

/// The mesh of an input and how its file moves it.
struct MovingMesh {
  std::shared_ptr<const Surface> surface;  ///< in the body's frame; null if the mesh deforms
  FileMotion motion;
  std::shared_ptr<MeshSequence> sequence;  ///< only if it deforms
  std::shared_ptr<DeformingSurface> deforming;
};

/// Reads the mesh of an input that may move: rigid from glTF, or deforming. Warns as load_surface does.
Result<MovingMesh> load_moving_mesh(Builder& build, const Located<std::string>& input, double thickness = 0);

/// Every file that an input consists of, as far as they exist: frames of a sequence, deformation.
std::vector<std::string> input_files(const InputSettings& input);

/// Reads the mesh of an input that does not move into a Surface; warns of what was assumed about a mesh that is not a
/// clean closed one.
Result<std::shared_ptr<const Surface>> load_surface(Builder& build, const Located<std::string>& input,
                                                    double thickness = 0);

/// Rigid motion from keyframed translation (m) and rotation (radians about x, then y, then z).
Result<Motion> keyed_motion(const Parameter<Vec3d>& translate, const Parameter<Vec3d>& rotate,
                            const Timeline& timeline);

/// The same on top of a file's motion: world = keyed(file(body)).
Result<Motion> composed_motion(const Parameter<Vec3d>& translate, const Parameter<Vec3d>& rotate,
                               const FileMotion& file, const Timeline& timeline);

}  // namespace aegir
