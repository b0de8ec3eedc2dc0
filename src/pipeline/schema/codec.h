// How each member type is read from a Value, written to one and described. Used through Schema; a new member type is a
// new Codec.
//
//   template <> struct Codec<Colour> { describe_type, read, write, fill_defaults };
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/vec.h"
#include "pipeline/schema/description.h"
#include "pipeline/schema/parameter.h"
#include "pipeline/schema/types.h"

namespace aegir {

template <class S>
class Schema;
template <class S>
const Schema<S>& schema_of();

/// Where reading reports to, and what it is reading.
class Reader {
 public:
  /// `owner` is what messages name ("liquid"); `folder` is where paths start that were given on the command line.
  Reader(Messages& messages, std::string owner, std::string folder = {})
      : messages_(&messages), owner_(std::move(owner)), folder_(std::move(folder)) {}

  void error(const Location& where, std::string message);
  void warn(const Location& where, std::string message);
  /// "'viscosty' is not a parameter of 'liquid'; did you mean 'viscosity'?"
  void unknown_key(const Value::Entry& entry, const std::vector<std::string>& known);
  std::size_t error_count() const { return errors_; }
  const std::string& owner() const { return owner_; }
  const std::string& folder() const { return folder_; }
  /// Overrides are read on top of complete settings: nothing is required there.
  bool partial() const { return partial_; }
  void set_partial(bool partial) { partial_ = partial; }
  /// Puts the name of a nested mapping behind the owner's and returns what to restore.
  std::string enter(const std::string& name) { return std::exchange(owner_, owner_ + "." + name); }
  void leave(std::string previous) { owner_ = std::move(previous); }

 private:
  Messages* messages_;
  std::string owner_;
  std::string folder_;
  std::size_t errors_ = 0;
  bool partial_ = false;
};

/// How values are written.
struct Writer {
  std::optional<std::string> folder;  ///< files are written relative to this folder; none: as they were written
  bool partial = false;               ///< overrides: required fields are not repeated
};

/// "emission_rate" → "Emission rate".
std::string label_from_name(const std::string& name);
void set_unit(FieldDescription& description, const Unit& unit, std::string text);
void set_unit(FieldDescription& description, const char* text);

/// Reads one value of a type that needs no template; false after reporting.
bool read_scalar(const Value& value, bool& out, const FieldDescription& d, Reader& reader);
bool read_scalar(const Value& value, int& out, const FieldDescription& d, Reader& reader);
bool read_scalar(const Value& value, std::int64_t& out, const FieldDescription& d, Reader& reader);
bool read_scalar(const Value& value, double& out, const FieldDescription& d, Reader& reader);
bool read_scalar(const Value& value, std::string& out, const FieldDescription& d, Reader& reader);
bool read_scalar(const Value& value, Vec3d& out, const FieldDescription& d, Reader& reader);
bool read_scalar(const Value& value, FilePath& out, const FieldDescription& d, Reader& reader);
bool read_scalar(const Value& value, ObjectList& out, const FieldDescription& d, Reader& reader);
bool read_scalar(const Value& value, Interval& out, const FieldDescription& d, Reader& reader);
bool read_choice(const Value& value, std::int64_t& out, const FieldDescription& d, Reader& reader);

Value write_scalar(bool value, const Writer& writer);
Value write_scalar(int value, const Writer& writer);
Value write_scalar(std::int64_t value, const Writer& writer);
Value write_scalar(double value, const Writer& writer);
Value write_scalar(const std::string& value, const Writer& writer);
Value write_scalar(const Vec3d& value, const Writer& writer);
Value write_scalar(const FilePath& value, const Writer& writer);
Value write_scalar(const ObjectList& value, const Writer& writer);
Value write_scalar(const Interval& value, const Writer& writer);
Value write_choice(std::int64_t value, const FieldDescription& d);

template <class T>
inline constexpr bool is_scalar_setting =
    std::is_same_v<T, bool> || std::is_same_v<T, int> || std::is_same_v<T, std::int64_t> || std::is_same_v<T, double> ||
    std::is_same_v<T, std::string> || std::is_same_v<T, Vec3d> || std::is_same_v<T, FilePath> ||
    std::is_same_v<T, ObjectList> || std::is_same_v<T, Interval>;

template <class T>
constexpr FieldType field_type() {
  if constexpr (std::is_same_v<T, bool>)
    return FieldType::boolean;
  else if constexpr (std::is_same_v<T, int> || std::is_same_v<T, std::int64_t>)
    return FieldType::integer;
  else if constexpr (std::is_same_v<T, double>)
    return FieldType::number;
  else if constexpr (std::is_same_v<T, std::string>)
    return FieldType::text;
  else if constexpr (std::is_same_v<T, Vec3d>)
    return FieldType::vector;
  else if constexpr (std::is_same_v<T, FilePath>)
    return FieldType::file;
  else if constexpr (std::is_same_v<T, ObjectList>)
    return FieldType::objects;
  else if constexpr (std::is_same_v<T, Interval>)
    return FieldType::interval;
  else if constexpr (std::is_enum_v<T>)
    return FieldType::choice;
  else
    return FieldType::mapping;
}

/// Scalars, enums and described structs.
template <class T>
struct Codec {
  using Leaf = T;
  static void describe_type(FieldDescription& d) {
    d.type = field_type<T>();
    if constexpr (field_type<T>() == FieldType::mapping) {
      d.fields = schema_of<T>().descriptions();
      d.shorthand = schema_of<T>().shorthand();
    }
  }
  static bool read(const Value& value, T& out, const FieldDescription& d, Reader& reader) {
    if constexpr (is_scalar_setting<T>) {
      return read_scalar(value, out, d, reader);
    } else if constexpr (std::is_enum_v<T>) {
      std::int64_t number = 0;
      if (!read_choice(value, number, d, reader)) return false;
      out = static_cast<T>(number);
      return true;
    } else {
      std::string previous = reader.enter(d.name);
      const bool good = schema_of<T>().read(value, out, reader);
      reader.leave(std::move(previous));
      return good;
    }
  }
  static Value write(const T& value, const T* base, const FieldDescription& d, const Writer& writer) {
    if constexpr (is_scalar_setting<T>)
      return write_scalar(value, writer);
    else if constexpr (std::is_enum_v<T>)
      return write_choice(static_cast<std::int64_t>(value), d);
    else
      return schema_of<T>().write(value, base, writer);
  }
  static void fill_defaults(const T& value, FieldDescription& d) {
    if constexpr (field_type<T>() == FieldType::mapping) d.fields = schema_of<T>().descriptions(value);
  }
};

/// What lists, maps, optional and located values have in common: they hold values of another type.
template <class T>
struct WrapperCodec {
  using Leaf = typename Codec<T>::Leaf;
  /// The base of an element that is written: in short form a fresh element, in full form none.
  static const T* fresh(bool full) {
    static const T value{};
    return full ? nullptr : &value;
  }
};

template <class T>
struct Codec<Located<T>> : WrapperCodec<T> {
  static void describe_type(FieldDescription& d) { Codec<T>::describe_type(d); }
  static bool read(const Value& value, Located<T>& out, const FieldDescription& d, Reader& reader) {
    out.where = value.where;
    return Codec<T>::read(value, out.value, d, reader);
  }
  static Value write(const Located<T>& value, const Located<T>* base, const FieldDescription& d, const Writer& writer) {
    return Codec<T>::write(value.value, base ? &base->value : nullptr, d, writer);
  }
  static void fill_defaults(const Located<T>& value, FieldDescription& d) { Codec<T>::fill_defaults(value.value, d); }
};

template <class T>
struct Codec<std::optional<T>> : WrapperCodec<T> {
  static void describe_type(FieldDescription& d) { Codec<T>::describe_type(d), d.optional = true; }
  static bool read(const Value& value, std::optional<T>& out, const FieldDescription& d, Reader& reader) {
    T held = out ? *out : T{};
    if (!Codec<T>::read(value, held, d, reader)) return false;
    out = std::move(held);
    return true;
  }
  static Value write(const std::optional<T>& value, const std::optional<T>* base, const FieldDescription& d,
                     const Writer& writer) {
    if (!value) return {};
    return Codec<T>::write(*value, base && *base ? &**base : WrapperCodec<T>::fresh(!base), d, writer);
  }
  static void fill_defaults(const std::optional<T>& value, FieldDescription& d) {
    if (value) Codec<T>::fill_defaults(*value, d);
  }
};

/// Reports a value that is not a list, or not of the length wanted (0: any).
bool expect_list(const Value& value, int length, const FieldDescription& d, Reader& reader);
bool expect_map(const Value& value, const FieldDescription& d, Reader& reader);

template <class T>
struct Codec<std::vector<T>> : WrapperCodec<T> {
  static void describe_type(FieldDescription& d) { Codec<T>::describe_type(d), d.shape = FieldShape::list; }
  static bool read(const Value& value, std::vector<T>& out, const FieldDescription& d, Reader& reader) {
    if (!expect_list(value, 0, d, reader)) return false;
    std::vector<T> held;
    bool good = true;
    for (const Value& item : value.items) {
      T element{};
      good = Codec<T>::read(item, element, d, reader) && good;
      held.push_back(std::move(element));
    }
    if (good) out = std::move(held);
    return good;
  }
  static Value write(const std::vector<T>& value, const std::vector<T>* base, const FieldDescription& d,
                     const Writer& writer) {
    Value list = Value::list();
    for (const T& element : value)
      list.items.push_back(Codec<T>::write(element, WrapperCodec<T>::fresh(!base), d, writer));
    return list;
  }
  static void fill_defaults(const std::vector<T>&, FieldDescription&) {}
};

template <class T, std::size_t N>
struct Codec<std::array<T, N>> : WrapperCodec<T> {
  static void describe_type(FieldDescription& d) {
    Codec<T>::describe_type(d), d.shape = FieldShape::list, d.length = static_cast<int>(N);
  }
  static bool read(const Value& value, std::array<T, N>& out, const FieldDescription& d, Reader& reader) {
    if (!expect_list(value, static_cast<int>(N), d, reader)) return false;
    std::array<T, N> held{};
    bool good = true;
    for (std::size_t i = 0; i < N; ++i) good = Codec<T>::read(value.items[i], held[i], d, reader) && good;
    if (good) out = std::move(held);
    return good;
  }
  static Value write(const std::array<T, N>& value, const std::array<T, N>* base, const FieldDescription& d,
                     const Writer& writer) {
    Value list = Value::list();
    for (const T& element : value)
      list.items.push_back(Codec<T>::write(element, WrapperCodec<T>::fresh(!base), d, writer));
    return list;
  }
  static void fill_defaults(const std::array<T, N>&, FieldDescription&) {}
};

template <class T>
struct Codec<std::map<std::string, T>> : WrapperCodec<T> {
  static void describe_type(FieldDescription& d) { Codec<T>::describe_type(d), d.shape = FieldShape::map; }
  static bool read(const Value& value, std::map<std::string, T>& out, const FieldDescription& d, Reader& reader) {
    if (!expect_map(value, d, reader)) return false;
    std::map<std::string, T> held;
    bool good = true;
    for (const Value::Entry& entry : value.entries)
      good = Codec<T>::read(entry.value, held[entry.key], d, reader) && good;
    if (good) out = std::move(held);
    return good;
  }
  static Value write(const std::map<std::string, T>& value, const std::map<std::string, T>* base,
                     const FieldDescription& d, const Writer& writer) {
    Value map = Value::map();
    for (const auto& [name, element] : value)
      map.entries.push_back({name, {}, Codec<T>::write(element, WrapperCodec<T>::fresh(!base), d, writer)});
    return map;
  }
  static void fill_defaults(const std::map<std::string, T>&, FieldDescription&) {}
};

/// Reads a constant, keys or an attribute.
template <class T>
bool read_parameter(const Value& value, Parameter<T>& out, const FieldDescription& d, Reader& reader);
template <class T>
Value write_parameter(const Parameter<T>& value, const Writer& writer);

template <class T>
struct Codec<Parameter<T>> : WrapperCodec<T> {
  static void describe_type(FieldDescription& d) { Codec<T>::describe_type(d), d.keyframable = true; }
  static bool read(const Value& value, Parameter<T>& out, const FieldDescription& d, Reader& reader) {
    return read_parameter(value, out, d, reader);
  }
  static Value write(const Parameter<T>& value, const Parameter<T>*, const FieldDescription&, const Writer& writer) {
    return write_parameter(value, writer);
  }
  static void fill_defaults(const Parameter<T>&, FieldDescription&) {}
};

/// The type of one value inside all wrappers.
template <class M>
using LeafOf = typename Codec<M>::Leaf;

}  // namespace aegir
