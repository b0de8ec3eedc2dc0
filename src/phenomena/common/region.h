// A part of space that is filled with liquid, and the particles that fill it.
//
//   const Region region = below_level(0.5, box);
//   seed(exec, region, {.spacing = 0.01}, [](const Vec3d&) { return true; }, [&](const Seeds& seeds) { … });
//
// Particles stand on a lattice of `per_axis` per cell and axis, each jittered inside its own share of the cell
// (stratified). Those next to the region's surface are put exactly half a particle spacing inside it, as Zhu 2005
// (thesis, §3.2) does with the grid's spacing, so that the first surface is smooth. Where the region has a level, the
// lattice hangs from it: a flat surface is flat wherever it lies between two cells. Columns and layers of a lattice
// that flows in are staggered: its layers would enter one by one, and be seen as discs where the stream is stretched.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "base/function_ref.h"
#include "domain/exec.h"
#include "domain/grid/partition.h"
#include "geometry/motion.h"
#include "geometry/shapes.h"
#include "geometry/surface.h"
#include "io/vdb_volumes.h"

namespace aegir {

/// Where liquid is: inside the bounds and where the distance is negative. Queries come from many threads.
struct Region {
  Box bounds;
  std::function<double(const Vec3d&, double reach)> distance;  ///< m; beyond `reach` only its sign counts
  std::optional<double> level;                                 ///< height of a flat top
};

/// What is below a height, in a box.
Region below_level(double level, const Box& box);
Region inside(const Shape& shape);
Region inside(std::shared_ptr<const Surface> surface);
/// Where a level set is negative.
Region inside(std::shared_ptr<const VolumeField> level_set);
/// What is in both.
Region both(Region a, Region b);
/// A box around a box that has moved.
Box moved(const Box& box, const Pose& pose);
/// Area of a region seen along a direction, to a few parts in a thousand: random lines, counted where they enter.
double projected_area(const Region& region, const Vec3d& along);

struct SeedSettings {
  double spacing = 0.1;  ///< cell
  int per_axis = 2;      ///< particles per cell along each axis
  double jitter = 1;     ///< 1: anywhere in its share of the cell; 0: in its middle
  std::int64_t seed = 1;
  Vec3d offset{};              ///< of the lattice, m; a lattice that moves with an inflow
  bool smooth_surface = true;  ///< whether particles next to the surface are put in line with it
  int stagger = -1;            ///< axis of a flow: columns along it and layers across it are shifted; -1: none
};

/// Particles of some buckets, in order; `first` is the number of the first one among all of all ranks.
struct Seeds {
  std::span<const Vec3d> position;
  std::int64_t first = 0;
};

/// Fills a region with what `keep` accepts; every rank makes those whose bucket it owns, about a million at a time.
/// Returns how many there are on all ranks. Same particles and numbers for any number of threads and ranks. Collective.
std::int64_t seed(Exec& exec, const Partition& partition, const Region& region, const SeedSettings& settings,
                  FunctionRef<bool(const Vec3d&)> keep, FunctionRef<void(const Seeds&)> take);

/// Particles that `seed` would make if it kept all, about.
double expected_seeds(const Region& region, const SeedSettings& settings);

}  // namespace aegir
