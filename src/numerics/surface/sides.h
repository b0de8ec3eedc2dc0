// Which cells around a bucket are joined by open faces: the sides of sheets thinner than a cell.
//
//   Sides sides(area);                                     // open shares of the faces around a bucket
//   if (sides.count() > 1 && sides.at(0, 0, 0) != sides.at(1, 0, 0)) …
#pragma once

#include <array>
#include <cstdint>

#include "domain/volume/tile.h"

namespace aegir {

class Sides {
 public:
  using Areas = std::array<PaddedTile<float, 4>, 3>;
  explicit Sides(const Areas& area);

  /// Cells without an open face belong to no side.
  static constexpr std::uint16_t none = 0;
  /// Number of a cell's side, from 1; each of i, j, k in [-4, 12).
  std::uint16_t at(int i, int j, int k) const { return side_[index(i, j, k)]; }
  int count() const { return count_; }

 private:
  static std::size_t index(int i, int j, int k) {
    return static_cast<std::size_t>(((i + 4) * 16 + (j + 4)) * 16 + (k + 4));
  }
  std::array<std::uint16_t, 4096> side_{};
  int count_ = 0;
};

}  // namespace aegir
