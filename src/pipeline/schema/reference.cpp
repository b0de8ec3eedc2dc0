// Markdown pages of the reference manual, made from the descriptions alone.
#include "pipeline/schema/catalog.h"
#include "pipeline/schema/sections.h"

namespace aegir {
namespace {

/// A text inside a table cell.
std::string cell(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '|') safe += '\\';
    safe += c == '\n' ? ' ' : c;
  }
  return safe;
}

std::string code(const std::string& text) { return text.empty() ? "" : "`" + cell(text) + "`"; }

void add_rows(const std::vector<FieldDescription>& fields, const std::string& prefix, std::string& rows) {
  for (const FieldDescription& field : fields) {
    std::string doc = field.doc;
    for (const Choice& choice : field.choices)
      doc += fmt::format(" `{}`{}{}", choice.name, choice.doc.empty() ? "." : ": ", choice.doc);
    if (field.advanced) doc += " *Advanced.*";
    const std::string start = field.required ? "required" : code(default_text(field));
    rows += fmt::format("| `{}{}` | {} | {} | {} | {} | {} | {} |\n", prefix, field.name, type_text(field),
                        cell(field.unit_text), start, cell(range_text(field)),
                        field.attributable  ? "keys, attribute"
                        : field.keyframable ? "keys"
                                            : "",
                        cell(doc));
    const std::string inner = field.shape == FieldShape::list ? "[]." : field.shape == FieldShape::map ? ".NAME." : ".";
    add_rows(field.fields, prefix + field.name + inner, rows);
  }
}

std::string parameter_table(const std::vector<FieldDescription>& fields) {
  if (fields.empty()) return "It has no parameters.\n";
  std::string rows =
      "| Parameter | Type | Unit | Default | Range | Varies by | Meaning |\n"
      "|---|---|---|---|---|---|---|\n";
  add_rows(fields, "", rows);
  return rows;
}

std::string section_page(const char* title, const char* text, const std::vector<FieldDescription>& fields) {
  return fmt::format("# {}\n\n{}\n\n## Parameters\n\n{}", title, text, parameter_table(fields));
}

std::string type_page(const TypeEntry& entry) {
  std::string page = entry.info.page;
  while (!page.empty() && page.back() == '\n') page.pop_back();
  if (!page.empty()) page += "\n\n";
  return fmt::format("# {}: `{}`\n\n{}\n\nCategory: {}. It stands in `{}`.\n\n{}## Parameters\n\n{}", entry.info.label,
                     entry.info.name, entry.info.doc, name_of(entry.info.category),
                     entry.is_output() ? "outputs" : "setup", page, parameter_table(entry.fields));
}

}  // namespace

std::string Catalog::reference_page(std::string_view type) const {
  if (type == "timeline")
    return section_page("Timeline", "Frames of the run, how they are divided, and when it is saved.",
                        schema_of<Timeline>().descriptions());
  if (type == "scene")
    return section_page("Scene", "How files that come in and go out relate to Aegir's metres with y up.",
                        schema_of<Scene>().descriptions());
  if (type == "inputs")
    return section_page("Inputs",
                        "Files that the setup reads. Every key of `inputs` is the name of one, with these parameters.",
                        schema_of<InputSettings>().descriptions());
  const bool output_only = type.starts_with("outputs/");
  if (output_only) type.remove_prefix(std::string_view("outputs/").size());
  if (!output_only)
    if (const TypeEntry* entry = find(type, false)) return type_page(*entry);
  const TypeEntry* entry = find(type, true);
  return entry ? type_page(*entry) : std::string();
}

std::vector<std::string> Catalog::reference_pages() const {
  std::vector<std::string> pages = {"timeline", "scene", "inputs"};
  for (const auto& [key, entry] : types_) pages.push_back((key.second ? "outputs/" : "") + key.first);
  return pages;
}

}  // namespace aegir
