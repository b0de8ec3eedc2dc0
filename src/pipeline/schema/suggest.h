// The known word that an unknown one was probably meant to be.
//
//   suggestion("viscosty", names)   // "; did you mean 'viscosity'?"
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace aegir {

/// Insertions, deletions, replacements and swaps of neighbours that turn one word into the other.
int edit_distance(std::string_view a, std::string_view b);

/// The nearest known word (the first of equals), or an empty text where none is near.
std::string nearest_word(std::string_view word, const std::vector<std::string>& known);

/// The end of a message about an unknown word; empty where no known word is near.
std::string suggestion(std::string_view word, const std::vector<std::string>& known);

}  // namespace aegir
