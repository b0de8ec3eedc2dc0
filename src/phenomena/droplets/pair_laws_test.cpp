// Laws that every collision keeps, over a million random ones from the whole range of sizes, speeds and liquids.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <numbers>

#include "phenomena/droplets/pair.h"

namespace aegir {
namespace {

constexpr double pi = std::numbers::pi;
constexpr std::uint64_t million = 1000000;

/// Multiples of 2⁻³⁰, so that adding a multiple of 2⁻¹⁰ is exact.
double coarse(double x) { return std::round(x * 0x1p30) * 0x1p-30; }
Vec3d coarse(const Vec3d& v) { return {coarse(v.x), coarse(v.y), coarse(v.z)}; }

struct Case {
  Droplet a, b;
  CollisionRules rules;
  Random random;
};

/// Radii 1e-6…1 m, speeds 0…1e4 m/s, tensions 1e-6…10 N/m, all offsets (0, 1 and misses among them), densities that
/// differ by up to four, limits that bind or not, before, at and after the closest moment.
Case random_case(std::uint64_t number) {
  const Random r(20, number, 0, Purpose::test);
  const auto log_uniform = [&](std::uint32_t k, double low, double high) {
    return low * std::pow(high / low, r.uniform(k));
  };
  Case c{.a = {}, .b = {}, .rules = {}, .random = Random(21, number, 0, Purpose::test)};
  CollisionRules& rules = c.rules;
  rules.surface_tension = log_uniform(0, 1e-6, 10);
  rules.density = log_uniform(1, 100, 1e4);
  rules.smallest_radius = r.uniform(2) < 0.5 ? 1e-12 : log_uniform(3, 1e-6, 1e-2);
  rules.largest_radius = r.uniform(4) < 0.5 ? 1e3 : log_uniform(5, 1e-2, 1);
  rules.perturbation = r.uniform(6) < 0.3 ? 0 : log_uniform(7, 1e-3, 1);
  rules.most_satellites = static_cast<int>(r.uniform(8) * 40) - 3;
  rules.bounce = r.uniform(9) < 0.25;
  rules.restitution = r.uniform(10);
  const double radius = log_uniform(11, 1e-6, 1);
  const double ratio = r.uniform(12) < 0.2 ? 1 : r.uniform(12) < 0.6 ? r.uniform(13) : log_uniform(13, 1e-6, 1);
  const double other = std::max(1e-6, radius * ratio);
  const double kind = r.uniform(14), offset = kind < 0.05 ? 0 : kind < 0.1 ? 1 : r.uniform(15, 0, 1.02);
  const double speed = r.uniform(16) < 0.01 ? 0 : log_uniform(17, 1e-6, 1e4);
  const Vec3d along = r.direction(18), across = normalized(cross(along, r.direction(20)));
  c.a.radius = radius, c.b.radius = other;
  c.a.mass = 4.0 / 3 * pi * radius * radius * radius * rules.density * r.uniform(22, 0.5, 2);
  c.b.mass = 4.0 / 3 * pi * other * other * other * rules.density * r.uniform(23, 0.5, 2);
  if (ratio == 1 && r.uniform(33) < 0.5) c.b.mass = c.a.mass;
  c.a.position = coarse(r.direction(24) * r.uniform(26));
  c.b.position = c.a.position + (across * offset + along * (r.uniform(27) - 0.5)) * (radius + other);
  c.a.velocity = coarse(r.direction(28) * (r.uniform(30) < 0.5 ? 0 : speed * r.uniform(31)));
  c.b.velocity = c.a.velocity + coarse(along * speed);
  if (r.uniform(32) < 0.5) std::swap(c.a, c.b);
  return c;
}

struct Sums {
  double mass = 0, volume = 0, momentum_scale = 0, energy = 0;
  Vec3d momentum, moment;
  double radii = 0, reach = 0;
};

Sums sums_of(const Droplet* droplets, int count) {
  Sums s;
  for (int k = 0; k < count; ++k) {
    const Droplet& d = droplets[k];
    s.mass += d.mass, s.volume += d.radius * d.radius * d.radius, s.radii += d.radius * d.radius;
    s.momentum += d.velocity * d.mass, s.moment += (d.position - droplets[0].position) * d.mass;
    s.momentum_scale += d.mass * length(d.velocity), s.reach = std::max(s.reach, length(d.position));
  }
  const Vec3d drift = s.momentum / s.mass;
  for (int k = 0; k < count; ++k) {
    const Vec3d v = droplets[k].velocity - drift;
    s.energy += 0.5 * droplets[k].mass * dot(v, v);
  }
  return s;
}

bool same_bits(const Droplet& a, const Droplet& b) { return std::memcmp(&a, &b, sizeof(Droplet)) == 0; }

/// Greatest relative errors, and how often what happened.
struct Tally {
  double mass = 0, volume = 0, momentum = 0, momentum_of_before = 0, centre = 0, rise = 0, total_rise = 0, surface = 0;
  long outcomes[4] = {}, skipped = 0, satellites = 0, most = 0;
};

void note(double& worst, double value) { worst = std::max(worst, std::isnan(value) ? 1e300 : value); }

void conservation(const Case& c, const Collision& after, Tally& tally) {
  const Droplet before[2] = {c.a, c.b};
  const Sums was = sums_of(before, 2), is = sums_of(after.droplets.data(), after.count);
  note(tally.mass, std::abs(is.mass - was.mass) / was.mass);
  note(tally.volume, std::abs(is.volume - was.volume) / was.volume);
  // A speck that breaks a giant leaves pieces whose momenta are far greater than their sum, and so are their roundings.
  const double lost = length(is.momentum - was.momentum);
  if (was.momentum_scale > 0) {
    note(tally.momentum, lost / std::max(was.momentum_scale, is.momentum_scale));
    note(tally.momentum_of_before, lost / was.momentum_scale);
  }
  // The centre of mass, from c.a, in units of where things are.
  const Vec3d centre = is.moment / is.mass + (after.droplets[0].position - c.a.position);
  note(tally.centre, length(centre - was.moment / was.mass) / (was.reach + c.a.radius + c.b.radius));
  // Velocities are rounded in the caller's frame: that much energy is not known.
  const double speed = std::max(length(c.a.velocity), length(c.b.velocity));
  const double relative = std::sqrt(2 * was.energy / was.mass), blur = 1e-15 * was.mass * speed * (relative + speed);
  const double unit = was.energy + blur * 1e12;
  if (unit > 0) note(tally.rise, (is.energy - was.energy) / unit);
  const double surface_before = 4 * pi * c.rules.surface_tension * was.radii;
  const double surface_after = 4 * pi * c.rules.surface_tension * is.radii;
  note(tally.surface, std::abs(after.surface_energy_before - surface_before) / surface_before);
  note(tally.surface, std::abs(after.surface_energy_after - surface_after) / surface_before);
  note(tally.total_rise, (is.energy + surface_after - was.energy - surface_before) / (unit + surface_before));
}

void limits(const Case& c, const Collision& after, Tally& tally) {
  ASSERT_GE(after.count, 2);
  ASSERT_LE(after.count - 2, std::clamp(c.rules.most_satellites, 0, satellite_capacity));
  const Droplet* given[2] = {&c.a, &c.b};
  for (int k = 0; k < after.count; ++k) {
    const Droplet& d = after.droplets[static_cast<std::size_t>(k)];
    ASSERT_TRUE(is_finite(d.position) && is_finite(d.velocity) && std::isfinite(d.radius) && std::isfinite(d.mass));
    if (k < 2 && d.mass == 0) continue;
    ASSERT_GT(d.mass, 0);
    ASSERT_GT(d.radius, 0);
    const double was = k < 2 ? given[k]->radius : 0;
    if (d.radius == was) continue;
    ASSERT_TRUE(d.radius >= c.rules.smallest_radius || (k < 2 && d.radius > was));
    ASSERT_TRUE(d.radius <= c.rules.largest_radius || (k < 2 && d.radius < was));
  }
  ++tally.outcomes[static_cast<int>(after.outcome)];
  tally.skipped += after.skipped, tally.satellites += after.count - 2;
  tally.most = std::max<long>(tally.most, after.count - 2);
  if (!after.skipped) return;
  ASSERT_TRUE(same_bits(after.droplets[0], c.a) && same_bits(after.droplets[1], c.b));
  ASSERT_EQ(after.count, 2);
}

TEST(PairLaws, AMillionRandomCollisions) {
  Tally tally;
  for (std::uint64_t k = 0; k < million; ++k) {
    const Case c = random_case(k);
    const Collision after = resolve(c.a, c.b, c.rules, c.random);
    conservation(c, after, tally);
    limits(c, after, tally);
    if (HasFatalFailure()) FAIL() << "collision " << k;
  }
  std::printf(
      "relative errors: mass %.1e, volume %.1e, momentum %.1e (of what it was: %.1e), centre of mass %.1e; energy "
      "rises: kinetic %.1e, with "
      "surface %.1e\n%ld coalescence, %ld stretching, %ld reflexive, %ld bounce; %ld skipped, %ld satellites, at most "
      "%ld\n",
      tally.mass, tally.volume, tally.momentum, tally.momentum_of_before, tally.centre, tally.rise, tally.total_rise,
      tally.outcomes[0], tally.outcomes[1], tally.outcomes[2], tally.outcomes[3], tally.skipped, tally.satellites,
      tally.most);
  EXPECT_LT(tally.mass, 1e-14);
  EXPECT_LT(tally.volume, 1e-14);
  EXPECT_LT(tally.momentum, 1e-14);
  EXPECT_LT(tally.momentum_of_before, 1e-8);
  EXPECT_LT(tally.centre, 1e-14);
  EXPECT_LT(tally.rise, 1e-12);
  EXPECT_LT(tally.total_rise, 1e-12);
  EXPECT_LT(tally.surface, 1e-14);
  for (const long outcome : tally.outcomes) EXPECT_GT(outcome, 30000);
  EXPECT_GT(tally.skipped, 1000);
  EXPECT_EQ(tally.most, satellite_capacity);
}

TEST(PairLaws, TheOrderOfNamesExchangesTheBits) {
  for (std::uint64_t k = 0; k < million / 4; ++k) {
    const Case c = random_case(k);
    const Collision one = resolve(c.a, c.b, c.rules, c.random), other = resolve(c.b, c.a, c.rules, c.random);
    ASSERT_EQ(one.outcome, other.outcome);
    ASSERT_EQ(one.count, other.count);
    ASSERT_TRUE(same_bits(one.droplets[0], other.droplets[1]) && same_bits(one.droplets[1], other.droplets[0])) << k;
    for (std::size_t n = 2; n < static_cast<std::size_t>(one.count); ++n)
      ASSERT_TRUE(same_bits(one.droplets[n], other.droplets[n])) << k;
  }
}

TEST(PairLaws, ACommonVelocityAndACommonShiftAreOnlyAdded) {
  double worst_velocity = 0, worst_position = 0;
  for (std::uint64_t k = 0; k < million / 4; ++k) {
    const Case c = random_case(k);
    const Random r(22, k, 0, Purpose::test);
    const Vec3d boost{std::round(r.uniform(0, -4096, 4096)), std::round(r.uniform(1, -4096, 4096)), 512};
    const Vec3d shift{std::round(r.uniform(2, -64, 64)), std::round(r.uniform(3, -64, 64)), 16};
    Droplet a = c.a, b = c.b;
    a.position = coarse(a.position), b.position = coarse(b.position);  // so that shifts are exact
    const Collision still = resolve(a, b, c.rules, c.random);
    a.velocity += boost, b.velocity += boost, a.position += shift, b.position += shift;
    const Collision moved = resolve(a, b, c.rules, c.random);
    ASSERT_EQ(still.outcome, moved.outcome) << k;
    ASSERT_EQ(still.count, moved.count) << k;
    for (std::size_t n = 0; n < static_cast<std::size_t>(still.count); ++n) {
      const Droplet &d = still.droplets[n], &e = moved.droplets[n];
      ASSERT_EQ(d.radius, e.radius) << k;
      ASSERT_EQ(d.mass, e.mass) << k;
      note(worst_velocity, length(e.velocity - boost - d.velocity) / (length(e.velocity) + length(boost)));
      note(worst_position, length(e.position - shift - d.position) / (length(e.position) + length(shift)));
    }
  }
  EXPECT_LT(worst_velocity, 1e-15);
  EXPECT_LT(worst_position, 1e-15);
}

}  // namespace
}  // namespace aegir
