#include "droplets/regimes.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace aegir::test {
namespace {

constexpr double pi = std::numbers::pi, density = 997.044, tension = 0.072;

double ball(double radius) { return 4.0 / 3 * pi * radius * radius * radius; }

/// How much of a ball lies nearer than `reach` to a plane at distance `away` from its centre, disc by disc.
double in_path(double radius, double away, double reach) {
  constexpr int discs = 2000;
  const double low = std::max(-radius, away - reach), high = std::min(radius, away + reach);
  if (high <= low) return 0;
  const double step = (high - low) / discs;
  double volume = 0;
  for (int k = 0; k < discs; ++k) {
    // Two points of Gauss per disc.
    const double middle = low + (k + 0.5) * step, aside = step / (2 * std::sqrt(3.0));
    for (const double z : {middle - aside, middle + aside}) volume += step / 2 * pi * (radius * radius - z * z);
  }
  return volume;
}

double surface(double radius) { return 4 * pi * radius * radius * tension; }

}  // namespace

std::vector<RegimePoint> regime_map(double ratio, bool bounce) {
  CollisionRules rules;
  rules.bounce = bounce;
  std::vector<RegimePoint> map;
  for (int row = 0; row < 50; ++row)
    for (int column = 0; column < 150; ++column) {
      const Impact impact{(column + 0.5) / 150 * drawn_weber, (row + 0.5) / 50, ratio};
      map.push_back({impact, classify(impact, rules)});
    }
  return map;
}

EnergyVerdict outcome_by_energy(const Impact& impact, bool bounce) {
  const double greater = 1e-3, smaller = greater * impact.ratio, apart = impact.offset * (greater + smaller);
  const double speed = std::sqrt(impact.weber * tension / (density * 2 * smaller));
  const double mass_i = density * ball(greater), mass_j = density * ball(smaller);
  const double u_i = speed * mass_j / (mass_i + mass_j), u_j = speed - u_i;
  const double path_i = density * in_path(greater, apart, smaller), path_j = density * in_path(smaller, apart, greater);
  const double merged = std::cbrt(std::pow(greater, 3) + std::pow(smaller, 3));
  EnergyVerdict verdict;
  const auto exceeds = [&](double energy, double barrier) {
    verdict.margin = std::min(verdict.margin, std::abs(energy - barrier) / (std::abs(energy) + std::abs(barrier)));
    return energy > barrier;
  };

  // Bounce: the approach along the line of centres does not deform the droplets to the limit.
  const double approach = 0.5 * path_i * speed * speed * (1 - impact.offset * impact.offset);
  if (bounce && exceeds((surface(greater) + surface(smaller)) * (3.351 / 3 - 1), approach)) {
    verdict.outcome = Outcome::bounce;
    return verdict;
  }
  // Reflexive separation: liquid that flies head-on, and the surface that merging sets free, against the liquid that
  // stretches and three quarters of the merged droplet's surface.
  if (const double half = apart / 2; half < smaller) {
    const auto head_on = [&](double r) {
      return density * 4.0 / 3 * pi * (r - half) * (r - half) * std::sqrt(r * r - half * half);
    };
    const double against = 0.5 * (head_on(greater) * u_i * u_i + head_on(smaller) * u_j * u_j);
    const double all = 0.5 * (mass_i * u_i * u_i + mass_j * u_j * u_j);
    const double freed = surface(greater) + surface(smaller) - surface(merged);
    if (exceeds(against + freed - (all - against), 0.75 * surface(merged))) {
      verdict.outcome = Outcome::reflexive;
      return verdict;
    }
  }
  // Stretching separation: liquid that flies on against the side of a cylinder of the overlapping liquid.
  const double slowed = impact.offset * impact.offset;
  const double stretch =
      0.5 * ((mass_i - path_i + slowed * path_i) * u_i * u_i + (mass_j - path_j + slowed * path_j) * u_j * u_j);
  const double width = greater + smaller - apart, radius = std::sqrt((path_i + path_j) / density / (pi * width));
  if (exceeds(stretch, 2 * pi * radius * width * tension)) verdict.outcome = Outcome::stretching;
  return verdict;
}

Outcome likeliest_in_experiments(double weber, double offset) {
  const double ohnesorge = 0.01, ratio = 1;
  const auto score = [](double scale, double shift, double f) { return scale * std::clamp(f, 0.0, 1.0) + shift; };
  const double swing = std::cos(0.00742 * weber + offset / std::sqrt(ratio) / 0.391) / 0.675;
  const double coalescence =
      score(5.49, 7.04, std::cos(std::sin(offset - swing - ohnesorge) + 0.55) * std::sin(std::sqrt(ratio)));
  const double reflexive =
      score(8.54, 7.00, std::sin(std::exp(1.10 - (2.19 / weber + ohnesorge) * 9.04 * std::exp(offset / 0.158))));
  const double stretching =
      score(6.03, 7.00, std::sin(std::exp(-std::sin(std::sin(2.78 * offset) * std::log(weber))) * offset));
  if (coalescence >= std::max(reflexive, stretching)) return Outcome::coalescence;
  return reflexive >= stretching ? Outcome::reflexive : Outcome::stretching;
}

}  // namespace aegir::test
