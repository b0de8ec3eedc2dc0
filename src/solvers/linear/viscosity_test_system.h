// Viscous liquids over a block of buckets, for tests: fields given as functions of the place in cells.
//
//   TestLiquid liquid({2, 2, 2}, 0.1);
//   liquid.fill_distance([](const Vec3d& x) { return length(x - Vec3d(8)) - 6; });
//   liquid.fill_velocity([](int axis, const Vec3d& x) { return axis == 0 ? -x.y : axis == 1 ? x.x : 0.0; });
//   const SolveReport report = liquid.solve({.dt = 0.1, .density = 1, .constant_viscosity = 2});
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "domain/exec.h"
#include "solvers/linear/viscosity.h"
#include "solvers/linear/viscosity_level.h"

namespace aegir {

/// A volume with all channels of a viscosity system: no solids, no liquid and everything at rest to begin with.
class TestLiquid {
 public:
  static constexpr FaceChannel<float> velocity{"velocity"}, known{"known", {}, 1.0f}, solid_velocity{"solid_velocity"},
      area{"area", {}, 1.0f};
  static constexpr CellChannel<float> distance{"distance", {}, 4.0f}, viscosity{"viscosity"};
  static constexpr NodeChannel<float> solid{"solid", {}, 1000.0f};

  /// Cells 0 … 8 block along each axis, of the given size in metres; a layer of empty buckets around them.
  TestLiquid(const Vec3i& block, double spacing) : TestLiquid(make_single_comm(), nullptr, block, spacing, {}) {}
  /// The same over the ranks of `comm`. Collective.
  TestLiquid(Comm& comm, const Vec3i& block, double spacing, const Partition& partition)
      : TestLiquid(nullptr, &comm, block, spacing, partition) {}

  /// Calls body(cell, bucket offset) for all cells, those of the outer layer of buckets included.
  template <class Body>
  void for_cells(const Body& body) const {
    const Topology& t = volume->topology();
    for (int b = 0; b < t.local_count(); ++b)
      for (int c = 0; c < bucket_cells; ++c)
        body(t.key(b).coord * bucket_size + Vec3i{c >> 6, (c >> 3) & 7, c & 7},
             static_cast<std::size_t>(b) * bucket_cells + static_cast<std::size_t>(c));
  }
  /// Where a cell's value lies.
  std::size_t at(const Vec3i& c) const {
    const int b = volume->topology().find({{c.x >> 3, c.y >> 3, c.z >> 3}, 0});
    return static_cast<std::size_t>(b * bucket_cells + cell_offset(c.x & 7, c.y & 7, c.z & 7));
  }
  /// The centre of a face in cells.
  static Vec3d face(int axis, const Vec3i& c) {
    Vec3d x = Vec3d(c) + Vec3d(0.5);
    x[axis] -= 0.5;
    return x;
  }
  float* plane(const char* name, int p = 0) const { return volume->store(name).plane<float>(p); }

  template <class F>
  void fill_distance(const F& f) {
    for_cells(
        [&](const Vec3i& c, std::size_t n) { plane("distance")[n] = static_cast<float>(f(Vec3d(c) + Vec3d(0.5))); });
  }
  template <class F>
  void fill_viscosity(const F& f) {
    for_cells(
        [&](const Vec3i& c, std::size_t n) { plane("viscosity")[n] = static_cast<float>(f(Vec3d(c) + Vec3d(0.5))); });
  }
  template <class F>
  void fill_solid(const F& f) {
    for_cells([&](const Vec3i& c, std::size_t n) { plane("solid")[n] = static_cast<float>(f(Vec3d(c))); });
  }
  template <class F>
  void fill_velocity(const F& f, const char* name = "velocity") {
    for_cells([&](const Vec3i& c, std::size_t n) {
      for (int a = 0; a < 3; ++a) plane(name, a)[n] = static_cast<float>(f(a, face(a, c)));
    });
  }
  float speed(int axis, const Vec3i& c) const { return plane("velocity", axis)[at(c)]; }

  /// The channels as memory; `stiffness` is dt / (rho h²), times the viscosity where that is one for all.
  ViscosityInput input(double stiffness, bool variable = false) const {
    ViscosityInput input;
    input.topology = &volume->topology();
    input.liquid_distance = plane("distance"), input.solid_distance = plane("solid");
    input.solid_background = solid.background;
    input.viscosity = variable ? plane("viscosity") : nullptr;
    for (int a = 0; a < 3; ++a) input.known[a] = plane("known", a);
    input.stiffness = stiffness;
    return input;
  }

  SolveReport solve(const ViscositySettings& settings, bool variable = false) {
    ViscosityChannels channels{velocity, known, distance, solid, solid_velocity};
    if (variable) channels.viscosity = viscosity;
    if (sheets) channels.open_area = area;
    return solve_viscosity(exec, *volume, channels, settings);
  }

 private:
  TestLiquid(std::unique_ptr<Comm> own, Comm* comm, const Vec3i& block, double spacing, const Partition& partition)
      : comm_(std::move(own)), exec{comm ? *comm : *comm_, profile}, size(block * 8) {
    std::vector<BucketKey> keys;
    for (int x = -1; x <= block.x; ++x)
      for (int y = -1; y <= block.y; ++y)
        for (int z = -1; z <= block.z; ++z) keys.push_back({{x, y, z}, 0});
    volume = std::make_unique<DiscreteVolume>("water", Topology::build(spacing, keys, partition, exec.comm));
    volume->declare(velocity), volume->declare(known), volume->declare(solid_velocity);
    volume->declare(distance), volume->declare(viscosity), volume->declare(solid), volume->declare(area);
  }

  std::unique_ptr<Comm> comm_;

 public:
  Profile profile;
  Exec exec;
  Vec3i size;
  bool sheets = false;  ///< whether the open areas count
  std::unique_ptr<DiscreteVolume> volume;
};

}  // namespace aegir
