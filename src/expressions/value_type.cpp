#include "expressions/value_type.h"

#include <array>

namespace aegir::expression {

namespace {

struct TypeRow {
  std::string_view name;
  Scalar scalar;
  int components;
};

// In the order of ValueType.
constexpr std::array<TypeRow, 20> rows{{
    {"bool", Scalar::i32, 1},  {"int16", Scalar::i32, 1},  {"int32", Scalar::i32, 1},  {"int64", Scalar::i64, 1},
    {"float", Scalar::f32, 1}, {"double", Scalar::f64, 1}, {"vec2i", Scalar::i32, 2},  {"vec2f", Scalar::f32, 2},
    {"vec2d", Scalar::f64, 2}, {"vec3i", Scalar::i32, 3},  {"vec3f", Scalar::f32, 3},  {"vec3d", Scalar::f64, 3},
    {"vec4i", Scalar::i32, 4}, {"vec4f", Scalar::f32, 4},  {"vec4d", Scalar::f64, 4},  {"mat3f", Scalar::f32, 9},
    {"mat3d", Scalar::f64, 9}, {"mat4f", Scalar::f32, 16}, {"mat4d", Scalar::f64, 16}, {"string", Scalar::i32, 0},
}};

const TypeRow& row(ValueType type) { return rows[static_cast<std::size_t>(type)]; }

}  // namespace

std::string_view type_name(ValueType type) { return row(type).name; }
int component_count(ValueType type) { return row(type).components; }
Scalar stored_scalar(ValueType type) { return row(type).scalar; }

std::optional<ValueType> type_of(Scalar scalar, int components) {
  for (std::size_t t = static_cast<std::size_t>(ValueType::int32); t < rows.size(); ++t)
    if (rows[t].scalar == scalar && rows[t].components == components) return static_cast<ValueType>(t);
  return std::nullopt;
}

}  // namespace aegir::expression
