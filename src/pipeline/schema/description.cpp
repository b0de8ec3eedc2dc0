#include "pipeline/schema/description.h"

#include <charconv>
#include <nlohmann/json.hpp>

namespace aegir {
namespace {

using nlohmann::json;

/// Plain scalars that are numbers or booleans become such; everything else is text.
json value_json(const Value& value) {
  switch (value.kind) {
    case Value::Kind::null:
      return nullptr;
    case Value::Kind::list: {
      json list = json::array();
      for (const Value& item : value.items) list.push_back(value_json(item));
      return list;
    }
    case Value::Kind::map: {
      json map = json::object();
      for (const Value::Entry& entry : value.entries) map[entry.key] = value_json(entry.value);
      return map;
    }
    case Value::Kind::scalar:
      break;
  }
  if (value.quoted) return value.text;
  if (value.text == "true" || value.text == "false") return value.text == "true";
  const char *begin = value.text.data(), *end = begin + value.text.size();
  std::int64_t whole = 0;
  if (const auto r = std::from_chars(begin, end, whole); r.ec == std::errc{} && r.ptr == end) return whole;
  double number = 0;
  if (const auto r = std::from_chars(begin, end, number); r.ec == std::errc{} && r.ptr == end) return number;
  return value.text;
}

std::string with_unit(double number, const FieldDescription& field) {
  return field.unit_text.empty() ? fmt::format("{}", number) : fmt::format("{} {}", number, field.unit_text);
}

/// `${name}` may stand for any value.
json exposed_value() { return {{"type", "string"}, {"pattern", "^\\$\\{[A-Za-z_][A-Za-z0-9_]*\\}$"}}; }

void add_bounds(json& schema, const FieldDescription& field) {
  if (field.min) schema["minimum"] = *field.min;
  if (field.max) schema["maximum"] = *field.max;
  if (field.above) schema["exclusiveMinimum"] = *field.above;
  if (field.below) schema["exclusiveMaximum"] = *field.below;
}

/// A number, or a text that starts like one and goes on with a unit.
json number_schema(const FieldDescription& field) {
  json plain = {{"type", "number"}};
  add_bounds(plain, field);
  return {{"anyOf",
           {plain, {{"type", "string"}, {"pattern", "^\\s*[-+]?[0-9.]+([eE][-+]?[0-9]+)?\\s*\\S*"}}, exposed_value()}}};
}

json single_schema(const FieldDescription& field) {
  switch (field.type) {
    case FieldType::boolean:
      return {{"anyOf", {{{"type", "boolean"}}, exposed_value()}}};
    case FieldType::integer: {
      json plain = {{"type", "integer"}};
      add_bounds(plain, field);
      return {{"anyOf", {plain, exposed_value()}}};
    }
    case FieldType::number:
      return number_schema(field);
    case FieldType::vector: {
      const json list = {{"type", "array"}, {"items", number_schema(field)}, {"minItems", 3}, {"maxItems", 3}};
      return {{"anyOf", {list, exposed_value()}}};
    }
    case FieldType::choice: {
      json words = json::array();
      for (const Choice& choice : field.choices) words.push_back({{"const", choice.name}, {"description", choice.doc}});
      words.push_back(exposed_value());
      return {{"anyOf", words}};
    }
    case FieldType::text:
      return {{"type", {"string", "number"}}};
    case FieldType::file:
      return {{"type", "string"}, {"minLength", 1}};
    case FieldType::objects:
      return {{"anyOf", {{{"type", "string"}}, {{"type", "array"}, {"items", {{"type", "string"}}}}}}};
    case FieldType::interval:
      return {{"type", {"integer", "string"}}};
    case FieldType::mapping:
      break;
  }
  json mapping = json_schema(field.fields);
  for (const FieldDescription& inner : field.fields)
    if (inner.name == field.shorthand) return {{"anyOf", {mapping, single_schema(inner)}}};
  return mapping;
}

json keyframed_schema(const FieldDescription& field, const json& single) {
  const json keys = {{"type", "object"},
                     {"required", {"keys"}},
                     {"additionalProperties", false},
                     {"properties",
                      {{"keys",
                        {{"type", "object"},
                         {"minProperties", 1},
                         {"patternProperties", {{"^[-+]?[0-9.]+$", single}}},
                         {"additionalProperties", false}}},
                       {"interpolation", {{"enum", {"linear", "smooth", "step"}}}}}}};
  json attribute = {{"type", "object"},
                    {"required", {"attribute"}},
                    {"additionalProperties", false},
                    {"properties", {{"attribute", {{"type", "string"}}}, {"default", single}}}};
  if (field.type == FieldType::number || field.type == FieldType::integer)
    attribute["properties"]["remap"] = {{"type", "array"}, {"items", single}, {"minItems", 2}, {"maxItems", 2}};
  if (!field.attributable) return {{"anyOf", {single, keys}}};
  return {{"anyOf", {single, keys, attribute}}};
}

}  // namespace

const char* name_of(FieldType type) {
  switch (type) {
    case FieldType::boolean:
      return "boolean";
    case FieldType::integer:
      return "integer";
    case FieldType::number:
      return "number";
    case FieldType::vector:
      return "vector";
    case FieldType::text:
      return "text";
    case FieldType::choice:
      return "choice";
    case FieldType::file:
      return "file";
    case FieldType::objects:
      return "objects";
    case FieldType::interval:
      return "interval";
    case FieldType::mapping:
      return "mapping";
  }
  return "";
}

std::string default_text(const FieldDescription& field) {
  const Value& value = field.default_value;
  if (field.required || value.is_null() || field.type == FieldType::mapping) return {};
  if (value.is_scalar() && value.text.empty()) return {};
  if (!value.is_scalar() && value.items.empty() && value.entries.empty()) return {};
  const std::string text = value.is_scalar() ? value.text : to_text(value);
  return field.unit_text.empty() ? text : text + " " + field.unit_text;
}

std::string range_text(const FieldDescription& field) {
  const std::string low = field.above ? "> " + with_unit(*field.above, field)
                          : field.min ? "≥ " + with_unit(*field.min, field)
                                      : "";
  const std::string high = field.below ? "< " + with_unit(*field.below, field)
                           : field.max ? "≤ " + with_unit(*field.max, field)
                                       : "";
  if (field.min && field.max && !field.above && !field.below)
    return fmt::format("{} … {}", *field.min, with_unit(*field.max, field));
  return low.empty() || high.empty() ? low + high : low + ", " + high;
}

std::string type_text(const FieldDescription& field) {
  const std::string single = name_of(field.type);
  if (field.shape == FieldShape::map) return "names with " + single;
  if (field.shape == FieldShape::single) return single;
  return field.length > 0 ? fmt::format("list of {} × {}", field.length, single) : fmt::format("list of {}", single);
}

json to_json(const FieldDescription& field) {
  static constexpr const char* shapes[] = {"single", "list", "map"};
  json j = {{"name", field.name},
            {"label", field.label},
            {"doc", field.doc},
            {"type", name_of(field.type)},
            {"shape", shapes[static_cast<int>(field.shape)]},
            {"advanced", field.advanced},
            {"required", field.required},
            {"optional", field.optional},
            {"keyframable", field.keyframable},
            {"attributable", field.attributable}};
  if (!field.group.empty()) j["group"] = field.group;
  if (!field.unit_text.empty()) j["unit"] = field.unit_text;
  if (field.length > 0) j["length"] = field.length;
  const auto bound = [&](const char* name, const std::optional<double>& value) {
    if (value) j[name] = *value;
  };
  bound("min", field.min), bound("max", field.max), bound("above", field.above), bound("below", field.below);
  bound("soft_min", field.soft_min), bound("soft_max", field.soft_max);
  for (const Choice& choice : field.choices) j["choices"].push_back({{"name", choice.name}, {"doc", choice.doc}});
  if (!field.required && !field.default_value.is_null()) j["default"] = value_json(field.default_value);
  for (const FieldDescription& inner : field.fields) j["fields"].push_back(to_json(inner));
  if (!field.shorthand.empty()) j["shorthand"] = field.shorthand;
  return j;
}

json json_schema(const FieldDescription& field) {
  json schema = single_schema(field);
  if (field.keyframable) schema = keyframed_schema(field, schema);
  if (field.shape == FieldShape::map) schema = {{"type", "object"}, {"additionalProperties", schema}};
  if (field.shape == FieldShape::list) {
    schema = {{"type", "array"}, {"items", schema}};
    if (field.length > 0) schema["minItems"] = schema["maxItems"] = field.length;
  }
  schema["title"] = field.label;
  schema["description"] = field.unit_text.empty() ? field.doc : fmt::format("{} Unit: {}.", field.doc, field.unit_text);
  if (!field.required && !field.default_value.is_null() && field.type != FieldType::mapping)
    schema["default"] = value_json(field.default_value);
  return schema;
}

json json_schema(const std::vector<FieldDescription>& fields) {
  json schema = {{"type", "object"}, {"additionalProperties", false}, {"properties", json::object()}};
  for (const FieldDescription& field : fields) {
    schema["properties"][field.name] = json_schema(field);
    if (field.required) schema["required"].push_back(field.name);
  }
  return schema;
}

}  // namespace aegir
