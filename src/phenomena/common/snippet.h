// Snippets of AX as they stand in setups: read, compiled with the mistakes at their places in the user's file.
//
//   Result<Snippet> snippet = Snippet::statements(settings.code, settings.file, Elements::particles);
//   CompileOptions options = snippet_options(settings);                 // $time, $frame, …, and the user's variables
//   options.channels = …
//   Result<CompiledSnippet> made = compile_snippet(build, *snippet, options, offers, stage);
//   if (!made) return made.error();
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "expressions/program.h"
#include "phenomena/common/expression_place.h"
#include "phenomena/common/sampled_channel.h"
#include "pipeline/model/behavior.h"
#include "pipeline/schedule/stage.h"
#include "pipeline/schema/parameter.h"
#include "pipeline/schema/types.h"

namespace aegir {

/// With what a snippet runs.
struct SnippetSettings {
  std::map<std::string, Parameter<double>> variables;
  std::map<std::string, Parameter<Vec3d>> vectors;
  std::int64_t seed = 1;
  std::int64_t loop_limit = 1'000'000;
};

/// A snippet with its places. The setup is read again for them, and only when something is wrong.
class Snippet {
 public:
  /// A whole snippet: that of `file` if one is given, or else `code`.
  static Result<Snippet> statements(const Located<std::string>& code, const FilePath& file,
                                    expression::Elements elements);
  /// One expression over particles, a truth or a number, which becomes the float attribute `target`. Texts in it may
  /// stand in single quotes.
  static Result<Snippet> expression(const Located<std::string>& code, const std::string& target);

  /// What is compiled.
  const std::string& text() const { return text_; }
  expression::Elements elements() const { return elements_; }
  /// Whether it only looks.
  bool is_expression() const { return before_ > 0; }
  /// The user's place of a line and column of text(), both from 1; line 0 is the snippet as a whole.
  Location at(int line, int column) const;
  /// The user's place of a word of AX.
  Location of_word(std::string_view word) const;

 private:
  SnippetPlaces places() const;

  std::string text_, written_;  // compiled, and as the user wrote it
  std::size_t before_ = 0;      // bytes of text_ before the user's
  Location where_;
  bool own_file_ = false;
  expression::Elements elements_ = expression::Elements::particles;
};

/// What is wrong with the names of variables, given those that every snippet has; empty if nothing.
std::string wrong_names(const SnippetSettings& settings);

/// Options with all variables, those of the run ($time, $frame, $dt, $substep), those in `more`, and the user's.
expression::CompileOptions snippet_options(const SnippetSettings& settings, const std::vector<std::string>& more = {});

/// Lets an Object work out the derived channels that a snippet names.
void derive_named(Object& object, const Snippet& snippet, Stage stage);

/// A program and what its sample() calls read, in the order of Program::samples().
struct CompiledSnippet {
  std::shared_ptr<const expression::Program> program;
  std::vector<std::shared_ptr<SampledChannel>> samples;
};

/// Compiles; the first mistake is the error, warnings are told. A channel that is not known yet at `stage` cannot be
/// sampled there.
Result<CompiledSnippet> compile_snippet(Builder& build, const Snippet& snippet, expression::CompileOptions options,
                                        const std::vector<SampleOffer>& offers, Stage stage);

}  // namespace aegir
