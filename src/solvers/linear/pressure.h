// The pressure of free-surface flow: multigrid-preconditioned conjugate gradients on the buckets of a volume.
//
//   const SolveReport report = solve_pressure(exec, volume, {area, distance, rhs, pressure}, {.tolerance = 1e-6});
//   if (!report.converged) context.warn(report.trouble);
//
// Unknowns are the liquid cells (distance < 0) with an open face. x and r are double, the cycle and the search
// direction p single; A p is evaluated in double from the very p that x moves along, so r stays the true residual to
// double rounding however long the iteration. Same bits for any number of threads and ranks.
#pragma once

#include <memory>

#include "domain/exec.h"
#include "domain/volume/discrete_volume.h"
#include "solvers/report.h"

namespace aegir {

/// The channels of a pressure system; free_surface.h has the equation. Cells and faces outside all buckets hold the
/// channels' backgrounds.
struct PressureChannels {
  FaceChannel<float> area;       ///< open share of each lower face, [0, 1]; any weight from 0 to 1e15 works
  CellChannel<float> distance;   ///< to the liquid's surface, negative inside, any unit; read four cells around
  CellChannel<float> rhs;        ///< read where there are unknowns
  CellChannel<double> pressure;  ///< start and result; 0 where there is no unknown
};

/// How exactly, how long, and from where.
struct MultigridSettings {
  double tolerance = 1e-5;  ///< of the true relative residual |b - A x| / |b|
  int max_iterations = 100;
  bool warm_start = true;              ///< start from the pressure channel instead of zero
  int sweeps = 3;                      ///< relaxations before and after each coarse correction
  BufferPool* memory = nullptr;        ///< outlives the solve, for the next one: saves clearing fresh pages
  std::int64_t direct_limit = 100000;  ///< largest system for the direct fail-safe
};

class NetworkSolver;

/// What a solve has built from areas and distances, for more right-hand sides while those stay as they are: setting up
/// costs as much as three iterations. The first solve fills it.
class PressureHierarchy {
 public:
  PressureHierarchy();
  ~PressureHierarchy();
  void clear();

 private:
  friend class PressureSolve;
  std::unique_ptr<NetworkSolver> solver_;
  std::int64_t unknowns_ = 0;
};

/// Solves for the pressure. Never throws or gives up silently: the report says what happened. Collective.
SolveReport solve_pressure(Exec& exec, DiscreteVolume& volume, const PressureChannels& channels,
                           const MultigridSettings& settings = {}, PressureHierarchy* kept = nullptr);

}  // namespace aegir
