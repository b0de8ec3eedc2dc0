// Ranks against threads: the same steps of the dam break on two ranks of one thread and on one rank of two. The ranks
// run in a program of their own (aegir_rank_liquid) that stands beside this one and is started under mpirun.
#include <array>
#include <cstdio>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "benchmarks/harness.h"

namespace aegir::bench {
namespace {

using nlohmann::json;

/// Runs `aegir_rank_liquid CELLS THREADS` on some ranks; no object where that fails.
json run_ranks(int ranks, int cells, int threads) {
  std::error_code ignored;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path() / "aegir_rank_liquid";
  const std::string command = fmt::format("mpirun --allow-run-as-root --oversubscribe --bind-to none -n {} '{}' {} {}",
                                          ranks, program.string(), cells, threads);
  std::FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) return {};
  std::string text;
  std::array<char, 4096> part;
  while (const std::size_t got = std::fread(part.data(), 1, part.size(), pipe)) text.append(part.data(), got);
  pclose(pipe);
  return json::parse(text, nullptr, false);
}

/// Bytes that a step of a liquid sends (docs/cluster.md, "The model"). Per copied bucket: layers of grid channels that
/// make 12.7 planes of 512 floats, and about one more for each iteration, and one where particles leave their momentum.
/// Of copied particles: the positions of every eighth.
double model_bytes(const json& run) {
  constexpr double plane = 2048, position = 1.5;
  const double iterations = run["iterations"].get<double>() / run["steps"].get<double>();
  return plane * (run["ghosts"].get<double>() * (12.7 + iterations) + run["occupied_ghosts"].get<double>()) +
         position * run["ghost_particles"].get<double>();
}

double mean_of(const std::vector<json>& runs, const char* field) {
  std::vector<double> values;
  for (const json& r : runs) values.push_back(r[field].get<double>());
  return median(values);
}

/// Two ranks of one thread against one of two, in turns.
void liquid(Bench& bench, const std::string& name, int cells, int rounds) {
  std::vector<json> ranks, threads;
  for (int i = 0; i < rounds; ++i) {
    ranks.push_back(run_ranks(2, cells, 1)), threads.push_back(run_ranks(1, cells, 2));
    if (!ranks.back().is_object() || !threads.back().is_object())
      return bench.note(name + ": mpirun or aegir_rank_liquid is not there");
  }
  const json& run = ranks.front();
  const double work = run["particle_steps"];
  bench.rate(name, work / mean_of(ranks, "seconds"), "particle steps/s, 2 ranks x 1 thread", "1 rank x 2 threads",
             threads.front()["particle_steps"].get<double>() / mean_of(threads, "seconds"));
  bench.cost(name + ".bytes_sent", run["bytes_sent"], "bytes/step", "model", model_bytes(run));
  bench.cost(name + ".waiting", 100 * mean_of(ranks, "waiting"), "% of the time", "allowed", 10);
  bench.note(
      fmt::format("{}: {:.2f} s/step, {:.0f} ghost buckets, {:.1f} halo exchanges, {:.1f} reductions and {:.1f} "
                  "gathers per step, {:.1f} iterations",
                  name, run["seconds"].get<double>() / run["steps"].get<double>(), run["ghosts"].get<double>(),
                  run["halos"].get<double>(), run["reductions"].get<double>(), run["gathers"].get<double>(),
                  run["iterations"].get<double>() / run["steps"].get<double>()));
}

}  // namespace

void register_mpi(Registry& registry) {
  registry.add("mpi.liquid_128", [](Bench& b) { liquid(b, "mpi.liquid_128", 128, 3); });
  registry.add("mpi.liquid_256", [](Bench& b) { liquid(b, "mpi.liquid_256", 256, 5); });
}

}  // namespace aegir::bench
