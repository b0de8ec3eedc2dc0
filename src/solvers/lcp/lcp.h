// Pressure that may not pull: the linear complementarity problem of liquid that separates from solids.
//
//   x >= l,  A x - b >= 0,  one of the two an equality          in cells with a bound
//   A x = b                                                      in all others
//
// Loki's predictor and corrector [Lesser et al. 2022, Algorithm 2] is one round of this: a solve, then projected
// Gauss–Seidel. Here multigrid itself respects the bounds (projected_cycles.h): relaxation on the finest level is
// projected, and coarse levels hold the cells that are held. A cycle costs little more than one of the linear system
// and gains about as much. From nothing, the first guess comes from the same problem on the coarse levels of the
// hierarchy without bounds, where rounds cost next to nothing; from the pressure of the step before, the hierarchy is
// built once, with the cells held that it held.
//
// Where cycles stop gaining, where a system is too small for them and where pools are closed, rounds go on until the
// residual is met: a few projected sweeps find the cells that are held at their bound, multigrid moves the others, one
// step while the held cells still change and to the end once they stay (an inexact active-set method; with exact solves
// it settles for matrices like these [Hintermüller, Ito, Kunisch 2002]). Coarse levels are then built anew only when
// more than one held cell in 32 has changed, or before solving to the end.
//
//   const SolveReport report = solve_lcp(exec, volume, {area, distance, rhs, pressure}, lower, {.tolerance = 1e-4});
#pragma once

#include "solvers/linear/pressure.h"

namespace aegir {

/// How exactly, how long, and from where.
struct LcpSettings {
  double tolerance = 1e-4;  ///< of |min(x - l, A x - b)| / |b|, where cells without a bound count |A x - b|
  int max_rounds = 40;
  bool warm_start = false;  ///< start from the pressure channel, where it is not zero, instead of the coarse levels
  int sweeps = 2;           ///< projected passes over all buckets between two solves of the active set
  BufferPool* memory = nullptr;  ///< outlives the solve, for the next one: saves clearing fresh pages
};

struct PressureOutline;

/// What a solve has built from areas and distances, for other right-hand sides and bounds while those stay as they are.
/// The first solve fills it.
class LcpHierarchy {
 public:
  LcpHierarchy();
  ~LcpHierarchy();
  void clear();

 private:
  friend class LcpSolve;
  std::unique_ptr<PressureOutline> outline_;
  std::unique_ptr<NetworkSolver> full_;  // without bounds; none where the first solve did without
};

/// Solves with the bound `lower` per cell; anything below -1e30 means none. The report's residual is the
/// complementarity residual, its iterations those of all rounds on the finest level. Collective.
SolveReport solve_lcp(Exec& exec, DiscreteVolume& volume, const PressureChannels& channels,
                      const CellChannel<float>& lower, const LcpSettings& settings = {}, LcpHierarchy* kept = nullptr);

}  // namespace aegir
