#include "engine/describe.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include <nlohmann/json.hpp>

#include "engine/text.h"
#include "io/atomic_file.h"
#include "io/file_kind.h"
#include "pipeline/schema/sections.h"
#include "pipeline/schema/suggest.h"

namespace aegir {
namespace {

namespace fs = std::filesystem;

constexpr const char* generated_mark =
    "<!-- Made by `aegir describe --pages`; edit the descriptions in the code instead. -->\n";

constexpr Category shown_order[] = {Category::group,    Category::object,    Category::collider,
                                    Category::emitter,  Category::force,     Category::constraint,
                                    Category::material, Category::operator_, Category::output};

std::string page_file(const std::string& page) {
  std::string file = page;
  std::replace(file.begin(), file.end(), '/', '_');
  return file + ".md";
}

void add_fields(TextTable& table, const std::vector<FieldDescription>& fields, const std::string& prefix) {
  for (const FieldDescription& f : fields) {
    std::string doc = f.doc;
    if (!f.choices.empty()) {
      doc += " One of:";
      for (const Choice& c : f.choices) doc += fmt::format(" {}{}", c.name, &c == &f.choices.back() ? "." : ",");
    }
    if (f.keyframable) doc += f.attributable ? " [keys, attribute]" : " [keys]";
    table.row({"  " + prefix + f.name, f.required ? "required" : default_text(f), f.unit_text, range_text(f), doc});
    add_fields(table, f.fields,
               prefix + f.name +
                   (f.shape == FieldShape::list  ? "[]."
                    : f.shape == FieldShape::map ? ".NAME."
                                                 : "."));
  }
}

std::string parameters_text(const std::vector<FieldDescription>& fields) {
  if (fields.empty()) return "no parameters\n";
  TextTable table({"  parameter", "default", "unit", "range", "meaning"});
  add_fields(table, fields, "");
  return table.text();
}

std::string type_text_of(const TypeEntry& entry) {
  return fmt::format("{} ({}, in `{}`): {}\n\n{}{}\n", entry.info.name, name_of(entry.info.category),
                     entry.is_output() ? "outputs" : "setup", entry.info.doc,
                     *entry.info.page ? std::string(entry.info.page) + "\n\n" : "", parameters_text(entry.fields));
}

std::string index_page(const Catalog& catalog) {
  std::string text =
      "# Reference\n\nEvery type that a setup may name, and the sections around them.\n\n| Page | Meaning "
      "|\n|---|---|\n";
  text += "| [timeline](timeline.md) | Frames of the run, how they are divided, and when it is saved. |\n";
  text += "| [scene](scene.md) | How files that come in and go out relate to Aegir's metres with y up. |\n";
  text += "| [inputs](inputs.md) | Files that the setup reads. |\n";
  for (const TypeEntry* entry : catalog.types()) {
    const std::string page = (entry->is_output() ? "outputs/" : "") + std::string(entry->info.name);
    text += fmt::format("| [{}]({}) | {} |\n", page, page_file(page), entry->info.doc);
  }
  return text;
}

}  // namespace

std::string describe_types(const Catalog& catalog) {
  TextTable table({"type", "what it is"});
  for (const Category category : shown_order) {
    bool titled = false;
    for (const TypeEntry* entry : catalog.types()) {
      if (entry->info.category != category) continue;
      if (!titled) table.line(name_of(category));
      titled = true;
      table.row({std::string("  ") + entry->info.name, entry->info.doc});
    }
  }
  if (!catalog.announced().empty()) table.line("not there yet");
  for (const AnnouncedType& type : catalog.announced()) table.row({"  " + type.name, "comes with " + type.what});
  return table.text() + "\naegir describe TYPE shows its parameters; timeline, scene and inputs are described, too.\n";
}

Result<std::string> describe_type(const Catalog& catalog, const std::string& name) {
  if (name == "timeline")
    return "timeline: frames of the run.\n\n" + parameters_text(schema_of<Timeline>().descriptions());
  if (name == "scene")
    return "scene: how files relate to Aegir's metres with y up.\n\n" +
           parameters_text(schema_of<Scene>().descriptions());
  if (name == "inputs")
    return "inputs: files that the setup reads, by name.\n\n" +
           parameters_text(schema_of<InputSettings>().descriptions());
  std::string text;
  for (const bool output : {false, true})
    if (const TypeEntry* entry = catalog.find(name, output)) text += type_text_of(*entry);
  if (!text.empty()) return text;
  if (const AnnouncedType* type = catalog.find_announced(name))
    return usage_error({}, "'{}' is not there yet; it comes with {}", name, type->what);
  std::vector<std::string> known = catalog.names(false);
  for (const std::string& n : catalog.names(true)) known.push_back(n);
  known.insert(known.end(), {"timeline", "scene", "inputs"});
  return usage_error({}, "there is no type '{}'{}", name, suggestion(name, known));
}

std::string catalog_json(const Catalog& catalog) { return catalog.json().dump(1) + "\n"; }
std::string setup_schema(const Catalog& catalog) { return catalog.schema().dump(1) + "\n"; }

std::vector<ReferencePage> reference_pages(const Catalog& catalog) {
  std::vector<ReferencePage> pages = {{"README.md", generated_mark + index_page(catalog)}};
  for (const std::string& page : catalog.reference_pages())
    pages.push_back({page_file(page), generated_mark + catalog.reference_page(page)});
  return pages;
}

Status write_pages(const Catalog& catalog, const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return system_error("cannot make", folder, error.value());
  std::set<std::string> names;
  for (const ReferencePage& page : reference_pages(catalog)) {
    names.insert(page.file);
    if (Status ok = write_text_atomically(folder + "/" + page.file, page.text); !ok) return ok;
  }
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (entry.path().extension() != ".md" || names.contains(name)) continue;
    const Result<std::string> text = read_bytes(entry.path().string());
    std::error_code ignored;
    if (text && text->starts_with(generated_mark)) fs::remove(entry.path(), ignored);
  }
  return {};
}

std::vector<std::string> stale_pages(const Catalog& catalog, const std::string& folder) {
  std::vector<std::string> stale;
  std::set<std::string> names;
  for (const ReferencePage& page : reference_pages(catalog)) {
    names.insert(page.file);
    const Result<std::string> text = read_bytes(folder + "/" + page.file);
    if (!text)
      stale.push_back(page.file + " is missing");
    else if (*text != page.text)
      stale.push_back(page.file + " is out of date");
  }
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (entry.path().extension() == ".md" && !names.contains(name))
      stale.push_back(name + " describes nothing that exists");
  }
  std::sort(stale.begin(), stale.end());
  return stale;
}

}  // namespace aegir
