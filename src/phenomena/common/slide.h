// A liquid particle that meets solids: it does not bounce, it slides along them.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "base/function_ref.h"
#include "domain/grid/bucket_key.h"
#include "domain/volume/tile.h"
#include "numerics/solids/solid_grid.h"
#include "phenomena/common/collider.h"

namespace aegir {

/// A particle on its way through a substep.
struct SlideWay {
  Vec3d begin, goal;                ///< where it is, and where it goes to
  Vec3d velocity;                   ///< m/s
  double time = 0;                  ///< when the substep begins, s
  double dt = 0;                    ///< how long it is, s
  double clearance = 0;             ///< how far from solids it is kept, m
  bool goal_is_free = false;        ///< the goal is known to be outside all solids at the end
  std::optional<Vec3d> free_place;  ///< or else a place near it that is
};

struct Slide {
  Vec3d position, velocity;
  bool touched = false;  ///< otherwise nothing was in the way
};

/// Goes from `begin` to `goal`. What is in the way takes the part of the way towards it, and the part of `velocity`
/// relative to it that points into it. `stored` rounds a position to what will be stored.
Slide slide(const SlideWay& way, std::span<const Collider* const> colliders, FunctionRef<Vec3d(const Vec3d&)> stored);

/// What a bucket's grid knows of solids, at the end of the substep.
struct SolidsNearby {
  const PaddedTile<float, 2>& nodes;      ///< distances, in cells
  const DrawnWays* drawn_ways = nullptr;  ///< of meshes that are drawn (SolidGrid::drawn_ways)
  DrawnAround drawn = {};                 ///< and what they have in cells
};

/// Particles that no solid can be near to, told by the distances at grid nodes.
///
///   const FarFromSolids far(colliders, dx);
///   if (far.surely(nearby, from, to)) …       // slide() would find nothing in the way
///
/// Seen from a place of a solid that goes a way w, a point that goes a way m to x came straight from x - (m - w).
/// Positions are in cells of a bucket.
class FarFromSolids {
 public:
  FarFromSolids(std::span<const Collider* const> colliders, double spacing);

  /// The same as surely(), told by the bucket's own nodes (512 distances) alone: quick, and less often true. Lists the
  /// particles of which it is not.
  void list_doubtful(const float* nodes, std::size_t count, const float* const from[3], const float* const to[3],
                     std::vector<std::uint32_t>& list) const;
  /// Whether no collider comes near a particle on its way.
  bool surely(const SolidsNearby& nearby, const Vec3f& from, const Vec3f& to) const;
  /// The node around a place that is farthest outside all solids as seen from the place, and how far it is certain that
  /// the place itself is.
  struct Outlook {
    Vec3i node;
    float clear = 0;
    bool outside = false;  ///< the node is
  };
  Outlook outlook(const SolidsNearby& nearby, const Vec3f& place) const;

 private:
  /// No solid is nearer to a place than this, in cells, as a node and its distance tell.
  float clear(float distance, const Vec3i& node, const Vec3f& place) const {
    distance = std::min(distance, held_);
    return std::min(distance, std::max(distance - slack_, known_)) - length(place - Vec3f(node));
  }
  static bool misses_drawn(const SolidsNearby& nearby, const Vec3f& to, const Vec3f& way, const Box& ways);
  static bool ends_outside(const SolidsNearby& nearby, const Vec3f& to, const Outlook& outlook);

  float held_;            // greater distances are not told apart
  float known_;           // distances are exact up to this,
  float slack_ = 0;       // and too large by no more than this beyond
  float all_ways_;        // of all solids; with clearance and rounding
  float other_ways_ = 0;  // of those that are not drawn; likewise
  bool others_ = false;   // there are such
};

}  // namespace aegir
