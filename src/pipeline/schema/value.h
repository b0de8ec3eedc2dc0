// The tree of a setup text before anything knows what it means: scalars as they were written, lists and ordered maps,
// each with its place.
//
//   const Value* rate = node.find("rate");
//   if (rate && rate->is_scalar()) use(rate->text, rate->where);
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace aegir {

/// One value of a setup text.
struct Value {
  enum class Kind { null, scalar, list, map };
  struct Entry;

  Kind kind = Kind::null;
  bool quoted = false;         ///< a scalar in quotes or a text block: never a number trap, never a YAML 1.1 boolean
  std::string text;            ///< of a scalar, unescaped
  Location where;              ///< first character of the value
  std::vector<Value> items;    ///< of a list
  std::vector<Entry> entries;  ///< of a map, in the order written

  Value();
  Value(const Value&);
  Value(Value&&) noexcept;
  Value& operator=(const Value&);
  Value& operator=(Value&&) noexcept;
  ~Value();

  static Value scalar(std::string text, Location where = {});
  /// A scalar that is text whatever it looks like.
  static Value quoted_text(std::string text, Location where = {});
  static Value list(Location where = {});
  static Value list(std::vector<Value> items, Location where = {});
  static Value map(Location where = {});

  bool is_null() const { return kind == Kind::null; }
  bool is_scalar() const { return kind == Kind::scalar; }
  bool is_list() const { return kind == Kind::list; }
  bool is_map() const { return kind == Kind::map; }

  /// The value under a key of a map; null pointer where there is none.
  const Value* find(std::string_view key) const;
  Value* find(std::string_view key);
  /// Adds a key to a map, or replaces the value it has.
  void set(std::string key, Value value, Location key_where = {});
  /// Removes a key from a map, if it is there.
  void remove(std::string_view key);
  /// "a number, a list …": what a message calls this value.
  std::string describe() const;
  /// How many values this tree holds, itself included.
  std::size_t count() const;
  /// Levels of nesting; 1 for a scalar.
  std::size_t depth() const;
};

/// One key of a map with the place of the key itself.
struct Value::Entry {
  std::string key;
  Location where;
  Value value;
};

/// Same tree and texts, wherever they were written; the order of keys in a map does not count.
bool same_content(const Value& a, const Value& b);

/// One line of YAML flow text that reads back as the same content.
std::string to_text(const Value& value);

/// A plain or double-quoted YAML scalar that reads back as the same text.
std::string scalar_text(const Value& scalar);

/// The same for a key; numbers stay plain.
std::string key_text(const std::string& key);

}  // namespace aegir
