// From coordinates of buckets or blocks to small numbers: a hash table with open addressing.
//
//   BucketMap map(keys.size());
//   const auto [number, fresh] = map.insert(key, next);
//   if (map.find(other) == BucketMap::none) …
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/vec.h"

namespace aegir {

class BucketMap {
 public:
  static constexpr std::int32_t none = -1;

  /// Room for `expected` keys without growing.
  explicit BucketMap(std::size_t expected = 0) { grow(2 * expected + 16); }

  /// The number of a key; the one given where the key is new.
  std::pair<std::int32_t, bool> insert(const Vec3i& key, std::int32_t number) {
    if (2 * (count_ + 1) > slots_.size()) grow(2 * slots_.size());
    Slot& slot = slots_[place(key)];
    if (slot.number != none) return {slot.number, false};
    slot = {key, number};
    ++count_;
    return {number, true};
  }
  /// The number of a key, or none.
  std::int32_t find(const Vec3i& key) const { return slots_[place(key)].number; }
  std::size_t size() const { return count_; }

 private:
  struct Slot {
    Vec3i key;
    std::int32_t number = none;
  };

  std::size_t place(const Vec3i& key) const {
    const auto part = [](std::int32_t v) { return static_cast<std::uint64_t>(static_cast<std::uint32_t>(v)); };
    std::size_t at = mix(part(key.x) * 0x9e3779b97f4a7c15ull + (part(key.y) << 32 | part(key.z))) & (slots_.size() - 1);
    while (slots_[at].number != none && slots_[at].key != key) at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  void grow(std::size_t wanted) {
    std::size_t size = 16;
    while (size < wanted) size *= 2;
    std::vector<Slot> old(size);
    old.swap(slots_);
    for (const Slot& s : old)
      if (s.number != none) slots_[place(s.key)] = s;
  }

  std::vector<Slot> slots_;
  std::size_t count_ = 0;
};

/// Largest integer not above a / b, for b > 0.
constexpr std::int32_t floor_divide(std::int32_t a, std::int32_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

/// Order by x, then y, then z.
constexpr bool key_less(const Vec3i& a, const Vec3i& b) {
  return a.x != b.x ? a.x < b.x : a.y != b.y ? a.y < b.y : a.z < b.z;
}

}  // namespace aegir
