#include <cmath>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/random.h"
#include "solvers/linear/pressure.h"
#include "tests/mpi/ranks.h"
#include "tests/solvers/scenes.h"

namespace aegir::ranks {
namespace {

/// Where the curve is cut: rank 0 holds everything, all hold about as much, or the first hold far less than the last.
enum class Cuts { one, balanced, skewed };

Partition cut(Exec& exec, const PressureScene& scene, Cuts cuts) {
  const Partition even = Partition::even(exec.comm.size());
  if (cuts == Cuts::one) return even;  // the scene is small against all of space
  const auto volume = make_volume(exec, scene, even);
  const auto positions = volume->topology().local_curve();
  std::vector<std::int64_t> weights(positions.size(), 1);
  if (cuts == Cuts::skewed)
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = i < weights.size() / 6 ? 100 : 1;
  return Partition::by_weight(exec.comm, positions, weights);
}

/// One hash of the pressure over all buckets. Rank order is curve order, so it does not depend on the cuts.
std::uint64_t pressure_hash(Exec& exec, const DiscreteVolume& volume) {
  const Topology& t = volume.topology();
  const double* values = volume.store(scene_pressure.name).plane<double>(0);
  Bytes mine(static_cast<std::size_t>(t.local_count()) * sizeof(std::uint64_t));
  for (int b = 0; b < t.local_count(); ++b) {
    std::uint64_t hash = mix(t.curve(b));
    for (int c = 0; c < bucket_cells; ++c) {
      std::uint64_t bits;
      std::memcpy(&bits, values + b * bucket_cells + c, sizeof bits);
      hash = mix(hash * 3 + bits);
    }
    std::memcpy(mine.data() + static_cast<std::size_t>(b) * sizeof hash, &hash, sizeof hash);
  }
  std::uint64_t whole = 0;
  for (const Bytes& part : exec.comm.all_gather(mine))
    for (std::size_t at = 0; at < part.size(); at += sizeof(std::uint64_t)) {
      std::uint64_t hash;
      std::memcpy(&hash, part.data() + at, sizeof hash);
      whole = mix(whole * 3 + hash);
    }
  return whole;
}

void print_report(Exec& exec, const char* what, const SolveReport& r, const DiscreteVolume& volume) {
  const std::uint64_t hash = pressure_hash(exec, volume);
  if (!exec.comm.root()) return;
  std::printf("%s: %016llx %d iterations, residual %a, %lld unknowns, %lld pools, %lld closed, incompatible %a %s\n",
              what, static_cast<unsigned long long>(hash), r.iterations, r.residual, static_cast<long long>(r.unknowns),
              static_cast<long long>(r.pools), static_cast<long long>(r.closed_pools), r.incompatible,
              r.trouble.c_str());
}

void check_scene(Exec& exec, const char* what, const PressureScene& scene) {
  constexpr PressureChannels channels{scene_area, scene_distance, scene_rhs, scene_pressure};
  for (const Cuts cuts : {Cuts::one, Cuts::balanced, Cuts::skewed}) {
    const auto volume = make_volume(exec, scene, cut(exec, scene, cuts));
    require(cuts == Cuts::one || volume->topology().local_count() > 0, "every rank has a share");
    const SolveReport cold = solve_pressure(exec, *volume, channels, {.tolerance = 1e-4});
    require(cold.converged, "the pressure converges");
    print_report(exec, what, cold, *volume);
    print_report(exec, what, solve_pressure(exec, *volume, channels, {.tolerance = 1e-8}), *volume);
  }
}

/// A value of one rank that is no number is everybody's trouble, in the same words.
void check_trouble(Exec& exec) {
  constexpr PressureChannels channels{scene_area, scene_distance, scene_rhs, scene_pressure};
  const PressureScene scene = sloshing_box(24);
  const auto volume = make_volume(exec, scene, cut(exec, scene, Cuts::balanced));
  const int bucket = volume->topology().find({{2, 0, 1}, 0});
  if (bucket >= 0 && bucket < volume->topology().local_count())
    volume->store(scene_rhs.name).plane<float>(0)[bucket * bucket_cells + 77] = std::nanf("");
  const SolveReport report = solve_pressure(exec, *volume, channels);
  require(!report.converged && !report.trouble.empty(), "what is no number is reported on every rank");
  print_report(exec, "not a number", report, *volume);
}

/// Multigrid does not converge in one iteration; the direct solver steps in on every rank.
void check_fallback(Exec& exec) {
  constexpr PressureChannels channels{scene_area, scene_distance, scene_rhs, scene_pressure};
  const PressureScene scene = hard_box(24);
  for (const Cuts cuts : {Cuts::one, Cuts::balanced, Cuts::skewed}) {
    const auto volume = make_volume(exec, scene, cut(exec, scene, cuts));
    const SolveReport report = solve_pressure(exec, *volume, channels, {.tolerance = 1e-9, .max_iterations = 1});
    require(report.method == SolveMethod::direct, "the direct solver steps in");
    print_report(exec, "fallback", report, *volume);
  }
}

}  // namespace

void check_solver(Exec& exec) {
  check_scene(exec, "sloshing box", sloshing_box(48));
  check_scene(exec, "hard box", hard_box(64));
  check_scene(exec, "sealed box", sealed_box(48));
  check_trouble(exec);
  check_fallback(exec);
}

}  // namespace aegir::ranks
