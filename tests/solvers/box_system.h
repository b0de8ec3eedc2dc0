// A pressure system written out cell by cell, with everything a test wants to know about it computed plainly and
// without the solver: rows, pools, the true residual, the direct solution.
//
//   BoxSystem system({24, 16, 16});
//   system.distance.at({3, 4, 5}) = 0.5f;
//   Solution solution = solve(system, {.tolerance = 1e-8});
//   expect_solved(system, solution, 1e-8);
#pragma once

#include <string>
#include <vector>

#include "base/random.h"
#include "solvers/linear/pressure.h"
#include "tests/solvers/scenes.h"

namespace aegir {

/// Values over the cells of a box, x slowest.
template <class T>
struct BoxField {
  Vec3i size;
  std::vector<T> values;

  explicit BoxField(const Vec3i& s, T value = T{})
      : size(s),
        values(static_cast<std::size_t>(s.x) * static_cast<std::size_t>(s.y) * static_cast<std::size_t>(s.z), value) {}
  std::size_t index(const Vec3i& c) const {
    return (static_cast<std::size_t>(c.x) * static_cast<std::size_t>(size.y) + static_cast<std::size_t>(c.y)) *
               static_cast<std::size_t>(size.z) +
           static_cast<std::size_t>(c.z);
  }
  Vec3i cell(std::size_t i) const {
    const auto y = static_cast<std::size_t>(size.y), z = static_cast<std::size_t>(size.z);
    return {static_cast<int>(i / (y * z)), static_cast<int>(i / z % y), static_cast<int>(i % z)};
  }
  bool inside(const Vec3i& c) const {
    return c.x >= 0 && c.y >= 0 && c.z >= 0 && c.x < size.x && c.y < size.y && c.z < size.z;
  }
  T& at(const Vec3i& c) { return values[index(c)]; }
  const T& at(const Vec3i& c) const { return values[index(c)]; }
};

/// The unit step along an axis.
constexpr Vec3i step_along(int axis) { return {axis == 0, axis == 1, axis == 2}; }

/// A closed box full of liquid to begin with: every face inside is open, every face of the box's sides closed.
struct BoxSystem {
  explicit BoxSystem(const Vec3i& size);
  explicit BoxSystem(const PressureScene& scene);

  Vec3i size;
  Vec3i first_bucket{0, 0, 0};  ///< where in space the box lies
  BoxField<float> area[3];      ///< of the lower faces; those on the sides of the box are ignored
  BoxField<float> distance, rhs;

  float open(int axis, const Vec3i& cell) const;
  bool unknown(const Vec3i& cell) const;
  /// Weights and sink of an unknown; sinks are rounded axis by axis, as in network.h.
  SceneRow row(const Vec3i& cell) const;
  /// Closes all faces of a cell.
  void make_solid(const Vec3i& cell);
};

/// Pools by flood fill: the number of each cell's pool, -1 where there is no unknown, and which are closed.
struct BoxPools {
  BoxField<std::int32_t> pool;
  std::vector<char> closed;  ///< by pool
  std::int64_t unknowns = 0;
  std::int64_t count() const { return static_cast<std::int64_t>(closed.size()); }
  std::int64_t closed_count() const;
};
BoxPools find_pools(const BoxSystem& system);

/// The four channels of the system over all buckets of the box. Collective.
std::unique_ptr<DiscreteVolume> make_volume(Exec& exec, const BoxSystem& system, const Partition& partition);

struct Solution {
  SolveReport report;
  BoxField<double> pressure;
};

/// Solves in this process; `start` is where from.
Solution solve(const BoxSystem& system, const MultigridSettings& settings, const BoxField<double>* start = nullptr);

/// Without the part of it that closed pools cannot meet, as double: what the solver is asked for.
BoxField<double> compatible_rhs(const BoxSystem& system, const BoxPools& pools);

/// |b - A x| / |b| for the compatible b, in long double; 0 for b = x = 0.
double true_residual(const BoxSystem& system, const BoxPools& pools, const BoxField<double>& pressure);

/// By sparse Cholesky, closed pools with mean zero.
BoxField<double> direct_solution(const BoxSystem& system, const BoxPools& pools);

/// max |a - b| / max |b| over the unknowns, closed pools up to a constant each.
double largest_difference(const BoxPools& pools, BoxField<double> a, BoxField<double> b);

/// Whether the direct fail-safe may have solved it.
enum class Fallback { forbidden, allowed };

/// The report must say that all went well, agree with the flood fill and with the residual evaluated here.
void expect_solved(const BoxSystem& system, const Solution& solution, double tolerance,
                   Fallback fallback = Fallback::forbidden);

}  // namespace aegir
