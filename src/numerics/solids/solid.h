// What the grid needs to know of a solid: a collider of any kind implements it, SolidGrid asks it.
//
//   class Ball : public Solid { … };
//   const Ball ball;
//   const std::array<const Solid*, 1> solids{&ball};
//   solid_grid.update(exec, volume, solids, walls, channels);
#pragma once

#include <array>
#include <span>

#include "base/vec.h"

namespace aegir {

/// A mesh in the world as it is at the end of the substep.
struct SolidTriangles {
  std::span<const Vec3d> positions;
  std::span<const Vec3i> triangles;
  std::span<const Vec3d> before;  ///< positions at the begin of the substep; none: velocity() is asked
  double duration = 0;            ///< of the substep, s
};

/// Boxes around the ways, in cells, that drawn meshes go in this substep (`before` to `positions`). Empty where there
/// are none.
struct DrawnWays {
  std::array<Box, 8>
      eighths;  ///< of 4 × 4 × 4 cells, z fastest: of the parts that end in it or within four cells of it
  std::array<Box, 64> blocks;  ///< of 2 × 2 × 2 cells: of those that end in it or within two cells of it

  bool empty() const;
  void add(const DrawnWays& other);
};

/// A solid in world coordinates (metres), as it is at the end of the substep. Every query may be asked from many
/// threads at once and must always give the same bits for the same question.
class Solid {
 public:
  virtual ~Solid() = default;

  /// A box that holds the whole solid; ±1e300 where it has no end.
  virtual Box bounds() const = 0;

  /// Signed distance of `x` from the surface, negative inside. Farther away than `max` only the sign counts: any value
  /// of that sign and of at least the size of `max` may come back.
  virtual double distance(const Vec3d& x, double max) const = 0;

  /// Velocity (m/s) of the material closest to `x`: its mean over the substep.
  virtual Vec3d velocity(const Vec3d& x) const = 0;

  /// Coulomb's friction coefficient at the place of the surface closest to `x`.
  virtual double friction(const Vec3d& x) const = 0;

  /// Whether some part of the surface (seen from either side) lies between two points.
  virtual bool blocks(const Vec3d& a, const Vec3d& b) const = 0;

  /// Where to go around what blocks the way between two points outside: the mean (not of unit length) of the normals of
  /// the first surface that each of them meets, or its opposite. Short where the two face away from each other; zero
  /// for sheets, and where it is not known.
  virtual Vec3d way_around(const Vec3d&, const Vec3d&) const { return {}; }

  /// Whether some part may be thinner than a cell, so that node distances alone could miss it.
  virtual bool may_be_thin() const = 0;

  /// Whether its shape, place or velocity changed since the last substep.
  virtual bool moved() const = 0;

  /// The triangles from which distance() measures, for meshes that change every substep: distances near them are then
  /// drawn triangle by triangle instead of asked node by node, and distance() only tells the side. For meshes whose
  /// parts are closed or sheets without thickness; no triangles: distance() is asked everywhere.
  virtual SolidTriangles triangles() const { return {}; }

 protected:
  Solid() = default;
  Solid(const Solid&) = default;
  Solid& operator=(const Solid&) = default;
};

}  // namespace aegir
