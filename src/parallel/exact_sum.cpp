#include "parallel/exact_sum.h"

#include <cmath>
#include <limits>

namespace aegir {

void ExactSum::add_special(double x) {
  if (std::isnan(x))
    ++special_[0];
  else if (x > 0)
    ++special_[1];
  else
    ++special_[2];
}

void ExactSum::normalize() {
  std::int64_t carry = 0;
  for (std::size_t i = 0; i + 1 < limbs; ++i) {
    const std::int64_t sum = limb_[i] + carry;
    limb_[i] = sum & 0xffffffffll;
    carry = sum >> 32;  // arithmetic shift: floor
  }
  limb_[limbs - 1] += carry;
  pending_ = 1;
}

void ExactSum::add(const ExactSum& other) {
  ExactSum rhs = other;
  rhs.normalize();
  normalize();
  for (std::size_t i = 0; i < limbs; ++i) limb_[i] += rhs.limb_[i];
  for (std::size_t i = 0; i < 3; ++i) special_[i] += rhs.special_[i];
  pending_ = 2;
}

std::array<std::int64_t, ExactSum::limbs + 3> ExactSum::packed() const {
  ExactSum copy = *this;
  copy.normalize();
  std::array<std::int64_t, limbs + 3> out{};
  for (std::size_t i = 0; i < limbs; ++i) out[i] = copy.limb_[i];
  for (std::size_t i = 0; i < 3; ++i) out[limbs + i] = copy.special_[i];
  return out;
}

ExactSum ExactSum::unpacked(const std::array<std::int64_t, limbs + 3>& data) {
  ExactSum sum;
  for (std::size_t i = 0; i < limbs; ++i) sum.limb_[i] = data[i];
  for (std::size_t i = 0; i < 3; ++i) sum.special_[i] = data[limbs + i];
  sum.normalize();
  return sum;
}

double ExactSum::value() const {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (special_[0] || (special_[1] && special_[2])) return std::numeric_limits<double>::quiet_NaN();
  if (special_[1]) return infinity;
  if (special_[2]) return -infinity;

  ExactSum sum = *this;
  sum.normalize();
  const bool negative = sum.limb_[limbs - 1] < 0;
  if (negative) {
    for (auto& l : sum.limb_) l = -l;
    sum.normalize();
  }
  const auto bit = [&](int p) { return (sum.limb_[static_cast<std::size_t>(p >> 5)] >> (p & 31)) & 1; };
  int top = -1;  // position of the highest set bit
  for (int i = limbs - 1; i >= 0 && top < 0; --i)
    if (const auto l = static_cast<std::uint64_t>(sum.limb_[static_cast<std::size_t>(i)]))
      top = 32 * i + 63 - std::countl_zero(l);
  if (top < 0) return 0.0;
  const int low = top > 52 ? top - 52 : 0;
  std::uint64_t mantissa = 0;
  for (int p = top; p >= low; --p) mantissa = 2 * mantissa + static_cast<std::uint64_t>(bit(p));
  if (low > 0 && bit(low - 1)) {
    bool beyond_half = false;
    for (int p = low - 2; p >= 0 && !beyond_half; --p) beyond_half = bit(p);
    if (beyond_half || (mantissa & 1)) ++mantissa;
  }
  const double magnitude = std::ldexp(static_cast<double>(mantissa), low - 1074);
  return negative ? -magnitude : magnitude;
}

}  // namespace aegir
