// What the same bits on any number of threads and ranks cost: each of the three means against the way that would do
// where bits may differ, and what they make together of a whole step of a liquid.
#include <atomic>
#include <mutex>

#include <fmt/format.h>

#include "base/random.h"
#include "benchmarks/harness.h"
#include "benchmarks/liquid_scene.h"
#include "domain/for_each_bucket.h"
#include "domain/particles/particle_system.h"
#include "domain/particles/sort_cells.h"
#include "domain/volume/discrete_volume.h"
#include "numerics/transfer/transfer.h"

namespace aegir::bench {
namespace {

constexpr ParticleChannel<Vec3f> velocity{"v", unit::metre_per_second};
constexpr ParticleChannel<float> mass{"mass", unit::kilogram, 1.25e-4f};
constexpr FaceChannel<float> grid_velocity{"vel", unit::metre_per_second};
constexpr FaceChannel<float> grid_mass{"face_mass", unit::kilogram};
constexpr TransferChannels channels{velocity, mass, grid_velocity, grid_mass, {{{"cx"}, {"cy"}, {"cz"}}}};
constexpr Vec3i cells{128, 64, 64};
constexpr int sums_per_step = 56;  // of a dam break, docs/cluster.md

/// Eight particles per cell at random places, ids that have nothing to do with them.
void fill(Exec& exec, ParticleSystem& particles) {
  particles.declare(velocity), particles.declare(mass);
  ParticleBatch batch = particles.batch(static_cast<std::size_t>(cells.x) * cells.y * cells.z * 8);
  for (std::size_t n = 0; n < batch.position.size(); ++n) {
    const Random r(1, n, 0, Purpose::test);
    batch.position[n] = {r.uniform(0, 1, cells.x - 1), r.uniform(1, 1, cells.y - 1), r.uniform(2, 1, cells.z - 1)};
    batch.id[n] = static_cast<std::int64_t>(n);
    batch.set("v", n, Vec3d{r.uniform(3), r.uniform(4), r.uniform(5)});
  }
  particles.add(batch);
  AEGIR_ASSERT(particles.rebucket(exec, 1), "the benchmark lost a particle");
}

/// Seconds of one sum over all buckets: exact, and in whatever order threads come.
std::vector<double> sums(Exec& exec, const Topology& topology) {
  std::vector<double> value(static_cast<std::size_t>(topology.local_count()));
  for (std::size_t b = 0; b < value.size(); ++b) value[b] = 1 / static_cast<double>(b + 1);
  double exact = 0, plain = 0;
  constexpr int repeats = 100;
  const auto any_order = [&] {
    double sum = 0;
    std::mutex mutex;
    parallel_for(0, value.size(), 16, [&](std::size_t begin, std::size_t end) {
      double part = 0;
      for (std::size_t b = begin; b < end; ++b) part += value[b];
      std::lock_guard lock(mutex);
      sum += part;
    });
    plain += sum;
  };
  auto t = in_turns(9, {{[&] {
                          for (int i = 0; i < repeats; ++i)
                            exact += exact_sum(exec, topology, [&](const Bucket& b) {
                              return value[static_cast<std::size_t>(b.index)];
                            });
                        }},
                        {[&] {
                          for (int i = 0; i < repeats; ++i) any_order();
                        }}});
  AEGIR_ASSERT(std::abs(exact - plain) < 1e-9 * exact, "both sum the same");
  for (double& s : t) s /= repeats;
  return t;
}

/// Seconds of sorting all buckets: by cell and id, and by cell alone.
std::vector<double> orders(const ParticleSystem& particles) {
  const auto places = particles.read(particle::position);
  const auto ids = particles.read(particle::id);
  const auto buckets = static_cast<std::size_t>(particles.topology().local_count());
  std::vector<std::uint16_t> code(particles.size());
  std::vector<std::uint32_t> out(particles.size());
  std::vector<std::int64_t> out_id(particles.size()), id(particles.size());
  for (std::size_t b = 0; b < buckets; ++b) {
    const auto p = places(static_cast<int>(b));
    const auto i = ids(static_cast<int>(b));
    const std::uint64_t first = particles.first(static_cast<int>(b));
    std::copy_n(i.plane[0], i.count, id.data() + first);
    // As they come: neither cells nor ids in order.
    for (std::size_t n = 0; n < p.count; ++n) id[first + n] = static_cast<std::int64_t>(mix(first + n) >> 1);
    classify_run(p.plane[0], p.plane[1], p.plane[2], id.data() + first, p.count, code.data() + first);
    for (std::size_t n = p.count; n > 1; --n) std::swap(code[first + n - 1], code[first + mix(first + n) % n]);
  }
  const auto by_id = [&] {
    parallel_for(0, buckets, 4, [&](std::size_t begin, std::size_t end) {
      CellSorter sorter;
      for (std::size_t b = begin; b < end; ++b) {
        const std::uint64_t first = particles.first(static_cast<int>(b));
        sorter.sort(code.data() + first, static_cast<std::uint32_t>(first), particles.count(static_cast<int>(b)),
                    id.data(), out.data() + first, out_id.data() + first);
      }
    });
  };
  const auto by_cell = [&] {
    parallel_for(0, buckets, 4, [&](std::size_t begin, std::size_t end) {
      for (std::size_t b = begin; b < end; ++b) {
        const std::uint64_t first = particles.first(static_cast<int>(b));
        const std::size_t count = particles.count(static_cast<int>(b));
        std::uint32_t at[bucket_cells + 1] = {};
        for (std::size_t n = 0; n < count; ++n) ++at[code[first + n] + 1];
        for (int c = 0; c < bucket_cells; ++c) at[c + 1] += at[c];
        for (std::size_t n = 0; n < count; ++n) {
          const std::uint64_t to = first + at[code[first + n]]++;
          out[to] = static_cast<std::uint32_t>(first + n), out_id[to] = id[first + n];
        }
      }
    });
  };
  return in_turns(9, {{by_id}, {by_cell}});
}

/// Momentum and mass by atomic additions into one array for all threads, as it is done where order does not matter.
class AtomicGrid {
 public:
  AtomicGrid() : values_(static_cast<std::size_t>(cells.x) * cells.y * cells.z * 6) {}

  void add(Exec& exec, ParticleSystem& particles) {
    parallel_for(0, values_.size(), 1 << 16, [&](std::size_t begin, std::size_t end) {
      std::fill(values_.begin() + static_cast<std::ptrdiff_t>(begin),
                values_.begin() + static_cast<std::ptrdiff_t>(end), 0.0f);
    });
    for_each_bucket(
        exec, "atomic", particles.topology(),
        [&](const Bucket& b, auto& p, auto& v, auto& m) {
          const Vec3d corner = b.origin();
          for (std::size_t n = 0; n < p.count; ++n) add_one(Vec3f(corner) + p[n], v[n], m[n]);
        },
        particles.read(particle::position), particles.read(velocity), particles.read(mass));
  }

 private:
  void add_one(const Vec3f& x, const Vec3f& v, float m) {
    for (int a = 0; a < 3; ++a) {
      int c[3];
      float w[3];
      for (int d = 0; d < 3; ++d) {
        const float place = x[d] - (d == a ? 0.0f : 0.5f);
        c[d] = static_cast<int>(place), w[d] = place - static_cast<float>(c[d]);
      }
      for (int n = 0; n < 8; ++n) {
        const int dx = n >> 2, dy = n >> 1 & 1, dz = n & 1;
        const float weight = (dx ? w[0] : 1 - w[0]) * (dy ? w[1] : 1 - w[1]) * (dz ? w[2] : 1 - w[2]) * m;
        const auto cell = static_cast<std::size_t>(((c[0] + dx) * cells.y + c[1] + dy) * cells.z + c[2] + dz);
        float* to = values_.data() + (cell * 3 + static_cast<std::size_t>(a)) * 2;
        std::atomic_ref(to[0]).fetch_add(weight, std::memory_order_relaxed);
        std::atomic_ref(to[1]).fetch_add(weight * v[a], std::memory_order_relaxed);
      }
    }
  }
  std::vector<float> values_;
};

void determinism(Bench& bench) {
  Exec& exec = bench.exec;
  ParticleSystem particles("bench", 1.0, Partition::even(1));
  fill(exec, particles);
  DiscreteVolume volume("bench", particles.shared_topology());
  volume.declare(grid_velocity), volume.declare(grid_mass);
  const double n = static_cast<double>(particles.size());

  const auto sum = sums(exec, particles.topology());
  bench.cost("mpi.determinism.sum", 1e6 * sum[0], "us", "a sum in any order", 1e6 * sum[1]);
  const auto order = orders(particles);
  bench.cost("mpi.determinism.order", 1e9 * order[0] / n, "ns/particle", "by cell alone", 1e9 * order[1] / n);
  BufferPool pool;
  AtomicGrid atomic;
  const auto scatter = in_turns(9, {{[&] { to_grid(exec, particles, volume, channels, false, nullptr, &pool); }},
                                    {[&] { atomic.add(exec, particles); }}});
  bench.cost("mpi.determinism.to_grid", 1e9 * scatter[0] / n, "ns/particle", "atomic additions", 1e9 * scatter[1] / n);

  const LiquidRun run = run_dam_break(exec, {.cells = 128, .last_frame = 8});
  const double step = run.seconds / run.steps, of_particles = run.particle_steps / run.steps / n;
  const double summing = sums_per_step * (sum[0] - sum[1]), sorting = of_particles * (order[0] - order[1]);
  bench.note(
      fmt::format("mpi.determinism: of a step of the dam break at 128 cells, {:.1f} ms, exact sums take {:.2f} % "
                  "and the order by id {:.2f} %; sums in a fixed order are {:.1f} times as fast as atomic additions",
                  1e3 * step, 100 * summing / step, 100 * sorting / step, scatter[1] / scatter[0]));
}

}  // namespace

void register_determinism(Registry& registry) { registry.add("mpi.determinism", determinism); }

}  // namespace aegir::bench
