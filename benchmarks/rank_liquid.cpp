// aegir_rank_liquid CELLS THREADS [SCALE]: the dam break of the liquid benchmarks on as many ranks as mpirun starts,
// one JSON object on standard output. SCALE lengthens box and water, for weak scaling.
//
//   mpirun -n 2 aegir_rank_liquid 128 1
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "benchmarks/liquid_scene.h"
#include "benchmarks/simulation.h"
#include "domain/particles/particle_system.h"
#include "parallel/monitored_comm.h"
#include "parallel/threads.h"

namespace aegir::bench {
namespace {

using nlohmann::json;

/// What is summed over the timed steps of this rank.
struct Sums {
  double seconds = 0, ghosts = 0, ghost_particles = 0, occupied_ghosts = 0;
  double layers[4] = {};  // cells that travel when ghosts are read 1 to 4 cells far
  std::int64_t steps = 0, iterations = 0, particle_steps = 0, moved = 0;
  std::map<std::string, double> tasks, kernels;  // seconds
  std::vector<double> each_step;
};

/// Buckets and particles of other ranks that this one keeps copies of, if they are filled as its own.
void count_ghosts(ParticleSystem& particles, Sums& sums) {
  const Topology& t = particles.topology();
  const double ghosts = t.total_count() - t.local_count();
  int occupied = 0;
  for (int b = 0; b < t.local_count(); ++b) occupied += particles.count(b) > 0;
  sums.ghosts += ghosts;
  for (int width = 1; width <= 4; ++width)
    for (const PeerLayers& peer : t.layers(width)) sums.layers[width - 1] += static_cast<double>(peer.sent);
  if (t.local_count() == 0) return;
  sums.ghost_particles += ghosts * static_cast<double>(particles.size()) / t.local_count();
  sums.occupied_ghosts += ghosts * occupied / t.local_count();
}

json measure(MonitoredComm& comm, const LiquidScene& scene) {
  Profile profile;
  Exec exec{comm, profile};
  const std::unique_ptr<Simulation> simulation = start_simulation(exec, dam_break_text(scene));
  simulation->on_task([&](const std::string& task) { comm.working_on(task); });
  Sums sums;
  CommTraffic before;
  std::map<std::string, CommTraffic> work_before;
  while (!simulation->finished() && sums.steps < scene.max_steps) {
    const bool counted = simulation->frame() >= scene.first_frame - 1;
    if (counted && sums.steps == 0) comm.barrier(), before = comm.traffic(), work_before = comm.traffic_by_work();
    Stopwatch watch;
    const auto report = simulation->advance();
    AEGIR_ASSERT(report, "a step of the benchmark failed");
    if (!counted) continue;
    sums.each_step.push_back(watch.seconds());
    sums.seconds += sums.each_step.back();
    ++sums.steps;
    sums.particle_steps += report->objects.front().second.particles;
    for (const auto& s : report->solves) sums.iterations += s.iterations;
    for (const auto& [name, e] : report->tasks) sums.moved += e.bytes, sums.tasks[name] += e.seconds;
    for (const auto& [name, e] : profile.kernels()) sums.kernels[name] += e.seconds;
    count_ghosts(*simulation->objects().back()->particles(), sums);
  }
  const CommTraffic mine = comm.traffic() - before;
  const auto steps = static_cast<double>(sums.steps);
  const auto total = [&](double value) { return static_cast<double>(comm.sum(static_cast<std::int64_t>(value))); };
  json out{{"ranks", comm.size()},
           {"steps", sums.steps},
           {"each_step", sums.each_step},
           {"seconds", comm.max(sums.seconds)},
           {"particle_steps", sums.particle_steps},
           {"iterations", sums.iterations},
           {"bytes_moved", sums.moved},
           {"waiting", comm.max(mine.waiting / sums.seconds)},
           {"bytes_sent", total(static_cast<double>(mine.bytes_sent)) / steps},
           {"halo_bytes", total(static_cast<double>(mine.halo_bytes)) / steps},
           {"halos", static_cast<double>(mine.halos) / steps},
           {"reductions", static_cast<double>(mine.reductions) / steps},
           {"gathers", static_cast<double>(mine.gathers) / steps},
           {"ghosts", total(sums.ghosts) / steps},
           {"occupied_ghosts", total(sums.occupied_ghosts) / steps},
           {"ghost_particles", total(sums.ghost_particles) / steps}};
  for (const double cells : sums.layers) out["layers"].push_back(total(cells) / steps);
  const auto work_after = comm.traffic_by_work();
  const auto of_ranks = [&](double mine_alone) { return gather_all<double>(comm, {mine_alone}); };
  for (const auto& [work, seconds] : sums.tasks) {
    const auto after = work_after.find(work);
    const CommTraffic t = after == work_after.end() ? CommTraffic{} : after->second - work_before[work];
    out["work"][work] = {{"seconds", seconds / steps},
                         {"busy", of_ranks((seconds - t.waiting) / steps)},
                         {"waiting", of_ranks(t.waiting / steps)},
                         {"bytes", static_cast<double>(t.bytes_sent) / steps},
                         {"halos", static_cast<double>(t.halos) / steps},
                         {"reductions", static_cast<double>(t.reductions) / steps},
                         {"gathers", static_cast<double>(t.gathers) / steps}};
  }
  for (const auto& [name, seconds] : sums.kernels) out["kernels"][name] = of_ranks(seconds / steps);
  return out;
}

}  // namespace
}  // namespace aegir::bench

int main(int argc, char** argv) {
  using namespace aegir;
  if (argc < 3) return std::fprintf(stderr, "usage: aegir_rank_liquid CELLS THREADS [SCALE]\n"), 2;
  const auto inner = make_comm();
  MonitoredComm comm(*inner);
  bench::LiquidScene scene{.cells = std::atoi(argv[1]), .first_frame = 6, .last_frame = 8};
  if (argc > 3) {
    const double scale = std::atof(argv[3]);
    scene.box = fmt::format("{{min: [0, 0, 0], max: [2, 1, {}]}}", scale);
    scene.fill = fmt::format("{{kind: box, center: [0.4, 0.375, {}], size: [0.8, 0.75, {}]}}", 0.5 * scale, scale);
  }
  ThreadScope threads(std::atoi(argv[2]));
  std::string text;
  threads.run([&] { text = bench::measure(comm, scene).dump(); });
  if (comm.root()) std::puts(text.c_str());
  return 0;
}
