// What a form, a manual page or a validator must know of one parameter, without knowing its C++ type.
//
//   for (const FieldDescription& field : entry.fields) table.add(field.name, field.unit_text, default_text(field));
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/units.h"
#include "pipeline/schema/value.h"

namespace aegir {

/// What one value of a field is.
enum class FieldType { boolean, integer, number, vector, text, choice, file, objects, interval, mapping };

/// Whether a field holds one value, a list of them, or names mapped to them.
enum class FieldShape { single, list, map };

/// One word that a choice field accepts.
struct Choice {
  std::string name;
  std::int64_t value = 0;
  std::string doc;
};

/// One parameter.
struct FieldDescription {
  std::string name;
  std::string label;
  std::string doc;
  std::string group;  ///< heading under which forms show it
  FieldType type = FieldType::text;
  FieldShape shape = FieldShape::single;
  int length = 0;  ///< of a list of fixed length
  Unit unit;
  std::string unit_text;               ///< as manuals print it, e.g. "Pa s"
  std::optional<double> min, max;      ///< inclusive bounds, in SI
  std::optional<double> above, below;  ///< exclusive bounds, in SI
  std::optional<double> soft_min, soft_max;
  std::vector<Choice> choices;
  bool advanced = false;
  bool required = false;
  bool optional = false;                 ///< may be absent; then there is no default
  bool keyframable = false;              ///< accepts keys
  bool attributable = false;             ///< accepts an attribute of particles, voxels or vertices
  Value default_value;                   ///< null where there is none
  std::vector<FieldDescription> fields;  ///< of a mapping
  std::string shorthand;                 ///< of a mapping: the field that a bare value sets
};

const char* name_of(FieldType type);
/// The default as a manual prints it, with its unit; empty where there is none.
std::string default_text(const FieldDescription& field);
/// The allowed range as a manual prints it, e.g. "> 0 m" or "0 … 1"; empty where everything is allowed.
std::string range_text(const FieldDescription& field);
/// The type as a manual prints it, e.g. "number", "list of 2 integers".
std::string type_text(const FieldDescription& field);
/// Everything above for programs.
nlohmann::json to_json(const FieldDescription& field);
/// JSON Schema (draft 2020-12) of what may be written for this field.
nlohmann::json json_schema(const FieldDescription& field);
/// JSON Schema of a mapping with these fields.
nlohmann::json json_schema(const std::vector<FieldDescription>& fields);

}  // namespace aegir
