// Whole steps of liquids: the dam break of setups/dam_break.yaml at 128, 256 and 512 cells along its box.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "benchmarks/bandwidth.h"
#include "benchmarks/liquid_scene.h"

namespace aegir::bench {
namespace {

constexpr double bytes_per_particle_step = 300;  // what a step must move at least; see docs/performance.md

/// Seconds and bytes of each task over some steps, the slowest first.
void print_profile(Bench& bench, const LiquidRun& run, double bandwidth) {
  std::vector<std::pair<std::string, Profile::Entry>> tasks(run.tasks.begin(), run.tasks.end());
  std::sort(tasks.begin(), tasks.end(),
            [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
  for (const auto& [name, e] : tasks)
    bench.note(fmt::format("  {:32} {:6.1f} ms  {:5.2f} ns/particle  {:5.1f} GB/s = {:3.0f} % of the bandwidth bound",
                           name, 1e3 * e.seconds / run.steps, 1e9 * e.seconds / run.particle_steps,
                           1e-9 * static_cast<double>(e.bytes) / e.seconds,
                           100 * static_cast<double>(e.bytes) / e.seconds / bandwidth));
}

void dam_break(Bench& bench, const std::string& name, int cells, const std::string& transfer) {
  const LiquidRun run = run_dam_break(bench.exec, {.cells = cells, .transfer = transfer});
  Bandwidth bandwidth(static_cast<std::size_t>(run.particles) * 64);
  const auto t = in_turns(5, bandwidth.turns());
  const double best = bandwidth.best(t.data());
  bench.rate(name, run.particle_steps / run.seconds, "particle steps/s", "bandwidth bound",
             best / bytes_per_particle_step);
  bench.note(fmt::format(
      "{}: {} particles, {} steps of {:.2f} ms on average, {:.4f} s per step, {:.1f} iterations per solve", name,
      run.particles, run.steps, 1e3 * run.simulated / run.steps, run.seconds / run.steps, run.iterations / run.steps));
  print_profile(bench, run, best);
}

}  // namespace

void register_liquid(Registry& registry) {
  registry.add("liquid.dam_break_128", [](Bench& b) { dam_break(b, "liquid.dam_break_128", 128, "flip"); });
  registry.add("liquid.dam_break_128_apic", [](Bench& b) { dam_break(b, "liquid.dam_break_128_apic", 128, "apic"); });
  registry.add("liquid.dam_break_256", [](Bench& b) { dam_break(b, "liquid.dam_break_256", 256, "flip"); });
}

}  // namespace aegir::bench
