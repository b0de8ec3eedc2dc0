// What every solver says when it is done. A solver never throws, prints or gives up silently: the report tells the
// caller what happened, and the caller decides.
//
//   const SolveReport report = solve_pressure(exec, volume, channels, {.tolerance = 1e-6});
//   if (!report.converged) context.warn(report.trouble);
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace aegir {

/// How the solution was found in the end.
enum class SolveMethod : std::uint8_t { none, multigrid_cg, aggregation_cg, direct, active_set };

/// The method in words.
constexpr std::string_view method_name(SolveMethod m) {
  constexpr std::string_view names[] = {"none", "multigrid CG", "smoothed aggregation CG", "direct", "active set"};
  return names[static_cast<int>(m)];
}

/// What a solve did. For closed pools b is what is left without the part that no solution can meet.
struct SolveReport {
  SolveMethod method = SolveMethod::none;
  bool converged = false;
  std::int64_t unknowns = 0;
  int iterations = 0;
  double residual = 0;  ///< true relative residual |b - A x| / |b|, evaluated anew from x in double precision
  double setup_seconds = 0;
  double seconds = 0;             ///< setup included
  std::int64_t pools = 0;         ///< connected sets of unknowns, where the solver looks for them
  std::int64_t closed_pools = 0;  ///< of these without a free surface: their solution is fixed up to a constant
  double incompatible = 0;        ///< share |b_projected_away| / |b| that no solution of the closed pools can meet
  std::string trouble;            ///< why it fell back or failed; empty when all is well
};

}  // namespace aegir
