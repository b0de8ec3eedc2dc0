#include "expressions/runtime.h"

#include <functional>
#include <random>

namespace aegir::expression {

namespace {

/// The first output of the 64-bit Mersenne Twister (Nishimura and Matsumoto 2000) needs words 0, 1 and 156 of its
/// state:
///   x_0 = seed,  x_i = f (x_{i-1} xor x_{i-1} >> 62) + i,   y = x_156 xor A((x_0's highest 33 bits | x_1's lower 31)).
/// 156 dependent multiplications instead of 312 and a whole new state.
std::uint64_t first_output(std::uint64_t seed) {
  using Engine = std::mt19937_64;
  constexpr std::uint64_t lower = (std::uint64_t{1} << Engine::mask_bits) - 1;
  std::uint64_t x = seed, x1 = 0;
  for (std::uint64_t i = 1; i <= Engine::shift_size; ++i) {
    x = Engine::initialization_multiplier * (x ^ (x >> 62)) + i;
    if (i == 1) x1 = x;
  }
  const std::uint64_t y = (seed & ~lower) | (x1 & lower);
  std::uint64_t z = x ^ (y >> 1) ^ ((y & 1) ? Engine::xor_mask : 0);
  z ^= (z >> Engine::tempering_u) & Engine::tempering_d;
  z ^= (z << Engine::tempering_s) & Engine::tempering_b;
  z ^= (z << Engine::tempering_t) & Engine::tempering_c;
  return z ^ (z >> Engine::tempering_l);
}

/// What std::uniform_real_distribution makes of 64 bits.
double unit_interval(std::uint64_t bits) {
  const double value = static_cast<double>(bits) * 0x1p-64;
  return value < 1.0 ? value : 0x1.fffffffffffffp-1;
}

}  // namespace

double seeded_random(std::int64_t seed) { return unit_interval(first_output(static_cast<std::uint64_t>(seed))); }
double seeded_random(double seed) { return unit_interval(first_output(std::hash<double>{}(seed))); }

}  // namespace aegir::expression
