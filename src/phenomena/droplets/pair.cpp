// The droplets that are there after a collision. [Jones 2018, Algorithm 4 with (4.14)–(4.27)]
//
// All is done with the greater droplet i first and the smaller one j second, velocities relative to the centre of mass,
// positions relative to droplet i; only the last step returns to the caller's frame and order.
#include "phenomena/droplets/pair.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <tuple>

namespace aegir {
namespace {

// r_sat = 1.89 r_bu and a ligament of volume π r_0³:  n_sat = (r_0 / r_bu)³ · ¾ / 1.89³                (4.26)
constexpr double satellite_radius = 1.89;
// β = (3 / 4√2) k_1 k_2 with k_1 = 11.5, k_2 = 0.45
constexpr double breakup_rate = 3 / (4 * std::numbers::sqrt2) * 11.5 * 0.45;
// Share of the kinetic energy in the pair's frame that viscosity takes while a ligament is drawn.
constexpr double dissipated = 0.3;

constexpr double square(double x) { return x * x; }
constexpr double cube(double x) { return x * x * x; }

/// Whether a is named first: the greater one, and of equal ones an arbitrary but always the same one.
bool comes_first(const Droplet& a, const Droplet& b) {
  const auto key = [](const Droplet& d) {
    return std::tuple(-d.radius, -d.mass, d.position.x, d.position.y, d.position.z, d.velocity.x, d.velocity.y,
                      d.velocity.z);
  };
  return !(key(b) < key(a));
}

bool is_liquid(const Droplet& d) {
  return d.radius > 0 && d.mass > 0 && std::isfinite(d.radius) && std::isfinite(d.mass) && is_finite(d.position) &&
         is_finite(d.velocity);
}

/// Two droplets in the order and the frame of the work.
struct Pair {
  Droplet i, j;  ///< the greater and the smaller one
  Impact impact;
  Vec3d between, velocity;    ///< x_j − x_i, u_j − u_i
  double mass, mass_share;    ///< of both; m_j / m
  double kinetic_energy;      ///< in the frame of the centre of mass
  double volume_i, volume_j;  ///< r³ / r_i³, so that no radius is too small to be cubed
};

Pair pair_of(const Droplet& i, const Droplet& j, const CollisionRules& rules) {
  Pair p{i, j, impact_of(i, j, rules), j.position - i.position, j.velocity - i.velocity, i.mass + j.mass, 0, 0, 0, 0};
  p.mass_share = j.mass / p.mass;
  p.kinetic_energy = 0.5 * i.mass * p.mass_share * dot(p.velocity, p.velocity);
  p.volume_i = 1, p.volume_j = cube(p.impact.ratio);
  return p;
}

double surface_energy(const CollisionRules& rules, double squared_radii) {
  return 4 * std::numbers::pi * rules.surface_tension * squared_radii;
}

/// Σ r² of everything.
double squared_radii(const Collision& c) {
  double sum = 0;
  for (int k = 0; k < c.count; ++k) sum += square(c.droplets[static_cast<std::size_t>(k)].radius);
  return sum;
}

/// Both parents with the relative velocity z (u_j − u_i), where and as large as they were. (4.18)
void part(const Pair& p, const Vec3d& velocity, Collision& after) {
  after.droplets[0] = {{}, -velocity * p.mass_share, p.i.radius, p.i.mass};
  after.droplets[1] = {p.between, velocity * (p.i.mass / p.mass), p.j.radius, p.j.mass};
}

/// Where We = We_stretching(X) below `high`, at which We is above the threshold: false position, halving the weight of
/// an end that stays (Illinois). 0 if We is above it everywhere.
double stretching_offset(double weber, double ratio, double high) {
  const auto excess = [&](double x) {
    const double threshold = stretching_threshold(x, ratio);
    return std::isfinite(weber) ? weber / (weber + threshold) - 0.5 : (std::isfinite(threshold) ? 0.5 : -0.5);
  };
  double low = 0, below = excess(low), above = excess(high);
  if (!(below < 0)) return 0;
  for (int k = 0, side = 0; k < 60 && high - low > 1e-10; ++k) {
    const double x = std::clamp(low + (high - low) * (-below / (above - below)), low, high), value = excess(x);
    if (std::abs(value) < 1e-10) return x;
    if (value < 0) {
      low = x, below = value;
      if (side < 0) above /= 2;
      side = -1;
    } else {
      high = x, above = value;
      if (side > 0) below /= 2;
      side = 1;
    }
  }
  return high;
}

// z = (X − X_c) / (1 − X_c): nothing is left of the relative velocity at the edge of coalescence, all of it at X = 1
// (4.19). X_c is Brazier-Smith's. Where that says that they stay together although they were found to part (We below
// some 100), z = 0 would let two droplets fly on inside each other; there X_c is the edge that was used to find out.
double stretching_share(const Impact& impact) {
  double edge = coalescence_offset(impact.weber, impact.ratio);
  if (edge > impact.offset || stretching_threshold(edge, impact.ratio) < impact.weber)
    edge = std::min(edge, stretching_offset(impact.weber, impact.ratio, std::min(edge, impact.offset)));
  return edge < 1 ? std::clamp((impact.offset - edge) / (1 - edge), 0.0, 1.0) : 1;
}

// z = √(1 − We_reflexive / We)                                                                       (4.20)
double reflexive_share(const Impact& impact) {
  return std::sqrt(std::clamp(1 - reflexive_threshold(impact.offset, impact.ratio) / impact.weber, 0.0, 1.0));
}

// C_sep = (E_stretch − E_surface − E_dissip) / (their sum), in units of E_stretch: E_surface is We_stretching / We, and
// E_dissip = 0.3 · ½ ρ u² V_i δ³/(1+δ³) is 0.3 (1+δ³) / D.                                             (4.22)
double separated_share(const Impact& impact, const Overlap& overlap) {
  const double cubed = cube(impact.ratio), squared = square(impact.offset);
  const double stretched =
      (1 - overlap.smaller) + squared * overlap.smaller + cubed * ((1 - overlap.greater) + squared * overlap.greater);
  if (!(stretched > 0)) return 0;
  const double against =
      stretching_threshold(impact.offset, impact.ratio) / impact.weber + dissipated * (1 + cubed) / stretched;
  return std::clamp((1 - against) / (1 + against), 0.0, 1.0);
}

/// How many droplets a ligament of this volume (in r_i³) breaks up into, to the nearest integer, at most `most`.
int pieces(const Pair& p, double volume, int most) {
  const double length = std::cbrt(4.0 / 3.0 * volume);  // r_0 / r_i = (V / π)^⅓
  const double ratio = breakup_ratio(p.impact.weber * (length / p.impact.ratio));
  const double count = 0.75 / cube(satellite_radius * ratio) + 0.5;
  return count < most + 1 ? static_cast<int>(count) : most;
}

/// Whether n satellites of radius r are within the limits, and cost no more surface than the kinetic energy pays for.
bool allowed(const Pair& p, const CollisionRules& rules, double radius, double squared_radii_after) {
  const double cost = surface_energy(rules, squared_radii_after - square(p.i.radius) - square(p.j.radius));
  return radius >= rules.smallest_radius && radius <= rules.largest_radius &&
         cost <= (1 - dissipated) * p.kinetic_energy;
}

// u_n = (V_i ũ_i + V_j (ũ_j + (2n/(n_sat + 1) − 1) ũ_ij)) / V, V_i and V_j what each gave to the ligament, satellite
// n_sat next to j. Its mean is the ligament's velocity; V_j ≤ V_i, so that no satellite overtakes a parent. (4.27)
void line_up(const Pair& p, int satellites, double share_j, const Droplet& satellite, Collision& after) {
  const Vec3d ui = after.droplets[0].velocity, apart = after.droplets[1].velocity - ui;
  for (int n = 1; n <= satellites; ++n) {
    const double along = static_cast<double>(n) / (satellites + 1);
    after.droplets[static_cast<std::size_t>(n) + 1] = {p.between * along, ui + apart * (2 * share_j * along),
                                                       satellite.radius, satellite.mass};
  }
  after.count = 2 + satellites;
}

// Rotation by α about a random axis k, v cos α + k × v sin α + k (k·v)(1 − cos α), and scaled by (1 − α)²; α is uniform
// in [0, η n_sat], at most 1.
void perturb(const CollisionRules& rules, const Random& random, int first, Collision& after) {
  const double range = rules.perturbation * (after.count - 2);
  if (!(range > 0)) return;
  for (int k = first; k < after.count; ++k) {
    const std::uint32_t draw = 3 * static_cast<std::uint32_t>(k);
    Vec3d& v = after.droplets[static_cast<std::size_t>(k)].velocity;
    const double angle = std::min(1.0, range * random.uniform(draw)), c = std::cos(angle), s = std::sin(angle);
    const Vec3d axis = random.direction(draw + 1);
    v = (v * c + cross(axis, v) * s + axis * (dot(axis, v) * (1 - c))) * square(1 - angle);
  }
}

/// Puts the centre of mass of all pieces to rest where that of the pair was.
void centre(const Pair& p, Collision& after) {
  Vec3d momentum, moment;
  for (int k = 0; k < after.count; ++k) {
    const Droplet& d = after.droplets[static_cast<std::size_t>(k)];
    momentum += d.velocity * d.mass, moment += d.position * d.mass;
  }
  const Vec3d drift = momentum / p.mass, shift = p.between * p.mass_share - moment / p.mass;
  for (int k = 0; k < after.count; ++k) {
    Droplet& d = after.droplets[static_cast<std::size_t>(k)];
    d.velocity -= drift, d.position += shift;
  }
}

/// Slows all pieces down to the kinetic energy that was there, less what new surface costs.
void limit_energy(const Pair& p, const CollisionRules& rules, Collision& after) {
  double energy = 0;
  for (int k = 0; k < after.count; ++k) {
    const Droplet& d = after.droplets[static_cast<std::size_t>(k)];
    energy += 0.5 * d.mass * dot(d.velocity, d.velocity);
  }
  const double cost = surface_energy(rules, squared_radii(after) - square(p.i.radius) - square(p.j.radius));
  const double limit = std::max(0.0, p.kinetic_energy - std::max(0.0, cost));
  if (!(energy > limit)) return;
  const double slower = std::sqrt(limit / energy);
  for (int k = 0; k < after.count; ++k) after.droplets[static_cast<std::size_t>(k)].velocity *= slower;
}

/// Mass and volume add up, at the centre of mass, in the greater droplet. (4.14)–(4.17)
void coalesce(const Pair& p, const CollisionRules& rules, Collision& after) {
  const double radius = p.i.radius * std::cbrt(p.volume_i + p.volume_j);
  after.skipped = radius > rules.largest_radius;
  if (after.skipped) return;
  after.droplets[0] = {p.between * p.mass_share, {}, radius, p.mass};
  after.droplets[1] = {p.between * p.mass_share, {}, 0, 0};
}

/// A ligament of part of the overlap, which both parents pay for; satellites of one size from it.
void stretch(const Pair& p, const CollisionRules& rules, int most, const Random& random, Collision& after) {
  part(p, p.velocity * stretching_share(p.impact), after);
  const Overlap overlap = overlap_of(p.impact.offset, p.impact.ratio);
  const double share = separated_share(p.impact, overlap);
  const double given_i = share * overlap.greater, given_j = share * overlap.smaller;
  const double volume_j = given_j * p.volume_j, volume = given_i * p.volume_i + volume_j;
  if (!(volume > 0)) return;
  const double radius_i = p.i.radius * std::cbrt(1 - given_i), radius_j = p.j.radius * std::cbrt(1 - given_j);
  if (radius_i < rules.smallest_radius || radius_j < rules.smallest_radius) return;
  for (int n = pieces(p, volume, most); n > 0; --n) {
    const double radius = p.i.radius * std::cbrt(volume / n);
    if (!allowed(p, rules, radius, square(radius_i) + square(radius_j) + n * square(radius))) continue;
    const double mass_i = given_i * p.i.mass, mass_j = given_j * p.j.mass;
    after.droplets[0].radius = radius_i, after.droplets[0].mass = p.i.mass - mass_i;
    after.droplets[1].radius = radius_j, after.droplets[1].mass = p.j.mass - mass_j;
    line_up(p, n, volume_j / volume, {{}, {}, radius, (mass_i + mass_j) / n}, after);
    perturb(rules, random, 2, after);
    return centre(p, after);
  }
}

/// All of the liquid is the ligament, and all pieces have one size; two of them are the parents.
void reflect(const Pair& p, const CollisionRules& rules, int most, const Random& random, Collision& after) {
  part(p, p.velocity * reflexive_share(p.impact), after);
  const double volume = p.volume_i + p.volume_j;
  for (int n = pieces(p, volume, 2 + most); n > 2; --n) {
    const double radius = p.i.radius * std::cbrt(volume / n);
    if (!allowed(p, rules, radius, n * square(radius))) continue;
    const Droplet piece{{}, {}, radius, p.mass / n};
    line_up(p, n - 2, p.volume_j / volume, piece, after);
    for (std::size_t k : {0u, 1u}) after.droplets[k].radius = piece.radius, after.droplets[k].mass = piece.mass;
    perturb(rules, random, 0, after);
    return centre(p, after);
  }
}

// u' = u + (1 + e) √(1 − X²) |u| n along the line of centres at first contact, n = X ê − √(1 − X²) û, with ê the unit
// vector from i to j across û. (At the moment of greatest overlap the centres lie across û, and nothing would bounce.)
void bounce_off(const Pair& p, const CollisionRules& rules, Collision& after) {
  const double speed = length(p.velocity), x = p.impact.offset, facing = std::sqrt(std::max(0.0, 1 - square(x)));
  const Vec3d along = normalized(p.velocity), across = normalized(p.between - along * dot(p.between, along));
  const Vec3d normal = across * x - along * facing;
  const double restitution = std::clamp(rules.restitution, 0.0, 1.0);
  part(p, p.velocity + normal * ((1 + restitution) * facing * speed), after);
}

/// From the frame and order of the work to the caller's.
void deliver(const Pair& p, bool exchanged, Collision& after) {
  const Vec3d drift = p.i.velocity + p.velocity * p.mass_share;
  const bool stay = after.count == 2 && after.droplets[1].mass > 0;  // nobody moved: not even by rounding
  for (int k = 0; k < after.count; ++k) {
    Droplet& d = after.droplets[static_cast<std::size_t>(k)];
    d.velocity += drift;
    d.position = stay ? (k == 0 ? p.i.position : p.j.position) : d.position + p.i.position;
  }
  if (exchanged) std::swap(after.droplets[0], after.droplets[1]);
}

}  // namespace

// Time until the ligament's fastest disturbance breaks it is k_1 k_2 ¾ √(ρ r_bu³ / σ); it is drawn out with u
// meanwhile, so
//   β √We_0 q^(7/2) + q² − 1 = 0,   q = r_bu / r_0,   We_0 = 2 ρ r_0 u² / σ                            (4.25)
// With b = β √We_0, q = s y and s = min(1, b^(−2/7)) this is B y^(7/2) + s² y² − 1 = 0 with B = min(1, b). It rises and
// is convex, negative at y = 0.7 and not negative at 1 for every b, so that Newton's steps from 1 come down to the
// root; one that rounding throws out of the bracket is replaced by its middle.
double breakup_ratio(double ligament_weber) {
  const double b = breakup_rate * std::sqrt(std::max(0.0, ligament_weber));
  const double scale = b > 1 ? std::pow(b, -2.0 / 7) : 1, high_term = std::min(1.0, b), low_term = square(scale);
  double low = 0.7, high = 1, y = 1;
  for (int k = 0; k < 40 && high - low > 1e-15; ++k) {
    const double y2 = square(y), y52 = y2 * std::sqrt(y);
    const double value = high_term * y52 * y + low_term * y2 - 1;
    if (value == 0) break;
    (value > 0 ? high : low) = y;
    double next = y - value / (3.5 * high_term * y52 + 2 * low_term * y);
    if (!(next >= low && next <= high)) next = (low + high) / 2;
    if (std::abs(next - y) <= 2e-16) break;
    y = next;
  }
  return scale * y;
}

Collision resolve(const Droplet& a, const Droplet& b, const CollisionRules& rules, const Random& random) {
  Collision after;
  after.droplets[0] = a, after.droplets[1] = b;
  after.surface_energy_before = surface_energy(rules, square(a.radius) + square(b.radius));
  after.surface_energy_after = after.surface_energy_before;
  if (!is_liquid(a) || !is_liquid(b)) {
    after.skipped = true;
    return after;
  }
  const bool exchanged = !comes_first(a, b);
  const Pair p = exchanged ? pair_of(b, a, rules) : pair_of(a, b, rules);
  const int most = std::clamp(rules.most_satellites, 0, satellite_capacity);
  after.outcome = classify(p.impact, rules);
  switch (after.outcome) {
    case Outcome::coalescence:
      coalesce(p, rules, after);
      break;
    case Outcome::stretching:
      stretch(p, rules, most, random, after);
      break;
    case Outcome::reflexive:
      reflect(p, rules, most, random, after);
      break;
    case Outcome::bounce:
      bounce_off(p, rules, after);
      break;
  }
  if (after.skipped) return after;
  limit_energy(p, rules, after);
  deliver(p, exchanged, after);
  after.surface_energy_after = surface_energy(rules, squared_radii(after));
  return after;
}

}  // namespace aegir
