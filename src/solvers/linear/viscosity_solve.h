// Conjugate gradients for a viscosity system, with iterative refinement, and the fail-safe behind them.
#pragma once

#include "solvers/linear/viscosity.h"
#include "solvers/linear/viscosity_level.h"
#include "solvers/linear/viscosity_multigrid.h"

namespace aegir {

/// One solve: from the velocity channel to the velocity channel.
class ViscositySolve {
 public:
  /// Builds the preconditioner. Collective.
  ViscositySolve(Exec& exec, const ViscosityLevel& level, const ViscosityInput& input, GridStore& velocity,
                 const GridStore& solid_velocity, const ViscositySettings& settings);

  /// Solves and replaces the velocity, or says why not. Collective.
  void run(SolveReport& report);
  /// Zero on faces that are neither unknown nor prescribed.
  void forget_others(GridStore& known) const;

 private:
  Status start();
  std::string start_bucket(int b);
  double evaluate();
  double norm_of_right_side();
  bool iterate(SolveReport& report, double norm, double target);
  void write_back();
  bool solve_assembled(SolveReport& report, double norm, double target);

  Exec& exec_;
  const ViscosityLevel& level_;
  const ViscosityInput& input_;
  const ViscositySettings& settings_;
  GridStore& velocity_;
  const GridStore& solid_velocity_;
  ViscosityMultigrid cycle_;
  FaceField<double> x_;
  FaceField<float> d_, p_;
  FaceField<float>& r_;  // the cycle's residual
  bool moving_ = false;  // some solid has a velocity
};

}  // namespace aegir
