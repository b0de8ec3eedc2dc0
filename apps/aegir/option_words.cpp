#include "option_words.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

namespace aegir {

CLI::Validator word(const OptionWords& words) {
  const auto number = [words](std::string& text) -> std::string {
    if (const auto found = words.find(text); found != words.end()) return text = std::to_string(found->second), "";
    std::string known;
    for (const auto& [each, value] : words) known += (known.empty() ? "" : ", ") + each;
    return fmt::format("'{}' is none of {}", text, known);
  };
  return CLI::Validator(number, "");
}

}  // namespace aegir
