#include "numerics/transfer/transfer.h"

#include <gtest/gtest.h>

#include <cstring>

#include "numerics/transfer/test_support.h"
#include "parallel/threads.h"

namespace aegir {
namespace {

using namespace transfer_test;

double wavy(int axis, const Vec3d& f) { return std::sin(0.7 * f.x + axis) * std::cos(0.4 * f.y) + 0.3 * std::sin(f.z); }
double wavy_before(int axis, const Vec3d& f) { return wavy(axis, f * 0.8) - 0.2; }

void expect_same_faces(const Liquid& liquid, const FaceMap& expected, double mass_error, double velocity_error) {
  std::size_t reached = 0;
  for (const auto& [key, sum] : expected) {
    const auto& [axis, i, j, k] = key;
    EXPECT_NEAR(liquid.face(grid_mass, axis, {i, j, k}), sum.mass, mass_error)
        << axis << " " << i << " " << j << " " << k;
    if (sum.mass > 1e-3) {
      EXPECT_NEAR(liquid.face(grid_velocity, axis, {i, j, k}), sum.value, velocity_error)
          << axis << " " << i << " " << j;
    }
    reached += sum.mass > 0;
  }
  std::size_t nonzero = 0;
  for (int a = 0; a < 3; ++a)
    for (int c = 0; c < liquid.volume.topology().local_count() * bucket_cells; ++c)
      nonzero += liquid.volume.store("face_mass").plane<float>(a)[c] > 0;
  EXPECT_LE(nonzero, reached);
  EXPECT_GE(nonzero + 10, reached);  // a weight may underflow
}

TEST(ToGrid, EqualsTheDefinition) {
  for (std::size_t count : {1u, 130u, 9000u}) {
    Liquid liquid(cloud(count));
    for (const bool affine : {false, true}) {
      liquid.fill(grid_velocity, [](int, const Vec3d&) { return 99.0; });  // what was there before does not matter
      liquid.fill(grid_mass, [](int, const Vec3d&) { return 99.0; });
      liquid.to_grid(affine);
      expect_same_faces(liquid, reference_to_grid(particles_of(liquid), affine), 1e-5, 1e-5);
    }
  }
}

TEST(ToGrid, ManyParticlesInOneCell) {
  std::vector<Vec3d> cells;
  for (std::size_t i = 0; i < 1000; ++i) {
    const Random r(3, i, 0, Purpose::test);
    cells.push_back({7 + r.uniform(0), r.uniform(1), 7 + r.uniform(2)});
  }
  Liquid liquid(cells);
  for (const bool affine : {false, true}) {
    liquid.to_grid(affine);
    expect_same_faces(liquid, reference_to_grid(particles_of(liquid), affine), 1e-3, 2e-5);
  }
}

TEST(ToGrid, NoParticlesGiveNothing) {
  Liquid liquid({});
  liquid.to_grid(true);
  liquid.to_particles({.transfer = TransferMethod::apic});
  move_particles(liquid.exec, liquid.particles, liquid.volume, grid_velocity, {.dt = 1});
  EXPECT_EQ(liquid.particles.size(), 0u);
}

TEST(ToGrid, KeepsTheMassOfEachComponent) {
  Liquid liquid(cloud(9000));
  liquid.to_grid(false);
  double expected = 0;
  for (const Particle& p : particles_of(liquid)) expected += p.mass;
  for (int a = 0; a < 3; ++a) {
    double sum = 0;
    for (int c = 0; c < liquid.volume.topology().local_count() * bucket_cells; ++c)
      sum += static_cast<double>(liquid.volume.store("face_mass").plane<float>(a)[c]);
    EXPECT_NEAR(sum / expected, 1, 1e-7);
  }
}

TEST(Transfer, ConstantFieldsAreReproduced) {
  Liquid liquid(cloud(3000));
  liquid.fill(grid_velocity, [](int a, const Vec3d&) { return 1.5 + a; });
  liquid.to_particles({.transfer = TransferMethod::apic});
  for (const Particle& p : particles_of(liquid))
    for (int a = 0; a < 3; ++a) {
      EXPECT_NEAR(p.velocity[a], 1.5 + a, 1e-6);
      EXPECT_NEAR(length(p.affine.row[a]), 0, 2e-6);
    }
  liquid.to_grid(true);
  for (const auto& [key, sum] : reference_to_grid(particles_of(liquid), false))
    if (sum.mass > 1e-3) {
      EXPECT_NEAR(liquid.face(grid_velocity, std::get<0>(key), {std::get<1>(key), std::get<2>(key), std::get<3>(key)}),
                  1.5 + std::get<0>(key), 4e-6);
    }
}

TEST(ToParticles, EqualsTheDefinition) {
  const std::vector<Vec3d> cells = cloud(5000);
  struct Case {
    ToParticles settings;
    bool own_ratio;
  };
  const Case cases[] = {
      {{.transfer = TransferMethod::pic}, false},
      {{.transfer = TransferMethod::flip, .flip_ratio = 0.95f, .previous = grid_before}, false},
      {{.transfer = TransferMethod::flip, .flip_ratio = 1, .previous = grid_before}, false},
      {{.transfer = TransferMethod::flip, .flip_ratio_per_particle = &ratio, .previous = grid_before}, true},
      {{.transfer = TransferMethod::apic}, false}};
  for (const Case& c : cases) {
    Liquid liquid(cells);
    liquid.fill(grid_velocity, wavy), liquid.fill(grid_before, wavy_before);
    const auto before = particles_of(liquid);
    liquid.to_particles(c.settings);
    const auto after = particles_of(liquid);
    for (std::size_t i = 0; i < after.size(); ++i) {
      Vec3d u, old;
      Mat3d gradient, unused;
      reference_sample([&](int a, const Vec3i& f) { return liquid.face(grid_velocity, a, f); }, after[i].cells, u,
                       gradient);
      reference_sample([&](int a, const Vec3i& f) { return liquid.face(grid_before, a, f); }, after[i].cells, old,
                       unused);
      if (c.settings.transfer == TransferMethod::flip)
        u += (before[i].velocity - old) * (c.own_ratio ? before[i].ratio : static_cast<double>(c.settings.flip_ratio));
      for (int a = 0; a < 3; ++a) {
        EXPECT_NEAR(after[i].velocity[a], u[a], 2e-6);
        if (c.settings.transfer == TransferMethod::apic) {
          EXPECT_NEAR(length(after[i].affine.row[a] - gradient.row[a]), 0, 4e-6);
        } else {
          EXPECT_EQ(after[i].affine.row[a], before[i].affine.row[a]);
        }
      }
    }
  }
}

TEST(ToParticles, GradientsOfLooseParticlesAreLimited) {
  constexpr CellChannel<float> distance{"distance"};
  Liquid liquid(cloud(3000));
  liquid.volume.declare(distance);
  const auto outside = [](const Vec3i& cell) { return (cell.x + 2 * cell.y + 3 * cell.z + 5000) % 5 < 2; };
  for_each_bucket(
      liquid.exec, "distance", liquid.volume.topology(),
      [&](const Bucket& b, auto& d) {
        const Vec3i corner = b.topology.key(b.index).coord * bucket_size;
        for (int n = 0; n < bucket_cells; ++n) d[n] = outside(corner + Vec3i{n >> 6, n >> 3 & 7, n & 7}) ? 0.0f : -0.1f;
      },
      liquid.volume.write(distance));
  const auto before = particles_of(liquid);
  limit_loose_gradients(liquid.exec, liquid.particles, liquid.volume, distance, channels, 0.5f);
  const auto after = particles_of(liquid);
  std::size_t limited = 0, free = 0;
  for (std::size_t i = 0; i < after.size(); ++i) {
    const Vec3i cell{static_cast<int>(std::floor(after[i].cells.x)), static_cast<int>(std::floor(after[i].cells.y)),
                     static_cast<int>(std::floor(after[i].cells.z))};
    double square = 0;
    for (const Vec3d& row : before[i].affine.row) square += dot(row, row);
    const double most = 0.5 * length(before[i].velocity), share = std::min(1.0, most / std::sqrt(square));
    const bool changes = outside(cell) && share < 1;
    (changes ? limited : free) += 1;
    EXPECT_EQ(after[i].velocity.x, before[i].velocity.x);
    for (int a = 0; a < 3; ++a)
      EXPECT_NEAR(length(after[i].affine.row[a] - before[i].affine.row[a] * (changes ? share : 1.0)), 0, 1e-6) << i;
  }
  EXPECT_GT(limited, 300u);
  EXPECT_GT(free, 300u);
}

struct Momentum {
  Vec3d linear, angular;
};
Vec3d unit_vector(int axis) { return {axis == 0 ? 1.0 : 0.0, axis == 1 ? 1.0 : 0.0, axis == 2 ? 1.0 : 0.0}; }

Momentum momentum_of(const FaceMap& faces) {
  Momentum m;
  for (const auto& [key, sum] : faces) {
    const auto& [axis, i, j, k] = key;
    const Vec3d p = unit_vector(axis) * (sum.mass * sum.value);
    const Vec3d x = Vec3d(i, j, k) + (Vec3d(1) - unit_vector(axis)) * 0.5;
    m.linear += p, m.angular += cross(x, p);
  }
  return m;
}

/// Of particles: Σ m x × v, and of their affine part Σ m (D c_a) × e_a with D = Σ w (x_face - x)(x_face - x)ᵀ, which is
/// diagonal (Jiang et al. 2015, proposition 5.7).
Momentum momentum_of(const std::vector<Particle>& particles, bool affine) {
  Momentum m;
  for (const Particle& p : particles) {
    m.linear += p.velocity * p.mass, m.angular += cross(p.cells, p.velocity) * p.mass;
    for (int a = 0; affine && a < 3; ++a) {
      const FaceStencil<double> s(a, p.cells);
      const Vec3d inertia = multiply(s.fraction, Vec3d(1) - s.fraction);
      m.angular += cross(multiply(inertia, p.affine.row[a]), unit_vector(a)) * p.mass;
    }
  }
  return m;
}

/// Grid → particles → grid at unchanged positions, in double precision.
std::vector<Particle> sampled(std::vector<Particle> particles, const FaceMap& faces) {
  for (Particle& p : particles)
    reference_sample([&](int a, const Vec3i& f) { return faces.at(face_key(a, f)).value; }, p.cells, p.velocity,
                     p.affine);
  return particles;
}

TEST(Apic, ConservesLinearAndAngularMomentumThroughTheGridAndPicDoesNot) {
  Liquid liquid(cloud(2000));
  const FaceMap start = reference_to_grid(particles_of(liquid), true);
  const Momentum expected = momentum_of(start);
  const double scale = length(expected.linear) + length(expected.angular);
  const std::vector<Particle> particles = sampled(particles_of(liquid), start);
  const Momentum carried = momentum_of(particles, true), back = momentum_of(reference_to_grid(particles, true));
  for (const Momentum& m : {carried, back}) {
    EXPECT_LT(length(m.linear - expected.linear), 1e-12 * scale);
    EXPECT_LT(length(m.angular - expected.angular), 1e-12 * scale);
  }
  const Momentum pic = momentum_of(reference_to_grid(particles, false));
  EXPECT_LT(length(pic.linear - expected.linear), 1e-12 * scale);
  EXPECT_GT(length(pic.angular - expected.angular), 1e-4 * scale);

  // The kernels do the same in single precision.
  const auto on_grid = [&] {
    FaceMap faces = reference_to_grid(particles_of(liquid), false);
    for (auto& [key, sum] : faces) {
      const auto& [axis, i, j, k] = key;
      sum = {liquid.face(grid_mass, axis, {i, j, k}), liquid.face(grid_velocity, axis, {i, j, k})};
    }
    return momentum_of(faces);
  };
  liquid.to_grid(true);
  const Momentum kernel_start = on_grid();
  liquid.to_particles({.transfer = TransferMethod::apic});
  const Momentum kernel_carried = momentum_of(particles_of(liquid), true);
  liquid.to_grid(true);
  for (const Momentum& m : {kernel_carried, on_grid()}) {
    EXPECT_LT(length(m.linear - kernel_start.linear), 1e-6 * scale);
    EXPECT_LT(length(m.angular - kernel_start.angular), 1e-6 * scale);
  }
}

/// With n layers of particles per cell, a round trip through particles averages f with its neighbours' weights
/// c = 1/6 + 1/(12 n²): f + c Δx² f''. Many particles: Δx²/6 f''.
TEST(Pic, DampsByASixthOfTheSecondDifference) {
  for (const int layers : {2, 8}) {
    std::vector<Vec3d> cells;
    for (int i = 0; i < 4 * 2; ++i)
      for (int j = 0; j < 16 * layers; ++j)
        for (int k = 0; k < 4 * 2; ++k) cells.push_back({(i + 0.5) / 2, (j + 0.5) / layers, (k + 0.5) / 2});
    Liquid liquid(cells);
    ParticleStore& m = liquid.particles.store("mass");
    std::fill_n(m.plane<float>(0), liquid.particles.size(), 1.0f);
    const auto f = [](double y) { return std::cos(0.5 * y + 0.3) + 0.05 * y * y; };
    liquid.fill(grid_velocity, [&](int a, const Vec3d& x) { return a == 0 ? f(x.y) : 0.0; });
    liquid.to_particles({.transfer = TransferMethod::pic});
    liquid.to_grid(false);
    const double c = 1.0 / 6 + 1.0 / (12 * layers * layers);
    for (int j = 1; j < 15; ++j) {
      const double y = j + 0.5, second = f(y - 1) - 2 * f(y) + f(y + 1);
      EXPECT_NEAR(liquid.face(grid_velocity, 0, {2, j, 2}), f(y) + c * second, 4e-6);
    }
  }
}

/// All channels that kernels write, as bytes.
std::string bits(const Liquid& liquid) {
  std::string all;
  for (const auto& store : liquid.volume.channels())
    for (const Buffer& plane : store.planes)
      all.append(reinterpret_cast<const char*>(plane.data()),
                 static_cast<std::size_t>(liquid.volume.topology().local_count()) * bucket_cells * sizeof(float));
  for (const auto& store : liquid.particles.channels())
    for (const Buffer& plane : store.planes)
      all.append(reinterpret_cast<const char*>(plane.data()), liquid.particles.size() * scalar_size(store.info.scalar));
  return all;
}

TEST(Transfer, SameBitsForAnyNumberOfThreads) {
  std::string expected;
  for (int threads : {1, 2, 7}) {
    ThreadScope scope(threads);
    scope.run([&] {
      Liquid liquid(cloud(9000));
      liquid.to_grid(true);
      liquid.to_particles({.transfer = TransferMethod::apic});
      liquid.fill(grid_before, wavy_before);
      liquid.to_particles({.flip_ratio = 0.9f, .previous = grid_before});
      move_particles(liquid.exec, liquid.particles, liquid.volume, grid_velocity, {.dt = 0.02});
      liquid.rebucket();
      liquid.to_grid(false);
      if (expected.empty()) expected = bits(liquid);
      EXPECT_TRUE(bits(liquid) == expected) << threads << " threads";
    });
  }
}

TEST(Transfer, StopsWhereParticlesHaveLeftTheirBucket) {
  Liquid liquid(cloud(100));
  liquid.particles.store("P").plane<float>(1)[50] = 8.25f;
  EXPECT_THROW(liquid.to_grid(false), BugFound);
  EXPECT_THROW(liquid.to_particles({.transfer = TransferMethod::pic}), BugFound);
}

}  // namespace
}  // namespace aegir
