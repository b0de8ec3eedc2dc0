#include "numerics/surface/sides.h"

namespace aegir {

Sides::Sides(const Areas& area) {
  // Which of the faces below and above along x, y, z are open and lead to another cell of the tile.
  std::array<std::uint8_t, 4096> open{};
  constexpr std::size_t step[3] = {256, 16, 1};
  for (int i = -4; i < 12; ++i)
    for (int j = -4; j < 12; ++j)
      for (int k = -4; k < 12; ++k)
        for (int a = 0; a < 3; ++a) {
          if ((a == 0 ? i : a == 1 ? j : k) == -4 || !(area[static_cast<std::size_t>(a)](i, j, k) > 0)) continue;
          const std::size_t c = index(i, j, k);
          open[c] = static_cast<std::uint8_t>(open[c] | (1 << (2 * a)));
          open[c - step[a]] = static_cast<std::uint8_t>(open[c - step[a]] | (2 << (2 * a)));
        }
  std::array<std::uint16_t, 4096> waiting;
  for (std::size_t start = 0; start < open.size(); ++start) {
    if (!open[start] || side_[start] != none) continue;
    const auto number = static_cast<std::uint16_t>(++count_);
    std::size_t pending = 0;
    side_[start] = number, waiting[pending++] = static_cast<std::uint16_t>(start);
    while (pending) {
      const std::size_t c = waiting[--pending];
      for (int a = 0; a < 3; ++a)
        for (int up = 0; up < 2; ++up) {
          if (!(open[c] & ((1 + up) << (2 * a)))) continue;
          const std::size_t other = up ? c + step[a] : c - step[a];
          if (side_[other] == none) side_[other] = number, waiting[pending++] = static_cast<std::uint16_t>(other);
        }
    }
  }
}

}  // namespace aegir
