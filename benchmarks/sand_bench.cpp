// Whole steps of sand against steps of water in the same scene: the column of setups/sand_column.yaml, which Zhu (2005,
// thesis, chapter 5) ran at twelve seconds a frame.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "benchmarks/harness.h"
#include "benchmarks/liquid_scene.h"

namespace aegir::bench {
namespace {

constexpr const char* sand_nodes = "  - sand: dry\n    friction_angle: 30 deg\n";

/// A column of 30 × 60 × 30 cells in a box of 100 × 60 × 60.
LiquidScene column(const std::string& more) {
  return {.cells = 200,
          .transfer = "apic",
          .box = "{min: [0, 0, 0], max: [1, 0.6, 0.6]}",
          .fill = "{kind: box, center: [0.5, 0.3, 0.3], size: [0.3, 0.6, 0.3]}",
          .more = more,
          .first_frame = 3,
          .last_frame = 10};
}

/// What sand's own kernels take, and the tasks it is made of.
void print_share(Bench& bench, const LiquidRun& run) {
  std::vector<std::pair<std::string, Profile::Entry>> tasks(run.tasks.begin(), run.tasks.end());
  for (const auto& [name, e] : run.kernels)
    if (name.starts_with("sand.") || name.starts_with("solids.contacts")) tasks.emplace_back(name, e);
  std::sort(tasks.begin(), tasks.end(),
            [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
  for (const auto& [name, e] : tasks)
    if (e.seconds > 0.01 * run.seconds)
      bench.note(fmt::format("  {:32} {:6.2f} ms a step  {:4.1f} %", name, 1e3 * e.seconds / run.steps,
                             100 * e.seconds / run.seconds));
}

void sand_column(Bench& bench) {
  std::vector<double> sand_rates, water_rates;
  LiquidRun sand;
  for (int round = 0; round < 3; ++round) {
    const LiquidRun water = run_dam_break(bench.exec, column(""));
    sand = run_dam_break(bench.exec, column(sand_nodes));
    sand_rates.push_back(sand.particle_steps / sand.seconds);
    water_rates.push_back(water.particle_steps / water.seconds);
  }
  bench.rate("sand.column", median(sand_rates), "particle steps/s", "water", median(water_rates));
  bench.note(
      fmt::format("sand.column: {} particles, {} steps of {:.2f} ms on average, {:.4f} s per step, {:.2f} s per "
                  "frame (Zhu 2005: 12 s)",
                  sand.particles, sand.steps, 1e3 * sand.simulated / sand.steps, sand.seconds / sand.steps,
                  sand.seconds / sand.simulated / 24));
  print_share(bench, sand);
}

}  // namespace

void register_sand(Registry& registry) { registry.add("sand.column", sand_column); }

}  // namespace aegir::bench
