// One description per parameter, written once beside its field; reading, writing, validation, forms and manual come
// from it.
//
//   struct Viscosity { Parameter<double> mu = 0.001; Model model = Model::newton; };
//   void describe(Schema<Viscosity>& s) {
//     s.field("viscosity", &Viscosity::mu).unit("Pa s").min(0).doc("Shear viscosity.");
//     s.field("model", &Viscosity::model).choices({{"newton", Model::newton, "One constant."}}).doc("Flow law.");
//   }
//   Viscosity v;
//   bool good = schema_of<Viscosity>().read(value, v, messages);
//
// Members may be bool, int, std::int64_t, double, std::string, Vec3d, enums, Parameter<>, FilePath, ObjectList,
// Interval, structs that are described themselves, and std::vector, std::array, std::optional, std::map<std::string, …>
// and Located<> of those. Defaults are those of a default-constructed S. Bare numbers are SI; units, if written, must
// have the dimension of the parameter.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "pipeline/schema/codec.h"

namespace aegir {

/// A word for one value of an enum.
template <class E>
struct NamedChoice {
  const char* name;
  E value;
  const char* doc = "";
};

/// One described member of S, whatever its type.
template <class S>
class FieldOf {
 public:
  explicit FieldOf(const char* name) { description_.name = name; }
  virtual ~FieldOf() = default;
  virtual bool read(const Value& value, S& settings, Reader& reader) const = 0;
  /// The member's value; against a base only what differs, without one everything.
  virtual Value write(const S& settings, const S* base, const Writer& writer) const = 0;
  virtual void fill_defaults(const S& settings, FieldDescription& description) const = 0;
  const FieldDescription& description() const { return description_; }

 protected:
  FieldDescription description_;
};

/// The builder that Schema::field returns; every call adds one fact.
template <class S, class M>
class Field final : public FieldOf<S> {
 public:
  Field(const char* name, M S::*member) : FieldOf<S>(name), member_(member) {
    Codec<M>::describe_type(this->description_);
  }

  /// Words for a form; the name with spaces if not given.
  Field& label(const char* text) { return this->description_.label = text, *this; }
  Field& unit(const Unit& u) { return set_unit(this->description_, u, u.text()), *this; }
  /// An SI unit as text, printed as written: "Pa s".
  Field& unit(const char* text) { return set_unit(this->description_, text), *this; }
  Field& min(double bound) { return this->description_.min = bound, *this; }
  Field& max(double bound) { return this->description_.max = bound, *this; }
  /// Exclusive lower bound.
  Field& above(double bound) { return this->description_.above = bound, *this; }
  /// Exclusive upper bound.
  Field& below(double bound) { return this->description_.below = bound, *this; }
  /// The range a slider shows.
  Field& soft(double low, double high) {
    return this->description_.soft_min = low, this->description_.soft_max = high, *this;
  }
  Field& group(const char* text) { return this->description_.group = text, *this; }
  Field& advanced() { return this->description_.advanced = true, *this; }
  /// May come from an attribute of what it acts on; only for Parameter<> members whose owner looks the attribute up.
  Field& from_attribute() { return this->description_.attributable = true, *this; }
  /// Absent is an error.
  Field& required() { return this->description_.required = true, *this; }
  Field& doc(const char* text) { return this->description_.doc = text, *this; }
  /// The words of an enum.
  Field& choices(std::initializer_list<NamedChoice<LeafOf<M>>> words) {
    for (const auto& word : words)
      this->description_.choices.push_back({word.name, static_cast<std::int64_t>(word.value), word.doc});
    return *this;
  }

  bool read(const Value& value, S& settings, Reader& reader) const override {
    return Codec<M>::read(value, settings.*member_, this->description_, reader);
  }
  Value write(const S& settings, const S* base, const Writer& writer) const override {
    return Codec<M>::write(settings.*member_, base ? &(base->*member_) : nullptr, this->description_, writer);
  }
  void fill_defaults(const S& settings, FieldDescription& description) const override {
    description.default_value = Codec<M>::write(settings.*member_, nullptr, this->description_, Writer{});
    Codec<M>::fill_defaults(settings.*member_, description);
  }

 private:
  M S::*member_;
};

/// The described members of a struct S.
template <class S>
class Schema {
 public:
  /// Describes one member; names are unique.
  template <class M, class C>
  Field<S, M>& field(const char* name, M C::*member) {
    AEGIR_ASSERT(!find(name), std::string("a field is described twice: ") + name);
    auto made = std::make_unique<Field<S, M>>(name, static_cast<M S::*>(member));
    Field<S, M>& reference = *made;
    fields_.push_back(std::move(made));
    return reference;
  }
  /// A value that is not a mapping sets this field: `substeps: 4`.
  void shorthand(const char* name) { shorthand_ = name; }
  /// A rule over several fields; it returns what is wrong, or an empty text.
  void check(std::function<std::string(const S&)> rule) { rules_.push_back(std::move(rule)); }

  /// Reads on top of what `settings` holds; reports every problem and says whether there was none.
  bool read(const Value& value, S& settings, Messages& messages) const {
    Reader reader(messages, "setup");
    return read(value, settings, reader);
  }
  bool read(const Value& value, S& settings, Reader& reader) const;
  /// A map of the required fields and of those that differ from `base` (if not given: from a default-constructed S), in
  /// the order described.
  Value write(const S& settings, const Writer& writer = {}) const {
    const S base{};
    return write(settings, &base, writer);
  }
  Value write(const S& settings, const S* base, const Writer& writer) const;
  /// All fields, with the defaults that `settings` holds.
  std::vector<FieldDescription> descriptions(const S& settings) const;
  std::vector<FieldDescription> descriptions() const { return descriptions(S{}); }
  const std::string& shorthand() const { return shorthand_; }

 private:
  const FieldOf<S>* find(std::string_view name) const {
    for (const auto& f : fields_)
      if (f->description().name == name) return f.get();
    return nullptr;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& f : fields_) all.push_back(f->description().name);
    return all;
  }

  std::vector<std::unique_ptr<FieldOf<S>>> fields_;
  std::vector<std::function<std::string(const S&)>> rules_;
  std::string shorthand_;
};

/// The schema of a struct that has `describe(Schema<S>&)` as a function beside it or as a static member.
template <class S>
const Schema<S>& schema_of() {
  static const Schema<S> schema = [] {
    Schema<S> s;
    if constexpr (requires { S::describe(s); })
      S::describe(s);
    else
      describe(s);
    return s;
  }();
  return schema;
}

template <class S>
bool Schema<S>::read(const Value& value, S& settings, Reader& reader) const {
  const std::size_t errors_before = reader.error_count();
  if (!value.is_map() && !shorthand_.empty()) {
    const FieldOf<S>* field = find(shorthand_);
    AEGIR_ASSERT(field, "the shorthand names no field: " + shorthand_);
    field->read(value, settings, reader);
  } else if (!value.is_map()) {
    reader.error(value.where,
                 fmt::format("'{}' is {}, but should be a mapping of parameters", reader.owner(), value.describe()));
  } else {
    for (const Value::Entry& entry : value.entries) {
      if (const FieldOf<S>* field = find(entry.key))
        field->read(entry.value, settings, reader);
      else
        reader.unknown_key(entry, names());
    }
    for (const auto& field : fields_)
      if (field->description().required && !reader.partial() && !value.find(field->description().name))
        reader.error(value.where, fmt::format("'{}' needs '{}'", reader.owner(), field->description().name));
  }
  if (reader.error_count() == errors_before)
    for (const auto& rule : rules_)
      if (const std::string wrong = rule(settings); !wrong.empty())
        reader.error(value.where, fmt::format("'{}': {}", reader.owner(), wrong));
  return reader.error_count() == errors_before;
}

template <class S>
Value Schema<S>::write(const S& settings, const S* base, const Writer& writer) const {
  Value map = Value::map();
  for (const auto& field : fields_) {
    const Value whole = field->write(settings, nullptr, writer);
    const bool always = !base || (field->description().required && !writer.partial);
    if (whole.is_null() || (!always && same_content(whole, field->write(*base, nullptr, writer)))) continue;
    map.set(field->description().name, base ? field->write(settings, base, writer) : whole);
  }
  return map;
}

template <class S>
std::vector<FieldDescription> Schema<S>::descriptions(const S& settings) const {
  std::vector<FieldDescription> all;
  for (const auto& field : fields_) {
    FieldDescription d = field->description();
    if (d.label.empty()) d.label = label_from_name(d.name);
    field->fill_defaults(settings, d);
    all.push_back(std::move(d));
  }
  return all;
}

}  // namespace aegir
