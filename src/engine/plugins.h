// Behaviors from shared libraries.
//
//   Catalog catalog = make_catalog();
//   Result<std::vector<PluginRecord>> plugins = load_plugins({"./libvortex.so"}, catalog);
//   if (!plugins) return plugins.error();
//   options.plugins = *plugins;                       // run() notes them beside the inputs
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "pipeline/schema/catalog.h"

namespace aegir {

/// A plugin that was loaded.
struct PluginRecord {
  std::string name, version;
  std::string file;                ///< without folder
  std::string hash;                ///< of the file's bytes
  std::vector<std::string> types;  ///< that it added
};

/// Loads libraries for the life of the process and adds their types to the catalog. A usage error names the file: that
/// it is missing, no plugin, made for another build, or has a type whose name is taken.
Result<std::vector<PluginRecord>> load_plugins(const std::vector<std::string>& paths, Catalog& catalog);

}  // namespace aegir
