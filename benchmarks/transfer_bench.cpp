// Transfers between particles and grid and particle moves against the bandwidth of the machine.
#include <fmt/format.h>

#include "base/random.h"
#include "benchmarks/bandwidth.h"
#include "domain/for_each_bucket.h"
#include "numerics/transfer/transfer.h"

namespace aegir::bench {

void register_transfer(Registry& registry);

namespace {

constexpr ParticleChannel<Vec3f> velocity{"v", unit::metre_per_second};
constexpr ParticleChannel<float> mass{"mass", unit::kilogram, 1.25e-4f};
constexpr FaceChannel<float> grid_velocity{"vel", unit::metre_per_second};
constexpr FaceChannel<float> grid_before{"vel_before", unit::metre_per_second};
constexpr FaceChannel<float> grid_mass{"face_mass", unit::kilogram};
constexpr TransferChannels channels{velocity, mass, grid_velocity, grid_mass, {{{"cx"}, {"cy"}, {"cz"}}}};

constexpr double spacing = 0.01, dt = 1e-3;
constexpr Vec3i cells{128, 128, 64};

/// Eight particles in each of 128×128×64 cells, in a flow that has mixed them for some steps, one layer of empty
/// buckets around.
struct Liquid {
  explicit Liquid(Exec& exec) : particles("liquid", spacing, Partition::even(1)), volume("liquid", nullptr) {
    particles.declare(velocity), particles.declare(mass);
    for (const auto& c : channels.affine) particles.declare(c);
    ParticleBatch batch = particles.batch(static_cast<std::size_t>(cells.x) * cells.y * cells.z * 8);
    std::size_t n = 0;
    for (int i = 0; i < cells.x; ++i)
      for (int j = 0; j < cells.y; ++j)
        for (int k = 0; k < cells.z; ++k)
          for (int s = 0; s < 8; ++s, ++n) {
            const Random r(1, n, 0, Purpose::test);
            const Vec3d sub(s & 1, s >> 1 & 1, s >> 2), jitter(r.uniform(0), r.uniform(1), r.uniform(2));
            const Vec3d x = (Vec3d(Vec3i{i, j, k}) + (sub + jitter) * 0.5) * spacing;
            batch.position[n] = x, batch.id[n] = static_cast<std::int64_t>(n);
            batch.set("v", n, Vec3d{10 * std::sin(7 * x.y), 10 * std::sin(9 * x.z + 1), 10 * std::sin(8 * x.x + 2)});
            batch.set("mass", n, 1.25e-4);
          }
    particles.add(batch);
    volume = DiscreteVolume("liquid", particles.shared_topology());
    rebucket(exec);
    for (const auto& c : {grid_velocity, grid_before, grid_mass}) volume.declare(c);
    for (int step = 0; step < 8; ++step) {
      to_grid(exec, particles, volume, channels, false, nullptr, &pool);
      to_particles(exec, particles, volume, channels, {.transfer = TransferMethod::pic});
      move(exec);
      rebucket(exec);
    }
    to_grid(exec, particles, volume, channels, false, nullptr, &pool);
  }
  void rebucket(Exec& exec) {
    AEGIR_ASSERT(particles.rebucket(exec, 1), "the benchmark lost a particle");
    volume.adopt(particles.shared_topology());
  }
  void move(Exec& exec) { move_particles(exec, particles, volume, grid_velocity, {.dt = dt}); }

  ParticleSystem particles;
  DiscreteVolume volume;
  BufferPool pool;
};

struct Kernel {
  const char* name;
  double bytes;  // per particle, writes twice
  std::function<void()> run;
};

/// Eight million particles that have mixed for some steps, Courant number about 1. Per particle and kernel: what its
/// header comment counts.
void transfers(Bench& bench) {
  Liquid liquid(bench.exec);
  ParticleSystem& p = liquid.particles;
  DiscreteVolume& v = liquid.volume;
  Exec& exec = bench.exec;
  const double n = static_cast<double>(p.size());
  const double grid = 12.0 * bucket_cells * v.topology().local_count() / n;  // one face channel
  // A hook that undoes the move, so that every turn moves the same particles.
  const auto stay = [](const Bucket&, std::size_t, std::size_t count, const float* const from[3], float* const to[3]) {
    for (int a = 0; a < 3; ++a) std::copy_n(from[a], count, to[a]);
  };
  const MoveHook hook(stay);
  const std::vector<Kernel> kernels{
      {"to_grid", 28 + 4 * grid, [&] { to_grid(exec, p, v, channels, false, nullptr, &liquid.pool); }},
      {"to_grid_apic", 64 + 4 * grid, [&] { to_grid(exec, p, v, channels, true, nullptr, &liquid.pool); }},
      {"to_particles", 36 + 2 * grid,
       [&] { to_particles(exec, p, v, channels, {.transfer = TransferMethod::flip, .previous = grid_before}); }},
      {"to_particles_apic", 108 + grid,
       [&] { to_particles(exec, p, v, channels, {.transfer = TransferMethod::apic}); }},
      {"move", 24 + grid, [&] { move_particles(exec, p, v, grid_velocity, {.dt = dt}, &hook); }},
  };
  Bandwidth bandwidth(static_cast<std::size_t>(n * 64));
  std::vector<Turn> turns = bandwidth.turns();
  for (const Kernel& kernel : kernels) turns.push_back({kernel.run});
  const auto t = in_turns(5, turns);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const double seconds = t[t.size() - kernels.size() + i];
    bench.rate(fmt::format("transfer.{}", kernels[i].name), n / seconds, "particles/s", "bandwidth bound",
               bandwidth.best(t.data()) / kernels[i].bytes);
    bench.note(fmt::format("transfer.{}: {:.2f} ns per particle", kernels[i].name, 1e9 * seconds / n));
  }
}

}  // namespace

void register_transfer(Registry& registry) { registry.add("transfer.all", transfers); }

}  // namespace aegir::bench
