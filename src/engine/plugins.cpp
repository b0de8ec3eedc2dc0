#include "engine/plugins.h"

#include <dlfcn.h>

#include <filesystem>
#include <string_view>

#include "base/assert.h"
#include "io/file_kind.h"
#include "io/hash128.h"
#include "pipeline/plugin.h"

namespace aegir {
namespace {

namespace fs = std::filesystem;

constexpr const char* remedy = "build it again with the headers of this Aegir";

Result<const PluginInfo*> open_library(const std::string& path) {
  // A path without a folder would be looked for where the system's libraries are.
  void* library = ::dlopen(fs::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!library) {
    const std::string reason = ::dlerror();
    const bool missing = reason.find("undefined symbol") != std::string::npos;
    return usage_error({}, "cannot load the plugin {}: {}{}", path, reason,
                       missing ? fmt::format("; it uses what this program does not have: {}", remedy) : "");
  }
  using Entry = const PluginInfo* (*)();
  const auto entry = reinterpret_cast<Entry>(::dlsym(library, plugin_entry));
  const PluginInfo* info = entry ? entry() : nullptr;
  if (!info) return usage_error({}, "{} is no plugin of Aegir: it has no AEGIR_PLUGIN(name, version, function)", path);
  return info;
}

Status check_build(const std::string& path, const PluginInfo& info) {
  if (info.interface_number != plugin_interface)
    return usage_error({}, "the plugin {} was made for interface {}, and this Aegir has {}; {}", path,
                       info.interface_number, plugin_interface, remedy);
  if (std::string_view(info.compiler) != __VERSION__)
    return usage_error({}, "the plugin {} was compiled by {}, and this Aegir by {}; use the same compiler", path,
                       info.compiler, __VERSION__);
  if (info.layout != plugin_layout())
    return usage_error({}, "the plugin {} was made with other headers or options than this Aegir; {}", path, remedy);
  return {};
}

Result<PluginRecord> load_plugin(const std::string& path, Catalog& catalog) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return usage_error({}, "there is no plugin {}", path);
  const Result<std::string> bytes = read_bytes(path);
  if (!bytes) return bytes.error();
  const auto opened = open_library(path);
  if (!opened) return opened.error();
  const PluginInfo& info = **opened;
  if (Status ok = check_build(path, info); !ok) return ok.error();

  PluginRecord record{info.name, info.version, fs::path(path).filename().string(), {}, {}};
  Hash128 hash;
  hash.add_text(*bytes);
  record.hash = hash.hex();
  try {
    // First alone, so that a name that is taken is the plugin's mistake and not a bug.
    Catalog alone;
    info.register_types(alone);
    const Catalog empty;
    for (const TypeEntry* type : alone.types()) {
      if (empty.find(type->info.name, type->is_output())) continue;
      if (catalog.find(type->info.name, type->is_output()))
        return usage_error({}, "the plugin {} brings a type '{}', and there is one of that name; give it another", path,
                           type->info.name);
      record.types.emplace_back(type->info.name);
    }
    if (record.types.empty()) return usage_error({}, "the plugin {} brings no type", path);
    for (const std::string& problem : alone.problems())
      return usage_error({}, "the plugin {} describes its types wrongly: {}", path, problem);
    info.register_types(catalog);
  } catch (const std::exception& problem) {
    return usage_error({}, "the plugin {} failed when it registered its types: {}", path, problem.what());
  }
  return record;
}

}  // namespace

Result<std::vector<PluginRecord>> load_plugins(const std::vector<std::string>& paths, Catalog& catalog) {
  std::vector<PluginRecord> records;
  for (const std::string& path : paths) {
    auto record = load_plugin(path, catalog);
    if (!record) return record.error();
    records.push_back(std::move(*record));
  }
  return records;
}

}  // namespace aegir
