// Setup text ⇄ timeline, inputs, a tree of Behaviors and outputs; every problem with file, line and column.
//
//   Messages messages;
//   Result<Setup> setup = load_setup("dam.yaml", {.sets = {"voxel=3cm", "bulk/water.enabled=false"}}, catalog,
//   messages); if (!setup) for (const Error& e : messages.errors) show(e.text());
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "pipeline/model/behavior.h"
#include "pipeline/schema/catalog.h"
#include "pipeline/schema/sections.h"
#include "pipeline/schema/value.h"

namespace aegir {

/// A group or a Behavior of a setup.
struct SetupNode {
  std::string type;  ///< "group" or a type of the catalog
  std::string name;
  std::string path;  ///< names from the root: "bulk/water"; empty for the root itself
  Location where;
  bool enabled = true;                 ///< as written; a node in a disabled group is off whatever it says
  std::string note;                    ///< free text of the author
  std::unique_ptr<Behavior> behavior;  ///< null for a group
  std::vector<std::pair<std::string, Location>> overrides;  ///< the Objects that `overrides` names
  std::vector<SetupNode> children;
};

/// A setup that was read and checked.
struct Setup {
  Timeline timeline;
  Scene scene;
  std::map<std::string, InputSettings> inputs;
  SetupNode root;  ///< a group without a name
  std::vector<SetupNode> outputs;
  std::string hash;  ///< 16 hex digits over what the setup means; comments, order, units and formatting do not count
  std::vector<std::string> files;                      ///< the setup file and everything included
  std::vector<std::pair<std::string, Value>> exposed;  ///< values that --set may change, as they are now
  Value document;  ///< canonical: includes, exposed values and --set resolved, SI numbers, only what differs from the
                   ///< defaults
};

/// What the command line adds to a file.
struct SetupOptions {
  /// "name=value" for an exposed name, "path/to/node.parameter=value" or "timeline.fps=25" for any parameter.
  std::vector<std::string> sets;
};

/// Gives the content of an included file; the path is already relative to the same place as the setup's own name.
using ReadFile = std::function<Result<std::string>(const std::string& path)>;

/// Reads a setup file. All problems go to `messages`; the result's error is the first of them.
Result<Setup> load_setup(const std::string& path, const SetupOptions& options, const Catalog& catalog,
                         Messages& messages);

/// The same for a text in memory; without `read_file` nothing can be included.
Result<Setup> parse_setup(std::string_view text, const std::string& file_name, const SetupOptions& options,
                          const Catalog& catalog, Messages& messages, const ReadFile& read_file = {});

/// YAML text that reads back as the same setup (same hash), with paths relative to the setup file.
std::string write_setup(const Setup& setup);

/// What changed between two documents (Setup::document), one line each: "setup/rain/emitter.rate: 1000 → 2000".
std::vector<std::string> diff_setups(const Value& old, const Value& now);

}  // namespace aegir
