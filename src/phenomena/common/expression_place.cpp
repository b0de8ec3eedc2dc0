#include "phenomena/common/expression_place.h"

#include <algorithm>
#include <cctype>

namespace aegir {
namespace {

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
/// A byte that starts no character of its own, in UTF-8.
bool continues(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

/// A place in a text that knows its line and its column in characters.
struct Cursor {
  std::string_view text;
  std::size_t offset = 0;
  int line = 1, column = 1;

  bool at_end() const { return offset >= text.size(); }
  char now() const { return at_end() ? '\0' : text[offset]; }
  char next() const { return offset + 1 < text.size() ? text[offset + 1] : '\0'; }
  void step() {
    if (at_end()) return;
    if (text[offset] == '\n')
      ++line, column = 1;
    else if (!continues(text[offset]))
      ++column;
    ++offset;
  }
  void skip_spaces() {
    while (!at_end() && is_space(now())) step();
  }
  void skip_line() {
    while (!at_end() && now() != '\n') step();
  }
};

/// The style of a YAML scalar, told by its first character.
enum class Style { plain, block, single_quotes, double_quotes };

/// Goes to the first character of what a scalar holds.
Style enter(Cursor& c) {
  while (c.now() == '&') {
    while (!c.at_end() && !is_space(c.now())) c.step();
    c.skip_spaces();
  }
  if (c.now() == '|' || c.now() == '>') return c.skip_line(), Style::block;
  if (c.now() == '\'') return c.step(), Style::single_quotes;
  if (c.now() == '"') return c.step(), Style::double_quotes;
  return Style::plain;
}

/// Blanks of the file, and what stands for blanks in double quotes.
void skip_blanks(Cursor& c, Style style) {
  c.skip_spaces();
  while (style == Style::double_quotes && c.now() == '\\' &&
         (c.next() == 'n' || c.next() == 't' || c.next() == ' ' || c.next() == '\n'))
    c.step(), c.step(), c.skip_spaces();
}

/// Whether the file goes on with this character of the snippet; the cursor then stands behind it.
bool take(Cursor& c, Style style, char wanted) {
  if (style == Style::single_quotes && c.now() == '\'') {
    if (c.next() != '\'') return false;
    c.step();
  } else if (style == Style::double_quotes && c.now() == '\\') {
    if (c.next() != '"' && c.next() != '\\' && c.next() != '/') return false;
    c.step();
  }
  if (c.at_end() || c.now() != wanted) return false;
  return c.step(), true;
}

}  // namespace

SnippetPlaces SnippetPlaces::in_setup(std::string_view file_text, const Location& value, std::string_view snippet) {
  SnippetPlaces result;
  result.snippet_ = snippet, result.start_ = value;
  Cursor c{file_text};
  while (!c.at_end() && c.line < value.line) c.step();
  while (!c.at_end() && c.now() != '\n' && c.column < value.column) c.step();
  if (c.line != value.line || c.column != value.column) return result;
  const Style style = enter(c);
  const auto place = [&] { return Location{value.file, c.line, c.column}; };
  for (const char wanted : snippet) {
    if (is_space(wanted)) {
      // Blanks that YAML folded have no place of their own: they are where the last word ended.
      result.places_.push_back(place());
      continue;
    }
    skip_blanks(c, style);
    result.places_.push_back(place());
    if (!take(c, style, wanted)) return result.places_.clear(), result;
  }
  result.places_.push_back(place());
  return result;
}

SnippetPlaces SnippetPlaces::whole_file(const std::string& file, std::string_view snippet) {
  SnippetPlaces result;
  result.snippet_ = snippet, result.start_ = {file, 1, 1};
  for (Cursor c{snippet};; c.step()) {
    result.places_.push_back({file, c.line, c.column});
    if (c.at_end()) return result;
  }
}

Location SnippetPlaces::at(int line, int column) const {
  if (line <= 0 || places_.empty()) return start_;
  std::size_t offset = 0;
  for (int l = 1; l < line; ++l) {
    const std::size_t end = snippet_.find('\n', offset);
    if (end == std::string::npos) return places_.back();
    offset = end + 1;
  }
  return places_[std::min(offset + static_cast<std::size_t>(std::max(0, column - 1)), places_.size() - 1)];
}

Location SnippetPlaces::of_word(std::string_view word) const {
  const std::size_t found = find_ax_word(snippet_, word);
  return found == std::string::npos || places_.empty() ? start_ : places_[found];
}

std::size_t find_ax_word(std::string_view text, std::string_view word) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 2) == "//") {
      i = std::min(text.find('\n', i), text.size());
    } else if (text.substr(i, 2) == "/*") {
      const std::size_t end = text.find("*/", i + 2);
      if (end == std::string_view::npos) break;
      i = end + 1;
    } else if (text[i] == '"') {
      const std::size_t end = text.find('"', i + 1);
      if (end == std::string_view::npos) break;
      i = end;
    } else if (text.substr(i, word.size()) == word && (i == 0 || !is_word(text[i - 1]) || !is_word(word.front())) &&
               (i + word.size() >= text.size() || !is_word(text[i + word.size()]))) {
      return i;
    }
  }
  return std::string_view::npos;
}

}  // namespace aegir
