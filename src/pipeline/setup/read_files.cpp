// Setup files and their includes as one list of nodes.
#include <algorithm>
#include <filesystem>
#include <map>

#include "pipeline/schema/suggest.h"
#include "pipeline/setup/assemble.h"
#include "pipeline/setup/yaml.h"

namespace aegir {
namespace {

constexpr std::size_t deepest_include = 32;
constexpr std::size_t most_includes = 1000;
constexpr std::size_t most_values = 100'000;

class FileReader {
 public:
  explicit FileReader(const AssemblyContext& context) : context_(context), reader_(context.reader) {}

  Assembly all;

  void read_main(std::string_view text, const std::string& file) {
    chain_ = {file};
    all.files = {file};
    const std::optional<Value> tree = read_tree(text, file);
    if (!tree) return;
    for (const Value::Entry& entry : tree->entries) {
      if (entry.key == "timeline")
        all.timeline = entry.value;
      else if (entry.key == "scene")
        all.scene = entry.value;
      else if (entry.key == "note" || entry.key == "doc")
        read_note(entry);
      else if (entry.key == "outputs")
        read_outputs(entry);
    }
    read_shared(*tree, all.nodes, 0);
    if (!tree->find("setup")) reader_.error(tree->where, "there is no 'setup'; it lists what is simulated");
  }

 private:
  std::optional<Value> read_tree(std::string_view text, const std::string& file) {
    YamlLimits limits;
    limits.values = most_values - values_;
    std::optional<Value> tree = read_yaml(text, file, context_.messages, limits);
    if (!tree) return std::nullopt;
    values_ += tree->count();
    if (!tree->is_map()) {
      reader_.error(tree->where,
                    fmt::format("a setup file is a mapping that starts with 'aegir: 1'; this is {}", tree->describe()));
      return std::nullopt;
    }
    static const std::vector<std::string> known = {"aegir",  "note",   "doc",   "timeline", "scene",
                                                   "expose", "inputs", "setup", "outputs"};
    for (const Value::Entry& entry : tree->entries) {
      if (std::find(known.begin(), known.end(), entry.key) != known.end()) continue;
      const bool is_type = context_.catalog.find(entry.key) || context_.catalog.find_announced(entry.key);
      reader_.error(entry.where, is_type ? fmt::format("'{}' is a type; it stands in the list under 'setup'", entry.key)
                                         : fmt::format("'{}' is not a part of a setup file{}", entry.key,
                                                       suggestion(entry.key, known)));
    }
    return check_version(*tree) ? std::move(tree) : std::nullopt;
  }

  bool check_version(const Value& tree) {
    const Value* version = tree.find("aegir");
    if (!version) {
      reader_.error(tree.where, "the version of the setup language is missing; start the file with 'aegir: 1'");
      return true;
    }
    if (version->is_scalar() && version->text == "1") return true;
    reader_.error(
        version->where,
        fmt::format("the setup language is {}, but this Aegir reads version 1; write 'aegir: 1'", version->describe()));
    return false;
  }

  void read_note(const Value::Entry& entry) {
    if (entry.value.is_scalar())
      all.note = entry.value.text;
    else
      reader_.error(entry.value.where, fmt::format("'{}' should be a text", entry.key));
  }

  void read_outputs(const Value::Entry& entry) {
    if (entry.value.is_list())
      all.outputs = entry.value;
    else
      reader_.error(entry.value.where,
                    fmt::format("'outputs' is {}, but should be a list of outputs", entry.value.describe()));
  }

  /// What a file gives whether it is the main one or included inside some groups.
  void read_shared(const Value& tree, Value& nodes, int groups) {
    if (const Value* expose = tree.find("expose")) read_expose(*expose);
    if (const Value* inputs = tree.find("inputs")) read_inputs(*inputs);
    const Value* list = tree.find("setup");
    if (!list) return;
    expanded_ += list->count();
    if (expanded_ > most_values)
      reader_.error(list->where, fmt::format("with its includes the setup holds more than {} values", most_values));
    else if (list->is_list())
      expand(*list, nodes, groups);
    else
      reader_.error(list->where, fmt::format("'setup' is {}, but should be a list of nodes", list->describe()));
  }

  void read_expose(const Value& expose) {
    if (!expose.is_map()) {
      reader_.error(expose.where, fmt::format("'expose' is {}, but should map names to values", expose.describe()));
      return;
    }
    for (const Value::Entry& entry : expose.entries) {
      if (!is_node_name(entry.key) || entry.key.find('-') != std::string::npos ||
          (entry.key[0] >= '0' && entry.key[0] <= '9')) {
        reader_.error(
            entry.where,
            fmt::format("'{}' cannot be the name of an exposed value; use letters, digits and '_'", entry.key));
        continue;
      }
      if (entry.value.is_null()) {
        reader_.error(entry.where, fmt::format("the exposed '{}' has no value", entry.key));
        continue;
      }
      const auto [known, fresh] = exposed_in_.emplace(entry.key, entry.where);
      if (fresh) {
        all.exposed.entries.push_back(entry);
      } else if (std::find(chain_.begin(), chain_.end(), known->second.file) == chain_.end()) {
        reader_.warn(entry.where, fmt::format("'{}' is already exposed by {} (line {}), and that value is used",
                                              entry.key, known->second.file, known->second.line));
      }
    }
  }

  void read_inputs(const Value& inputs) {
    if (!inputs.is_map()) {
      reader_.error(inputs.where, fmt::format("'inputs' is {}, but should map names to files", inputs.describe()));
      return;
    }
    for (const Value::Entry& entry : inputs.entries) {
      const auto [known, fresh] = inputs_in_.emplace(entry.key, entry.where);
      if (fresh)
        all.inputs.entries.push_back(entry);
      else if (!(known->second == entry.where))
        reader_.error(entry.where, fmt::format("the input '{}' is already at {}:{}", entry.key, known->second.file,
                                               known->second.line));
    }
  }

  void expand(const Value& list, Value& out, int groups) {
    for (const Value& item : list.items) {
      if (!item.is_map()) {
        out.items.push_back(item);
        continue;
      }
      if (item.find("include") && !item.find("group")) {
        expand_include(item, out, groups);
        continue;
      }
      Value node = item;
      Value* children = node.find("behaviors");
      if (children && children->is_list() && node.find("group")) {
        if (groups + 1 > deepest_group) {
          reader_.error(item.where, fmt::format("groups are nested more than {} levels deep", deepest_group));
          continue;
        }
        Value expanded = Value::list(children->where);
        expand(*children, expanded, groups + 1);
        *children = std::move(expanded);
      }
      out.items.push_back(std::move(node));
    }
  }

  void expand_include(const Value& node, Value& out, int groups) {
    for (const Value::Entry& entry : node.entries)
      if (entry.key != "include" && entry.key != "note" && entry.key != "doc")
        reader_.error(
            entry.where,
            fmt::format("'{}' cannot stand beside 'include'; what switches or changes it belongs in a group around it",
                        entry.key));
    const Value& name = *node.find("include");
    if (!name.is_scalar() || name.text.empty()) {
      reader_.error(name.where, "'include' needs the name of a file");
      return;
    }
    if (name.text.find("${") != std::string::npos) {
      reader_.error(name.where, "the name of an included file cannot use exposed values");
      return;
    }
    namespace fs = std::filesystem;
    const std::string file = (fs::path(chain_.back()).parent_path() / name.text).lexically_normal().string();
    if (!may_include(file, name.where)) return;
    chain_.push_back(file);
    if (const Value* tree = included_tree(file, name)) {
      for (const char* left : {"timeline", "scene", "outputs"})
        if (tree->find(left)) reader_.warn(name.where, fmt::format("'{}' of the included {} is not used", left, file));
      read_shared(*tree, out, groups);
    }
    chain_.pop_back();
  }

  bool may_include(const std::string& file, const Location& where) {
    std::vector<std::string> links = chain_;
    links.push_back(file);
    if (std::find(chain_.begin(), chain_.end(), file) != chain_.end()) {
      reader_.error(where, fmt::format("the files include each other: {}", fmt::join(links, " → ")));
      return false;
    }
    if (chain_.size() > deepest_include) {
      reader_.error(where, fmt::format("includes are nested more than {} levels deep: {}", deepest_include,
                                       fmt::join(links, " → ")));
      return false;
    }
    if (++includes_ > most_includes) {
      if (includes_ == most_includes + 1)
        reader_.error(where, fmt::format("there are more than {} includes", most_includes));
      return false;
    }
    return true;
  }

  /// The tree of a file, read once however often it is included; null after reporting.
  const Value* included_tree(const std::string& file, const Value& name) {
    const auto found = trees_.find(file);
    if (found != trees_.end()) return found->second ? &*found->second : nullptr;
    if (!context_.read_file) {
      reader_.error(name.where,
                    fmt::format("'{}' cannot be included: this setup does not come from a file", name.text));
      return nullptr;
    }
    const Result<std::string> text = context_.read_file(file);
    std::optional<Value>& tree = trees_[file];
    if (!text) {
      reader_.error(name.where, fmt::format("'{}' cannot be included: {}", name.text, text.error().message));
      return nullptr;
    }
    all.files.push_back(file);
    tree = read_tree(*text, file);
    return tree ? &*tree : nullptr;
  }

  const AssemblyContext& context_;
  Reader& reader_;
  std::vector<std::string> chain_;  // files that are being read, outermost first
  std::map<std::string, std::optional<Value>> trees_;
  std::map<std::string, Location> exposed_in_, inputs_in_;
  std::size_t values_ = 0, expanded_ = 0, includes_ = 0;
};

}  // namespace

Assembly read_files(std::string_view text, const std::string& file_name, const AssemblyContext& context) {
  FileReader files(context);
  files.read_main(text, file_name);
  return std::move(files.all);
}

}  // namespace aegir
