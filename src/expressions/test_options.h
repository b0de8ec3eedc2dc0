// What the tests of this room compile snippets with.
#pragma once

#include "expressions/program.h"

namespace aegir::expression::testing {

/// Particles with a few channels, a time step and a wind, and air to sample.
inline CompileOptions options() {
  CompileOptions o;
  o.channels = {
      {"P", ValueType::vec3f}, {"v", ValueType::vec3f}, {"id", ValueType::int64}, {"rad", ValueType::float32}};
  o.variables = {{"dt", ValueType::float32}, {"wind", ValueType::vec3f}};
  o.samples = {{"air", "density", ValueType::float32},
               {"air", "surface_distance", ValueType::float32},
               {"air", "vel", ValueType::vec3f}};
  return o;
}

}  // namespace aegir::expression::testing
