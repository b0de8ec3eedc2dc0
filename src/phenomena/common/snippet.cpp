#include "phenomena/common/snippet.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <iterator>

#include "phenomena/common/derived_channels.h"

namespace aegir {
namespace {

using expression::Diagnostic;
using expression::ValueType;

constexpr std::array<const char*, 4> given_variables{"time", "frame", "dt", "substep"};

Result<std::string> read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in.is_open() || in.bad()) return io_error("{}: cannot be read", path);
  return text;
}

/// Texts in single quotes as AX has them, character by character.
std::string with_double_quotes(std::string text) {
  bool inside = false;
  for (char& c : text) {
    if (c == '"') inside = !inside;
    if (c == '\'' && !inside) c = '"';
  }
  return text;
}

/// What makes more than one expression of a text, which stands in brackets: a semicolon, a brace, a bracket that closes
/// one that the text has not opened; npos if nothing does. The text has double quotes only.
std::size_t end_of_expression(std::string_view text) {
  int open = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 2) == "//" || text.substr(i, 2) == "/*" || text[i] == '"') {
      const std::string_view end = text[i] == '"' ? "\"" : text[i + 1] == '/' ? "\n" : "*/";
      const std::size_t found = text.find(end, i + (text[i] == '"' ? 1 : 2));
      if (found == std::string_view::npos) return text[i] == '/' && text[i + 1] == '/' ? found : i;
      i = found + end.size() - 1;
      continue;
    }
    open += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (text[i] == ';' || open < 0) return i;
  }
  return std::string_view::npos;
}

bool known_at(const SampleOffer& offer, Stage stage) {
  if (offer.solved) return stage >= Stage::after_move;
  return stage > Stage::move_inputs;
}

}  // namespace

Result<Snippet> Snippet::statements(const Located<std::string>& code, const FilePath& file,
                                    expression::Elements elements) {
  Snippet s;
  s.elements_ = elements;
  if (file.empty()) {
    s.text_ = s.written_ = *code, s.where_ = code.where;
    return s;
  }
  auto text = read_text(file.resolved);
  if (!text) return Error{Failure::io, fmt::format("'{}' cannot be read; is the file there?", file.text), file.where};
  s.text_ = s.written_ = std::move(*text), s.where_ = {file.resolved, 1, 1}, s.own_file_ = true;
  return s;
}

Result<Snippet> Snippet::expression(const Located<std::string>& code, const std::string& target) {
  Snippet s;
  s.written_ = *code, s.where_ = code.where;
  const std::string quoted = with_double_quotes(*code), before = "float@" + target + " = float(";
  s.text_ = before + quoted + "\n);", s.before_ = before.size();
  if (const std::size_t end = end_of_expression(quoted); end != std::string::npos) {
    const auto first = quoted.begin();
    const auto line = 1 + std::count(first, first + static_cast<std::ptrdiff_t>(end), '\n');
    const std::size_t start = line == 1 ? 0 : quoted.rfind('\n', end) + 1;
    const int column = static_cast<int>(end - start + 1 + (line == 1 ? s.before_ : 0));
    return usage_error(s.at(static_cast<int>(line), column),
                       "this is one expression, which is true or a number; '{}' ends it too early", quoted[end]);
  }
  return s;
}

SnippetPlaces Snippet::places() const {
  if (own_file_) return SnippetPlaces::whole_file(where_.file, written_);
  const auto file = read_text(where_.file);
  return SnippetPlaces::in_setup(file ? *file : "", where_, written_);
}

Location Snippet::at(int line, int column) const {
  return places().at(line, line == 1 ? column - static_cast<int>(before_) : column);
}

Location Snippet::of_word(std::string_view word) const { return places().of_word(word); }

std::string wrong_names(const SnippetSettings& s) {
  const auto wrong = [](const std::string& name) -> std::string {
    const auto is_letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; };
    const auto is_word = [&](char c) { return is_letter(c) || std::isdigit(static_cast<unsigned char>(c)); };
    if (name.empty() || !is_letter(name.front()) || !std::all_of(name.begin(), name.end(), is_word))
      return "variable '" + name + "' cannot be written as $name; use letters, digits and _";
    if (std::find(given_variables.begin(), given_variables.end(), name) != given_variables.end())
      return "$" + name + " is given by the run; call the variable something else";
    return "";
  };
  for (const auto& [name, value] : s.variables)
    if (std::string text = wrong(name); !text.empty()) return text;
  for (const auto& [name, value] : s.vectors) {
    if (std::string text = wrong(name); !text.empty()) return text;
    if (s.variables.contains(name)) return "'" + name + "' is in 'variables' and in 'vectors'";
  }
  return "";
}

expression::CompileOptions snippet_options(const SnippetSettings& s, const std::vector<std::string>& more) {
  expression::CompileOptions options;
  for (const char* name : given_variables) options.variables.push_back({name, ValueType::float32});
  for (const std::string& name : more) options.variables.push_back({name, ValueType::float32});
  for (const auto& [name, value] : s.variables) options.variables.push_back({name, ValueType::float32});
  for (const auto& [name, value] : s.vectors) options.variables.push_back({name, ValueType::vec3f});
  return options;
}

void derive_named(Object& object, const Snippet& snippet, Stage stage) {
  auto* source = dynamic_cast<DerivedSource*>(&object);
  if (!source) return;
  for (const DerivedInfo& d : derived_channels())
    if (find_ax_word(snippet.text(), std::string("@") + d.name) != std::string::npos)
      source->derive(d.name, stage == Stage::frame_end ? Asked::frame_end : Asked::every_substep);
}

Result<CompiledSnippet> compile_snippet(Builder& build, const Snippet& snippet, expression::CompileOptions options,
                                        const std::vector<SampleOffer>& offers, Stage stage) {
  options.samples = sources_of(offers);
  const expression::Compiled compiled = expression::compile({snippet.text(), snippet.elements(), {}, 0}, options);
  for (const Diagnostic& d : compiled.diagnostics) {
    Error said{Failure::usage, d.message, snippet.at(d.line, d.column)};
    if (d.is_error) return said;
    // Numbers that become other numbers are everywhere: `float x = rand();`. What one that only looks does not find
    // may be made by others.
    if (!d.message.starts_with("implicit conversion") && !snippet.is_expression())
      build.warn(fmt::format("{} (at {}:{})", d.message, said.where.line, said.where.column));
  }
  if (!compiled.program) return usage_error(snippet.at(0, 0), "the expression cannot be compiled");
  CompiledSnippet result{compiled.program, {}};
  for (const expression::SampleSource& s : compiled.program->samples()) {
    const SampleOffer* offer = find_offer(offers, s.object, s.channel);
    AEGIR_ASSERT(offer, "the compiler accepts what is on offer");
    const bool samples = find_ax_word(snippet.text(), "sample") != std::string::npos;
    const Location where = snippet.of_word(samples ? "sample" : "distance");
    if (!known_at(*offer, stage))
      return usage_error(where,
                         "'{}' of '{}' can be sampled {}, not at '{}'; keep the result in an attribute there, and "
                         "use that here",
                         s.channel, s.object, offer->solved ? "at 'after_move' and 'frame_end'" : "after emission",
                         stage_name(stage));
    const expression::Attribute* a = compiled.program->find(offer->stored);
    if (snippet.elements() == expression::Elements::voxels && a && a->written)
      return usage_error(where,
                         "'{}' is sampled and written; write to another channel, and copy it in an expression "
                         "that comes after",
                         s.channel);
    result.samples.push_back(offer->open());
  }
  return result;
}

}  // namespace aegir
