// What the tests of surfaces share: liquids made of lattices and of strewn particles, and the grid they lie in.
#pragma once

#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include "base/random.h"
#include "domain/for_each_bucket.h"
#include "domain/particles/particle_system.h"
#include "domain/volume/discrete_volume.h"
#include "numerics/surface/liquid_distance.h"

namespace aegir::surface_test {

inline constexpr CellChannel<float> distance{"surface_distance", {}, 4.0f};
inline constexpr FaceChannel<float> area{"open_area", {}, 1.0f};
inline constexpr NodeChannel<float> solid{"solid_distance", {}, 1000.0f};

/// Particles and a grid of one cell size 1, so that world positions are cells.
struct Liquid {
  std::unique_ptr<Comm> comm = make_single_comm();
  Profile profile;
  Exec exec{*comm, profile};
  ParticleSystem particles{"water", 1.0, Partition::even(1)};
  DiscreteVolume volume{"water", particles.shared_topology()};

  void fill(const std::vector<Vec3d>& points, int padding = 1) {
    ParticleBatch batch = particles.batch(points.size());
    for (std::size_t i = 0; i < points.size(); ++i)
      batch.position[i] = points[i], batch.id[i] = static_cast<std::int64_t>(i);
    particles.add(batch);
    AEGIR_ASSERT(static_cast<bool>(particles.rebucket(exec, padding)), "positions are finite");
    volume.adopt(particles.shared_topology());
    volume.declare(distance);
  }
  void set_solid(const std::function<double(const Vec3d&)>& fn) {
    volume.declare(solid);
    for_each_bucket(
        exec, "solid", volume.topology(),
        [&](const Bucket& b, auto& d) {
          for (int c = 0; c < bucket_cells; ++c)
            d[c] = static_cast<float>(std::clamp(fn(b.origin() + Vec3d(c >> 6, (c >> 3) & 7, c & 7)), -4.0, 4.0));
        },
        volume.overwrite(solid));
  }
  /// Closes the faces between cells whose centres lie on different sides of a sheet.
  void set_sheet(const std::function<double(const Vec3d&)>& side) {
    volume.declare(area);
    for_each_bucket(
        exec, "sheet", volume.topology(),
        [&](const Bucket& b, auto& open) {
          for (int c = 0; c < bucket_cells; ++c)
            for (int a = 0; a < 3; ++a) {
              const Vec3d x = b.origin() + Vec3d(c >> 6, (c >> 3) & 7, c & 7) + Vec3d(0.5);
              Vec3d below = x;
              below[a] -= 1;
              open[static_cast<std::size_t>(a)][c] = (side(x) > 0) == (side(below) > 0) ? 1.0f : 0.0f;
            }
        },
        volume.overwrite(area));
  }
  void find_distance(bool solids = false, BufferPool* pool = nullptr) {
    const SurfaceCensus census(exec, particles, volume, solids ? &solid : nullptr, pool);
    liquid_distance(exec, particles, volume, census, {distance, solids ? &solid : nullptr}, pool);
  }
  std::vector<float> values() {
    const float* p = volume.store(distance.name).plane<float>(0);
    return {p, p + std::size_t{512} * static_cast<std::size_t>(volume.topology().local_count())};
  }
  /// Calls fn(cell centre, distance) for all cells.
  void each(const std::function<void(const Vec3d&, double)>& fn) {
    const float* p = volume.store(distance.name).plane<float>(0);
    for (int b = 0; b < volume.topology().local_count(); ++b)
      for (int c = 0; c < bucket_cells; ++c)
        fn(volume.topology().origin(b) + Vec3d(c >> 6, (c >> 3) & 7, c & 7) + Vec3d(0.5),
           static_cast<double>(p[b * bucket_cells + c]));
  }
};

/// A lattice of `per_axis` particles per cell and axis that starts at `from`, where `inside` says so. `jitter` 1 strews
/// each particle over its whole share of the cell.
inline std::vector<Vec3d> lattice(const Box& box, int per_axis, double jitter,
                                  const std::function<bool(const Vec3d&)>& inside, std::uint64_t seed = 1) {
  std::vector<Vec3d> points;
  const double h = 1.0 / per_axis;
  const Vec3d size = box.size();
  std::uint64_t n = 0;
  for (int i = 0; i < std::lround(size.x * per_axis); ++i)
    for (int j = 0; j < std::lround(size.y * per_axis); ++j)
      for (int k = 0; k < std::lround(size.z * per_axis); ++k) {
        const Random r(seed, n++, 0, Purpose::test);
        Vec3d p = box.min + Vec3d(i + 0.5, j + 0.5, k + 0.5) * h;
        for (int a = 0; a < 3; ++a) p[a] += jitter * h * (r.uniform(static_cast<std::uint32_t>(a)) - 0.5);
        if (inside(p)) points.push_back(p);
      }
  return points;
}

/// Particles strewn without any order, `per_cell` on average.
inline std::vector<Vec3d> strewn(const Box& box, double per_cell, const std::function<bool(const Vec3d&)>& inside,
                                 std::uint64_t seed = 1) {
  std::vector<Vec3d> points;
  const Vec3d size = box.size();
  const auto count = static_cast<std::uint64_t>(per_cell * size.x * size.y * size.z);
  for (std::uint64_t n = 0; n < count; ++n) {
    const Random r(seed, n, 1, Purpose::test);
    const Vec3d p = box.min + multiply(size, Vec3d(r.uniform(0), r.uniform(1), r.uniform(2)));
    if (inside(p)) points.push_back(p);
  }
  return points;
}

inline bool everywhere(const Vec3d&) { return true; }

}  // namespace aegir::surface_test
