// Scenes for the solvers. A scene is a function of the cell, so that every rank, every thread and every peer program
// sees the same system without being sent anything.
//
//   const PressureScene scene = sloshing_box(128);
//   auto volume = make_volume(exec, scene, Partition{});
//   solve_pressure(exec, *volume, {scene_area, scene_distance, scene_rhs, scene_pressure}, {.tolerance = 1e-6});
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "domain/exec.h"
#include "domain/volume/discrete_volume.h"

namespace aegir {

inline constexpr FaceChannel<float> scene_area{"scene_area", {}, 0.0f};
inline constexpr CellChannel<float> scene_distance{"scene_distance", {}, 1.0f};
inline constexpr CellChannel<float> scene_rhs{"scene_rhs", {}, 0.0f};
inline constexpr CellChannel<double> scene_pressure{"scene_pressure", {}, 0.0};
/// Least pressure of an LCP; none outside fill_lower()'s cells.
inline constexpr CellChannel<float> scene_lower{"scene_lower", {}, -1e31f};

/// One row of the pressure system: weights to -x, +x, -y, +y, -z, +z and the sink; the diagonal is their sum.
struct SceneRow {
  std::array<float, 6> weight{};
  float sink = 0;
  double diagonal() const {
    double sum = sink;
    for (const float w : weight) sum += w;
    return sum;
  }
};

/// A box of n³ cells of size 1, y up, closed on its six sides, with liquid and solids in it.
class PressureScene {
 public:
  int n() const { return n_; }
  /// Open share of the lower face along `axis` of a cell, in [0, 1].
  float area(int axis, const Vec3i& cell) const;
  /// Distance to the liquid's surface at the cell's centre, in cells, negative in the liquid.
  float distance(const Vec3i& cell) const;
  /// Right-hand side; zero outside the unknowns.
  float rhs(const Vec3i& cell) const { return unknown(cell) ? source(cell) : 0.0f; }
  /// True for liquid cells with an open face.
  bool unknown(const Vec3i& cell) const { return distance(cell) < 0 && any_open(cell); }
  /// The row of an unknown.
  SceneRow row(const Vec3i& cell) const;
  /// True for unknowns with a closed face, where a separating boundary asks for a pressure of at least zero.
  bool constrained(const Vec3i& cell) const;

 private:
  friend PressureScene sloshing_box(int n);
  friend PressureScene hard_box(int n);
  friend PressureScene sealed_box(int n);
  friend PressureScene dam_column(int n);
  enum class Kind { sloshing, dam };
  PressureScene(Kind kind, int n);

  bool inside(const Vec3i& c) const { return c.x >= 0 && c.y >= 0 && c.z >= 0 && c.x < n_ && c.y < n_ && c.z < n_; }
  std::size_t at(const Vec3i& c) const {
    return (static_cast<std::size_t>(c.x) * static_cast<std::size_t>(n_) + static_cast<std::size_t>(c.y)) *
               static_cast<std::size_t>(n_) +
           static_cast<std::size_t>(c.z);
  }
  bool any_open(const Vec3i& cell) const;
  float source(const Vec3i& cell) const;
  float dam_source(const Vec3i& cell) const;
  float surface_distance(const Vec3i& cell) const;
  float sphere_area(int axis, const Vec3i& cell) const;
  void add_plate(Vec3d low, Vec3d high);
  void add_perforated_wall(int axis, int position, std::uint64_t seed);
  void add_chamber(Vec3i low, Vec3i high);
  void add_drops_and_bubbles();
  void add_obstacles();

  Kind kind_;
  int n_;
  Vec3d sphere_;  // of the solid, in cells
  double radius_ = 0;
  std::vector<double> wave_x_, wave_z_;  // sin(2 pi x / n) and cos(2 pi z / n) at the centres
  std::vector<std::uint8_t> solid_;      // whole-cell solids; empty where there are none
  std::vector<float> distance_;          // stored only where drops and bubbles change it
};

/// Lower half liquid with a sinusoidal top, a solid sphere in it with fractional face areas; 1.02 M unknowns at n =
/// 128.
PressureScene sloshing_box(int n);

/// The sloshing box with plates and perforated walls one cell thick and with scattered bubbles and drops, 600 at n =
/// 128.
PressureScene hard_box(int n);

/// The hard box with sealed chambers full of liquid, whose right-hand sides are not compatible.
PressureScene sealed_box(int n);

/// A column of 0.4 n × 0.75 n × n against the wall x = 0 that begins to tip over: for constrained().
///
/// It stands on the floor between three walls and has, after the step's gravity, the velocity
///   u = q (y - y0) (1 + cos(2 pi z / n) / 2),  v = -1 - q (x - x0),  w = -(z - n/2) / n
/// with q = 2.5 / n, y0 = 0.225 n, x0 = 0.2 n: a fall by one unit, a turn about the axis (x0, y0) that is strongest at
/// the side walls, and a contraction away from these. Below y0 the liquid is pressed against the wall x = 0, above it
/// tears off, and so do the upper parts at the side walls; a boundary that sticks answers with negative pressure there.
PressureScene dam_column(int n);

/// Declares the four channels above over the buckets that hold liquid or touch it, and fills all but the pressure.
/// Collective.
std::unique_ptr<DiscreteVolume> make_volume(Exec& exec, const PressureScene& scene, const Partition& partition);

/// Declares the bounds and sets them to zero where the scene is constrained.
void fill_lower(Exec& exec, const PressureScene& scene, DiscreteVolume& volume);

/// What a scene holds: for reports and checks.
struct SceneCount {
  std::int64_t unknowns = 0;
  std::int64_t pools = 0;         ///< sets of unknowns connected through weights
  std::int64_t closed_pools = 0;  ///< of these without any sink
};
SceneCount count_scene(const PressureScene& scene);

}  // namespace aegir
