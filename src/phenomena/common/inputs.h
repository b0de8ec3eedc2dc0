// What Behaviors make of a setup's inputs and keyframes.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "geometry/motion.h"
#include "geometry/surface.h"
#include "pipeline/model/behavior.h"
#include "pipeline/schema/parameter.h"
#include "pipeline/schema/sections.h"
#include "pipeline/schema/types.h"

namespace aegir {

/// Reads the mesh of an input into a Surface; warns of what was assumed about a mesh that is not a clean closed one.
Result<std::shared_ptr<const Surface>> load_surface(Builder& build, const Located<std::string>& input,
                                                    double thickness = 0);

/// Rigid motion from keyframed translation (m) and rotation (radians about x, then y, then z).
Result<Motion> keyed_motion(const Parameter<Vec3d>& translate, const Parameter<Vec3d>& rotate,
                            const Timeline& timeline);

}  // namespace aegir
