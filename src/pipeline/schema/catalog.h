// Every type that a setup may name, with its parameters; the source of validation, `describe`, JSON Schema and the
// manual.
//
//   class Gravity : public Behavior {
//    public:
//     struct Settings { Parameter<Vec3d> acceleration = Vec3d{0, -9.81, 0}; };
//     static TypeInfo info() { return {"gravity", Category::force, "Gravity", "Pulls everything.", "page"}; }
//     static void describe(Schema<Settings>& s) { s.field("acceleration",
//     &Settings::acceleration).unit("m/s^2").doc("…"); } explicit Gravity(Scoped<Settings> settings);
//   };
//   void register_common(Catalog& c) { c.add<Gravity>(); }
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "pipeline/schema/schema.h"

namespace aegir {

class Behavior;

/// What kind of thing a type is; outputs stand in `outputs`, all others in `setup`.
enum class Category { group, object, collider, emitter, force, constraint, operator_, material, output };
const char* name_of(Category category);

/// What a type says of itself.
struct TypeInfo {
  const char* name;
  Category category;
  const char* label;
  const char* doc;        ///< one sentence
  const char* page = "";  ///< Markdown: the equation and its limits
};

/// Settings of a Behavior and what single Objects have different.
template <class S>
struct Scoped {
  S base{};
  std::map<std::string, S> overrides;

  /// The settings for an Object by its path ("bulk/water"); an override may name the path or only its last part.
  const S& of(std::string_view object) const {
    if (overrides.empty()) return base;
    auto found = overrides.find(std::string(object));
    if (found == overrides.end()) found = overrides.find(std::string(object.substr(object.rfind('/') + 1)));
    return found == overrides.end() ? base : found->second;
  }
};

/// A Behavior made from a node, and the node in canonical form: SI numbers, only what differs from the defaults.
struct BuiltBehavior {
  std::unique_ptr<Behavior> behavior;
  Value parameters;  ///< a map
  Value overrides;   ///< a map, object → map
};

/// One type of the catalog.
struct TypeEntry {
  TypeInfo info;
  std::vector<FieldDescription> fields;
  /// Reads the parameters and overrides (each a map; overrides may be null) and makes the Behavior; null after
  /// reporting. Not set for groups.
  std::function<BuiltBehavior(const Value& parameters, const Value& overrides, Reader& reader, const Writer& writer)>
      build;

  bool is_output() const { return info.category == Category::output; }
};

/// A type that a later version will have.
struct AnnouncedType {
  std::string name;
  std::string what;
};

/// All types, by name; a setup type and an output may share a name.
class Catalog {
 public:
  Catalog();

  /// Adds a Behavior class: info(), Settings, describe() and a constructor from Scoped<Settings>.
  template <class B>
  void add();
  /// Names a type that is not there yet, and the part that brings it: announce("hybrid", "liquids").
  void announce(const char* type, const char* what);

  const TypeEntry* find(std::string_view name, bool output = false) const;
  const AnnouncedType* find_announced(std::string_view name) const;
  /// All types in order of their names.
  std::vector<const TypeEntry*> types() const;
  const std::vector<AnnouncedType>& announced() const { return announced_; }
  /// Names of all types of one section, for suggestions.
  std::vector<std::string> names(bool output) const;

  /// What is wrong with the descriptions themselves: parameters named like a type or like a reserved key, missing docs,
  /// defaults outside their range.
  std::vector<std::string> problems() const;

  /// Types with all their parameters, for forms.
  nlohmann::json json() const;
  /// JSON Schema (draft 2020-12) of a whole setup file, for editors.
  nlohmann::json schema() const;
  /// Markdown page of a type, or of "timeline", "scene", "inputs"; empty if there is no such page. An output type is
  /// found after a setup type of the same name, or as "outputs/NAME".
  std::string reference_page(std::string_view type) const;
  /// Names of all pages, as reference_page takes them.
  std::vector<std::string> reference_pages() const;

 private:
  void insert(TypeEntry entry);

  std::map<std::pair<std::string, bool>, TypeEntry> types_;
  std::vector<AnnouncedType> announced_;
};

/// Keys that every node may have and no parameter may be called.
const std::vector<std::string>& reserved_node_keys();

template <class B>
void Catalog::add() {
  using Settings = typename B::Settings;
  auto schema = std::make_shared<Schema<Settings>>();
  B::describe(*schema);
  TypeEntry entry{B::info(), schema->descriptions(), {}};
  entry.build = [schema](const Value& parameters, const Value& overrides, Reader& reader, const Writer& writer) {
    const std::size_t errors_before = reader.error_count();
    Scoped<Settings> scoped;
    schema->read(parameters, scoped.base, reader);
    Value canonical_overrides = Value::map();
    reader.set_partial(true);
    for (const Value::Entry& object : overrides.entries) {
      Settings& settings = scoped.overrides.emplace(object.key, scoped.base).first->second;
      schema->read(object.value, settings, reader);
      canonical_overrides.entries.push_back(
          {object.key, {}, schema->write(settings, &scoped.base, Writer{writer.folder, true})});
    }
    reader.set_partial(false);
    if (reader.error_count() != errors_before) return BuiltBehavior{};
    Value canonical = schema->write(scoped.base, writer);
    return BuiltBehavior{std::make_unique<B>(std::move(scoped)), std::move(canonical), std::move(canonical_overrides)};
  };
  insert(std::move(entry));
}

}  // namespace aegir
