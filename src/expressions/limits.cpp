// The parser of AX is recursive in its generated tree and has no limit of its own: what is too long or too deep is
// answered here, before it is parsed.
#include <string_view>

#include "expressions/program.h"

namespace aegir::expression {

namespace {

bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

/// Walks over a snippet token by token, skipping comments, and keeps line and column.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}
  bool at_end() const { return at_ >= text_.size(); }
  char here() const { return text_[at_]; }
  int line() const { return line_; }
  int column() const { return static_cast<int>(at_ - line_start_) + 1; }

  void step() {
    if (text_[at_++] == '\n') ++line_, line_start_ = at_;
  }
  void skip_spaces_and_comments() {
    while (!at_end()) {
      const std::string_view rest = text_.substr(at_);
      if (rest[0] == ' ' || (rest[0] >= '\t' && rest[0] <= '\r')) {
        step();
      } else if (rest.starts_with("//")) {
        while (!at_end() && here() != '\n') step();
      } else {
        return;
      }
    }
  }
  /// One token: a word or number, a string, or a single character.
  void token() {
    if (here() == '"') {
      step();
      while (!at_end() && here() != '"') {
        if (here() == '\\') step();
        if (!at_end()) step();
      }
      if (!at_end()) step();
    } else if (is_word(here())) {
      while (!at_end() && is_word(here())) step();
    } else {
      step();
    }
  }
  std::string_view word() const {
    std::size_t end = at_;
    while (end < text_.size() && is_word(text_[end])) ++end;
    return text_.substr(at_, end - at_);
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0, line_start_ = 0;
  int line_ = 1;
};

}  // namespace

std::vector<Diagnostic> check_limits(std::string_view text, const Limits& limits) {
  if (text.size() > limits.source_bytes)
    return {{true, 0, 0,
             fmt::format("the expression has {} bytes and may have {}; split it", text.size(), limits.source_bytes)}};
  Scanner scanner(text);
  // `depth` counts what the parser keeps open: brackets, and words or operators that wait for what follows them in one
  // statement (`if (a) if (b) …`, `- - - -1`, `a ? b : c ? …`, `a * b * …`), which the end of a statement closes.
  // A chain of `else` is as deep as it is long, braces or not.
  constexpr std::string_view operators = "?:=-+!~*/%<>&|^.";
  int depth = 0;
  std::size_t tokens = 0, waiting = 0, elses = 0;
  for (scanner.skip_spaces_and_comments(); !scanner.at_end(); scanner.skip_spaces_and_comments()) {
    const char c = scanner.here();
    const Diagnostic here{true, scanner.line(), scanner.column(), ""};
    const auto refuse = [&](std::string message) {
      return std::vector<Diagnostic>{{true, here.line, here.column, std::move(message)}};
    };
    if (static_cast<unsigned char>(c) >= 0x80 || (c < ' ' && c != '\n'))
      return refuse("only plain ASCII characters may stand outside comments");
    const std::string_view word = scanner.word();
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    if (c == ';' || c == '{' || c == '}') waiting = 0;
    elses += word == "else";
    if (operators.find(c) != std::string_view::npos || word == "if" || word == "for" || word == "while" || word == "do")
      ++waiting;
    if (depth > limits.nesting) return refuse(fmt::format("brackets are nested deeper than {}", limits.nesting));
    if (waiting > static_cast<std::size_t>(limits.nesting) * 4)
      return refuse(fmt::format("a statement has more than {} operators; split it", limits.nesting * 4));
    if (elses > static_cast<std::size_t>(limits.nesting) * 4)
      return refuse(fmt::format("the expression has more than {} 'else'; split it", limits.nesting * 4));
    if (++tokens > limits.tokens) return refuse(fmt::format("the expression has more than {} words", limits.tokens));
    scanner.token();
  }
  return {};
}

}  // namespace aegir::expression
