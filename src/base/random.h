// Counter-based random numbers: a pure function of what is drawn, never of order, thread or rank.
//
//   float u = Random(seed, id, step, Purpose::emission_position).uniform(0);
#pragma once

#include <cstdint>

#include "base/vec.h"

namespace aegir {

/// What a draw is for; two purposes never share numbers.
enum class Purpose : std::uint32_t {
  emission_position = 1,
  emission_velocity = 2,
  emission_attribute = 3,
  lifespan = 4,
  seeding = 5,
  reseeding = 6,
  droplet_collision = 7,
  transition = 8,
  noise = 9,
  expression = 10,
  test = 1000,
};

/// Mixes 64 bits so that every input bit reaches every output bit (the finaliser of SplitMix64, Steele et al. 2014).
constexpr std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 30, x *= 0xbf58476d1ce4e5b9ull;
  x ^= x >> 27, x *= 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

/// The stream of numbers that belongs to one (seed, id, step, purpose).
class Random {
 public:
  constexpr Random(std::uint64_t seed, std::uint64_t id, std::uint64_t step, Purpose purpose)
      : key_(mix(mix(mix(seed + golden) ^ (id * golden)) + step * 0xd1342543de82ef95ull +
                 static_cast<std::uint64_t>(purpose) * 0xaef17502108ef2d9ull)) {}

  constexpr std::uint64_t bits(std::uint32_t index) const { return mix(key_ + golden * (index + 1)); }
  /// In [0, 1), 53 bits.
  constexpr double uniform(std::uint32_t index) const { return static_cast<double>(bits(index) >> 11) * 0x1p-53; }
  constexpr double uniform(std::uint32_t index, double low, double high) const {
    return low + (high - low) * uniform(index);
  }
  /// Uniform on the unit sphere; uses numbers `index` and `index + 1`.
  Vec3d direction(std::uint32_t index) const {
    const double z = 2 * uniform(index) - 1, angle = 6.283185307179586 * uniform(index + 1),
                 r = std::sqrt(std::max(0.0, 1 - z * z));
    return {r * std::cos(angle), r * std::sin(angle), z};
  }

 private:
  static constexpr std::uint64_t golden = 0x9e3779b97f4a7c15ull;
  std::uint64_t key_;
};

}  // namespace aegir
