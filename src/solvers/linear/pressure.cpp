#include "solvers/linear/pressure.h"

#include <algorithm>

#include "solvers/linear/network_solve.h"
#include "solvers/linear/pressure_network.h"

namespace aegir {
namespace {

/// One attempt with a hierarchy whose last level holds at most `direct_unknowns`; true when that was solved directly.
bool attempt(Exec& exec, DiscreteVolume& volume, const PressureChannels& channels, const MultigridSettings& settings,
             const PressureOutline& outline, std::int64_t direct_unknowns, SolveReport& report) {
  Stopwatch watch;
  const PressureTiles tiles(exec, volume, channels);
  NetworkSolver solver(exec, volume.shared_topology(), outline.shapes, outline.unknowns,
                       [&](int b, NetworkTile& tile) { tiles.load(b, tile); },
                       {.sweeps = settings.sweeps, .direct_unknowns = direct_unknowns, .memory = settings.memory});
  report.pools = solver.pools().count(), report.closed_pools = solver.pools().closed();
  report.setup_seconds += watch.seconds();
  exec.profile.kernel("pressure.setup", watch.seconds(), 0);
  volume.write(channels.pressure).prepare(exec);
  const GridStore& rhs = volume.store(channels.rhs.name);
  GridStore& x = volume.store(channels.pressure.name);
  solver.solve(exec, {rhs.plane<float>(0), x.plane<double>(0)}, settings, report);
  x.valid_ghosts = 0;
  return solver.cycle().direct();
}

}  // namespace

SolveReport solve_pressure(Exec& exec, DiscreteVolume& volume, const PressureChannels& channels,
                           const MultigridSettings& settings) {
  Stopwatch watch;
  SolveReport report;
  PressureOutline outline = aegir::outline(exec, volume, channels);
  report.unknowns = outline.unknowns;
  report.setup_seconds = watch.seconds();
  if (!outline.trouble.empty()) {
    report.trouble = outline.trouble + "; the pressure was left as it is";
  } else {
    report.method = SolveMethod::multigrid_cg;
    constexpr std::int64_t last_level = 600;
    attempt(exec, volume, channels, settings, outline, last_level, report);
    if (!report.converged && report.unknowns > last_level && report.unknowns <= settings.direct_limit) {
      const std::string why = report.trouble;
      report.trouble.clear();
      MultigridSettings patient = settings;
      patient.max_iterations = std::max(settings.max_iterations, 20);
      const bool direct = attempt(exec, volume, channels, patient, outline, report.unknowns, report);
      if (direct) report.method = SolveMethod::direct;
      report.trouble = (direct ? "solved directly, because multigrid did not converge: "
                               : "multigrid did not converge, and there was no memory to solve directly: ") +
                       why + (report.trouble.empty() ? "" : "; then: " + report.trouble);
    }
  }
  report.seconds = watch.seconds();
  return report;
}

}  // namespace aegir
