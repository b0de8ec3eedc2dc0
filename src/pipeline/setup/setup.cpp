#include "pipeline/setup/setup.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "pipeline/setup/assemble.h"
#include "pipeline/setup/build_nodes.h"
#include "pipeline/setup/flatten.h"
#include "pipeline/setup/yaml.h"

namespace aegir {
namespace {

Result<std::string> read_text_file(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return usage_error({}, "it is a folder");
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return usage_error({}, "{}", errno ? std::strerror(errno) : "it cannot be opened");
  constexpr std::size_t most = YamlLimits{}.bytes + 1;  // one byte more than allowed shows that there is too much
  std::string text(most, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(most));
  if (stream.bad()) return usage_error({}, "it cannot be read");
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return text;
}

/// Reads one section into its struct and gives its canonical form; null where everything is as by default.
template <class S>
Value read_section(const char* name, const Value& value, S& settings, Messages& messages, const std::string& folder,
                   std::size_t& errors) {
  if (value.is_null() && value.where.line == 0) return {};
  Reader reader(messages, name, folder);
  schema_of<S>().read(value, settings, reader);
  errors += reader.error_count();
  Value canonical = schema_of<S>().write(settings, Writer{.folder = folder});
  return canonical.entries.empty() ? Value{} : canonical;
}

void read_inputs(const Value& inputs, Setup& setup, Value& canonical, Messages& messages, const std::string& folder,
                 std::size_t& errors) {
  canonical = Value::map();
  Reader reader(messages, "inputs", folder);
  for (const Value::Entry& entry : inputs.entries) {
    if (!is_node_name(entry.key))
      reader.error(entry.where,
                   fmt::format("'{}' cannot be the name of an input; use letters, digits, '_' and '-'", entry.key));
    InputSettings settings;
    Reader inner(messages, entry.key, folder);
    schema_of<InputSettings>().read(entry.value, settings, inner);
    errors += inner.error_count();
    canonical.entries.push_back({entry.key, {}, schema_of<InputSettings>().write(settings, Writer{.folder = folder})});
    setup.inputs.emplace(entry.key, std::move(settings));
  }
  errors += reader.error_count();
  std::sort(canonical.entries.begin(), canonical.entries.end(),
            [](const Value::Entry& a, const Value::Entry& b) { return a.key < b.key; });
}

Setup build(const Assembly& all, const std::string& folder, const Catalog& catalog, Messages& messages,
            std::size_t& errors) {
  Setup setup;
  Value timeline = read_section("timeline", all.timeline, setup.timeline, messages, folder, errors);
  Value scene = read_section("scene", all.scene, setup.scene, messages, folder, errors);
  Value inputs;
  read_inputs(all.inputs, setup, inputs, messages, folder, errors);

  NodeBuilder nodes(catalog, messages, folder, false), outputs(catalog, messages, folder, true);
  setup.root.type = "group";
  setup.root.where = all.nodes.where;
  Value node_list = nodes.build(all.nodes, "", setup.root.children);
  Value output_list = outputs.build(all.outputs, "", setup.outputs);
  errors += nodes.error_count() + outputs.error_count();

  setup.files = all.files;
  for (const Value::Entry& entry : all.exposed.entries) setup.exposed.emplace_back(entry.key, entry.value);
  setup.root.note = all.note;
  setup.document = Value::map();
  setup.document.set("aegir", Value::scalar("1"));
  if (!all.note.empty()) setup.document.set("note", Value::quoted_text(all.note));
  if (!timeline.is_null()) setup.document.set("timeline", std::move(timeline));
  if (!scene.is_null()) setup.document.set("scene", std::move(scene));
  if (!inputs.entries.empty()) setup.document.set("inputs", std::move(inputs));
  setup.document.set("setup", std::move(node_list));
  if (!output_list.items.empty()) setup.document.set("outputs", std::move(output_list));
  setup.hash = content_hash(setup.document);
  return setup;
}

}  // namespace

Result<Setup> parse_setup(std::string_view text, const std::string& file_name, const SetupOptions& options,
                          const Catalog& catalog, Messages& messages, const ReadFile& read_file) {
  const std::size_t errors_before = messages.errors.size();
  const auto failed = [&] { return messages.errors.size() > errors_before; };
  const std::string folder = std::filesystem::path(file_name).parent_path().string();
  Reader reader(messages, "setup", folder);
  const AssemblyContext context{options, catalog, reader, messages, read_file};
  Assembly all = read_files(text, file_name, context);
  // A file that could not be read at all says nothing about what stands in it.
  if (failed() && all.nodes.items.empty()) return messages.errors[errors_before];
  apply_sets(all, context);
  fill_in_exposed(all, reader);
  std::size_t errors = reader.error_count();
  Setup setup = build(all, folder, catalog, messages, errors);
  if (failed()) return messages.errors[errors_before];
  AEGIR_ASSERT(errors == 0, "a setup with errors was about to be used");
  return setup;
}

Result<Setup> load_setup(const std::string& path, const SetupOptions& options, const Catalog& catalog,
                         Messages& messages) {
  const Result<std::string> text = read_text_file(path);
  if (!text) {
    messages.errors.push_back(usage_error({path, 0, 0}, "the setup cannot be read: {}", text.error().message));
    return messages.errors.back();
  }
  return parse_setup(*text, path, options, catalog, messages, read_text_file);
}

std::string write_setup(const Setup& setup) { return write_yaml(setup.document); }

}  // namespace aegir
