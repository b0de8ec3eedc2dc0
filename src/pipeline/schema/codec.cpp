#include "pipeline/schema/codec.h"

#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>

#include "base/assert.h"
#include "pipeline/schema/suggest.h"

namespace aegir {
namespace {

constexpr std::size_t most_messages = 200;  // a file with more mistakes than this is not read to its end by anybody

const char* expected_text(FieldType type) {
  switch (type) {
    case FieldType::boolean:
      return "true or false";
    case FieldType::integer:
      return "a whole number";
    case FieldType::number:
      return "a number";
    case FieldType::vector:
      return "three numbers [x, y, z]";
    case FieldType::text:
      return "a text";
    case FieldType::choice:
      return "one word";
    case FieldType::file:
      return "a file name";
    case FieldType::objects:
      return "a list of object names";
    case FieldType::interval:
      return "a number of frames or a time";
    case FieldType::mapping:
      return "a mapping of parameters";
  }
  return "";
}

bool refuse(const Value& value, std::string_view expected, const FieldDescription& d, Reader& reader) {
  if (value.is_null())
    reader.error(value.where, fmt::format("'{}' has no value; it should be {}", d.name, expected));
  else if (value.is_map() && (value.find("keys") || value.find("attribute")) && d.type != FieldType::mapping)
    reader.error(value.where,
                 fmt::format("'{}' cannot be animated or bound to an attribute; give it one value", d.name));
  else
    reader.error(value.where, fmt::format("'{}' is {}, but should be {}", d.name, value.describe(), expected));
  return false;
}

bool is_boolean_trap(const Value& value) {
  static constexpr std::string_view traps[] = {"yes", "no", "on", "off", "y", "n"};
  if (value.quoted) return false;
  std::string lower = value.text;
  for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  for (const std::string_view trap : traps)
    if (lower == trap) return true;
  return false;
}

void warn_of_trap(const Value& value, Reader& reader) {
  if (is_boolean_trap(value))
    reader.warn(value.where, fmt::format("'{}' is true or false to some YAML readers; put it in quotes", value.text));
}

std::string with_unit(double number, const FieldDescription& d) {
  return d.unit_text.empty() ? fmt::format("{}", number) : fmt::format("{} {}", number, d.unit_text);
}

bool check_range(double number, const Location& where, const FieldDescription& d, Reader& reader) {
  std::string wrong;
  if (d.min && number < *d.min)
    wrong = "at least " + with_unit(*d.min, d);
  else if (d.max && number > *d.max)
    wrong = "at most " + with_unit(*d.max, d);
  else if (d.above && number <= *d.above)
    wrong = "above " + with_unit(*d.above, d);
  else if (d.below && number >= *d.below)
    wrong = "below " + with_unit(*d.below, d);
  if (wrong.empty()) return true;
  reader.error(where, fmt::format("'{}' is {}, but must be {}", d.name, with_unit(number, d), wrong));
  return false;
}

bool read_number(const Value& value, double& out, const FieldDescription& d, Reader& reader) {
  const Result<double> number = parse_quantity(value.text, d.unit);
  if (!number) {
    std::string message = number.error().message;
    if (message.ends_with("is not a number")) message = fmt::format("{} is not a number", value.describe());
    reader.error(value.where, fmt::format("'{}': {}", d.name, message));
    return false;
  }
  if (!check_range(*number, value.where, d, reader)) return false;
  out = *number;
  return true;
}

template <class Int>
bool read_integer(const Value& value, Int& out, const FieldDescription& d, Reader& reader) {
  if (!value.is_scalar()) return refuse(value, expected_text(d.type), d, reader);
  std::string_view text = value.text;
  if (text.starts_with('+') && text.size() > 1 && text[1] != '-') text.remove_prefix(1);
  Int number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure == std::errc::result_out_of_range) {
    reader.error(value.where, fmt::format("'{}' is {}, which is out of range", d.name, value.describe()));
    return false;
  }
  if (failure != std::errc{} || end != text.data() + text.size())
    return refuse(value, expected_text(d.type), d, reader);
  if (!check_range(static_cast<double>(number), value.where, d, reader)) return false;
  out = number;
  return true;
}

std::string number_text(double number) { return number == 0 ? "0" : fmt::format("{}", number); }

}  // namespace

void Reader::error(const Location& where, std::string message) {
  ++errors_;
  if (messages_->errors.size() < most_messages)
    messages_->errors.push_back({Failure::usage, std::move(message), where});
}

void Reader::warn(const Location& where, std::string message) {
  if (messages_->warnings.size() < most_messages)
    messages_->warnings.push_back({Failure::usage, std::move(message), where});
}

void Reader::unknown_key(const Value::Entry& entry, const std::vector<std::string>& known) {
  error(entry.where, fmt::format("'{}' is not a parameter of '{}'{}", entry.key, owner_, suggestion(entry.key, known)));
}

std::string label_from_name(const std::string& name) {
  std::string label = name;
  for (char& c : label)
    if (c == '_') c = ' ';
  if (!label.empty() && label[0] >= 'a' && label[0] <= 'z') label[0] = static_cast<char>(label[0] - 'a' + 'A');
  return label;
}

void set_unit(FieldDescription& description, const Unit& unit, std::string text) {
  description.unit = unit, description.unit_text = std::move(text);
}

void set_unit(FieldDescription& description, const char* text) {
  const Result<Quantity> unit = parse_unit(text);
  AEGIR_ASSERT(unit && unit->value == 1, std::string("a parameter's unit must be SI without a prefix: ") + text);
  set_unit(description, unit->unit, text);
}

bool read_scalar(const Value& value, bool& out, const FieldDescription& d, Reader& reader) {
  if (value.is_scalar() && !value.quoted && (value.text == "true" || value.text == "false")) {
    out = value.text == "true";
    return true;
  }
  if (value.is_scalar()) {
    reader.error(value.where, fmt::format("'{}' is {}; write true or false", d.name, value.describe()));
    return false;
  }
  return refuse(value, expected_text(d.type), d, reader);
}

bool read_scalar(const Value& value, int& out, const FieldDescription& d, Reader& reader) {
  return read_integer(value, out, d, reader);
}

bool read_scalar(const Value& value, std::int64_t& out, const FieldDescription& d, Reader& reader) {
  return read_integer(value, out, d, reader);
}

bool read_scalar(const Value& value, double& out, const FieldDescription& d, Reader& reader) {
  if (!value.is_scalar()) return refuse(value, expected_text(d.type), d, reader);
  return read_number(value, out, d, reader);
}

bool read_scalar(const Value& value, std::string& out, const FieldDescription& d, Reader& reader) {
  if (!value.is_scalar()) return refuse(value, expected_text(d.type), d, reader);
  warn_of_trap(value, reader);
  out = value.text;
  return true;
}

bool read_scalar(const Value& value, Vec3d& out, const FieldDescription& d, Reader& reader) {
  if (!value.is_list() || value.items.size() != 3) {
    if (!value.is_list()) return refuse(value, expected_text(FieldType::vector), d, reader);
    reader.error(value.where, fmt::format("'{}' is a list of {}, but should be {}", d.name, value.items.size(),
                                          expected_text(FieldType::vector)));
    return false;
  }
  Vec3d held;
  bool good = true;
  for (int axis = 0; axis < 3; ++axis) {
    const Value& item = value.items[static_cast<std::size_t>(axis)];
    good = (item.is_scalar() ? read_number(item, held[axis], d, reader) : refuse(item, "a number", d, reader)) && good;
  }
  if (good) out = held;
  return good;
}

bool read_scalar(const Value& value, FilePath& out, const FieldDescription& d, Reader& reader) {
  if (!value.is_scalar()) return refuse(value, expected_text(d.type), d, reader);
  if (value.text.empty()) {
    reader.error(value.where, fmt::format("'{}' is an empty file name", d.name));
    return false;
  }
  namespace fs = std::filesystem;
  const fs::path folder =
      value.where.file == "--set" ? fs::path(reader.folder()) : fs::path(value.where.file).parent_path();
  out = {value.text, (folder / value.text).lexically_normal().string(), value.where};
  return true;
}

bool read_scalar(const Value& value, ObjectList& out, const FieldDescription& d, Reader& reader) {
  const bool single = value.is_scalar();
  if (!single && !value.is_list()) return refuse(value, expected_text(d.type), d, reader);
  ObjectList held{{}, value.where};
  bool good = true;
  const auto add = [&](const Value& item) {
    if (!item.is_scalar() || item.text.empty()) {
      good = refuse(item, "the name of an object", d, reader);
      return;
    }
    warn_of_trap(item, reader);
    held.names.push_back(item.text);
  };
  if (single) add(value);
  for (const Value& item : value.items) add(item);
  if (good) out = std::move(held);
  return good;
}

bool read_scalar(const Value& value, Interval& out, const FieldDescription& d, Reader& reader) {
  if (!value.is_scalar()) return refuse(value, expected_text(d.type), d, reader);
  std::string_view text = value.text;
  bool frames = false;
  for (const std::string_view ending : {" frames", " frame"})
    if (text.ends_with(ending)) text.remove_suffix(ending.size()), frames = true;
  const Result<Quantity> q = parse_quantity(text);
  if (!q || (frames && q->has_unit) || (q->has_unit && q->unit != unit::second))
    return refuse(value, "a number of frames or a time, as in 10 or 10 min", d, reader);
  if (q->has_unit) {
    if (!check_range(q->value, value.where, d, reader)) return false;
    out = {.frames = 0, .seconds = q->value};
  } else {
    if (q->value != std::floor(q->value) || std::abs(q->value) > std::numeric_limits<int>::max())
      return refuse(value, "a whole number of frames or a time with its unit", d, reader);
    if (!check_range(q->value, value.where, d, reader)) return false;
    out = {.frames = static_cast<int>(q->value), .seconds = 0};
  }
  return true;
}

bool read_choice(const Value& value, std::int64_t& out, const FieldDescription& d, Reader& reader) {
  if (!value.is_scalar()) return refuse(value, expected_text(d.type), d, reader);
  std::vector<std::string> names;
  for (const Choice& choice : d.choices) {
    if (choice.name == value.text) {
      out = choice.value;
      return true;
    }
    names.push_back(choice.name);
  }
  reader.error(value.where, fmt::format("'{}' is {}, but should be one of {}{}", d.name, value.describe(),
                                        fmt::join(names, ", "), suggestion(value.text, names)));
  return false;
}

Value write_scalar(bool value, const Writer&) { return Value::scalar(value ? "true" : "false"); }
Value write_scalar(int value, const Writer&) { return Value::scalar(fmt::format("{}", value)); }
Value write_scalar(std::int64_t value, const Writer&) { return Value::scalar(fmt::format("{}", value)); }
Value write_scalar(double value, const Writer&) { return Value::scalar(number_text(value)); }
Value write_scalar(const std::string& value, const Writer&) { return Value::quoted_text(value); }

Value write_scalar(const Vec3d& value, const Writer& writer) {
  return Value::list({write_scalar(value.x, writer), write_scalar(value.y, writer), write_scalar(value.z, writer)});
}

Value write_scalar(const FilePath& value, const Writer& writer) {
  if (value.empty()) return {};
  if (!writer.folder || std::filesystem::path(value.text).is_absolute()) return Value::quoted_text(value.text);
  if (writer.folder->empty()) return Value::quoted_text(value.resolved);
  const std::string relative = std::filesystem::path(value.resolved).lexically_relative(*writer.folder).string();
  return Value::quoted_text(relative.empty() ? value.resolved : relative);
}

Value write_scalar(const ObjectList& value, const Writer& writer) {
  Value list = Value::list();
  for (const std::string& name : value.names) list.items.push_back(write_scalar(name, writer));
  return list;
}

Value write_scalar(const Interval& value, const Writer&) {
  return Value::scalar(value.seconds > 0 ? number_text(value.seconds) + " s" : fmt::format("{}", value.frames));
}

Value write_choice(std::int64_t value, const FieldDescription& d) {
  for (const Choice& choice : d.choices)
    if (choice.value == value) return Value::quoted_text(choice.name);
  return {};
}

bool expect_list(const Value& value, int length, const FieldDescription& d, Reader& reader) {
  if (!value.is_list()) return refuse(value, "a list", d, reader);
  if (length == 0 || value.items.size() == static_cast<std::size_t>(length)) return true;
  reader.error(value.where,
               fmt::format("'{}' is a list of {}, but should be a list of {}", d.name, value.items.size(), length));
  return false;
}

bool expect_map(const Value& value, const FieldDescription& d, Reader& reader) {
  return value.is_map() || refuse(value, "a mapping", d, reader);
}

}  // namespace aegir
