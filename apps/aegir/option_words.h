// Words that options of several commands take; CLI11 is slow to compile, so only files that declare options include it.
#pragma once

#include <map>
#include <string>

#include <CLI/CLI.hpp>

#include "run_display.h"

namespace aegir {

/// Styles of --progress.
inline const std::map<std::string, ProgressStyle> progress_styles = {
    {"auto", ProgressStyle::automatic}, {"bar", ProgressStyle::bar},       {"plain", ProgressStyle::plain},
    {"alf", ProgressStyle::alf},        {"openjd", ProgressStyle::openjd}, {"json", ProgressStyle::json}};

/// An option takes one of these words; the help says which in its own text.
template <class Map>
CLI::Validator word(const Map& words) {
  return CLI::CheckedTransformer(words).description("");
}

}  // namespace aegir
