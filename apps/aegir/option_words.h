// Words that options take. CLI11 is slow to compile, so only files that declare options include it.
//
//   const OptionWords formats = option_words({{"ply", MeshFormat::ply}, {"obj", MeshFormat::obj}});
//   c->add_option("--mesh", …)->transform(word(formats));
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <utility>

#include "run_display.h"

namespace CLI {
class Validator;
}

namespace aegir {

/// Words and the numbers of what they stand for.
using OptionWords = std::map<std::string, int>;

template <class Enum>
OptionWords option_words(std::initializer_list<std::pair<const char*, Enum>> words) {
  OptionWords numbers;
  for (const auto& [text, value] : words) numbers[text] = static_cast<int>(value);
  return numbers;
}

/// Styles of --progress.
inline const OptionWords progress_styles = option_words<ProgressStyle>({{"auto", ProgressStyle::automatic},
                                                                        {"bar", ProgressStyle::bar},
                                                                        {"plain", ProgressStyle::plain},
                                                                        {"alf", ProgressStyle::alf},
                                                                        {"openjd", ProgressStyle::openjd},
                                                                        {"json", ProgressStyle::json}});

/// An option takes one of these words; the help says which in its own text.
CLI::Validator word(const OptionWords& words);

}  // namespace aegir
