// From files to one tree: includes put in place, --set applied, exposed values filled in. Internal to the setup room.
//
//   Assembly all = assemble(text, "dam.yaml", options, catalog, reader, messages, read_file);
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pipeline/setup/setup.h"

namespace aegir {

/// Everything that was read, in one tree.
struct Assembly {
  Value timeline, scene;  ///< null where the file has none
  Value inputs = Value::map();
  Value nodes = Value::list();  ///< includes replaced by what they hold
  Value outputs = Value::list();
  Value exposed = Value::map();
  std::string note;
  std::vector<std::string> files;
};

/// What every file of a setup shares while it is read.
struct AssemblyContext {
  const SetupOptions& options;
  const Catalog& catalog;
  Reader& reader;
  Messages& messages;
  const ReadFile& read_file;
};

/// Most groups inside groups.
inline constexpr int deepest_group = 24;

/// Reads a setup text and what it includes; problems go to the reader and to the messages.
Assembly read_files(std::string_view text, const std::string& file_name, const AssemblyContext& context);

/// Applies --set: exposed names and parameters of nodes, timeline, scene and inputs.
void apply_sets(Assembly& all, const AssemblyContext& context);

/// Replaces `${name}` everywhere by the exposed values, which may refer to each other.
void fill_in_exposed(Assembly& all, Reader& reader);

/// The key of a node that is a type of its section; null where there is none.
const Value::Entry* type_key(const Value& node, const Catalog& catalog, bool output);

/// Whether a text can name a node: letters, digits, '_' and '-'.
bool is_node_name(std::string_view name);

}  // namespace aegir
