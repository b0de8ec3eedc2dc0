// The map of outcomes [Ashgriz & Poo 1990; Estrade et al. 1999] against the energies that it stands for.
#include "droplets/regimes.h"

#include <gtest/gtest.h>

#include <cstdio>

namespace aegir::test {
namespace {

TEST(DropletRegimes, EveryPointOfTheMapFollowsFromTheEnergies) {
  for (const double ratio : drawn_ratios)
    for (const bool bounce : {false, true}) {
      int counts[4] = {}, on_edge = 0, wrong = 0;
      for (const RegimePoint& p : regime_map(ratio, bounce)) {
        const EnergyVerdict law = outcome_by_energy(p.impact, bounce);
        if (law.margin < 1e-9) {
          ++on_edge;
          continue;
        }
        ++counts[static_cast<int>(p.outcome)];
        if (p.outcome == law.outcome) continue;
        ++wrong;
        ADD_FAILURE() << "We " << p.impact.weber << ", X " << p.impact.offset << ", ratio " << ratio << ": "
                      << outcome_name(p.outcome) << " instead of " << outcome_name(law.outcome);
        ASSERT_LT(wrong, 10);
      }
      std::printf("ratio %g%s: %d coalescence, %d stretching, %d reflexive, %d bounce, %d on an edge\n", ratio,
                  bounce ? " with bounce" : "", counts[0], counts[1], counts[2], counts[3], on_edge);
      EXPECT_EQ(on_edge, 0);
      EXPECT_GT(counts[0], 500);
      EXPECT_GT(counts[1], 500);
      EXPECT_GT(counts[2], 100);
      EXPECT_EQ(counts[3] > 0, bounce);
    }
}

/// We at which the outcome by energies stops being coalescence, by halving.
double edge_by_energy(double offset, double ratio, double low, double high) {
  for (int k = 0; k < 60; ++k) {
    const double weber = (low + high) / 2;
    (outcome_by_energy({weber, offset, ratio}, false).outcome == Outcome::coalescence ? low : high) = weber;
  }
  return high;
}

TEST(DropletRegimes, EdgesOfCoalescenceAreTheThresholds) {
  for (const double ratio : drawn_ratios)
    for (int k = 1; k < 20; ++k) {
      const double offset = k / 20.0;
      const double threshold = std::min(reflexive_threshold(offset, ratio), stretching_threshold(offset, ratio));
      EXPECT_NEAR(edge_by_energy(offset, ratio, 0, 1e5) / threshold, 1, 1e-9) << offset << " " << ratio;
    }
}

// The thresholds know no viscosity and no gas, and in experiments both outcomes are seen near every edge, so this is a
// measure of how good the model is, not of how well it is programmed: 90 % when it was written.
TEST(DropletRegimes, MostOfTheMapAgreesWithExperiments) {
  int points = 0, agree = 0;
  for (const RegimePoint& p : regime_map(1, false)) {
    if (p.impact.weber < 5) continue;
    ++points;
    agree += p.outcome == likeliest_in_experiments(p.impact.weber, p.impact.offset);
  }
  std::printf("the outcome is that of most experiments at %.1f %% of %d points\n", 100.0 * agree / points, points);
  EXPECT_GT(agree, 0.88 * points);
}

TEST(DropletRegimes, EqualDropletsHeadOnPartFrom18Point7) {
  EXPECT_NEAR(edge_by_energy(0, 1, 0, 1e5), 18.7, 0.05);
  const CollisionRules water;
  EXPECT_EQ(classify({18.6, 0, 1}, water), Outcome::coalescence);
  EXPECT_EQ(classify({18.7, 0, 1}, water), Outcome::reflexive);
}

}  // namespace
}  // namespace aegir::test
