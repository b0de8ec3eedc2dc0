// Nodes of a setup → Behaviors. Internal to the setup room.
//
//   NodeBuilder builder(catalog, messages, folder, /*output=*/false);
//   Value canonical = builder.build(nodes, "", root.children);
#pragma once

#include <map>
#include <string>
#include <vector>

#include "pipeline/setup/setup.h"

namespace aegir {

/// Turns the lists under `setup` and `outputs` into SetupNodes.
class NodeBuilder {
 public:
  NodeBuilder(const Catalog& catalog, Messages& messages, std::string folder, bool output);

  /// Builds a list of nodes below a path ("" or "bulk/"); returns its canonical form.
  Value build(const Value& list, const std::string& prefix, std::vector<SetupNode>& out);
  std::size_t error_count() const { return errors_; }

 private:
  bool build_node(const Value& node, const std::string& prefix, SetupNode& out, Value& canonical);
  const Value::Entry* find_type(const Value& node);
  void report_missing_type(const Value& node);
  bool read_name(const Value::Entry& type, const std::string& prefix, SetupNode& out);
  void read_common(const Value& node, SetupNode& out, Value& canonical);
  void build_group(const Value& node, SetupNode& out, Value& canonical);
  void build_behavior(const Value& node, const TypeEntry& entry, SetupNode& out, Value& canonical);
  void error(const Location& where, std::string message);

  const Catalog& catalog_;
  Messages& messages_;
  std::string folder_;
  bool output_;
  std::size_t errors_ = 0;
  std::map<std::string, Location> paths_;
};

}  // namespace aegir
