// Pressure that may not pull: the linear complementarity problem of liquid that separates from solids.
//
//   x >= l,  A x - b >= 0,  one of the two an equality          in cells with a bound
//   A x = b                                                      in all others
//
// Loki's predictor and corrector [Lesser et al. 2022, Algorithm 2] is one round of this: a solve, then projected
// Gauss–Seidel. Here rounds go on until the residual is met: a few projected sweeps find the cells that are held at
// their bound, multigrid moves the others, one step while the held cells still change and to the end once they stay (an
// inexact active-set method; with exact solves it settles for matrices like these [Hintermüller, Ito, Kunisch 2002]).
// The first guess comes from the same problem on the coarse levels of the hierarchy, where rounds cost next to nothing.
// Coarse levels are built anew only when more than one held cell in 32 has changed, or before solving to the end.
//
//   const SolveReport report = solve_lcp(exec, volume, {area, distance, rhs, pressure}, lower, {.tolerance = 1e-4});
#pragma once

#include "solvers/linear/pressure.h"

namespace aegir {

/// How exactly, how long, and from where.
struct LcpSettings {
  double tolerance = 1e-4;  ///< of |min(x - l, A x - b)| / |b|, where cells without a bound count |A x - b|
  int max_rounds = 40;
  bool warm_start = false;       ///< start from the pressure channel instead of the coarse levels
  int sweeps = 2;                ///< projected passes over all buckets between two solves
  BufferPool* memory = nullptr;  ///< outlives the solve, for the next one: saves clearing fresh pages
};

/// Solves with the bound `lower` per cell; anything below -1e30 means none. The report's residual is the
/// complementarity residual, its iterations those of all rounds on the finest level. Collective.
SolveReport solve_lcp(Exec& exec, DiscreteVolume& volume, const PressureChannels& channels,
                      const CellChannel<float>& lower, const LcpSettings& settings = {});

}  // namespace aegir
