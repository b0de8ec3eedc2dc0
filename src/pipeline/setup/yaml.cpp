#include "pipeline/setup/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <sstream>
#include <unordered_map>

#include "pipeline/setup/text_check.h"

namespace aegir {
namespace {

/// Ends reading from inside an event.
struct Stop {
  Error error;
};

/// Builds the tree from the parser's events and keeps it within the limits.
class Builder : public YAML::EventHandler {
 public:
  Builder(const TextLines& lines, const YamlLimits& limits) : lines_(lines), limits_(limits) {}

  Value take_root() { return std::move(root_); }
  bool has_root() const { return has_root_; }
  const Location& last_place() const { return last_; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ > 0) stop(mark, "a second document starts here; a setup file holds one");
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Value null;
    null.where = place(mark);
    count(null.where, 1);
    add(std::move(null), anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const Location where = place(mark);
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) stop(where, "this alias refers to a value that contains it");
    if (open_.size() + found->second.depth > limits_.depth) too_deep(where);
    count(where, found->second.count);
    add(Value(found->second.value), 0);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    Value scalar = Value::scalar(text, place(mark));
    check_tag(tag, scalar.where);
    scalar.quoted = tag == "!";
    if (scalar.quoted && !mark.is_null())
      check_quotes(lines_.text().substr(lines_.offset(mark.line, mark.column)), scalar.where);
    for (const char c : text)
      if ((static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7f)
        stop(scalar.where, "this text contains a control character");
    count(scalar.where, 1);
    add(std::move(scalar), anchor);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(Value::list(place(mark)), tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(Value::map(place(mark)), tag, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Anchored {
    Value value;
    std::size_t count, depth;
  };
  struct Open {
    Value value;
    YAML::anchor_t anchor = 0;
    bool has_key = false;
    std::string key;
    Location key_where;
    std::unordered_map<std::string, int> lines_of_keys;
  };

  [[noreturn]] void stop(const Location& where, std::string message) {
    throw Stop{{Failure::usage, std::move(message), where}};
  }
  [[noreturn]] void stop(const YAML::Mark& mark, std::string message) { stop(place(mark), std::move(message)); }
  [[noreturn]] void too_deep(const Location& where) {
    stop(where, fmt::format("this is nested more than {} levels deep", limits_.depth));
  }

  Location place(const YAML::Mark& mark) {
    if (!mark.is_null()) last_ = lines_.place(mark.line, mark.column);
    return last_;
  }

  void check_tag(const std::string& tag, const Location& where) {
    if (!tag.empty() && tag != "?" && tag != "!")
      stop(where, fmt::format("'{}': tags are not part of the setup language", tag));
  }

  /// The parser takes the end of the file for the end of a quoted text.
  void check_quotes(std::string_view source, const Location& where) {
    while (source.starts_with('&')) {
      source.remove_prefix(std::min(source.size(), source.find_first_of(" \n")));
      source.remove_prefix(std::min(source.size(), source.find_first_not_of(" \n")));
    }
    if (!source.starts_with('"') && !source.starts_with('\'')) return;
    const char quote = source[0];
    for (std::size_t i = 1; i < source.size(); ++i) {
      if (quote == '"' && source[i] == '\\')
        ++i;
      else if (source[i] == quote && quote == '\'' && i + 1 < source.size() && source[i + 1] == quote)
        ++i;
      else if (source[i] == quote)
        return;
    }
    stop(where, "a text in quotes is not closed");
  }

  void count(const Location& where, std::size_t more) {
    values_ += more;
    if (values_ > limits_.values)
      stop(where,
           fmt::format("the file holds more than {} values (aliases count as often as they are used)", limits_.values));
  }

  void open(Value value, const std::string& tag, YAML::anchor_t anchor) {
    check_tag(tag, value.where);
    count(value.where, 1);
    if (open_.size() + 1 > limits_.depth) too_deep(value.where);
    if (!open_.empty() && open_.back().value.is_map() && !open_.back().has_key)
      stop(value.where, fmt::format("{} cannot be a key; a closing bracket or brace is missing, or a text needs quotes",
                                    value.describe()));
    open_.push_back({std::move(value), anchor, false, {}, {}, {}});
  }

  void close() {
    Open done = std::move(open_.back());
    open_.pop_back();
    add(std::move(done.value), done.anchor);
  }

  void add(Value value, YAML::anchor_t anchor) {
    if (anchor) anchors_[anchor] = {value, value.count(), value.depth()};
    if (open_.empty()) {
      root_ = std::move(value), has_root_ = true;
      return;
    }
    Open& top = open_.back();
    if (top.value.is_list()) {
      top.value.items.push_back(std::move(value));
    } else if (!top.has_key) {
      take_key(top, value);
    } else {
      if (value.is_null()) value.where = top.key_where;
      top.value.entries.push_back({std::move(top.key), top.key_where, std::move(value)});
      top.has_key = false;
    }
  }

  void take_key(Open& top, const Value& key) {
    if (!key.is_scalar()) stop(key.where, "a key is missing here, or is not a text");
    if (key.text == "<<" && !key.quoted)
      stop(key.where,
           "merge keys ('<<') are not part of the setup language; use 'include', 'expose' or an alias for the whole "
           "value");
    const auto [known, fresh] = top.lines_of_keys.emplace(key.text, key.where.line);
    if (!fresh)
      stop(key.where,
           fmt::format("'{}' appears twice in this mapping; it is already in line {}", key.text, known->second));
    top.has_key = true, top.key = key.text, top.key_where = key.where;
  }

  const TextLines& lines_;
  const YamlLimits& limits_;
  std::vector<Open> open_;
  std::unordered_map<YAML::anchor_t, Anchored> anchors_;
  Value root_;
  Location last_;
  std::size_t values_ = 0;
  int documents_ = 0;
  bool has_root_ = false;
};

/// The parser's complaint in words that say what to do.
std::string explain(const std::string& complaint, std::string_view line) {
  const auto is = [&](const char* known) { return complaint.find(known) != std::string::npos; };
  std::string text = "this is not valid YAML: " + complaint;
  if (is("tab"))
    text = "a tab is used for indentation; use spaces";
  else if (is("end of map flow"))
    text = "a mapping in braces is not closed; a '}' or a ',' is missing";
  else if (is("end of sequence flow"))
    text = "a list in brackets is not closed; a ']' or a ',' is missing";
  else if (is("illegal EOF"))
    text = "a text in quotes is not closed";
  else if (is("illegal map value"))
    text = "a ':' stands where no value can be; check the indentation, or put the text in quotes";
  else if (is("end of map not found"))
    text = "this line fits neither the mapping above nor a new one; check the indentation";
  else if (is("end of sequence not found"))
    text = "this line fits neither the list above nor a new one; check the indentation";
  else if (is("anchor is not defined"))
    text = "this alias refers to nothing above it";
  if (line.find("${") != std::string_view::npos && line.find('{') < line.find("${"))
    text += "; inside braces or brackets '${…}' needs quotes";
  return text;
}

}  // namespace

std::optional<Value> read_yaml(std::string_view text, const std::string& file, Messages& messages,
                               const YamlLimits& limits) {
  const auto fail = [&](Error error) {
    messages.errors.push_back(std::move(error));
    return std::nullopt;
  };
  if (text.size() > limits.bytes)
    return fail(usage_error({file, 1, 1}, "the file is larger than {} bytes", limits.bytes));
  Result<std::string> clean = clean_text(text, file);
  if (!clean) return fail(clean.error());
  const TextLines lines(*clean, file);
  Builder builder(lines, limits);
  try {
    std::istringstream stream(*clean);
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const Stop& stopped) {
    return fail(stopped.error);
  } catch (const YAML::Exception& e) {
    Location where = e.mark.is_null() ? builder.last_place() : lines.place(e.mark.line, e.mark.column);
    where.line = std::max(where.line, 1), where.column = std::max(where.column, 1), where.file = file;
    const std::string_view line = lines.line(where.line);
    const std::size_t tab = line.substr(0, line.find_first_not_of(" \t")).find('\t');
    if (tab != std::string_view::npos)
      return fail(
          usage_error({file, where.line, static_cast<int>(tab) + 1}, "a tab is used for indentation; use spaces"));
    return fail({Failure::usage, explain(e.msg, line), where});
  }
  if (!builder.has_root() || builder.last_place().line == 0)
    return fail(usage_error({file, 1, 1}, "the file is empty"));
  return builder.take_root();
}

}  // namespace aegir
