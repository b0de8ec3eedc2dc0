// Rebucketing against a plain copy of the same bytes.
#include <algorithm>

#include <fmt/format.h>

#include "base/random.h"
#include "benchmarks/bandwidth.h"
#include "domain/for_each_bucket.h"
#include "domain/particles/particle_system.h"

namespace aegir::bench {
namespace {

constexpr ParticleChannel<Vec3f> velocity{"v", unit::metre_per_second};
constexpr ParticleChannel<float> age{"age", unit::second};
constexpr double bytes_per_particle = 36;  // P, v, id, age

/// Eight particles per cell in a box of cells; ids have nothing to do with places.
void emit(Bench& bench, ParticleSystem& particles, int nx, int ny, int nz) {
  particles.declare(velocity), particles.declare(age);
  const std::int64_t total = std::int64_t{8} * nx * ny * nz;
  constexpr std::int64_t chunk = 1 << 20;
  for (std::int64_t begin = 0; begin < total; begin += chunk) {
    const std::int64_t count = std::min(chunk, total - begin);
    ParticleBatch batch = particles.batch(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) {
      const Random random(1, static_cast<std::uint64_t>(begin + i), 0, Purpose::test);
      const auto at = static_cast<std::size_t>(i);
      batch.position[at] = {random.uniform(0, 0, nx), random.uniform(1, 0, ny), random.uniform(2, 0, nz)};
      batch.id[at] = begin + i;
      batch.set("v", at, Vec3d{random.uniform(3), random.uniform(4), random.uniform(5)});
    }
    particles.add(batch);
  }
  const Status done = particles.rebucket(bench.exec);
  AEGIR_ASSERT(done, "rebucket failed");
}

/// Moves every particle by up to `reach` cells along each axis, a function of its id and the step.
void jitter(Bench& bench, ParticleSystem& particles, float reach, std::uint64_t step) {
  for_each_bucket(
      bench.exec, "jitter", particles.topology(),
      [=](const Bucket&, auto& id, auto& position) {
        for (std::size_t i = 0; i < id.size(); ++i) {
          const std::uint64_t bits = mix(static_cast<std::uint64_t>(id[i]) * 0x9e3779b97f4a7c15ull + step);
          for (int a = 0; a < 3; ++a) {
            const auto u = static_cast<float>((bits >> (20 * a)) & 0xfffff) * 0x1p-20f;
            position.plane[static_cast<std::size_t>(a)][i] += reach * (2 * u - 1);
          }
        }
      },
      particles.read(particle::id), particles.write(particle::position));
}

double leaving(Bench& bench, const ParticleSystem& particles) {
  const auto position = particles.read(particle::position);
  return exact_sum(bench.exec, particles.topology(), [&](const Bucket& b) {
    const auto p = position(b.index);
    double count = 0;
    for (std::size_t i = 0; i < p.size(); ++i)
      for (const Vec3f x = p[i]; float v : {x.x, x.y, x.z})
        if (!(v >= 0 && v < bucket_size)) {
          ++count;
          break;
        }
    return count;
  });
}

void rebucket(Bench& bench) {
  ParticleSystem particles("bench", 1.0, Partition{});
  emit(bench, particles, 128, 128, 64);
  const double n = static_cast<double>(particles.size());
  Buffer from(static_cast<std::size_t>(n * bytes_per_particle)), to(static_cast<std::size_t>(n * bytes_per_particle));
  std::fill_n(from.data(), from.capacity(), std::byte{1});
  std::uint64_t step = 0;
  double share = 0;
  const Turn ours{[&] { AEGIR_ASSERT(particles.rebucket(bench.exec), "rebucket failed"); },
                  [&] {
                    jitter(bench, particles, 0.545f, ++step);
                    share = leaving(bench, particles) / n;
                  }};
  const auto t = in_turns(11, {ours, {[&] { plain_copy(from.data(), to.data(), static_cast<std::size_t>(n * 36)); }}});
  bench.rate("domain.rebucket", n / t[0] * 1e-6, "Mparticles/s", "memcpy of the same bytes", n / t[1] * 1e-6);
  bench.note(fmt::format("domain.rebucket: {:.1f} M particles, {:.1f} % change bucket, {:.0f} ms", n * 1e-6,
                         100 * share, t[0] * 1e3));
}

void memory_particle(Bench& bench) {
  ParticleSystem particles("bench", 1.0, Partition{});
  emit(bench, particles, 64, 64, 64);
  for (std::uint64_t step = 1; step <= 8; ++step) {
    jitter(bench, particles, 0.545f, step);
    AEGIR_ASSERT(particles.rebucket(bench.exec), "rebucket failed");
  }
  const double each = static_cast<double>(particles.memory_bytes()) / static_cast<double>(particles.size());
  bench.cost("domain.memory_particle", each, "bytes", "its channels", bytes_per_particle);
}

}  // namespace

void register_rebucket(Registry& r) {
  r.add("domain.rebucket", rebucket);
  r.add("domain.memory_particle", memory_particle);
}

}  // namespace aegir::bench
