// Functions that generated code calls. Internal to this room.
#pragma once

#include <cstdint>

#include "base/random.h"

namespace aegir::expression {

/// The purpose that rand() draws for: apart from those of the rest of the program.
constexpr Purpose purpose_of(std::uint64_t expression) {
  return static_cast<Purpose>(static_cast<std::uint32_t>(0x10000u + expression));
}

/// What AX's rand(seed) gives: the first number of std::mt19937_64 with this seed, in [0, 1), at a fraction of its
/// cost.
double seeded_random(std::int64_t seed);
double seeded_random(double seed);

}  // namespace aegir::expression
