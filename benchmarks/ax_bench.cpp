// Expressions against the same kernels in C++ over the same channels: Jones 2018, section 6.6, and a free step.
#include <cmath>
#include <random>

#include <fmt/format.h>

#include "base/simd.h"
#include "benchmarks/harness.h"
#include "domain/for_each_bucket.h"
#include "expressions/apply.h"
#include "expressions/runtime.h"

namespace aegir::bench {
namespace {

inline constexpr ParticleChannel<Vec3f> velocity{"v"};
inline constexpr ParticleChannel<float> radius{"rad"};

/// 10M particles, 8 per cell, in curve order.
std::unique_ptr<ParticleSystem> make_particles(Exec& exec) {
  constexpr int side = 136, height = 68;  // cells; 8 particles in each
  auto particles = std::make_unique<ParticleSystem>("bench", 0.01, Partition::even(1));
  particles->declare(velocity);
  particles->declare(radius);
  std::int64_t id = 0;
  for (int i = 0; i < side; ++i) {
    ParticleBatch batch = particles->batch(static_cast<std::size_t>(side) * height * 8);
    for (std::size_t n = 0; n < batch.size(); ++n, ++id) {
      const auto cell = static_cast<int>(n / 8), corner = static_cast<int>(n % 8);
      batch.position[n] = Vec3d(i + 0.25 + 0.5 * (corner & 1), cell / height + 0.25 + 0.25 * (corner & 2),
                                cell % height + 0.25 + 0.125 * (corner & 4)) *
                          0.01;
      batch.id[n] = id;
      batch.set("rad", n, 1e-3 + 1e-4 * (corner + 1));
      batch.set("v", n, Vec3d(0.1 * corner, 0.2, 0.3));
    }
    particles->add(batch);
  }
  AEGIR_ASSERT(particles->rebucket(exec), "the benchmark's particles are in reach");
  return particles;
}

std::shared_ptr<const expression::Program> compiled(Bench& bench, const std::string& name, const std::string& text,
                                                    const ParticleSystem& particles) {
  expression::CompileOptions options;
  options.channels = expression::channels_of(particles);
  options.variables = {{"dt", expression::ValueType::float32}};
  const expression::Compiled result = expression::compile({text}, options);
  AEGIR_ASSERT(result.program, result.diagnostics.empty() ? "" : result.diagnostics.front().message);
  bench.cost(name + ".compile", result.seconds * 1000, "ms", "limit", 200);
  const double again = expression::compile({text}, options).seconds;
  AEGIR_ASSERT(expression::compile({text}, options).cached && again == result.seconds, "the second time is cached");
  return result.program;
}

/// The snippet's loop in C++. Per particle: P and v read and written, 72 bytes with write-allocate; 12 flops.
AEGIR_HOT void advect(const std::array<float*, 3>& position, const std::array<float*, 3>& speed, float gravity,
                      float cells, std::size_t n) {
  float* __restrict px = position[0], * __restrict py = position[1], * __restrict pz = position[2];
  float* __restrict vx = speed[0], * __restrict vy = speed[1], * __restrict vz = speed[2];
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) {
    vx[i] += 0.0f * gravity;
    vy[i] += gravity;
    vz[i] += 0.0f * gravity;
    px[i] += vx[i] * cells;
    py[i] += vy[i] * cells;
    pz[i] += vz[i] * cells;
  }
}

/// The same axis by axis, two streams at a time, as one may write it when it is known that axes do not meet.
AEGIR_HOT void advect_axis(float* __restrict p, float* __restrict v, float gravity, float cells, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    v[i] += gravity;
    p[i] += v[i] * cells;
  }
}

void advect_benchmark(Bench& bench) {
  const auto particles = make_particles(bench.exec);
  const float dt = 1e-6f;
  const auto program =
      compiled(bench, "ax.advect", "v@v += {0.0f, -9.81f, 0.0f} * $dt;\nv@P += v@v * $dt;\n", *particles);
  expression::Application how;
  how.values = {{"dt", {dt}}};
  const float cells = dt / static_cast<float>(particles->spacing());
  const auto in_cpp = [&](auto kernel) {
    for_each_bucket(
        bench.exec, "c++", particles->topology(),
        [&](const Bucket&, const ParticleSpan<Vec3f>& p, const ParticleSpan<Vec3f>& v) { kernel(p, v); },
        particles->write(particle::position), particles->write(velocity));
  };
  const auto t = in_turns(
      15, {{[&] { AEGIR_ASSERT(expression::apply(bench.exec, "ax", *program, *particles, how), "advect runs"); }},
           {[&] { in_cpp([&](auto& p, auto& v) { advect(p.plane, v.plane, -9.81f * dt, cells, p.count); }); }},
           {[&] {
             in_cpp([&](auto& p, auto& v) {
               for (std::size_t a = 0; a < 3; ++a)
                 advect_axis(p.plane[a], v.plane[a], a == 1 ? -9.81f * dt : 0.0f, cells, p.count);
             });
           }}});
  const auto n = static_cast<double>(particles->size());
  bench.rate("ax.advect", n / t[0], "particles/s", "C++", n / t[1]);
  bench.rate("ax.advect_axes", n / t[0], "particles/s", "C++, axis by axis", n / t[2]);
}

// Jones 2018, figure 6.2, corrected: the drag of a sphere in a wind, Re = rho_air |dV| 2r / mu_air, C = 24 / Re below
// 1000 and 0.424 above, area pi r^2, mass of a liquid drop.
constexpr const char* drag_text = R"(
vec3f gravity = {0.0f, -9.81f, 0.0f};
vec3f dV = {2.0f, 0.0f, 0.0f} - vec3f@v;
float lengthV = length(dV);
float Re = 1.2f * lengthV * 2.0f * float@rad / 1.8e-5f;
float C = 0.0f;
if (Re > 1000.0f) C = 0.424f;
else C = 24.0f / max(Re, 1e-6f);
vec3f drag = 0.5f * 1.2f * C * lengthV * dV * 3.14159265f * pow(@rad, 2.0f);
float mass = 1000.0f * (4.0f / 3.0f) * 3.14159265f * pow(float@rad, 3.0f);
vec3f@v += (gravity + drag / mass) * $dt;
vec3f@P += v@v * $dt;
)";

/// Per particle: P and v read and written, the radius read, 76 bytes; about 50 flops and one pow().
AEGIR_HOT void drag(const std::array<float*, 3>& position, const std::array<float*, 3>& speed, const float* rad,
                    float dt, float spacing, std::size_t n) {
  float* __restrict px = position[0], * __restrict py = position[1], * __restrict pz = position[2];
  float* __restrict vx = speed[0], * __restrict vy = speed[1], * __restrict vz = speed[2];
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) {
    const float dx = 2.0f - vx[i], dy = 0.0f - vy[i], dz = 0.0f - vz[i];
    const float length = std::sqrt(dx * dx + dy * dy + dz * dz);
    const float reynolds = 1.2f * length * 2.0f * rad[i] / 1.8e-5f;
    const float c = reynolds > 1000.0f ? 0.424f : 24.0f / std::max(reynolds, 1e-6f);
    const float f = 0.5f * 1.2f * c * length, area = 3.14159265f * std::pow(rad[i], 2.0f);
    const float mass = 1000.0f * (4.0f / 3.0f) * 3.14159265f * std::pow(rad[i], 3.0f);
    vx[i] += (0.0f + f * dx * area / mass) * dt;
    vy[i] += (-9.81f + f * dy * area / mass) * dt;
    vz[i] += (0.0f + f * dz * area / mass) * dt;
    px[i] += vx[i] * dt / spacing;
    py[i] += vy[i] * dt / spacing;
    pz[i] += vz[i] * dt / spacing;
  }
}

void drag_benchmark(Bench& bench) {
  const auto particles = make_particles(bench.exec);
  const float dt = 1e-6f;
  const auto program = compiled(bench, "ax.drag", drag_text, *particles);
  expression::Application how;
  how.values = {{"dt", {dt}}};
  const auto t = in_turns(
      9, {{[&] { AEGIR_ASSERT(expression::apply(bench.exec, "ax", *program, *particles, how), "drag runs"); }}, {[&] {
            for_each_bucket(
                bench.exec, "c++", particles->topology(),
                [&](const Bucket&, const ParticleSpan<Vec3f>& p, const ParticleSpan<Vec3f>& v,
                    const ParticleSpan<const float>& r) {
                  drag(p.plane, v.plane, r.plane[0], dt, static_cast<float>(particles->spacing()), p.count);
                },
                particles->write(particle::position), particles->write(velocity), particles->read(radius));
          }}});
  const auto n = static_cast<double>(particles->size());
  bench.rate("ax.drag", n / t[0], "particles/s", "C++", n / t[1]);
}

/// Jones 2018, figure 6.3: keeps a share of the particles. Per particle 8 bytes of id, written back where it goes.
void decimate_benchmark(Bench& bench) {
  const auto particles = make_particles(bench.exec);
  const auto program = compiled(bench, "ax.decimate",
                                "int offset = 12345;\nfloat threshold = 0.5;\n"
                                "if (rand(offset + int@id) > threshold) {\n  deletepoint();\n}\n",
                                *particles);
  const auto ours = [&] { AEGIR_ASSERT(expression::apply(bench.exec, "ax", *program, *particles), "decimate runs"); };
  const auto theirs = [&](auto random) {
    for_each_bucket(
        bench.exec, "c++", particles->topology(),
        [&](const Bucket&, const ParticleSpan<std::int64_t>& id) {
          for (std::size_t i = 0; i < id.count; ++i) {
            const std::int64_t own = id.plane[0][i];
            if (random(static_cast<double>(12345 + static_cast<std::int32_t>(own))) > 0.5 && own >= 0)
              id.plane[0][i] = ~own;
          }
        },
        particles->write(particle::id));
  };
  const auto whole = [](double seed) {
    std::mt19937_64 engine(std::hash<double>{}(seed));
    return std::uniform_real_distribution<double>(0.0, 1.0)(engine);
  };
  const auto t = in_turns(3, {{ours},
                              {[&] { theirs([](double seed) { return expression::seeded_random(seed); }); }},
                              {[&] { theirs(whole); }}});
  const auto n = static_cast<double>(particles->size());
  bench.rate("ax.decimate", n / t[0], "particles/s", "C++, same rand", n / t[1]);
  bench.rate("ax.decimate_mt", n / t[0], "particles/s", "C++, std::mt19937_64", n / t[2]);
}

}  // namespace

void register_ax(Registry& registry) {
  registry.add("ax.advect", advect_benchmark);
  registry.add("ax.drag", drag_benchmark);
  registry.add("ax.decimate", decimate_benchmark);
}

}  // namespace aegir::bench
