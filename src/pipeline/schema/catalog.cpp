#include "pipeline/schema/catalog.h"

#include <algorithm>

namespace aegir {
namespace {

bool is_known(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The numbers of a default: itself, or the components of a vector or list.
void collect_numbers(const Value& value, std::vector<double>& numbers) {
  if (value.is_scalar() && !value.quoted)
    if (const Result<Quantity> q = parse_quantity(value.text)) numbers.push_back(q->value);
  for (const Value& item : value.items) collect_numbers(item, numbers);
}

bool in_range(double number, const FieldDescription& f) {
  return !(f.min && number < *f.min) && !(f.max && number > *f.max) && !(f.above && number <= *f.above) &&
         !(f.below && number >= *f.below);
}

void find_problems(const std::string& owner, const FieldDescription& f, std::vector<std::string>& problems) {
  const std::string name = owner + "." + f.name;
  if (f.doc.empty()) problems.push_back(name + " has no doc");
  if (f.type == FieldType::choice && f.choices.empty()) problems.push_back(name + " has no choices");
  if (f.type == FieldType::choice && f.shape == FieldShape::single && !f.optional && !f.required &&
      f.default_value.is_null())
    problems.push_back(name + " has a default that is not one of its choices");
  const bool numeric = f.type == FieldType::number || f.type == FieldType::integer || f.type == FieldType::vector;
  std::vector<double> numbers;
  if (numeric && !f.required) collect_numbers(f.default_value, numbers);
  for (const double number : numbers)
    if (!in_range(number, f))
      problems.push_back(fmt::format("{} has the default {}, which is outside its range", name, number));
  if (f.soft_min &&
      (!(*f.soft_min < *f.soft_max) || (f.min && *f.soft_min < *f.min) || (f.max && *f.soft_max > *f.max)))
    problems.push_back(name + " has a soft range that is empty or outside its range");
  for (const FieldDescription& inner : f.fields) find_problems(name, inner, problems);
}

}  // namespace

const char* name_of(Category category) {
  switch (category) {
    case Category::group:
      return "group";
    case Category::object:
      return "object";
    case Category::collider:
      return "collider";
    case Category::emitter:
      return "emitter";
    case Category::force:
      return "force";
    case Category::constraint:
      return "constraint";
    case Category::operator_:
      return "operator";
    case Category::material:
      return "material";
    case Category::output:
      return "output";
  }
  return "";
}

const std::vector<std::string>& reserved_node_keys() {
  static const std::vector<std::string> keys = {"enabled", "note", "doc", "behaviors", "overrides"};
  return keys;
}

Catalog::Catalog() {
  insert({{"group", Category::group, "Group", "A scope: what stands in it acts on the Objects in it and below it.",
           "The nodes of a group stand under `behaviors`. A group that is not `enabled` takes everything in it out of "
           "the setup.\n"},
          {},
          {}});
  insert({{"include", Category::group, "Include", "Puts the nodes of another setup file here.",
           "The value is the file, from the folder of the file that includes it. Its `setup`, `inputs` and `expose` "
           "are taken over; values "
           "that the including file exposes under the same name win. Its `timeline`, `scene` and `outputs` are left "
           "aside.\n"},
          {},
          {}});
}

void Catalog::insert(TypeEntry entry) {
  const std::string name = entry.info.name;
  const bool output = entry.is_output();
  std::erase_if(announced_, [&](const AnnouncedType& type) { return type.name == name; });
  const bool fresh = types_.emplace(std::pair(name, output), std::move(entry)).second;
  AEGIR_ASSERT(fresh, "a type is registered twice: " + name);
}

void Catalog::announce(const char* type, const char* what) {
  if (!find(type, false) && !find(type, true) && !find_announced(type)) announced_.push_back({type, what});
}

const TypeEntry* Catalog::find(std::string_view name, bool output) const {
  const auto found = types_.find(std::pair(std::string(name), output));
  return found == types_.end() ? nullptr : &found->second;
}

const AnnouncedType* Catalog::find_announced(std::string_view name) const {
  for (const AnnouncedType& type : announced_)
    if (type.name == name) return &type;
  return nullptr;
}

std::vector<const TypeEntry*> Catalog::types() const {
  std::vector<const TypeEntry*> all;
  for (const auto& [key, entry] : types_) all.push_back(&entry);
  return all;
}

std::vector<std::string> Catalog::names(bool output) const {
  std::vector<std::string> all;
  for (const auto& [key, entry] : types_)
    if (key.second == output) all.push_back(key.first);
  return all;
}

std::vector<std::string> Catalog::problems() const {
  std::vector<std::string> problems, type_names;
  for (const auto& [key, entry] : types_) type_names.push_back(key.first);
  for (const AnnouncedType& type : announced_) type_names.push_back(type.name);
  for (const TypeEntry* entry : types()) {
    const std::string owner = entry->info.name;
    if (!*entry->info.doc) problems.push_back(owner + " has no doc");
    if (!*entry->info.label) problems.push_back(owner + " has no label");
    if (!*entry->info.page) problems.push_back(owner + " has no page");
    if (is_known(reserved_node_keys(), owner)) problems.push_back(owner + " is a reserved key and cannot be a type");
    for (const FieldDescription& field : entry->fields) {
      find_problems(owner, field, problems);
      if (is_known(type_names, field.name)) problems.push_back(owner + "." + field.name + " is called like a type");
      if (is_known(reserved_node_keys(), field.name))
        problems.push_back(owner + "." + field.name + " is called like a reserved key");
    }
  }
  return problems;
}

}  // namespace aegir
