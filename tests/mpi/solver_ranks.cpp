#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/random.h"
#include "domain/for_each_bucket.h"
#include "solvers/lcp/lcp.h"
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

void print_pressure(Exec& exec, const char* what, const SolveReport& report, const DiscreteVolume& volume) {
  print_report(exec, what, pressure_hash(exec, volume), report);
}

void check_scene(Exec& exec, const char* what, const PressureScene& scene) {
  constexpr PressureChannels channels{scene_area, scene_distance, scene_rhs, scene_pressure};
  for (const Cuts cuts : {Cuts::one, Cuts::balanced, Cuts::skewed}) {
    const auto volume = make_volume(exec, scene, cut(exec, scene, cuts));
    require(cuts == Cuts::one || volume->topology().local_count() > 0, "every rank has a share");
    const SolveReport cold = solve_pressure(exec, *volume, channels, {.tolerance = 1e-4});
    require(cold.converged, "the pressure converges");
    print_pressure(exec, what, cold, *volume);
    print_pressure(exec, what, solve_pressure(exec, *volume, channels, {.tolerance = 1e-8}), *volume);
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
  print_pressure(exec, "not a number", report, *volume);
}

/// Multigrid does not converge in one iteration; the direct solver steps in on every rank.
void check_fallback(Exec& exec) {
  constexpr PressureChannels channels{scene_area, scene_distance, scene_rhs, scene_pressure};
  const PressureScene scene = hard_box(24);
  for (const Cuts cuts : {Cuts::one, Cuts::balanced, Cuts::skewed}) {
    const auto volume = make_volume(exec, scene, cut(exec, scene, cuts));
    const SolveReport report = solve_pressure(exec, *volume, channels, {.tolerance = 1e-9, .max_iterations = 1});
    require(report.method == SolveMethod::direct, "the direct solver steps in");
    print_pressure(exec, "fallback", report, *volume);
  }
}

/// Cells with a bound, and those of them that are at it.
std::array<std::int64_t, 2> count_held(Exec& exec, const DiscreteVolume& volume) {
  const float* lower = volume.store(scene_lower.name).plane<float>(0);
  const double* pressure = volume.store(scene_pressure.name).plane<double>(0);
  std::array<std::int64_t, 2> count{};
  for (int c = 0; c < volume.topology().local_count() * bucket_cells; ++c)
    if (lower[c] == 0) ++count[0], count[1] += pressure[c] == 0;
  exec.comm.sum(std::span<std::int64_t>(count));
  return count;
}

/// Liquid that separates from walls, from nothing, with memory kept from solve to solve, and on from there.
void check_separation(Exec& exec) {
  constexpr PressureChannels channels{scene_area, scene_distance, scene_rhs, scene_pressure};
  const PressureScene scene = dam_column(48);
  for (const Cuts cuts : {Cuts::one, Cuts::balanced, Cuts::skewed}) {
    const auto volume = make_volume(exec, scene, cut(exec, scene, cuts));
    fill_lower(exec, scene, *volume);
    BufferPool memory;
    for (const LcpSettings& settings :
         {LcpSettings{.memory = &memory}, LcpSettings{.tolerance = 1e-7, .warm_start = true, .memory = &memory}}) {
      const SolveReport report = solve_lcp(exec, *volume, channels, scene_lower, settings);
      require(report.converged, "the separating pressure converges");
      print_pressure(exec, "separation", report, *volume);
      const auto [bounded, held] = count_held(exec, *volume);
      require(held > bounded / 20 && held < bounded - bounded / 20, "some cells are held and some are not");
      print_same(exec, "held " + std::to_string(held) + " of " + std::to_string(bounded));
    }
  }
}

/// Sand: a bound in every cell, from nothing and from the pressure of another load.
void check_sand(Exec& exec) {
  constexpr PressureChannels channels{scene_area, scene_distance, scene_rhs, scene_pressure};
  const PressureScene scene = sloshing_box(48);
  for (const Cuts cuts : {Cuts::one, Cuts::balanced, Cuts::skewed}) {
    const auto volume = make_volume(exec, scene, cut(exec, scene, cuts));
    volume->declare(scene_lower);
    const auto cells = static_cast<std::size_t>(volume->topology().local_count()) * bucket_cells;
    std::fill_n(volume->store(scene_lower.name).plane<float>(0), cells, 0.0f);
    for (const bool warm : {false, true}) {
      const SolveReport report =
          solve_lcp(exec, *volume, channels, scene_lower, {.tolerance = 1e-6, .warm_start = warm});
      require(report.converged, "the pressure of sand converges");
      print_pressure(exec, "sand", report, *volume);
      float* rhs = volume->store(scene_rhs.name).plane<float>(0);
      for (std::size_t i = 0; i < cells; ++i) rhs[i] *= i % bucket_cells < 100 ? 0.8f : 1.1f;
    }
  }
}

/// Walls one cell thick, drops, and chambers without a surface, whatever becomes of them.
void check_separation_scene(Exec& exec, const char* what, const PressureScene& scene) {
  constexpr PressureChannels channels{scene_area, scene_distance, scene_rhs, scene_pressure};
  for (const Cuts cuts : {Cuts::balanced, Cuts::skewed}) {
    const auto volume = make_volume(exec, scene, cut(exec, scene, cuts));
    fill_lower(exec, scene, *volume);
    print_pressure(exec, what, solve_lcp(exec, *volume, channels, scene_lower, {.max_rounds = 8}), *volume);
  }
}

/// The same for values that are no numbers.
void check_separation_trouble(Exec& exec) {
  constexpr PressureChannels channels{scene_area, scene_distance, scene_rhs, scene_pressure};
  const PressureScene scene = dam_column(24);
  const auto volume = make_volume(exec, scene, cut(exec, scene, Cuts::balanced));
  fill_lower(exec, scene, *volume);
  const int bucket = volume->topology().find({{0, 1, 1}, 0});
  if (bucket >= 0 && bucket < volume->topology().local_count())
    volume->store(scene_rhs.name).plane<float>(0)[bucket * bucket_cells + 77] = std::nanf("");
  const SolveReport report = solve_lcp(exec, *volume, channels, scene_lower);
  require(!report.converged && !report.trouble.empty(), "what is no number is reported on every rank");
  print_pressure(exec, "separation, not a number", report, *volume);
}

}  // namespace

void print_same(Exec& exec, const std::string& text) {
  Bytes mine(text.size());
  if (!text.empty()) std::memcpy(mine.data(), text.data(), text.size());
  for (const Bytes& other : exec.comm.all_gather(mine)) require(other == mine, "all ranks say the same");
  if (exec.comm.root()) std::printf("%s\n", text.c_str());
}

void print_report(Exec& exec, const char* what, std::uint64_t hash, const SolveReport& r) {
  print_same(exec, fmt::format("{}: {:016x} {} {}, {} iterations, residual {:a}, {} unknowns, {} pools, {} closed, "
                               "incompatible {:a} {}",
                               what, hash, method_name(r.method), r.converged ? "converged" : "failed", r.iterations,
                               r.residual, r.unknowns, r.pools, r.closed_pools, r.incompatible, r.trouble));
}

void check_solver(Exec& exec) {
  check_scene(exec, "sloshing box", sloshing_box(48));
  check_scene(exec, "hard box", hard_box(64));
  check_scene(exec, "sealed box", sealed_box(48));
  check_trouble(exec);
  check_fallback(exec);
  check_separation(exec);
  check_sand(exec);
  check_separation_scene(exec, "separation, hard box", hard_box(32));
  check_separation_scene(exec, "separation, sealed box", sealed_box(32));
  check_separation_trouble(exec);
}

}  // namespace aegir::ranks
