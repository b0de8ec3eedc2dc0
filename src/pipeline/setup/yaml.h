// YAML (and JSON) text ⇄ Value, with limits that keep hostile input harmless.
//
//   std::optional<Value> tree = read_yaml(text, "dam.yaml", messages);
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pipeline/schema/value.h"

namespace aegir {

/// What a text may hold at most.
struct YamlLimits {
  std::size_t bytes = 16u << 20;
  std::size_t values = 100'000;  ///< after aliases are expanded
  std::size_t depth = 64;
};

/// Reads one document; after reporting a located error there is none.
std::optional<Value> read_yaml(std::string_view text, const std::string& file, Messages& messages,
                               const YamlLimits& limits = {});

/// Block-style YAML that reads back as the same content.
std::string write_yaml(const Value& value);

}  // namespace aegir
