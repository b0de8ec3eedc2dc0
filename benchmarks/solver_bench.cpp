// The solvers against hypre's on the same systems, from zero and with their setup, to a true relative residual of 1e-6.
// Ours keep their memory from round to round, as a simulation does from step to step; hypre's setup takes its own.
//
// hypre runs on as many ranks as we have threads, in a program of its own (aegir_hypre_peer) that stands beside this
// one, between two batches of our rounds.
#include <malloc.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "benchmarks/bandwidth.h"
#include "domain/for_each_bucket.h"
#include "domain/volume/discrete_volume.h"
#include "parallel/threads.h"
#include "solvers/lcp/lcp.h"
#include "solvers/linear/pressure.h"
#include "solvers/linear/sparse.h"
#include "tests/solvers/scenes.h"
#include "tests/solvers/viscosity_system.h"

namespace aegir::bench {
namespace {

constexpr double tolerance = 1e-6;
constexpr PressureChannels channels{scene_area, scene_distance, scene_rhs, scene_pressure};

/// What the peer prints; `trouble` says why there is nothing.
struct PeerResult {
  double seconds = 0, setup = 0, solve = 0, residual = 0, memory = 0, cpu_share = 1;
  int iterations = 0;
  std::string trouble;
};

/// Runs `aegir_hypre_peer WHAT`, e.g. "sloshing 128 pfmg 1e-6 5".
PeerResult run_peer(int ranks, const std::string& what) {
  PeerResult result;
  std::error_code ignored;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path() / "aegir_hypre_peer";
  if (!std::filesystem::exists(program, ignored)) return result.trouble = "aegir_hypre_peer is not built", result;
  const std::string command =
      fmt::format("mpirun --allow-run-as-root --oversubscribe --bind-to none -n {} '{}' {} 2>/dev/null", ranks,
                  program.string(), what);
  std::FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) return result.trouble = "mpirun does not start", result;
  std::string text;
  std::array<char, 4096> part;
  while (const std::size_t got = std::fread(part.data(), 1, part.size(), pipe)) text.append(part.data(), got);
  const int code = pclose(pipe);
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return result.trouble = fmt::format("the peer ended with {} and said nothing", code), result;
  result.seconds = json["seconds"], result.setup = json["setup"], result.solve = json["solve"];
  result.residual = json["residual"], result.memory = json["memory"], result.iterations = json["iterations"];
  result.cpu_share = json["cpu_share"];
  if (code != 0) result.trouble = fmt::format("the peer only reached {:.1e}", result.residual);
  return result;
}

/// Our rounds: reports in order, seconds measured from outside.
struct Rounds {
  SolveReport report;
  std::vector<double> seconds, setup;
  bool converged = true;

  template <class Solve>
  void run(int count, Solve&& solve) {
    for (int i = 0; i < count; ++i) {
      const Stopwatch watch;
      report = solve();
      seconds.push_back(watch.seconds()), setup.push_back(report.setup_seconds);
      converged &= report.converged;
    }
  }
};

/// |b - A x| / |b| from the scene itself, independent of what the solver says.
double true_residual(const PressureScene& scene, const DiscreteVolume& volume) {
  const Topology& topology = volume.topology();
  const double* pressure = volume.store(scene_pressure.name).plane<double>(0);
  const auto at = [&](const Vec3i& c) {
    const int b = topology.find({{c.x >> 3, c.y >> 3, c.z >> 3}, 0});
    return b < 0 ? 0.0
                 : pressure[static_cast<std::size_t>(b) * bucket_cells +
                            static_cast<std::size_t>(cell_offset(c.x & 7, c.y & 7, c.z & 7))];
  };
  double missing = 0, whole = 0;
  for (int b = 0; b < topology.local_count(); ++b)
    for (int c = 0; c < bucket_cells; ++c) {
      const Vec3i cell = topology.key(b).coord * bucket_size + Vec3i{c >> 6, (c >> 3) & 7, c & 7};
      if (!scene.unknown(cell)) continue;
      const SceneRow row = scene.row(cell);
      double r = scene.rhs(cell) - row.diagonal() * at(cell);
      for (int f = 0; f < 6; ++f) {
        Vec3i other = cell;
        other[f / 2] += f % 2 ? 1 : -1;
        if (const float w = row.weight[static_cast<std::size_t>(f)]; w > 0) r += static_cast<double>(w) * at(other);
      }
      missing += r * r, whole += static_cast<double>(scene.rhs(cell)) * scene.rhs(cell);
    }
  return std::sqrt(missing / whole);
}

/// Share of the bandwidth bound: the bytes booked by the kernels of one solve at the best speed of this memory, ÷
/// seconds.
std::string bandwidth_share(const Profile& profile, double seconds, std::int64_t unknowns) {
  double bytes = 0;
  for (const auto& [label, entry] : profile.kernels()) bytes += static_cast<double>(entry.bytes);
  Bandwidth limit(static_cast<std::size_t>(unknowns) * 48);
  const auto t = in_turns(7, limit.turns());
  const double best = limit.best(t.data());
  return fmt::format("{:.0f} MB booked by its kernels, {:.0f} % of the bandwidth bound ({:.1f} GB/s)", bytes * 1e-6,
                     100 * bytes / best / seconds, best * 1e-9);
}

/// One line: ours against a peer, or alone with the reason.
void report(Bench& bench, const std::string& name, const Rounds& ours, const std::string& peer_name,
            const PeerResult& peer) {
  const double seconds = median(ours.seconds);
  if (!ours.converged)
    bench.note(fmt::format("{}: no line, since we did not converge: {}", name, ours.report.trouble));
  else if (peer.trouble.empty())
    bench.cost(name, seconds, "s", peer_name, peer.seconds);
  else
    bench.number(name, seconds, "s");
  bench.note(fmt::format("{}: ours {} iterations, {:.4f} s of which setup {:.4f}, residual {:.1e}; {} {}", name,
                         ours.report.iterations, seconds, median(ours.setup), ours.report.residual, peer_name,
                         peer.trouble.empty()
                             ? fmt::format("{} iterations, setup {:.3f} + solve {:.3f} s, residual {:.1e}, {:.0f} MB",
                                           peer.iterations, peer.setup, peer.solve, peer.residual, peer.memory * 1e-6)
                             : "missing: " + peer.trouble));
  if (peer.cpu_share < 0.97)
    bench.note(
        fmt::format("{}: NOT A FAIR RUN: other programs left the peer only {:.0f} % of its cores; repeat it on a "
                    "quiet machine",
                    name, 100 * peer.cpu_share));
}

/// A hypre solver by our name for it and by the words of its command line.
struct PeerChoice {
  std::string line, name, solver, options;
};

/// A pressure scene against one or several peers, each on a line of its own.
void poisson(Bench& bench, const std::string& kind, int n, int rounds, const std::vector<PeerChoice>& peers) {
  const PressureScene scene = kind == "hard" ? hard_box(n) : sloshing_box(n);
  const auto volume = make_volume(bench.exec, scene, Partition{});
  BufferPool memory;  // as a simulation keeps it from step to step
  const auto solve = [&] {
    return solve_pressure(bench.exec, *volume, channels,
                          {.tolerance = tolerance, .warm_start = false, .memory = &memory});
  };
  solve();  // warm-up
  Rounds ours;
  ours.run(rounds, solve);
  std::vector<PeerResult> results;
  for (const PeerChoice& p : peers) {
    results.push_back(
        run_peer(bench.threads, fmt::format("{} {} {} {} {} {}", kind, n, p.solver, tolerance, rounds, p.options)));
    ours.run(rounds, solve);
  }
  bench.exec.profile.clear();
  const Stopwatch watch;
  solve();
  const double seconds = watch.seconds();
  for (std::size_t i = 0; i < peers.size(); ++i) report(bench, peers[i].line, ours, peers[i].name, results[i]);
  bench.note(fmt::format("{}: {:.3f} M unknowns in {} pools, residual from the scene itself {:.2e}, {}", peers[0].line,
                         static_cast<double>(ours.report.unknowns) * 1e-6, ours.report.pools,
                         true_residual(scene, *volume),
                         bandwidth_share(bench.exec.profile, seconds, ours.report.unknowns)));
}

/// PFMG on the box of the scene, and on as much of it as holds liquid, which a careful user would give it.
std::vector<PeerChoice> pfmg(const std::string& line) {
  return {{line, "hypre PFMG-PCG", "pfmg", ""},
          {line + "_vs_cropped", "PFMG-PCG, box cut to the liquid", "pfmg", "crop=1"}};
}

/// Projected Gauss-Seidel with over-relaxation on plain arrays, red and black cells in turn: what the LCP solver is
/// measured against. Solves 0 <= p where constrained, A p - b >= 0, one of both zero; A p = b elsewhere.
class ProjectedSor {
 public:
  explicit ProjectedSor(const PressureScene& scene)
      : n_(scene.n() + 2), pressure_(static_cast<std::size_t>(n_) * n_ * n_) {
    for (int x = 0; x < scene.n(); ++x)
      for (int y = 0; y < scene.n(); ++y)
        for (int z = 0; z < scene.n(); ++z) {
          if (!scene.unknown({x, y, z})) continue;
          const SceneRow row = scene.row({x, y, z});
          colour_[(x + y + z) % 2].push_back({((x + 1) * n_ + y + 1) * n_ + z + 1, scene.constrained({x, y, z}),
                                              row.weight, static_cast<float>(row.diagonal()),
                                              static_cast<float>(1 / row.diagonal()), scene.rhs({x, y, z})});
          norm_ += static_cast<double>(scene.rhs({x, y, z})) * scene.rhs({x, y, z});
        }
  }
  /// Sweeps from zero until the complementarity residual is met; the count, or `most` where it is not.
  int solve(double omega, double wanted, int most) {
    std::fill(pressure_.begin(), pressure_.end(), 0.0);
    for (int sweep = 1; sweep <= most; ++sweep) {
      for (const auto& cells : colour_)
        parallel_for(0, cells.size(), 4096, [&](std::size_t begin, std::size_t end) {
          for (std::size_t i = begin; i < end; ++i) {
            double& p = pressure_[static_cast<std::size_t>(cells[i].at)];
            p -= omega * cells[i].inverse * excess(cells[i]);
            if (cells[i].constrained) p = std::max(p, 0.0);
          }
        });
      if (sweep % 8 == 0 && residual() <= wanted) return sweep;
    }
    return most;
  }
  /// Takes over the pressure of a volume, for residual().
  void take(const DiscreteVolume& volume) {
    const double* pressure = volume.store(scene_pressure.name).plane<double>(0);
    std::fill(pressure_.begin(), pressure_.end(), 0.0);
    for (int b = 0; b < volume.topology().local_count(); ++b)
      for (int c = 0; c < bucket_cells; ++c) {
        const Vec3i at =
            volume.topology().key(b).coord * bucket_size + Vec3i{(c >> 6) + 1, ((c >> 3) & 7) + 1, (c & 7) + 1};
        pressure_[static_cast<std::size_t>((at.x * n_ + at.y) * n_ + at.z)] =
            pressure[static_cast<std::size_t>(b) * bucket_cells + static_cast<std::size_t>(c)];
      }
  }
  /// |min(p, A p - b)| / |b| where constrained, |A p - b| / |b| elsewhere.
  double residual() const {
    double sum = 0;
    std::mutex mutex;
    for (const auto& cells : colour_)
      parallel_for(0, cells.size(), 16384, [&](std::size_t begin, std::size_t end) {
        double part = 0;
        for (std::size_t i = begin; i < end; ++i) {
          const double e = excess(cells[i]), p = pressure_[static_cast<std::size_t>(cells[i].at)];
          const double r = cells[i].constrained ? std::min(p, e) : e;
          part += r * r;
        }
        std::lock_guard lock(mutex);
        sum += part;
      });
    return std::sqrt(sum / norm_);
  }

 private:
  struct Cell {
    int at;
    bool constrained;
    std::array<float, 6> weight;
    float diagonal, inverse, rhs;
  };
  /// A p - b.
  double excess(const Cell& c) const {
    const double* p = pressure_.data() + c.at;
    return c.diagonal * p[0] - c.rhs - c.weight[0] * p[-n_ * n_] - c.weight[1] * p[n_ * n_] - c.weight[2] * p[-n_] -
           c.weight[3] * p[n_] - c.weight[4] * p[-1] - c.weight[5] * p[1];
  }

  int n_;
  std::vector<double> pressure_;
  std::array<std::vector<Cell>, 2> colour_;
  double norm_ = 0;
};

/// Ours against the sweeps alone with the over-relaxation that needs the fewest.
void lcp(Bench& bench) {
  constexpr double wanted = 1e-4;
  const PressureScene scene = dam_column(128);
  const auto volume = make_volume(bench.exec, scene, Partition{});
  fill_lower(bench.exec, scene, *volume);
  ProjectedSor sweeps(scene);
  double best = 1;
  int fewest = 20000;
  for (const double omega : {1.0, 1.5, 1.7, 1.8, 1.85, 1.9, 1.92, 1.94, 1.95, 1.96, 1.97, 1.98})
    if (const int count = sweeps.solve(omega, wanted, fewest); count < fewest) fewest = count, best = omega;
  SolveReport ours;
  BufferPool memory;
  const auto t = in_turns(7, {{[&] {
                                ours = solve_lcp(bench.exec, *volume, channels, scene_lower,
                                                 {.tolerance = wanted, .memory = &memory});
                              }},
                              {[&] { sweeps.solve(best, wanted, 2 * fewest); }}});
  const double peer_residual = sweeps.residual();
  sweeps.take(*volume);
  if (ours.converged)
    bench.cost("solver.lcp_128", t[0], "s", "projected Gauss-Seidel alone", t[1]);
  else
    bench.note("solver.lcp_128: no line, since we did not converge: " + ours.trouble);
  bench.note(
      fmt::format("solver.lcp_128: {} iterations, setup {:.4f} s, residual {:.1e}, checked on plain arrays {:.1e}; "
                  "{} sweeps alone with over-relaxation {}, residual {:.1e}",
                  ours.iterations, ours.setup_seconds, ours.residual, sweeps.residual(), fewest, best, peer_residual));
}

/// The sloshing box as sand that may not pull: every cell has a bound of zero. A step's load differs from that of the
/// step before by up to a tenth, in waves, and its start is the pressure of that step.
class SandBox {
 public:
  SandBox(Bench& bench, int n) : bench_(bench), volume_(make_volume(bench.exec, sloshing_box(n), Partition{})) {
    volume_->declare(scene_lower);
    const auto cells = static_cast<std::size_t>(volume_->topology().local_count()) * bucket_cells;
    std::fill_n(plane<float>(scene_lower.name), cells, 0.0f);
    load_[0].assign(plane<float>(scene_rhs.name), plane<float>(scene_rhs.name) + cells);
    load_[1] = load_[0];
    for (std::size_t i = 0; i < cells; ++i) {
      const auto c = static_cast<int>(i % bucket_cells);
      const Vec3i cell = volume_->topology().key(static_cast<int>(i / bucket_cells)).coord * bucket_size +
                         Vec3i{c >> 6, (c >> 3) & 7, c & 7};
      load_[1][i] *= 1 + 0.1f * std::sin(0.1f * static_cast<float>(cell.x) + 0.07f * static_cast<float>(cell.y) -
                                         0.05f * static_cast<float>(cell.z));
    }
  }
  /// The load of a step, and a pressure to start from; none: zero.
  void set(int step, const std::vector<double>& start) {
    std::copy(load_[step].begin(), load_[step].end(), plane<float>(scene_rhs.name));
    std::fill_n(plane<double>(scene_pressure.name), load_[0].size(), 0.0);
    std::copy(start.begin(), start.end(), plane<double>(scene_pressure.name));
  }
  std::vector<double> pressure() {
    return {plane<double>(scene_pressure.name), plane<double>(scene_pressure.name) + load_[0].size()};
  }
  SolveReport solve(bool bounded, bool warm) {
    constexpr double wanted = 1e-4;
    if (!bounded)
      return solve_pressure(bench_.exec, *volume_, channels,
                            {.tolerance = wanted, .warm_start = warm, .memory = &memory_});
    return solve_lcp(bench_.exec, *volume_, channels, scene_lower,
                     {.tolerance = wanted, .warm_start = warm, .memory = &memory_});
  }
  /// Unknowns at a pressure of exactly zero.
  std::int64_t held() {
    std::int64_t count = 0;
    for (std::size_t i = 0; i < load_[0].size(); ++i)
      count += plane<float>(scene_distance.name)[i] < 0 && plane<double>(scene_pressure.name)[i] == 0;
    return count;
  }

 private:
  template <class T>
  T* plane(const char* name) {
    return volume_->store(name).plane<T>(0);
  }

  Bench& bench_;
  std::unique_ptr<DiscreteVolume> volume_;
  BufferPool memory_;
  std::vector<float> load_[2];
};

/// Sand against the linear solve on the same domain: each from its own pressure of the step before, and from nothing.
void lcp_sand(Bench& bench) {
  SandBox sand(bench, 128);
  std::vector<double> before[2];
  for (const bool bounded : {false, true}) {
    sand.set(0, {});
    sand.solve(bounded, false);
    before[bounded] = sand.pressure();
  }
  SolveReport reports[4];
  const auto turn = [&](int i, bool bounded, bool warm) {
    return Turn{[&sand, &reports, i, bounded, warm] { reports[i] = sand.solve(bounded, warm); },
                [&sand, &before, bounded, warm] { sand.set(1, warm ? before[bounded] : std::vector<double>{}); }};
  };
  const auto t = in_turns(7, {turn(0, true, true), turn(1, false, true), turn(2, true, false), turn(3, false, false)});
  sand.set(1, before[1]);
  sand.solve(true, true);
  bool converged = true;
  for (const SolveReport& r : reports) converged &= r.converged;
  if (converged)
    bench.cost("solver.lcp_sand_128", t[0], "s", "solve_pressure", t[1]);
  else
    bench.note("solver.lcp_sand_128: no line, since a solve did not converge: " + reports[0].trouble);
  bench.note(
      fmt::format("solver.lcp_sand_128: from the step before {} iterations to {:.1e}, linear {} to {:.1e}; from "
                  "nothing {:.4f} s, {} "
                  "iterations to {:.1e}, linear {:.4f} s, {} to {:.1e}; {:.3f} M unknowns, {:.3f} M of them held",
                  reports[0].iterations, reports[0].residual, reports[1].iterations, reports[1].residual, t[2],
                  reports[2].iterations, reports[2].residual, t[3], reports[3].iterations, reports[3].residual,
                  static_cast<double>(reports[0].unknowns) * 1e-6, static_cast<double>(sand.held()) * 1e-6));
}

/// How far the resident memory rises above what it was before a solve, per unknown.
double memory_per_unknown(Bench& bench, int n) {
  const auto volume = make_volume(bench.exec, sloshing_box(n), Partition{});
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << "5";  // the peak starts from here
  const double before = status_bytes("VmRSS");
  const SolveReport report =
      solve_pressure(bench.exec, *volume, channels, {.tolerance = tolerance, .warm_start = false});
  return (status_bytes("VmHWM") - before) / static_cast<double>(report.unknowns);
}

void memory(Bench& bench) {
  const double large = memory_per_unknown(bench, 256), small = memory_per_unknown(bench, 128);
  bench.cost("solver.memory", std::max(large, small), "bytes/unknown", "limit", 64);
  bench.note(fmt::format("solver.memory: peak rise ÷ unknowns, {:.1f} at 256³ and {:.1f} at 128³", large, small));
}

void general(Bench& bench) {
  constexpr int n = 70;
  const SystemRows rows = viscosity_system(n);
  const Stopwatch building;
  const auto matrix = SparseMatrix::from_rows(bench.exec.comm, {.first = rows.first,
                                                                .column = rows.column,
                                                                .value = rows.value,
                                                                .block = rows.block,
                                                                .component = rows.component});
  const double filled = building.seconds();
  if (!matrix) return bench.note("solver.general_1m: " + matrix.error().message);
  std::vector<double> x(rows.rhs.size());
  const auto solve = [&] {
    std::fill(x.begin(), x.end(), 0.0);
    return solve_sparse(bench.exec, *matrix, rows.rhs, x, {.tolerance = tolerance});
  };
  solve();
  Rounds ours;
  ours.run(3, solve);
  const PeerResult peer = run_peer(bench.threads, fmt::format("viscosity {} boomeramg {} 3", n, tolerance));
  ours.run(3, solve);
  bench.exec.profile.clear();
  const Stopwatch watch;
  solve();
  const double seconds = watch.seconds();
  double missing = 0, whole = 0;
  for (std::size_t r = 0; r < rows.rhs.size(); ++r) {
    double left = rows.rhs[r];
    for (auto e = static_cast<std::size_t>(rows.first[r]); e < static_cast<std::size_t>(rows.first[r + 1]); ++e)
      left -= rows.value[e] * x[static_cast<std::size_t>(rows.column[e])];
    missing += left * left, whole += rows.rhs[r] * rows.rhs[r];
  }
  report(bench, "solver.general_1m", ours, "hypre BoomerAMG-PCG", peer);
  bench.note(
      fmt::format("solver.general_1m: {:.3f} M unknowns, residual from the rows themselves {:.2e}, {}; filling the "
                  "matrix {:.3f} s, counted on neither side",
                  static_cast<double>(rows.rows()) * 1e-6, std::sqrt(missing / whole),
                  bandwidth_share(bench.exec.profile, seconds, 4 * rows.rows()), filled));
}

}  // namespace

void register_solver(Registry& r) {
  r.add("solver.poisson_128", [](Bench& b) { poisson(b, "sloshing", 128, 5, pfmg("solver.poisson_128")); });
  r.add("solver.poisson_256", [](Bench& b) { poisson(b, "sloshing", 256, 3, pfmg("solver.poisson_256")); });
  for (const int n : {128, 256}) {
    const std::string name = fmt::format("solver.poisson_{}_vs_boomeramg", n);
    r.add(name, [name, n](Bench& b) {
      poisson(b, "sloshing", n, 3, {{name, "hypre BoomerAMG-PCG", "boomeramg", ""}});
    });
  }
  r.add("solver.poisson_128_hard", [](Bench& b) {
    poisson(b, "hard", 128, 5, {{"solver.poisson_128_hard", "hypre PFMG-PCG", "pfmg", "sweeps=2"}});
  });
  r.add("solver.memory", memory);
  r.add("solver.lcp_128", lcp);
  r.add("solver.lcp_sand_128", lcp_sand);
  r.add("solver.general_1m", general);
}

}  // namespace aegir::bench
