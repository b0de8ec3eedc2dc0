#include "pipeline/setup/build_nodes.h"

#include <algorithm>

#include "pipeline/schema/suggest.h"
#include "pipeline/setup/assemble.h"

namespace aegir {

NodeBuilder::NodeBuilder(const Catalog& catalog, Messages& messages, std::string folder, bool output)
    : catalog_(catalog), messages_(messages), folder_(std::move(folder)), output_(output) {}

void NodeBuilder::error(const Location& where, std::string message) {
  Reader reader(messages_, "");
  reader.error(where, std::move(message));
  ++errors_;
}

Value NodeBuilder::build(const Value& list, const std::string& prefix, std::vector<SetupNode>& out) {
  Value canonical = Value::list();
  for (const Value& item : list.items) {
    SetupNode node;
    Value written = Value::map();
    if (!build_node(item, prefix, node, written)) continue;
    out.push_back(std::move(node));
    canonical.items.push_back(std::move(written));
  }
  return canonical;
}

bool NodeBuilder::build_node(const Value& node, const std::string& prefix, SetupNode& out, Value& canonical) {
  if (!node.is_map()) {
    error(node.where, fmt::format("a node should be a mapping such as '{}: NAME', but this is {}",
                                  output_ ? "points" : "gravity", node.describe()));
    return false;
  }
  const Value::Entry* type = find_type(node);
  if (!type) return false;
  out.type = type->key;
  out.where = type->where;
  if (!read_name(*type, prefix, out)) return false;
  canonical.set(out.type, Value::quoted_text(out.name));
  read_common(node, out, canonical);
  const TypeEntry& entry = *catalog_.find(out.type, output_);
  if (entry.info.category == Category::group)
    build_group(node, out, canonical);
  else
    build_behavior(node, entry, out, canonical);
  return true;
}

const Value::Entry* NodeBuilder::find_type(const Value& node) {
  const Value::Entry* type = nullptr;
  for (const Value::Entry& entry : node.entries) {
    const bool known = catalog_.find(entry.key, output_);
    if (!known && !catalog_.find_announced(entry.key)) continue;
    if (type) {
      error(entry.where,
            fmt::format("this node has two types, '{}' and '{}'; a node has exactly one", type->key, entry.key));
      return nullptr;
    }
    type = &entry;
  }
  if (!type) {
    report_missing_type(node);
    return nullptr;
  }
  if (const AnnouncedType* announced = catalog_.find_announced(type->key)) {
    error(type->where, fmt::format("'{}' ({}) is not part of this version yet", announced->name, announced->what));
    return nullptr;
  }
  return type;
}

/// Says which key was probably meant to be the type: one of the other section, one with a typing error, or else the
/// first key.
void NodeBuilder::report_missing_type(const Value& node) {
  const char *here = output_ ? "outputs" : "setup", *there = output_ ? "setup" : "outputs";
  for (const Value::Entry& entry : node.entries)
    if (catalog_.find(entry.key, !output_)) {
      error(entry.where, fmt::format("'{}' belongs in '{}', not in '{}'", entry.key, there, here));
      return;
    }
  std::vector<std::string> known = catalog_.names(output_);
  for (const AnnouncedType& type : catalog_.announced()) known.push_back(type.name);
  for (const Value::Entry& entry : node.entries)
    if (const std::string meant = nearest_word(entry.key, known); !meant.empty()) {
      error(entry.where, fmt::format("'{}' is not a type; did you mean '{}'?", entry.key, meant));
      return;
    }
  if (node.entries.empty())
    error(node.where, "this node is empty; one key must be a type, and its value the node's name");
  else
    error(
        node.entries.front().where,
        fmt::format("this node has no type: '{}' is not a type; one key must be a type, and its value the node's name",
                    node.entries.front().key));
}

bool NodeBuilder::read_name(const Value::Entry& type, const std::string& prefix, SetupNode& out) {
  if (!type.value.is_scalar()) {
    error(type.value.where, fmt::format("'{}' needs a name, as in '{}: my_{}'; this is {}", type.key, type.key,
                                        type.key, type.value.describe()));
    return false;
  }
  out.name = type.value.text;
  out.path = prefix + out.name;
  if (!is_node_name(out.name)) {
    error(type.value.where,
          fmt::format("{} cannot be the name of a node; use letters, digits, '_' and '-'", type.value.describe()));
    return false;
  }
  static const std::vector<std::string> sections = {"setup", "outputs", "inputs", "timeline", "scene"};
  if (prefix.empty() && std::find(sections.begin(), sections.end(), out.name) != sections.end()) {
    error(type.value.where, fmt::format("a node cannot be called '{}', which is a part of the setup file", out.name));
    return false;
  }
  const auto [known, fresh] = paths_.emplace(out.path, type.value.where);
  if (fresh) return true;
  error(type.value.where, fmt::format("there are two nodes '{}'; the other is at {}:{}:{}", out.path,
                                      known->second.file, known->second.line, known->second.column));
  return false;
}

void NodeBuilder::read_common(const Value& node, SetupNode& out, Value& canonical) {
  for (const char* key : {"doc", "note"})
    if (const Value* text = node.find(key)) {
      if (text->is_scalar())
        out.note = text->text;
      else
        error(text->where, fmt::format("'{}' should be a text", key));
    }
  if (const Value* enabled = node.find("enabled")) {
    Reader reader(messages_, out.type);
    FieldDescription description;
    description.name = "enabled", description.type = FieldType::boolean;
    read_scalar(*enabled, out.enabled, description, reader);
    errors_ += reader.error_count();
  }
  if (!out.note.empty()) canonical.set("note", Value::quoted_text(out.note));
  if (!out.enabled) canonical.set("enabled", Value::scalar("false"));
}

void NodeBuilder::build_group(const Value& node, SetupNode& out, Value& canonical) {
  static const std::vector<std::string> known = {"group", "behaviors", "enabled", "note", "doc"};
  for (const Value::Entry& entry : node.entries)
    if (std::find(known.begin(), known.end(), entry.key) == known.end())
      error(entry.where, fmt::format("'{}' is not a parameter of 'group'{}", entry.key, suggestion(entry.key, known)));
  const Value* children = node.find("behaviors");
  if (!children) return;
  if (!children->is_list()) {
    error(children->where, fmt::format("'behaviors' is {}, but should be a list of nodes", children->describe()));
    return;
  }
  canonical.set("behaviors", build(*children, out.path + "/", out.children));
}

void NodeBuilder::build_behavior(const Value& node, const TypeEntry& entry, SetupNode& out, Value& canonical) {
  Value parameters = Value::map(out.where), overrides;
  for (const Value::Entry& e : node.entries) {
    if (e.key == out.type || e.key == "enabled" || e.key == "note" || e.key == "doc") continue;
    if (e.key == "overrides")
      overrides = e.value;
    else if (e.key == "behaviors")
      error(e.where, fmt::format("only a group has 'behaviors'; '{}' does not", out.type));
    else
      parameters.entries.push_back(e);
  }
  if (!overrides.is_map() && node.find("overrides")) {
    error(overrides.where,
          fmt::format("'overrides' is {}, but should map objects to parameters", overrides.describe()));
    overrides = {};
  }
  for (const Value::Entry& object : overrides.entries) out.overrides.emplace_back(object.key, object.where);
  Reader reader(messages_, out.type, folder_);
  BuiltBehavior built = entry.build(parameters, overrides, reader, Writer{.folder = folder_});
  errors_ += reader.error_count();
  out.behavior = std::move(built.behavior);
  for (Value::Entry& e : built.parameters.entries) canonical.entries.push_back(std::move(e));
  if (!built.overrides.entries.empty()) canonical.set("overrides", std::move(built.overrides));
}

}  // namespace aegir
