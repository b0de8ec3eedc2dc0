#include <nlohmann/json.hpp>

#include "pipeline/schema/catalog.h"
#include "pipeline/schema/sections.h"

namespace aegir {
namespace {

using nlohmann::json;

json fields_json(const std::vector<FieldDescription>& fields) {
  json list = json::array();
  for (const FieldDescription& field : fields) list.push_back(to_json(field));
  return list;
}

/// One node of a type: its name, what every node may have, and its parameters.
json node_schema(const TypeEntry& entry) {
  json node = json_schema(entry.fields);
  json overrides = node;
  overrides.erase("required");
  const std::string type = entry.info.name;
  node["title"] = entry.info.label;
  node["description"] = entry.info.doc;
  node["required"].push_back(type);
  json& properties = node["properties"];
  properties[type] = {{"type", {"string", "integer"}},
                      {"description", type == "include" ? "File to include." : "Name of this node."}};
  properties["enabled"] = {
      {"type", {"boolean", "string"}}, {"default", true}, {"description", "Whether this node takes part."}};
  for (const char* text : {"note", "doc"}) properties[text] = {{"type", "string"}, {"description", "Free text."}};
  if (type == "group") properties["behaviors"] = {{"$ref", "#/$defs/nodes"}};
  if (entry.info.category != Category::group)
    properties["overrides"] = {{"type", "object"},
                               {"description", "Parameters that single Objects have different."},
                               {"additionalProperties", overrides}};
  return node;
}

/// A list of nodes: what is required and allowed follows from the one key that names the type.
json node_list_schema(const std::vector<const TypeEntry*>& entries, const std::string& prefix) {
  json one_of = json::array(), rules = json::array();
  for (const TypeEntry* entry : entries) {
    const std::string type = entry->info.name;
    one_of.push_back({{"required", {type}}});
    rules.push_back({{"if", {{"required", {type}}}}, {"then", {{"$ref", "#/$defs/" + prefix + type}}}});
  }
  json item = {{"type", "object"}};
  if (!entries.empty()) item["oneOf"] = one_of, item["allOf"] = rules;
  return {{"type", "array"}, {"items", item}};
}

}  // namespace

json Catalog::json() const {
  nlohmann::json all = {{"aegir", 1}, {"types", nlohmann::json::array()}, {"announced", nlohmann::json::array()}};
  for (const TypeEntry* entry : types())
    all["types"].push_back({{"name", entry->info.name},
                            {"section", entry->is_output() ? "outputs" : "setup"},
                            {"category", name_of(entry->info.category)},
                            {"label", entry->info.label},
                            {"doc", entry->info.doc},
                            {"page", entry->info.page},
                            {"fields", fields_json(entry->fields)}});
  for (const AnnouncedType& type : announced_) all["announced"].push_back({{"name", type.name}, {"what", type.what}});
  all["timeline"] = fields_json(schema_of<Timeline>().descriptions());
  all["scene"] = fields_json(schema_of<Scene>().descriptions());
  all["inputs"] = fields_json(schema_of<InputSettings>().descriptions());
  return all;
}

json Catalog::schema() const {
  nlohmann::json definitions = nlohmann::json::object();
  std::vector<const TypeEntry*> nodes, outputs;
  for (const TypeEntry* entry : types()) {
    (entry->is_output() ? outputs : nodes).push_back(entry);
    definitions[(entry->is_output() ? "output_" : "node_") + std::string(entry->info.name)] = node_schema(*entry);
  }
  definitions["nodes"] = node_list_schema(nodes, "node_");
  const nlohmann::json inputs = {{"type", "object"},
                                 {"description", "Files that the setup reads, by name."},
                                 {"additionalProperties",
                                  {{"anyOf",
                                    {{{"type", "string"}, {"description", "Only the file."}},
                                     json_schema(schema_of<InputSettings>().descriptions())}}}}};
  const nlohmann::json expose = {{"type", "object"},
                                 {"description", "Values by name, used as ${name} and changed with --set name=value."},
                                 {"propertyNames", {{"pattern", "^[A-Za-z_][A-Za-z0-9_]*$"}}}};
  return {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
          {"title", "Aegir setup"},
          {"type", "object"},
          {"required", {"aegir"}},
          {"additionalProperties", false},
          {"properties",
           {{"aegir", {{"const", 1}, {"description", "Version of the setup language."}}},
            {"note", {{"type", "string"}, {"description", "Free text."}}},
            {"doc", {{"type", "string"}, {"description", "Free text."}}},
            {"timeline", json_schema(schema_of<Timeline>().descriptions())},
            {"scene", json_schema(schema_of<Scene>().descriptions())},
            {"expose", expose},
            {"inputs", inputs},
            {"setup", {{"$ref", "#/$defs/nodes"}}},
            {"outputs", node_list_schema(outputs, "output_")}}},
          {"$defs", definitions}};
}

}  // namespace aegir
