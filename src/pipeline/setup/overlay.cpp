// --set: values from the command line on top of the files.
#include <algorithm>

#include "pipeline/schema/suggest.h"
#include "pipeline/setup/assemble.h"
#include "pipeline/setup/yaml.h"

namespace aegir {
namespace {

const Location command_line{"--set", 0, 0};

/// Values from the command line have no line and column.
void place_on_command_line(Value& value) {
  value.where = command_line;
  for (Value& item : value.items) place_on_command_line(item);
  for (Value::Entry& entry : value.entries) entry.where = command_line, place_on_command_line(entry.value);
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// All nodes of a list with their paths.
void collect(Value& list, const std::string& prefix, const Catalog& catalog, bool output,
             std::vector<std::pair<std::string, Value*>>& found) {
  for (Value& node : list.items) {
    const Value::Entry* type = node.is_map() ? type_key(node, catalog, output) : nullptr;
    if (!type || !type->value.is_scalar()) continue;
    const std::string path = prefix + type->value.text;
    const bool group = type->key == "group";
    found.emplace_back(path, &node);
    if (Value* children = node.find("behaviors"); group && children && children->is_list())
      collect(*children, path + "/", catalog, output, found);
  }
}

class Overlay {
 public:
  Overlay(Assembly& all, const AssemblyContext& context) : all_(all), context_(context), reader_(context.reader) {}

  void apply(const std::string& set) {
    const std::size_t equals = set.find('=');
    const std::string name = set.substr(0, equals);
    if (equals == std::string::npos || name.empty() || equals + 1 == set.size())
      return error(fmt::format("'{}' should be NAME=VALUE or PATH.PARAMETER=VALUE", set));
    Messages problems;
    std::optional<Value> value = read_yaml(set.substr(equals + 1), "--set", problems);
    if (!value)
      return error(fmt::format("the value of '{}' cannot be read: {}", name, problems.errors.front().message));
    place_on_command_line(*value);
    if (value->is_null()) return error(fmt::format("'{}' has no value", name));
    const std::size_t dot = name.find('.');
    if (dot != std::string::npos)
      return set_parameter(name, name.substr(0, dot), split(name.substr(dot + 1), '.'), std::move(*value));
    set_exposed(name, std::move(*value));
  }

 private:
  void error(std::string message) { reader_.error(command_line, std::move(message)); }

  void set_exposed(const std::string& name, Value value) {
    if (Value* exposed = all_.exposed.find(name)) {
      *exposed = std::move(value);
      return;
    }
    std::vector<std::string> names;
    for (const Value::Entry& entry : all_.exposed.entries) names.push_back(entry.key);
    for (const auto& [path, node] : nodes_in("setup"))
      if (path == name)
        return error(fmt::format("'{}' is a node; name one of its parameters, as in {}.enabled", name, name));
    error(fmt::format("'{}' is not exposed{}", name, suggestion(name, names)));
  }

  std::vector<std::pair<std::string, Value*>> nodes_in(const std::string& section) {
    std::vector<std::pair<std::string, Value*>> found;
    const bool output = section == "outputs";
    collect(output ? all_.outputs : all_.nodes, output ? "outputs/" : "", context_.catalog, output, found);
    return found;
  }

  void set_parameter(const std::string& name, std::string path, const std::vector<std::string>& parameters,
                     Value value) {
    if (std::any_of(parameters.begin(), parameters.end(), [](const std::string& p) { return p.empty(); }))
      return error(fmt::format("'{}' has an empty part", name));
    if (path == "timeline" || path == "scene") {
      Value& section = path == "timeline" ? all_.timeline : all_.scene;
      if (section.is_null()) section = Value::map(command_line);
      return store(name, section, parameters, std::move(value));
    }
    if (path.starts_with("inputs/")) return set_input(name, path.substr(7), parameters, std::move(value));
    if (path.starts_with("setup/")) path = path.substr(6);
    std::vector<std::string> known;
    for (const char* section : {"setup", "outputs"})
      for (const auto& [node_path, node] : nodes_in(section)) {
        if (node_path == path) return set_in_node(name, *node, parameters, std::move(value));
        known.push_back(node_path);
      }
    known.insert(known.end(), {"timeline", "scene"});
    error(fmt::format("'{}' names no node of the setup{}", path, suggestion(path, known)));
  }

  void set_input(const std::string& name, const std::string& input, const std::vector<std::string>& parameters,
                 Value value) {
    if (Value* settings = all_.inputs.find(input)) return store(name, *settings, parameters, std::move(value));
    std::vector<std::string> known;
    for (const Value::Entry& entry : all_.inputs.entries) known.push_back(entry.key);
    error(fmt::format("'{}' is not an input{}", input, suggestion(input, known)));
  }

  void set_in_node(const std::string& name, Value& node, const std::vector<std::string>& parameters, Value value) {
    const std::string& first = parameters.front();
    if (first == "behaviors" || context_.catalog.find(first, false) || context_.catalog.find(first, true))
      return error(fmt::format("'{}' cannot be set from the command line; only parameters can", name));
    store(name, node, parameters, std::move(value));
  }

  /// Puts the value under nested keys, making the mappings that are not there yet.
  void store(const std::string& name, Value& map, const std::vector<std::string>& keys, Value value) {
    Value* at = &map;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (!at->is_map())
        return error(
            fmt::format("'{}' cannot be set: the file has {} where '{}' should be", name, at->describe(), keys[i]));
      if (i + 1 == keys.size()) {
        at->set(keys[i], std::move(value), command_line);
        return;
      }
      if (i > 32) return error(fmt::format("'{}' has too many parts", name));
      if (!at->find(keys[i])) at->set(keys[i], Value::map(command_line), command_line);
      at = at->find(keys[i]);
    }
  }

  Assembly& all_;
  const AssemblyContext& context_;
  Reader& reader_;
};

}  // namespace

const Value::Entry* type_key(const Value& node, const Catalog& catalog, bool output) {
  for (const Value::Entry& entry : node.entries)
    if (catalog.find(entry.key, output)) return &entry;
  return nullptr;
}

bool is_node_name(std::string_view name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  return !name.empty() && name.size() <= 100 && name[0] != '-' && std::all_of(name.begin(), name.end(), fits);
}

void apply_sets(Assembly& all, const AssemblyContext& context) {
  Overlay overlay(all, context);
  for (const std::string& set : context.options.sets) overlay.apply(set);
}

}  // namespace aegir
