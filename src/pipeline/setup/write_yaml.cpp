#include "pipeline/setup/yaml.h"

namespace aegir {
namespace {

constexpr std::size_t longest_line = 110;

bool holds_maps(const Value& value) {
  for (const Value& item : value.items)
    if (item.is_map()) return true;
  for (const Value::Entry& entry : value.entries)
    if (holds_maps(entry.value)) return true;
  return false;
}

bool holds_lines(const Value& value) {
  if (value.text.find('\n') != std::string::npos) return true;
  for (const Value& item : value.items)
    if (holds_lines(item)) return true;
  for (const Value::Entry& entry : value.entries)
    if (holds_lines(entry.value)) return true;
  return false;
}

/// Whether a text can be a literal block and come back as it is: it ends with exactly one line end and starts with a
/// letter or sign.
bool is_literal(const Value& value) {
  const std::string& t = value.text;
  return value.is_scalar() && t.size() > 1 && t.find('\n') != std::string::npos && t.back() == '\n' &&
         t[t.size() - 2] != '\n' && t[0] != ' ' && t[0] != '\n' && t.find('\t') == std::string::npos &&
         t.find(" \n") == std::string::npos;
}

class BlockWriter {
 public:
  std::string text;

  void entries(const Value& map, std::size_t indent, bool first_in_place = false) {
    for (const Value::Entry& entry : map.entries) {
      if (!std::exchange(first_in_place, false)) text.append(indent, ' ');
      text += key_text(entry.key) + ":";
      value(entry.value, indent);
    }
  }

 private:
  void value(const Value& v, std::size_t indent) {
    if (is_literal(v)) return literal(v.text, indent + 2);
    const bool empty = v.items.empty() && v.entries.empty();
    const std::string flow = to_text(v);
    if (v.is_scalar() || v.is_null() || empty ||
        (flow.size() + indent < longest_line && !holds_maps(v) && !holds_lines(v))) {
      text += " " + flow + "\n";
    } else if (v.is_map()) {
      text += "\n";
      entries(v, indent + 2);
    } else {
      text += "\n";
      items(v, indent + 2);
    }
  }

  void items(const Value& list, std::size_t indent) {
    for (const Value& item : list.items) {
      text.append(indent, ' ') += "- ";
      if (item.is_map() && !item.entries.empty())
        entries(item, indent + 2, true);
      else
        text += to_text(item) + "\n";
    }
  }

  void literal(const std::string& t, std::size_t indent) {
    text += " |\n";
    for (std::size_t begin = 0; begin < t.size();) {
      const std::size_t end = t.find('\n', begin);
      if (end > begin) text.append(indent, ' ').append(t, begin, end - begin);
      text += '\n';
      begin = end + 1;
    }
  }
};

}  // namespace

std::string write_yaml(const Value& value) {
  if (!value.is_map() || value.entries.empty()) return to_text(value) + "\n";
  BlockWriter writer;
  writer.entries(value, 0);
  return writer.text;
}

}  // namespace aegir
