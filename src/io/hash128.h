// A 128-bit hash of our own for fingerprints; not meant against an adversary.
//
//   Hash128 h;
//   h.add_text("points"), h.add(std::uint64_t{3});
//   std::string hex = h.hex();
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/random.h"

namespace aegir {

/// Two 64-bit lanes that every word enters in a different way.
class Hash128 {
 public:
  /// Adds one word.
  constexpr void add(std::uint64_t word) {
    a_ = mix(a_ ^ (word * 0x9e3779b97f4a7c15ull + 0x632be59bd9b4e019ull));
    b_ = mix(std::rotl(b_, 23) + (word ^ 0xd6e8feb86659fd93ull) * 0xff51afd7ed558ccdull);
  }
  /// Adds bytes and their count.
  void add_bytes(const void* data, std::size_t bytes) {
    const auto* at = static_cast<const unsigned char*>(data);
    std::size_t left = bytes;
    for (; left >= 8; left -= 8, at += 8) {
      std::uint64_t word;
      std::memcpy(&word, at, 8);
      add(word);
    }
    std::uint64_t last = 0;
    if (left > 0) std::memcpy(&last, at, left);
    add(last);
    add(bytes);
  }
  /// Adds a text and its length.
  void add_text(std::string_view text) { add_bytes(text.data(), text.size()); }
  /// Adds another hash as one item of a set: the order of such calls does not matter.
  constexpr void merge(const Hash128& other) {
    a_ += mix(other.a_ + 1);
    b_ += mix(other.b_ + 2);
  }
  /// Adds the sum of a set that was merged elsewhere from Hash128::zero().
  constexpr void merge_sum(const Hash128& sum) { a_ += sum.a_, b_ += sum.b_; }
  /// The neutral element of merge_sum.
  static constexpr Hash128 zero() {
    Hash128 h;
    h.a_ = h.b_ = 0;
    return h;
  }
  constexpr std::uint64_t low() const { return a_; }
  constexpr std::uint64_t high() const { return b_; }
  /// 32 hexadecimal digits.
  std::string hex() const { return fmt::format("{:016x}{:016x}", mix(b_ ^ std::rotl(a_, 32)), mix(a_ + b_)); }

 private:
  std::uint64_t a_ = 0x243f6a8885a308d3ull, b_ = 0x13198a2e03707344ull;
};

}  // namespace aegir
