// What happens when two droplets meet: the outcome by thresholds, and the droplets that are there afterwards.
//
//   const Impact impact = impact_of(a, b, rules);               // We, X, δ
//   if (classify(impact, rules) == Outcome::stretching) …
//   const Collision after = resolve(a, b, rules, random);       // after.droplets: what is left of both, then
//   satellites
//
// Nothing depends on the frame of the caller (Galilean invariance), on units, or on which droplet is named first:
// resolve(b, a) gives the bits of resolve(a, b) with droplets [0] and [1] exchanged. Mass, volume (r³), momentum and
// centre of mass are kept; kinetic energy in the pair's frame never rises, nor does kinetic plus surface energy.
// [Jones 2018, chapter 4; Brazier-Smith et al. 1972; Ashgriz & Poo 1990; Estrade et al. 1999; Munnannur & Reitz 2007]
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/random.h"
#include "base/vec.h"

namespace aegir {

/// One droplet at the moment of the collision.
struct Droplet {
  Vec3d position, velocity;  ///< m, m/s
  double radius = 0;         ///< m
  double mass = 0;           ///< kg; 0: it is gone
};

enum class Outcome { coalescence, stretching, reflexive, bounce };
/// The outcome's name in setups, statistics and manuals.
std::string_view outcome_name(Outcome outcome);

/// What decides the outcome: Weber number (with the smaller one's diameter), impact parameter 0…1, ratio of radii 0…1.
struct Impact {
  double weber = 0, offset = 0, ratio = 1;
};

/// The model's parameters, Table 4.1 of Jones 2018.
struct CollisionRules {
  double surface_tension = 0.072;  ///< N/m; 0: every collision is one of We = ∞
  double density = 997.044;  ///< kg/m³, of the liquid, for We and energies; momentum goes by the droplets' masses
  double smallest_radius = 0.0001;  ///< m; no collision makes a smaller droplet
  double largest_radius = 0.05;     ///< m; no collision makes a greater droplet
  double perturbation = 0.01;  ///< η: n satellites turn by up to η n radian (one at most), slower the more they turn
  int most_satellites = 5;     ///< per collision, at most satellite_capacity
  bool bounce = false;         ///< whether droplets may bounce (Estrade)
  double restitution = 1;      ///< of bounces
};

inline constexpr int satellite_capacity = 32;

/// Everything that is left: `droplets[0]` and `[1]` are the two that met (mass 0 if merged into the other, which is the
/// greater one), then satellites, from the greater to the smaller droplet.
struct Collision {
  Outcome outcome = Outcome::coalescence;
  bool skipped = false;  ///< size limits forbade it, or there is no liquid to collide: nothing changed
  int count = 2;
  std::array<Droplet, 2 + satellite_capacity> droplets;
  double surface_energy_before = 0, surface_energy_after = 0;  ///< J
};

/// We above which head-on droplets part again; infinite where they never do.
double reflexive_threshold(double offset, double ratio);
/// We above which droplets that graze each other part again; infinite where they never do.
double stretching_threshold(double offset, double ratio);
/// We below which droplets bounce; infinite for those that only touch.
double bounce_threshold(double offset, double ratio);
/// X above which the spin of the merged droplet could part it again [Brazier-Smith et al. 1972]; 1 where it never does.
double coalescence_offset(double weber, double ratio);
/// r_bu / r_0: how thin a ligament, at first as long as its radius r_0, gets before it breaks up; 0…1 for We_0 from ∞
/// to 0.
double breakup_ratio(double ligament_weber);

/// Shares of the greater and the smaller droplet that lie in the other's path.
struct Overlap {
  double greater = 0, smaller = 0;
};
/// Spheres cut by planes along the relative velocity that touch the other sphere.
Overlap overlap_of(double offset, double ratio);

/// We, X, δ of two droplets, at any moment of their meeting; X = 0 if they move alike.
Impact impact_of(const Droplet& a, const Droplet& b, const CollisionRules& rules);
/// Bounce (if allowed) before reflexive separation, that before stretching separation, that before coalescence.
Outcome classify(const Impact& impact, const CollisionRules& rules);

/// Two droplets at the moment of greatest overlap. `random` draws the perturbation.
Collision resolve(const Droplet& a, const Droplet& b, const CollisionRules& rules, const Random& random);

}  // namespace aegir
