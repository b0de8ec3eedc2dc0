// Prints the map of outcomes as CSV for tools/plot_droplets.py: every point that classify() was asked, the
// thresholds over X, and edges of outcomes in experiments.
#include <cmath>
#include <cstdio>

#include "droplets/regimes.h"

int main() {
  using namespace aegir;
  std::printf("kind,ratio,offset,weber,outcome\n");
  for (const double ratio : test::drawn_ratios) {
    for (const test::RegimePoint& p : test::regime_map(ratio, false))
      std::printf("point,%g,%g,%g,%s\n", ratio, p.impact.offset, p.impact.weber, outcome_name(p.outcome).data());
    for (int k = 0; k <= 500; ++k) {
      const double offset = k / 500.0;
      const struct {
        Outcome outcome;
        double weber;
      } thresholds[] = {{Outcome::reflexive, reflexive_threshold(offset, ratio)},
                        {Outcome::stretching, stretching_threshold(offset, ratio)},
                        {Outcome::bounce, bounce_threshold(offset, ratio)}};
      for (const auto& [outcome, weber] : thresholds)
        if (std::isfinite(weber))
          std::printf("threshold,%g,%g,%.6g,%s\n", ratio, offset, weber, outcome_name(outcome).data());
    }
  }
  // Edges of coalescence in experiments with equal droplets, from X = 0 upwards.
  for (int weber = 10; weber <= test::drawn_weber; weber += 10) {
    Outcome last = test::likeliest_in_experiments(weber, 0);
    for (int k = 1; k <= 1000; ++k) {
      const Outcome next = test::likeliest_in_experiments(weber, k / 1000.0);
      if (next != last) std::printf("experiment,1,%g,%d,%s\n", (k - 0.5) / 1000, weber, outcome_name(next).data());
      last = next;
    }
  }
}
