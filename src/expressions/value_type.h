// The types of the expression language and how a channel stores them: planes of one scalar, one per component.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "domain/channel/channel.h"

namespace aegir::expression {

/// The types of OpenVDB AX.
enum class ValueType : std::uint8_t {
  boolean,
  int16,
  int32,
  int64,
  float32,
  float64,
  vec2i,
  vec2f,
  vec2d,
  vec3i,
  vec3f,
  vec3d,
  vec4i,
  vec4f,
  vec4d,
  mat3f,
  mat3d,
  mat4f,
  mat4d,
  string,
};

/// The name a snippet writes before '@': `float`, `vec3f`, `int64`, …
std::string_view type_name(ValueType type);
/// How many numbers a value has: 1, 2, 3, 4, 9 or 16; 0 for a string.
int component_count(ValueType type);
/// The scalar that a channel of this type stores; bool and int16 live in an int32 channel.
Scalar stored_scalar(ValueType type);
/// What a bare `@name` of a channel is in a snippet; nothing where the language has no such type.
std::optional<ValueType> type_of(Scalar scalar, int components);

}  // namespace aegir::expression
