// The map of outcomes over (We, X), point by point, and the law it is held to.
//
//   for (const RegimePoint& p : regime_map(0.75, false)) EXPECT_EQ(p.outcome, outcome_by_energy(p.impact,
//   false).outcome);
#pragma once

#include <vector>

#include "phenomena/droplets/pair.h"

namespace aegir::test {

/// The ratios of radii that are drawn.
inline constexpr double drawn_ratios[] = {1, 0.75, 0.5};
/// The part of the map that is drawn: We from 0 to this, X from 0 to 1.
inline constexpr double drawn_weber = 150;

/// One point of the map and what Aegir says of it.
struct RegimePoint {
  Impact impact;
  Outcome outcome = Outcome::coalescence;
};

/// classify() at the centres of 150 × 50 cells in (We, X).
std::vector<RegimePoint> regime_map(double ratio, bool bounce);

/// What the balance of energies says, and how far it is from the nearest edge (relative).
struct EnergyVerdict {
  Outcome outcome = Outcome::coalescence;
  double margin = 1;
};
/// The outcome without any threshold: two balls of water with units, energies in the frame of their centre of mass,
/// volumes by quadrature.
EnergyVerdict outcome_by_energy(const Impact& impact, bool bounce);

/// The likeliest of coalescence, stretching and reflexive separation for equal droplets of water in air, by closed
/// forms that were fitted to 38,762 experiments [Xu, Yang & Zhang, Probabilistic symbolic-distillation model of droplet
/// collision, preprint, Table 1, at one atmosphere, Oh = 0.01]. Not from any balance of energies. We from 5 to 150.
Outcome likeliest_in_experiments(double weber, double offset);

}  // namespace aegir::test
