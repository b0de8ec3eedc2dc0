// Thresholds between the outcomes. Symbols: δ = r_j / r_i ≤ 1 ratio of radii, X offset of the centres across the
// relative velocity u over r_i + r_j, We = 2 ρ r_j u² / σ, τ = (1 − X)(1 + δ) width of the overlap over r_i, φ shares
// that overlap.
#include <algorithm>
#include <cmath>
#include <limits>

#include "phenomena/droplets/pair.h"

namespace aegir {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr double limit_shape = 3.351;  // Θ: of droplets so deformed that they bounce no more [Estrade et al. 1999]

constexpr double square(double x) { return x * x; }
constexpr double cube(double x) { return x * x * x; }

/// top / bottom, where a bottom that is not positive means never.
double threshold(double top, double bottom) { return bottom > 0 ? top / bottom : infinite; }

}  // namespace

std::string_view outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::coalescence:
      return "coalescence";
    case Outcome::stretching:
      return "stretching";
    case Outcome::reflexive:
      return "reflexive";
    case Outcome::bounce:
      return "bounce";
  }
  return "unknown";
}

// A cap of height t of the unit sphere has the share C(t) = t² (3 − t) / 4 of its volume. The path of the smaller
// droplet cuts the greater one at heights τ and, if the smaller one lies in the other's path entirely, τ' = τ − 2δ:
//   φ_i = C(τ) − C(τ'),   φ_j = C(τ/δ), or 1 if τ ≥ 2δ         [(4.10), (4.11), whose two branches are one polynomial]
// C(τ) − C(τ') is written as a product with τ − τ', so that a tiny droplet's φ_i keeps its digits.
Overlap overlap_of(double offset, double ratio) {
  const double width = (1 - offset) * (1 + ratio);
  const bool whole = width >= 2 * ratio;
  const double beyond = whole ? width - 2 * ratio : 0, thickness = whole ? 2 * ratio : width;
  const double heights = 3 * (width + beyond) - (square(width) + width * beyond + square(beyond));
  const double smaller = whole ? 1 : square(width / ratio) * (3 - width / ratio) / 4;
  return {std::clamp(thickness * heights / 4, 0.0, 1.0), std::clamp(smaller, 0.0, 1.0)};
}

// The liquid that does not overlap flies on; the rest keeps X of its velocity. In the frame of the centre of mass
//   E_stretch = ½ ρ u² V_i δ³/(1+δ³)² D,   D = (1+δ³) − (1 − X²)(φ_j + δ³ φ_i)                              (4.23)
// stands against the side of a cylinder of length h = τ r_i that holds the overlap,
//   E_surface = 2 σ √(π h (φ_i V_i + φ_j V_j)) = 2 σ √(π V_i r_i τ (φ_i + δ³ φ_j))                          (4.24)
// E_stretch = E_surface:   We = 4 (1+δ³)² √(3 τ (φ_i + δ³ φ_j)) / (δ² D)                                    (4.9)
double stretching_threshold(double offset, double ratio) {
  const Overlap overlap = overlap_of(offset, ratio);
  const double cubed = cube(ratio), width = (1 - offset) * (1 + ratio);
  const double free_smaller = (1 - overlap.smaller) + square(offset) * overlap.smaller;
  const double free_greater = (1 - overlap.greater) + square(offset) * overlap.greater;
  const double volume = overlap.greater + cubed * overlap.smaller;
  return threshold(4 * square(1 + cubed) * std::sqrt(3 * width * volume),
                   square(ratio) * (free_smaller + cubed * free_greater));
}

// Liquid that flies head-on (prolate volumes 1 + η_i and δ³ + η_j, halved) turns the flow round, the rest stretches it:
//   E_reflex = 4πσr_i² [1 + δ² − (1+δ³)^⅔ + We (δ⁶η_i + η_j) / (12 δ (1+δ³)²)]  >  ¾ · 4πσr_i² (1+δ³)^⅔     (A.14)
//   η_i = 2 (1−ξ)² √(1−ξ²) − 1,   η_j = 2 (δ−ξ)² √(δ²−ξ²) − δ³,   ξ = X (1+δ) / 2
// We = 3 [7 (1+δ³)^⅔ − 4 (1+δ²)] δ (1+δ³)² / (δ⁶η_i + η_j)                                                  (4.12)
// Above and below the line are divided by δ³. None where ξ ≥ δ or δ⁶η_i + η_j ≤ 0.
double reflexive_threshold(double offset, double ratio) {
  const double xi = offset * (1 + ratio) / 2;
  if (!(xi < ratio)) return infinite;
  const double cubed = cube(ratio), scaled = xi / ratio;
  const double greater = 2 * square(1 - xi) * std::sqrt(1 - square(xi)) - 1;
  const double smaller = 2 * square(1 - scaled) * std::sqrt(1 - square(scaled)) - 1;
  const double barrier = 7 * square(std::cbrt(1 + cubed)) - 4 * (1 + square(ratio));
  return threshold(3 * barrier * square(1 + cubed), square(ratio) * (cubed * greater + smaller));
}

// The overlap of the greater droplet, seen from the smaller one, has ½ ρ φ_i V_i u² (1 − X²) along the line of centres;
// the limit shape has 4πσ (r_i² + r_j²)(Θ/3 − 1) more surface than spheres:
//   We = δ (1+δ²) (4Θ − 12) / (φ_i (1 − X²))                                                                (4.13)
double bounce_threshold(double offset, double ratio) {
  return threshold(ratio * (1 + square(ratio)) * (4 * limit_shape - 12),
                   overlap_of(offset, ratio).greater * (1 - square(offset)));
}

// The merged droplet's spin, L²/2I with L = μ X (r_i + r_j) u and I = ⅖ M R², against the surface that two have more:
//   X² = (24/5) [1 + δ² − (1+δ³)^⅔] (1+δ³)^(11/3) / (We δ⁵ (1+δ)²) = 4.8 f(1/δ) / We            (4.5)–(4.7), corrected
// With c = (1+δ³)^⅓ the bracket is δ² − δ³ (c+1)/(c²+c+1), which a tiny droplet does not cancel.
double coalescence_offset(double weber, double ratio) {
  const double cubed = cube(ratio), c = std::cbrt(1 + cubed), c2 = square(c), c8 = square(square(c2));
  const double surface = 1 - ratio * (c + 1) / (c2 + c + 1);
  const double needed = 4.8 * surface * c8 * c2 * c / (cubed * square(1 + ratio));
  return std::sqrt(std::min(1.0, needed / weber));
}

Impact impact_of(const Droplet& a, const Droplet& b, const CollisionRules& rules) {
  const Vec3d between = b.position - a.position, velocity = b.velocity - a.velocity;
  const double smaller = std::min(a.radius, b.radius), greater = std::max(a.radius, b.radius);
  const double squared_speed = dot(velocity, velocity), ratio = smaller / greater;
  if (!(squared_speed > 0)) return {0, 0, ratio};
  const double across = length(cross(between, velocity)) / (std::sqrt(squared_speed) * (a.radius + b.radius));
  return {2 * rules.density * smaller * squared_speed / rules.surface_tension, std::min(1.0, across), ratio};
}

// Some 100 flops, three square roots and a cube root.
Outcome classify(const Impact& impact, const CollisionRules& rules) {
  if (rules.bounce && impact.weber < bounce_threshold(impact.offset, impact.ratio)) return Outcome::bounce;
  if (impact.weber > reflexive_threshold(impact.offset, impact.ratio)) return Outcome::reflexive;
  if (impact.weber > stretching_threshold(impact.offset, impact.ratio)) return Outcome::stretching;
  return Outcome::coalescence;
}

}  // namespace aegir
