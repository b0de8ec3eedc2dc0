#include "pipeline/setup/flatten.h"

#include "base/random.h"
#include "pipeline/setup/setup.h"

namespace aegir {
namespace {

using Lines = std::map<std::string, std::string>;

/// A mapping of parameters is walked into; a curve or an attribute binding is one value.
void add_parameter(const std::string& path, const Value& value, Lines& lines) {
  if (!value.is_map() || value.entries.empty() || value.find("keys") || value.find("attribute")) {
    lines[path] = to_text(value);
    return;
  }
  for (const Value::Entry& entry : value.entries) add_parameter(path + "." + entry.key, entry.value, lines);
}

/// A canonical node names its type first.
void add_nodes(const std::string& prefix, const Value& list, Lines& lines) {
  for (const Value& node : list.items) {
    if (!node.is_map() || node.entries.empty()) continue;
    const std::string path = prefix + "/" + node.entries.front().value.text;
    lines[path] = node.entries.front().key;
    for (std::size_t i = 1; i < node.entries.size(); ++i) {
      const Value::Entry& entry = node.entries[i];
      if (entry.key == "note") continue;
      if (entry.key == "behaviors")
        add_nodes(path, entry.value, lines);
      else
        add_parameter(path + "." + entry.key, entry.value, lines);
    }
  }
}

bool is_node_line(const std::string& path) {
  return path.find('/') != std::string::npos && path.find('.') == std::string::npos;
}

}  // namespace

std::map<std::string, std::string> flatten(const Value& document) {
  Lines lines;
  for (const Value::Entry& entry : document.entries) {
    if (entry.key == "setup" || entry.key == "outputs") {
      add_nodes(entry.key, entry.value, lines);
    } else if (entry.key == "inputs") {
      for (const Value::Entry& input : entry.value.entries) {
        lines["inputs/" + input.key] = "input";
        add_parameter("inputs/" + input.key, input.value, lines);
      }
    } else if (entry.key != "note") {
      add_parameter(entry.key, entry.value, lines);
    }
  }
  return lines;
}

std::string content_hash(const Value& document) {
  std::uint64_t hash = 0xcbf29ce484222325ull;  // FNV-1a
  const auto add = [&](const std::string& text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
    hash = (hash ^ 0xff) * 0x100000001b3ull;
  };
  for (const auto& [path, value] : flatten(document)) add(path), add(value);
  return fmt::format("{:016x}", mix(hash));
}

std::vector<std::string> diff_setups(const Value& old, const Value& now) {
  const Lines before = flatten(old), after = flatten(now);
  std::vector<std::string> changes;
  const auto node_of = [](const std::string& path) { return path.substr(0, path.find('.')); };
  // Parameters of a node that came or went are not named one by one.
  const auto in_both = [&](const std::string& path) {
    const std::string node = node_of(path);
    return !is_node_line(node) || (before.contains(node) && after.contains(node));
  };
  Lines all = before;
  all.insert(after.begin(), after.end());
  for (const auto& [path, unused] : all) {
    const auto was = before.find(path), is = after.find(path);
    if (is_node_line(path) && (was == before.end() || is == after.end()))
      changes.push_back(path + (was == before.end() ? ": added" : ": removed"));
    else if (!in_both(path) || (was != before.end() && is != after.end() && was->second == is->second))
      continue;
    else
      changes.push_back(fmt::format("{}: {} → {}", path, was == before.end() ? "default" : was->second,
                                    is == after.end() ? "default" : is->second));
  }
  return changes;
}

}  // namespace aegir
