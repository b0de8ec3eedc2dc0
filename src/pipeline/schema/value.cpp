#include "pipeline/schema/value.h"

#include <algorithm>

namespace aegir {

Value::Value() = default;
Value::Value(const Value&) = default;
Value::Value(Value&&) noexcept = default;
Value& Value::operator=(const Value&) = default;
Value& Value::operator=(Value&&) noexcept = default;
Value::~Value() = default;

Value Value::scalar(std::string text, Location where) {
  Value v;
  v.kind = Kind::scalar, v.text = std::move(text), v.where = std::move(where);
  return v;
}

Value Value::quoted_text(std::string text, Location where) {
  Value v = scalar(std::move(text), std::move(where));
  v.quoted = true;
  return v;
}

Value Value::list(Location where) { return list(std::vector<Value>(), std::move(where)); }

Value Value::list(std::vector<Value> items, Location where) {
  Value v;
  v.kind = Kind::list, v.items = std::move(items), v.where = std::move(where);
  return v;
}

Value Value::map(Location where) {
  Value v;
  v.kind = Kind::map, v.where = std::move(where);
  return v;
}

const Value* Value::find(std::string_view key) const {
  for (const Entry& entry : entries)
    if (entry.key == key) return &entry.value;
  return nullptr;
}

Value* Value::find(std::string_view key) { return const_cast<Value*>(std::as_const(*this).find(key)); }

void Value::set(std::string key, Value value, Location key_where) {
  for (Entry& entry : entries)
    if (entry.key == key) {
      entry.value = std::move(value), entry.where = std::move(key_where);
      return;
    }
  entries.push_back({std::move(key), std::move(key_where), std::move(value)});
}

void Value::remove(std::string_view key) {
  std::erase_if(entries, [&](const Entry& entry) { return entry.key == key; });
}

std::string Value::describe() const {
  switch (kind) {
    case Kind::null:
      return "empty";
    case Kind::list:
      return "a list";
    case Kind::map:
      return "a mapping";
    case Kind::scalar:
      break;
  }
  constexpr std::size_t longest = 40;
  std::string shown = text.substr(0, longest);
  while (!shown.empty() && text.size() > longest && (text[shown.size()] & 0xC0) == 0x80) shown.pop_back();
  for (char& c : shown)
    if (c == '\n' || c == '\t') c = ' ';
  return fmt::format("'{}{}'", shown, shown.size() < text.size() ? "…" : "");
}

std::size_t Value::count() const {
  std::size_t sum = 1;
  for (const Value& item : items) sum += item.count();
  for (const Entry& entry : entries) sum += entry.value.count();
  return sum;
}

std::size_t Value::depth() const {
  std::size_t deepest = 0;
  for (const Value& item : items) deepest = std::max(deepest, item.depth());
  for (const Entry& entry : entries) deepest = std::max(deepest, entry.value.depth());
  return deepest + 1;
}

bool same_content(const Value& a, const Value& b) {
  if (a.kind != b.kind || a.text != b.text || a.items.size() != b.items.size() || a.entries.size() != b.entries.size())
    return false;
  for (std::size_t i = 0; i < a.items.size(); ++i)
    if (!same_content(a.items[i], b.items[i])) return false;
  for (std::size_t i = 0; i < a.entries.size(); ++i) {
    const Value::Entry& entry = a.entries[i];
    const Value* other = b.entries[i].key == entry.key ? &b.entries[i].value : b.find(entry.key);
    if (!other || !same_content(entry.value, *other)) return false;
  }
  return true;
}

namespace {

bool is_word_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// A text that no YAML reader takes for anything else and that needs no quotes in any context.
bool is_plain(const Value& scalar) {
  const std::string& text = scalar.text;
  if (text.empty() || text.back() == ' ') return false;
  const bool number_start = !scalar.quoted && text.size() > 1 && (text[0] == '-' || text[0] == '.') &&
                            (text[1] == '.' || (text[1] >= '0' && text[1] <= '9'));
  if (!is_word_letter(text[0]) && !number_start) return false;
  for (const char c : text)
    if (!is_word_letter(c) && std::string_view("-+./^%*() ").find(c) == std::string_view::npos) return false;
  if (!scalar.quoted) return true;
  if (text[0] >= '0' && text[0] <= '9') return false;
  std::string lower = text;
  for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  static constexpr std::string_view traps[] = {"true", "false", "null", "yes", "no", "on",
                                               "off",  "y",     "n",    "nan", "inf"};
  return std::find(std::begin(traps), std::end(traps), lower) == std::end(traps);
}

}  // namespace

std::string scalar_text(const Value& scalar) {
  if (is_plain(scalar)) return scalar.text;
  std::string quoted = "\"";
  for (const char c : scalar.text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      quoted += '\\', quoted += c;
    else if (c == '\n')
      quoted += "\\n";
    else if (c == '\t')
      quoted += "\\t";
    else if (byte < 0x20 || byte == 0x7f)
      quoted += fmt::format("\\x{:02x}", byte);
    else
      quoted += c;
  }
  return quoted + '"';
}

std::string key_text(const std::string& key) {
  const bool number = !key.empty() && key.find_first_not_of("0123456789.-") == std::string::npos;
  return scalar_text(number ? Value::scalar(key) : Value::quoted_text(key));
}

std::string to_text(const Value& value) {
  std::string text;
  switch (value.kind) {
    case Value::Kind::null:
      return "null";
    case Value::Kind::scalar:
      return scalar_text(value);
    case Value::Kind::list:
      for (const Value& item : value.items) text += (text.empty() ? "" : ", ") + to_text(item);
      return "[" + text + "]";
    case Value::Kind::map:
      for (const Value::Entry& entry : value.entries)
        text += (text.empty() ? "" : ", ") + key_text(entry.key) + ": " + to_text(entry.value);
      return "{" + text + "}";
  }
  return text;
}

}  // namespace aegir
