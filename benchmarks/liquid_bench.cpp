// Whole steps of liquids: the dam break of setups/dam_break.yaml at 128, 256 and 512 cells along its box, against the
// machine's bandwidth and against Mantaflow, which Debian's `blender` brings (benchmarks/peers).
#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>

#include <nlohmann/json.hpp>

#include "base/vec.h"
#include "benchmarks/bandwidth.h"
#include "benchmarks/liquid_scene.h"
#include "parallel/threads.h"

namespace aegir::bench {
namespace {

/// What a step must move at least, write-allocate included: sort 132 (44 bytes read, written elsewhere), to grid 28, to
/// particles 48, move 36, audit 36, counts and surface 24.
constexpr double bytes_per_particle_step = 304;

/// Seconds and bytes of each task or kernel over some steps, the slowest first; what takes less than a hundredth is
/// left out.
void print_profile(Bench& bench, const char* what, const std::map<std::string, Profile::Entry>& entries,
                   const LiquidRun& run, double bandwidth) {
  std::vector<std::pair<std::string, Profile::Entry>> sorted(entries.begin(), entries.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
  for (const auto& [name, e] : sorted)
    if (e.seconds > 0.01 * run.seconds)
      bench.note(fmt::format(
          "  {} {:32} {:6.1f} ms  {:5.2f} ns/particle  {:5.1f} GB/s = {:3.0f} % of the bandwidth bound", what, name,
          1e3 * e.seconds / run.steps, 1e9 * e.seconds / run.particle_steps,
          1e-9 * static_cast<double>(e.bytes) / e.seconds, 100 * static_cast<double>(e.bytes) / e.seconds / bandwidth));
}

/// Seconds per step of Mantaflow on the same scene, or 0 and a note.
double mantaflow(Bench& bench) {
  const std::string command =
      fmt::format("python3 {}/peers/run_mantaflow.py --cells 128 --frames 6 10 --threads {} 2>&1",
                  AEGIR_BENCHMARK_SOURCES, bench.threads);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string text;
  char buffer[4096];
  while (pipe && std::fgets(buffer, sizeof buffer, pipe.get())) text += buffer;
  const auto figures = nlohmann::json::parse(text, nullptr, false);
  if (figures.is_discarded() || !figures.contains("seconds_per_step"))
    return bench.note("Mantaflow did not run: " + text), 0;
  bench.note(fmt::format("Mantaflow (band off): {} steps of {:.2f} ms on average, {} particles, {:.3f} s per step",
                         figures["steps"].get<int>(), 1e3 * figures["mean_dt"].get<double>(),
                         figures["particles"].get<std::int64_t>(), figures["seconds_per_step"].get<double>()));
  return figures["seconds_per_step"];
}

LiquidRun dam_break(Bench& bench, const std::string& name, const LiquidScene& scene) {
  const LiquidRun run = run_dam_break(bench.exec, scene);
  Bandwidth bandwidth(static_cast<std::size_t>(run.particles) * 64);
  const auto t = in_turns(5, bandwidth.turns());
  const double best = bandwidth.best(t.data());
  bench.rate(name, run.particle_steps / run.seconds, "particle steps/s", "bandwidth bound",
             best / bytes_per_particle_step);
  bench.note(fmt::format(
      "{}: {} particles, {} steps of {:.2f} ms on average, {:.4f} s per step, {:.1f} iterations per solve", name,
      run.particles, run.steps, 1e3 * run.simulated / run.steps, run.seconds / run.steps, run.iterations / run.steps));
  print_profile(bench, "task  ", run.tasks, run, best);
  print_profile(bench, "kernel", run.kernels, run, best);
  return run;
}

void dam_break_128(Bench& bench) {
  const LiquidRun run = dam_break(bench, "liquid.dam_break_128", {.cells = 128});
  if (const double theirs = mantaflow(bench); theirs > 0)
    bench.cost("liquid.dam_break_128_vs_mantaflow", run.seconds / run.steps, "s per step", "Mantaflow", theirs);
}

/// Two threads against one, beside what axpy gains from the second thread in the same run.
void scaling(Bench& bench) {
  const auto both = [&](int threads) {
    double step = 0, axpy = 0;
    ThreadScope scope(threads);
    scope.run([&] {
      const LiquidRun run = run_dam_break(bench.exec, {.cells = 128, .max_steps = 12});
      step = run.seconds / run.steps;
      Bandwidth bandwidth(static_cast<std::size_t>(run.particles) * 64);
      axpy = in_turns(5, bandwidth.turns())[2];
    });
    return std::pair(step, axpy);
  };
  const auto one = both(1), two = both(2);
  bench.rate("liquid.scaling", one.first / two.first, "times as fast on two threads", "axpy", one.second / two.second);
}

/// Peak of resident memory above what there was before, per particle.
double bytes_per_particle(Bench& bench, const LiquidScene& scene) {
  std::ofstream("/proc/self/clear_refs") << "5";  // the peak starts from here
  const double before = status_bytes("VmRSS");
  const LiquidRun run = run_dam_break(bench.exec, scene);
  return (status_bytes("VmHWM") - before) / static_cast<double>(run.particles);
}

void memory(Bench& bench) {
  const double flip = bytes_per_particle(bench, {.cells = 256, .max_steps = 10}),
               apic = bytes_per_particle(bench, {.cells = 256, .transfer = "apic", .max_steps = 10});
  bench.cost("liquid.memory", flip, "bytes/particle", "allowed", 120);
  bench.cost("liquid.memory_apic", apic, "bytes/particle", "allowed", 160);
}

/// The first steps of the largest run: it fits, and costs per particle what the small one does.
void large(Bench& bench) {
  const LiquidScene small{.cells = 128, .first_frame = 1, .max_steps = 5},
      big{.cells = 512, .first_frame = 1, .max_steps = 5};
  const LiquidRun a = run_dam_break(bench.exec, small);
  std::ofstream("/proc/self/clear_refs") << "5";
  const LiquidRun b = run_dam_break(bench.exec, big);
  bench.cost("liquid.dam_break_512", 1e9 * b.seconds / b.particle_steps, "ns per particle step", "at 128",
             1e9 * a.seconds / a.particle_steps);
  bench.note(fmt::format("liquid.dam_break_512: {} particles, {:.2f} s per step, peak memory {:.2f} GiB", b.particles,
                         b.seconds / b.steps, status_bytes("VmHWM") / (1 << 30)));
}

/// Honey against water: the same steps with and without viscosity.
void honey(Bench& bench) {
  const LiquidScene water{.cells = 128}, thick{.cells = 128, .more = "  - viscosity: honey\n    dynamic: 10 Pa s\n"};
  const LiquidRun a = run_dam_break(bench.exec, water), b = run_dam_break(bench.exec, thick);
  bench.cost("liquid.honey_128", b.seconds / b.steps, "s per step", "inviscid", a.seconds / a.steps);
}

/// A ball of half a million triangles that breathes, as an OBJ file and its MDD deformation.
struct BreathingBall {
  std::filesystem::path directory = std::filesystem::temp_directory_path() / fmt::format("aegir_bench_{}", ::getpid());
  BreathingBall() {
    std::filesystem::create_directories(directory);
    constexpr int rings = 354, slices = 708, frames = 16;
    std::vector<Vec3d> directions{{0, 1, 0}, {0, -1, 0}};
    for (int i = 1; i < rings; ++i)
      for (int j = 0; j < slices; ++j) {
        const double a = 3.14159265358979 * i / rings, b = 6.28318530717959 * j / slices;
        directions.push_back({std::sin(a) * std::cos(b), std::cos(a), std::sin(a) * std::sin(b)});
      }
    const auto vertex = [](int i, int j) { return i == 0 ? 1 : i == rings ? 2 : 3 + (i - 1) * slices + j % slices; };
    std::ofstream obj(directory / "ball.obj");
    for (const Vec3d& d : directions)
      obj << "v " << 0.4 + 0.15 * d.x << ' ' << 0.3 + 0.15 * d.y << ' ' << 0.5 + 0.15 * d.z << '\n';
    for (int i = 0; i < rings; ++i)
      for (int j = 0; j < slices; ++j) {
        if (i > 0) obj << "f " << vertex(i, j) << ' ' << vertex(i, j + 1) << ' ' << vertex(i + 1, j) << '\n';
        if (i < rings - 1)
          obj << "f " << vertex(i, j + 1) << ' ' << vertex(i + 1, j + 1) << ' ' << vertex(i + 1, j) << '\n';
      }
    std::ofstream mdd(directory / "ball.mdd", std::ios::binary);
    const auto put = [&](auto value) {
      auto bits = std::bit_cast<std::uint32_t>(value);
      bits = __builtin_bswap32(bits);
      mdd.write(reinterpret_cast<const char*>(&bits), 4);
    };
    put(std::int32_t{frames}), put(static_cast<std::int32_t>(directions.size()));
    for (int f = 0; f < frames; ++f) put(static_cast<float>(f) / 24);
    for (int f = 0; f < frames; ++f)
      for (const Vec3d& d : directions) {
        const double r = 0.15 + 0.02 * std::sin(0.7 * f + 3 * d.y);
        put(static_cast<float>(0.4 + r * d.x)), put(static_cast<float>(0.3 + r * d.y)),
            put(static_cast<float>(0.5 + r * d.z));
      }
  }
  ~BreathingBall() {
    std::error_code ignored;
    std::filesystem::remove_all(directory, ignored);
  }
};

/// What a large deforming collider in the middle of the water adds to a step; medians of three runs of each, in turns.
void deforming_collider(Bench& bench) {
  const BreathingBall ball;
  const LiquidScene alone{.cells = 256, .first_frame = 2, .last_frame = 4, .max_steps = 8};
  LiquidScene with = alone;
  with.head = fmt::format("inputs: {{ball: {{file: {0}/ball.obj, motion: deforming, deformation: {0}/ball.mdd}}}}\n",
                          ball.directory.string());
  with.more = "  - collider: ball\n    input: ball\n";
  std::vector<double> without, collided;  // seconds per step
  LiquidRun a, b;
  for (int round = 0; round < 3; ++round) {
    a = run_dam_break(bench.exec, alone);
    b = run_dam_break(bench.exec, with);
    without.push_back(a.seconds / a.steps), collided.push_back(b.seconds / b.steps);
  }
  bench.cost("liquid.deforming_collider", median(collided), "s per step", "without it", median(without));
  Bandwidth bandwidth(static_cast<std::size_t>(b.particles) * 64);
  const auto t = in_turns(3, bandwidth.turns());
  print_profile(bench, "task  ", b.tasks, b, bandwidth.best(t.data()));
  for (const auto& [name, e] : b.tasks)
    if (const double added = 1e3 * (e.seconds / b.steps - a.tasks[name].seconds / a.steps); std::abs(added) > 2)
      bench.note(fmt::format("    adds to {:32} {:6.1f} ms", name, added));
}

}  // namespace

void register_liquid(Registry& registry) {
  registry.add("liquid.dam_break_128", dam_break_128);
  registry.add("liquid.dam_break_128_apic",
               [](Bench& b) { dam_break(b, "liquid.dam_break_128_apic", {.cells = 128, .transfer = "apic"}); });
  registry.add("liquid.dam_break_256", [](Bench& b) { dam_break(b, "liquid.dam_break_256", {.cells = 256}); });
  registry.add("liquid.dam_break_512", large);
  registry.add("liquid.scaling", scaling);
  registry.add("liquid.memory", memory);
  registry.add("liquid.honey_128", honey);
  registry.add("liquid.deforming_collider", deforming_collider);
}

}  // namespace aegir::bench
