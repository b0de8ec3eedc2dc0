// Whole steps of spray with collisions: jets of droplets that rise, spread and meet, as in Jones 2018, figure 4.13,
// whose steps took 1.89 s a frame for 1.3 to 3.2 million droplets on sixteen cores (about 0.1M droplet steps per core
// and second).
#include <fmt/format.h>

#include "benchmarks/harness.h"
#include "benchmarks/simulation.h"

namespace aegir::bench {
namespace {

constexpr int per_jet = 1'500'000;

struct SprayRun {
  double seconds = 0, detection = 0, resolution = 0, sorting = 0, droplet_steps = 0, simulated = 0;
  int steps = 0;
  double droplets = 0, pairs = 0;
};

/// Jets side by side, each a column of 60 cm across and 2 m high: 2.6 droplets of 1 mm radius per cubic centimetre.
SprayRun run_jets(Exec& exec, int jets, bool collisions) {
  std::string text =
      "aegir: 1\ntimeline: {fps: 24, frames: [0, 10], substeps: {cfl: 3, max: 100}}\nsetup:\n  - gravity: earth\n"
      "  - air_drag: air\n  - particles: drops\n    voxel_size: 2 cm\n";
  for (int j = 0; j < jets; ++j)
    text += fmt::format(
        "  - emitter: jet_{0}\n    shape: {{kind: cylinder, center: [{1}, 1, 0], radius: 0.3, height: 2}}\n"
        "    count: {2}\n    velocity: [0, 6, 0]\n    spread: 0.6\n    radius: [0.5 mm, 1.5 mm]\n    seed: {0}\n",
        j, 1.5 * j, per_jet);
  if (collisions) text += "  - droplet_collisions: meet\n";
  const std::unique_ptr<Simulation> started = start_simulation(exec, text);
  Simulation& simulation = *started;
  SprayRun run;
  constexpr int first_step = 4, last_step = 20;
  double met_before = 0;
  for (int step = 0; step < last_step; ++step) {
    Stopwatch watch;
    const auto report = simulation.advance();
    const double seconds = watch.seconds();
    AEGIR_ASSERT(report, "a step of the benchmark failed");
    const ObjectAudit& drops = report->objects.front().second;
    double met = 0;
    for (const auto& [name, value] : drops.more)
      if (std::string_view(name).starts_with("droplets_")) met += value;
    if (step >= first_step) {
      const auto& kernels = exec.profile.kernels();
      const auto of = [&](const char* name) {
        const auto found = kernels.find(name);
        return found == kernels.end() ? 0.0 : found->second.seconds;
      };
      run.seconds += seconds, run.detection += of("meetings"), run.sorting += of("rebucket");
      run.resolution += of("resolve droplets");
      run.droplet_steps += static_cast<double>(drops.particles), run.simulated += report->dt;
      run.droplets = static_cast<double>(drops.particles), run.pairs += met - met_before;
      ++run.steps;
    }
    met_before = met;
  }
  return run;
}

void fountain(Bench& bench) {
  std::vector<double> with, without, large;
  SprayRun one, many;
  for (int round = 0; round < 3; ++round) {
    const SprayRun ballistic = run_jets(bench.exec, 1, false);
    one = run_jets(bench.exec, 1, true);
    with.push_back(one.droplet_steps / one.seconds);
    without.push_back(ballistic.droplet_steps / ballistic.seconds);
  }
  many = run_jets(bench.exec, 7, true);
  const double rate = median(with);
  bench.rate("droplets.fountain", rate, "droplet steps/s", "without collisions", median(without));
  bench.rate("droplets.fountain_10m", many.droplet_steps / many.seconds, "droplet steps/s", "one jet", rate);
  for (const auto& [name, r] : {std::pair("fountain", &one), std::pair("fountain_10m", &many)})
    bench.note(
        fmt::format("{}: {:.2f}M droplets, {} steps of {:.2f} ms, {:.4f} s per step; detection {:.0f} %, resolution "
                    "{:.0f} %, sorting {:.0f} % "
                    "of it; {:.0f} collisions per step ({:.2f} % of the droplets)",
                    name, 1e-6 * r->droplets, r->steps, 1e3 * r->simulated / r->steps, r->seconds / r->steps,
                    100 * r->detection / r->seconds, 100 * r->resolution / r->seconds, 100 * r->sorting / r->seconds,
                    r->pairs / r->steps, 200 * r->pairs / r->droplet_steps));
}

}  // namespace

void register_droplets(Registry& registry) { registry.add("droplets.fountain", fountain); }

}  // namespace aegir::bench
