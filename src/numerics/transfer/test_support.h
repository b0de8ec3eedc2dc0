// What the tests of transfers share: a cloud of particles over several buckets, its grid, and the transfers written
// plainly in double precision.
#pragma once

#include <cmath>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "base/random.h"
#include "numerics/transfer/face_stencil.h"
#include "numerics/transfer/transfer.h"

namespace aegir::transfer_test {

inline constexpr ParticleChannel<Vec3f> velocity{"v", unit::metre_per_second};
inline constexpr ParticleChannel<float> mass{"mass", unit::kilogram, 1.0f};
inline constexpr ParticleChannel<float> ratio{"ratio", {}, 0.5f};
inline constexpr FaceChannel<float> grid_velocity{"vel", unit::metre_per_second};
inline constexpr FaceChannel<float> grid_before{"vel_before", unit::metre_per_second};
inline constexpr FaceChannel<float> grid_mass{"face_mass", unit::kilogram};
inline constexpr TransferChannels channels{velocity, mass, grid_velocity, grid_mass, {{{"cx"}, {"cy"}, {"cz"}}}};

inline constexpr double spacing = 0.02;

/// One process, particles and the grid on the same buckets.
struct Liquid {
  explicit Liquid(const std::vector<Vec3d>& cells) {
    particles.declare(velocity), particles.declare(mass), particles.declare(ratio);
    for (const auto& c : channels.affine) particles.declare(c);
    ParticleBatch batch = particles.batch(cells.size());
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const Random r(11, i, 0, Purpose::test);
      batch.position[i] = cells[i] * spacing, batch.id[i] = static_cast<std::int64_t>(i);
      batch.set("v", i, Vec3d{r.uniform(0, -2, 2), r.uniform(1, -2, 2), r.uniform(2, -2, 2)});
      batch.set("mass", i, r.uniform(3, 0.5, 1.5));
      batch.set("ratio", i, r.uniform(4));
      const char* rows[3] = {"cx", "cy", "cz"};
      for (std::uint32_t a = 0; a < 3; ++a)
        batch.set(rows[a], i,
                  Vec3d{r.uniform(5 + 3 * a, -50, 50), r.uniform(6 + 3 * a, -50, 50), r.uniform(7 + 3 * a, -50, 50)});
    }
    particles.add(batch);
    rebucket();
    for (const auto& c : {grid_velocity, grid_before, grid_mass}) volume.declare(c);
  }
  void rebucket() {
    if (!particles.rebucket(exec, 1)) throw BugFound("a particle was lost");
    volume.adopt(particles.shared_topology());
  }
  void to_grid(bool affine, const Barrier* barrier = nullptr) {
    aegir::to_grid(exec, particles, volume, channels, affine, barrier, &pool);
  }
  void to_particles(const ToParticles& settings) { aegir::to_particles(exec, particles, volume, channels, settings); }
  /// Sets every face from a function of its axis and its place in cells.
  template <class Function>
  void fill(const FaceChannel<float>& c, const Function& f) {
    for_each_bucket(
        exec, "fill", volume.topology(),
        [&](const Bucket& b, auto& u) {
          const Vec3i corner = b.topology.key(b.index).coord * bucket_size;
          for (int n = 0; n < bucket_cells; ++n)
            for (int a = 0; a < 3; ++a) {
              const Vec3d face = Vec3d(corner + Vec3i{n >> 6, n >> 3 & 7, n & 7}) +
                                 Vec3d(a == 0 ? 0 : 0.5, a == 1 ? 0 : 0.5, a == 2 ? 0 : 0.5);
              u[static_cast<std::size_t>(a)][n] = static_cast<float>(f(a, face));
            }
        },
        volume.write(c));
  }
  float face(const FaceChannel<float>& c, int axis, const Vec3i& f) const {
    const int b = volume.topology().find({{f.x >> 3, f.y >> 3, f.z >> 3}, 0});
    return b < 0 ? 0.0f
                 : volume.store(c.name).plane<float>(axis)[b * bucket_cells + cell_offset(f.x & 7, f.y & 7, f.z & 7)];
  }

  std::unique_ptr<Comm> comm = make_single_comm();
  Profile profile;
  Exec exec{*comm, profile};
  ParticleSystem particles{"liquid", spacing, Partition::even(1)};
  DiscreteVolume volume{"liquid", particles.shared_topology()};
  BufferPool pool;
};

/// Particles in random places of a box, and a few far away.
inline std::vector<Vec3d> cloud(std::size_t count) {
  std::vector<Vec3d> cells;
  for (std::size_t i = 0; i < count; ++i) {
    const Random r(7, i, 0, Purpose::test);
    cells.push_back({r.uniform(0, -9, 11), r.uniform(1, -4, 9), r.uniform(2, -3, 17)});
    if (i % 512 == 0) cells.back() += Vec3d(100, 40, -60);
  }
  return cells;
}

/// One particle in double precision; position in cells, gradient per cell.
struct Particle {
  Vec3d cells, velocity;
  double mass = 1, ratio = 0;
  Mat3d affine;
};

inline std::vector<Particle> particles_of(const Liquid& liquid) {
  std::vector<Particle> all;
  const ParticleSystem& p = liquid.particles;
  const auto at = [&](const char* name, int plane, std::size_t i) {
    return static_cast<double>(p.store(name).plane<float>(plane)[i]);
  };
  const auto vector = [&](const char* name, std::size_t i) {
    return Vec3d{at(name, 0, i), at(name, 1, i), at(name, 2, i)};
  };
  for (int b = 0; b < p.topology().local_count(); ++b)
    for (std::size_t i = p.first(b); i < p.first(b) + p.count(b); ++i)
      all.push_back({Vec3d(p.topology().key(b).coord * bucket_size) + vector("P", i),
                     vector("v", i),
                     at("mass", 0, i),
                     at("ratio", 0, i),
                     {{vector("cx", i) * spacing, vector("cy", i) * spacing, vector("cz", i) * spacing}}});
  return all;
}

/// Mass and momentum, or mass and velocity, on the faces that particles reach.
struct FaceSum {
  double mass = 0, value = 0;
};
using FaceMap = std::map<std::tuple<int, int, int, int>, FaceSum>;
inline std::tuple<int, int, int, int> face_key(int axis, const Vec3i& f) { return {axis, f.x, f.y, f.z}; }

/// The transfer to the grid as its definition says.
inline FaceMap reference_to_grid(const std::vector<Particle>& particles, bool affine) {
  FaceMap faces;
  for (const Particle& p : particles)
    for (int a = 0; a < 3; ++a) {
      const FaceStencil<double> s(a, p.cells);
      for (int n = 0; n < 8; ++n) {
        FaceSum& sum = faces[face_key(a, s.face(n))];
        const double w = p.mass * s.weight(n);
        const double v = p.velocity[a] + (affine ? dot(p.affine.row[a], s.position(n) - p.cells) : 0.0);
        sum.mass += w, sum.value += w * v;
      }
    }
  for (auto& [key, sum] : faces) sum.value = sum.mass > 0 ? sum.value / sum.mass : 0;
  return faces;
}

/// Velocity and its gradient (per cell) at a point.
template <class Face>
void reference_sample(const Face& face, const Vec3d& cells, Vec3d& u, Mat3d& gradient) {
  u = sample_velocity<double>(face, cells), gradient = {};
  for (int a = 0; a < 3; ++a) {
    const FaceStencil<double> s(a, cells);
    for (int n = 0; n < 8; ++n) gradient.row[a] += s.gradient(n) * static_cast<double>(face(a, s.face(n)));
  }
}

}  // namespace aegir::transfer_test
