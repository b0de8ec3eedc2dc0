// Distances to solids between the nodes around a cell, with the edges of plane walls.
//
//   const SolidPieces solids(nodes, cell);
//   const float d = solids.distance({0.3f, -1.2f, 0});    // from the cell's centre, up to 1.5 cells along each axis
//
// Distances that are interpolated between nodes round off the edges of walls: where two walls meet they are too small
// by up to a fifth of a cell, and places along the edge seem to be inside. Where all is flat but for edges, the planes
// are known from cells that no edge crosses: the distance is the least of them where walls enclose the liquid and the
// greatest where they stand out into it, whichever the nodes of a cell bear out. Elsewhere it is interpolated.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/vec.h"
#include "domain/volume/tile.h"

namespace aegir {

class SolidPieces {
 public:
  /// `nodes`: distances around the bucket, in cells.
  SolidPieces(const PaddedTile<float, 2>& nodes, const Vec3i& cell);

  float distance(const Vec3f& x) const {
    if (count_ == 1) return of_planes(x, Kind::least);
    int i[3];
    float f[3];
    for (int a = 0; a < 3; ++a) {
      const float at = x[a] + 1.5f;  // from the lowest node
      i[a] = std::min(static_cast<int>(at), 2), f[a] = at - static_cast<float>(i[a]);
    }
    const Kind kind = kinds_[i[0]][i[1]][i[2]];
    if (kind != Kind::interpolated) return of_planes(x, kind);
    const auto along = [&](int p, int q) {
      const float* row = nodes_[i[0] + p][i[1] + q] + i[2];
      return row[0] + f[2] * (row[1] - row[0]);
    };
    const float low = along(0, 0) + f[1] * (along(0, 1) - along(0, 0)),
                high = along(1, 0) + f[1] * (along(1, 1) - along(1, 0));
    return low + f[0] * (high - low);
  }
  struct Plane {
    float distance;  // of the centre
    Vec3f slope;
  };
  /// The plane that all distances are those from; null where there are several, or none.
  const Plane* only_plane() const { return count_ == 1 ? planes_.data() : nullptr; }
  /// How far distances may be off: the greatest difference from one plane, 0 where planes and edges explain all.
  float roughness() const { return roughness_; }

 private:
  enum class Kind : std::uint8_t { interpolated, least, greatest };
  static constexpr int most = 4;  // planes; where there are more, the solid is curved, where there is one, all is flat

  float of_planes(const Vec3f& x, Kind kind) const {
    float d = planes_[0].distance + dot(planes_[0].slope, x);
    for (int p = 1; p < count_; ++p) {
      const float other = planes_[p].distance + dot(planes_[p].slope, x);
      d = kind == Kind::least ? std::min(d, other) : std::max(d, other);
    }
    return d;
  }
  void find_roughness();
  void find_planes();
  bool find_kinds();
  bool borne_out(const Vec3i& cell, Kind kind) const;
  Plane fit(const Vec3i& cell, float& error) const;

  float nodes_[4][4][4];
  Kind kinds_[3][3][3] = {};
  std::array<Plane, most> planes_;
  int count_ = 0;
  float roughness_ = 0;
};

}  // namespace aegir
