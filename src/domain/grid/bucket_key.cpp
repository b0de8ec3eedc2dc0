#include "domain/grid/bucket_key.h"

namespace aegir {

// Hilbert index by the transpose method (Skilling, "Programming the Hilbert curve", 2004): undo the rotations and
// exchanges from the coarsest bit down, Gray-decode, interleave.
std::uint64_t curve_position(const BucketKey& key) {
  constexpr int bits = 21;
  std::uint32_t x[3];
  for (int a = 0; a < 3; ++a) x[a] = static_cast<std::uint32_t>((key.coord[a] << key.level) + coordinate_limit);

  for (std::uint32_t q = 1u << (bits - 1); q > 1; q >>= 1) {
    const std::uint32_t p = q - 1;
    for (auto& axis : x) {
      if (axis & q) {
        x[0] ^= p;
      } else {
        const std::uint32_t t = (x[0] ^ axis) & p;
        x[0] ^= t;
        axis ^= t;
      }
    }
  }
  x[1] ^= x[0];
  x[2] ^= x[1];
  std::uint32_t t = 0;
  for (std::uint32_t q = 1u << (bits - 1); q > 1; q >>= 1)
    if (x[2] & q) t ^= q - 1;
  for (auto& axis : x) axis ^= t;

  std::uint64_t position = 0;
  for (int b = bits - 1; b >= 0; --b)
    for (const std::uint32_t axis : x) position = position << 1 | ((axis >> b) & 1);
  return position >> (3 * key.level) << (3 * key.level);  // a coarse bucket covers one stretch of the curve: its start
}

}  // namespace aegir
