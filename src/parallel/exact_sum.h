// Sums of doubles without rounding until the end: any order, tree, thread count or rank count gives the same bits.
//
//   ExactSum mass;
//   for (double m : masses) mass.add(m);
//   double total = mass.value();   // the exact sum, rounded once to nearest
//
// A double is an integer multiple of 2^-1074 below 2^1024; the accumulator is that integer, 2176 bits in limbs of 32
// bits held in 64, so that carries can wait for 2^30 additions (Kulisch's long accumulator).
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace aegir {

class ExactSum {
 public:
  static constexpr int limbs = 68;

  /// Adds one number; infinities and NaN are remembered and decide the result.
  void add(double x) {
    const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
    const int exponent = static_cast<int>((bits >> 52) & 0x7ff);
    std::uint64_t mantissa = bits & 0xfffffffffffffull;
    if (exponent == 0x7ff) return add_special(x);
    if (exponent) mantissa |= 1ull << 52;
    const int position = exponent ? exponent - 1 : 0;  // weight of the mantissa's lowest bit above 2^-1074
    const unsigned __int128 wide = static_cast<unsigned __int128>(mantissa) << (position & 31);
    std::int64_t* limb = &limb_[static_cast<std::size_t>(position >> 5)];
    const std::int64_t sign = static_cast<std::int64_t>(bits >> 63) ? -1 : 1;
    limb[0] += sign * static_cast<std::int64_t>(static_cast<std::uint32_t>(wide));
    limb[1] += sign * static_cast<std::int64_t>(static_cast<std::uint32_t>(wide >> 32));
    limb[2] += sign * static_cast<std::int64_t>(static_cast<std::uint32_t>(wide >> 64));
    if (++pending_ >= (1u << 29)) normalize();
  }

  /// Adds another accumulator.
  void add(const ExactSum& other);

  /// The sum rounded once to the nearest double, ties to even.
  double value() const;

  /// The accumulator as integers that may be summed over ranks: `limbs` limbs below 2^32, then counts of NaN, +inf,
  /// -inf.
  std::array<std::int64_t, limbs + 3> packed() const;
  static ExactSum unpacked(const std::array<std::int64_t, limbs + 3>& data);

 private:
  void add_special(double x);
  void normalize();

  std::array<std::int64_t, limbs> limb_{};
  std::array<std::int64_t, 3> special_{};  // NaN, +inf, -inf
  std::uint32_t pending_ = 0;
};

}  // namespace aegir
