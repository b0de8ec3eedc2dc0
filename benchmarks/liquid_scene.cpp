#include "benchmarks/liquid_scene.h"

#include <fmt/format.h>

#include "benchmarks/simulation.h"

namespace aegir::bench {

std::string dam_break_text(const LiquidScene& scene) {
  return fmt::format(
      "aegir: 1\ntimeline: {{fps: 24, frames: [0, {}], substeps: {{cfl: 2, max: 1000}}}}\n{}setup:\n  - gravity: "
      "earth\n"
      "  - domain: box\n    box: {}\n    limits: {{sides: wall, bottom: wall, top: "
      "wall}}\n"
      "  - hybrid: water\n    voxel_size: {}\n    transfer: {}\n"
      "    fill: {{shape: {}}}\n  - pressure: p\n{}",
      scene.last_frame, scene.head, scene.box, 2.0 / scene.cells, scene.transfer, scene.fill, scene.more);
}

LiquidRun run_dam_break(Exec& exec, const LiquidScene& scene) {
  const std::unique_ptr<Simulation> started = start_simulation(exec, dam_break_text(scene));
  Simulation& simulation = *started;
  LiquidRun run;
  while (!simulation.finished() && run.steps < scene.max_steps) {
    const bool counted = simulation.frame() >= scene.first_frame - 1;
    Stopwatch watch;
    const auto report = simulation.advance();
    const double seconds = watch.seconds();
    AEGIR_ASSERT(report, "a step of the benchmark failed");
    if (!counted) continue;
    run.particles = report->objects.front().second.particles;
    ++run.steps;
    run.seconds += seconds, run.simulated += report->dt, run.particle_steps += static_cast<double>(run.particles);
    for (const auto& s : report->solves) run.iterations += s.iterations;
    const auto book = [](auto& sums, const auto& entries) {
      for (const auto& [name, e] : entries) {
        Profile::Entry& sum = sums[name];
        sum.seconds += e.seconds, sum.bytes += e.bytes, sum.calls += e.calls;
      }
    };
    book(run.tasks, report->tasks), book(run.kernels, exec.profile.kernels());
  }
  return run;
}

}  // namespace aegir::bench
