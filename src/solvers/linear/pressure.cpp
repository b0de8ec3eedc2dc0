#include "solvers/linear/pressure.h"

#include <algorithm>
#include <utility>

#include "solvers/linear/network_solve.h"
#include "solvers/linear/pressure_network.h"

namespace aegir {

PressureHierarchy::PressureHierarchy() = default;
PressureHierarchy::~PressureHierarchy() = default;
void PressureHierarchy::clear() { solver_.reset(); }

/// One system with one right-hand side.
class PressureSolve {
 public:
  PressureSolve(Exec& exec, DiscreteVolume& volume, const PressureChannels& channels, const MultigridSettings& settings)
      : exec_(exec), volume_(volume), channels_(channels), settings_(settings) {}

  SolveReport run(PressureHierarchy* kept) {
    Stopwatch watch;
    SolveReport report;
    bool tried = true;
    if (kept && kept->solver_) {
      report.unknowns = kept->unknowns_;
      apply(*kept->solver_, settings_, report);
    } else {
      tried = begin(kept, report);
    }
    if (tried && !report.converged && report.unknowns > last_level && report.unknowns <= settings_.direct_limit)
      fall_back(report);
    report.seconds = watch.seconds();
    return report;
  }

 private:
  static constexpr std::int64_t last_level = 600;

  /// Sets up and solves; what was set up may be kept. False where the channels make no system.
  bool begin(PressureHierarchy* kept, SolveReport& report) {
    Stopwatch watch;
    PressureOutline outline = aegir::outline(exec_, volume_, channels_);
    report.unknowns = outline.unknowns;
    report.setup_seconds = watch.seconds();
    if (!outline.trouble.empty()) {
      report.trouble = outline.trouble + "; the pressure was left as it is";
      return false;
    }
    std::unique_ptr<NetworkSolver> solver = build(std::move(outline), last_level, report);
    apply(*solver, settings_, report);
    if (kept) kept->solver_ = std::move(solver), kept->unknowns_ = report.unknowns;
    return true;
  }

  /// A hierarchy whose last level holds at most `direct_unknowns`.
  std::unique_ptr<NetworkSolver> build(PressureOutline outline, std::int64_t direct_unknowns, SolveReport& report) {
    Stopwatch watch;
    const PressureTiles tiles(exec_, volume_, channels_);
    auto solver = std::make_unique<NetworkSolver>(
        exec_, volume_.shared_topology(), std::move(outline.shapes), outline.unknowns,
        [&](int b, NetworkTile& tile) { tiles.load(b, tile); },
        Multigrid::Settings{
            .sweeps = settings_.sweeps, .direct_unknowns = direct_unknowns, .memory = settings_.memory});
    report.setup_seconds += watch.seconds();
    exec_.profile.kernel("pressure.setup", watch.seconds(), 0);
    return solver;
  }

  void apply(NetworkSolver& solver, const MultigridSettings& settings, SolveReport& report) {
    report.method = SolveMethod::multigrid_cg;
    report.pools = solver.pools().count(), report.closed_pools = solver.pools().closed();
    volume_.write(channels_.pressure).prepare(exec_);
    const GridStore& rhs = volume_.store(channels_.rhs.name);
    GridStore& x = volume_.store(channels_.pressure.name);
    solver.solve(exec_, {rhs.plane<float>(0), x.plane<double>(0)}, settings, report);
    x.valid_ghosts = 0;
  }

  /// What conjugate gradients could not solve is solved directly.
  void fall_back(SolveReport& report) {
    PressureOutline outline = aegir::outline(exec_, volume_, channels_);
    if (!outline.trouble.empty()) {
      report.trouble = outline.trouble;
      return;
    }
    const std::string why = std::exchange(report.trouble, {});
    MultigridSettings patient = settings_;
    patient.max_iterations = std::max(settings_.max_iterations, 20);
    std::unique_ptr<NetworkSolver> solver = build(std::move(outline), report.unknowns, report);
    apply(*solver, patient, report);
    const bool direct = solver->cycle().direct();
    if (direct) report.method = SolveMethod::direct;
    report.trouble = (direct ? "solved directly, because multigrid did not converge: "
                             : "multigrid did not converge, and there was no memory to solve directly: ") +
                     why + (report.trouble.empty() ? "" : "; then: " + report.trouble);
  }

  Exec& exec_;
  DiscreteVolume& volume_;
  const PressureChannels& channels_;
  const MultigridSettings& settings_;
};

SolveReport solve_pressure(Exec& exec, DiscreteVolume& volume, const PressureChannels& channels,
                           const MultigridSettings& settings, PressureHierarchy* kept) {
  return PressureSolve(exec, volume, channels, settings).run(kept);
}

}  // namespace aegir
