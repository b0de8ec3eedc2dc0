// Where a snippet stands in a user's file, character by character, however YAML wrote it down.
//
//   SnippetPlaces places = SnippetPlaces::in_setup(text_of_the_file, where_the_value_starts, snippet);
//   Location here = places.at(2, 5);                      // line and column of the snippet, both from 1
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace aegir {

class SnippetPlaces {
 public:
  /// A snippet that is a scalar of a setup: plain, quoted, or a block after `|` or `>`. Where the text of the file does
  /// not hold the snippet (a value from the command line, or one put together) every place is that of the value.
  static SnippetPlaces in_setup(std::string_view file_text, const Location& value, std::string_view snippet);
  /// A snippet that is a file of its own.
  static SnippetPlaces whole_file(const std::string& file, std::string_view snippet);

  /// The place of a line and byte column that count from 1; line 0 is the snippet as a whole.
  Location at(int line, int column) const;
  /// The place of the first use of a word outside comments and quotes; the snippet's own if there is none.
  Location of_word(std::string_view word) const;

 private:
  std::string snippet_;
  Location start_;
  std::vector<Location> places_;  // of each byte, and of the end; empty where they are not known
};

/// Where a word of AX stands in a snippet, not counting comments and texts in quotes; npos if nowhere.
std::size_t find_ax_word(std::string_view snippet, std::string_view word);

}  // namespace aegir
