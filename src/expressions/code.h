// What a Program holds: the generated function and the lists that say what it needs. Internal to this room.
#pragma once

#include <memory>
#include <vector>

#include "expressions/program.h"

namespace aegir::expression {

/// The generated function: runs over elements [begin, end) of a span and returns a RunStatus.
using Kernel = std::int32_t (*)(const Span* span, std::int64_t begin, std::int64_t end);

struct Program::Code {
  Elements elements = Elements::particles;
  std::vector<Attribute> attributes;
  int plane_count = 0;
  Uses uses;
  std::vector<SampleSource> samples;
  std::vector<Named> neighbour_channels;
  std::vector<Named> variables;

  std::shared_ptr<const void> memory;  ///< keeps the machine code alive
  Kernel kernel = nullptr;
};

/// Where the values of each variable start in Span::variables: three floats each, so that a type never moves another.
inline constexpr int floats_per_variable = 3;

}  // namespace aegir::expression
