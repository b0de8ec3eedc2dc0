// Thresholds against the energies they come from, written here with units and with volumes by numerical integration.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "phenomena/droplets/pair.h"

namespace aegir {
namespace {

constexpr double pi = std::numbers::pi, rho = 997.044, sigma = 0.072;
constexpr double infinite = std::numeric_limits<double>::infinity();

double ball(double r) { return 4.0 / 3 * pi * r * r * r; }

/// Volume of the part of a ball of radius r around 0 between two planes, by Simpson's rule (exact for a cubic).
double slice(double r, double low, double high) {
  low = std::clamp(low, -r, r), high = std::clamp(high, -r, r);
  const auto disc = [&](double z) { return pi * (r * r - z * z); };
  return (high - low) / 6 * (disc(low) + 4 * disc((low + high) / 2) + disc(high));
}

/// A collision with units: greater radius 1 mm.
struct Scene {
  double ri = 1e-3, rj, x, u;
  Scene(double offset, double ratio, double weber)
      : rj(ri * ratio), x(offset * (ri + rj)), u(std::sqrt(weber * sigma / (2 * rho * rj))) {}

  double vi() const { return ball(ri); }
  double vj() const { return ball(rj); }
  double ui() const { return u * vj() / (vi() + vj()); }
  double uj() const { return u * vi() / (vi() + vj()); }
  double overlap_i() const { return slice(ri, x - rj, x + rj); }
  double overlap_j() const { return slice(rj, x - ri, x + ri); }
  double free_i() const { return slice(ri, -ri, x - rj) + slice(ri, x + rj, ri); }
  double free_j() const { return slice(rj, -rj, x - ri) + slice(rj, x + ri, rj); }
};

template <class Body>
void over_offsets_and_ratios(const Body& body) {
  for (const double ratio : {1.0, 0.95, 0.75, 0.5, 0.3, 0.1, 0.01, 1e-4})
    for (int k = 0; k <= 40; ++k) body(k / 40.0, ratio);
}

TEST(Overlap, IsTheVolumeInTheOthersPath) {
  over_offsets_and_ratios([](double offset, double ratio) {
    const Scene s(offset, ratio, 1);
    const Overlap share = overlap_of(offset, ratio);
    EXPECT_NEAR(share.greater * s.vi(), s.overlap_i(), 1e-14 * s.vi()) << offset << " " << ratio;
    EXPECT_NEAR(share.smaller, s.overlap_j() / s.vj(), 1e-11) << offset << " " << ratio;
  });
}

TEST(Overlap, OfATinyDropletIsASliceOfTheGreaterOne) {
  // 2δ · ¾ (1 − X²) to the first order: a plate of thickness 2 r_j through the greater ball at X r_i.
  for (const double offset : {0.0, 0.3, 0.9})
    EXPECT_NEAR(overlap_of(offset, 1e-9).greater / (1.5e-9 * (1 - offset * offset)), 1, 1e-7);
  EXPECT_EQ(overlap_of(0.5, 1e-9).smaller, 1);
}

TEST(StretchingThreshold, IsWhereStretchingPaysForTheLigament) {
  over_offsets_and_ratios([](double offset, double ratio) {
    const double weber = stretching_threshold(offset, ratio);
    if (!(weber > 0) || weber == infinite) return;
    const Scene s(offset, ratio, weber);
    const double free_part = s.free_i() * s.ui() * s.ui() + s.free_j() * s.uj() * s.uj();
    const double slowed = offset * offset * (s.overlap_i() * s.ui() * s.ui() + s.overlap_j() * s.uj() * s.uj());
    const double stretch = 0.5 * rho * (free_part + slowed);
    const double length = s.ri + s.rj - s.x;  // of a cylinder of the overlapping volume: its side is 2π √(V/πh) h
    const double surface = sigma * 2 * pi * length * std::sqrt((s.overlap_i() + s.overlap_j()) / (pi * length));
    EXPECT_NEAR(stretch / surface, 1, 1e-8) << offset << " " << ratio;
  });
}

TEST(StretchingThreshold, FallsTowardsGrazing) {
  for (const double ratio : {1.0, 0.75, 0.5, 0.1, 1e-3}) {
    double last = infinite;
    for (int k = 0; k <= 10000; ++k) {
      const double weber = stretching_threshold(k / 1e4, ratio);
      ASSERT_LE(weber, last) << ratio << " " << k;
      last = weber;
    }
    EXPECT_EQ(last, 0);
  }
  EXPECT_EQ(stretching_threshold(0, 1), infinite);
}

TEST(ReflexiveThreshold, IsWhereTheMergedDropletKeepsThreeQuartersOfItsSurface) {
  int finite = 0;
  over_offsets_and_ratios([&](double offset, double ratio) {
    const double weber = reflexive_threshold(offset, ratio);
    if (weber == infinite) return;
    ++finite;
    const Scene s(offset, ratio, weber);
    const double xi = s.x / 2;  // the counteracting prolate part of each ball
    const auto prolate = [&](double r) { return 4.0 / 3 * pi * (r - xi) * (r - xi) * std::sqrt(r * r - xi * xi); };
    const double counter = 0.5 * rho * (prolate(s.ri) * s.ui() * s.ui() + prolate(s.rj) * s.uj() * s.uj());
    const double all = 0.5 * rho * (s.vi() * s.ui() * s.ui() + s.vj() * s.uj() * s.uj());
    const double merged = 4 * pi * sigma * std::pow(std::pow(s.ri, 3) + std::pow(s.rj, 3), 2.0 / 3);
    const double excess = 4 * pi * sigma * (s.ri * s.ri + s.rj * s.rj) - merged;
    EXPECT_NEAR((counter + excess - (all - counter)) / (0.75 * merged), 1, 1e-7) << offset << " " << ratio;
  });
  EXPECT_GT(finite, 40);
}

TEST(ReflexiveThreshold, OfEqualDropletsHeadOnIs18Point7) {
  EXPECT_NEAR(reflexive_threshold(0, 1), 18.67, 0.005);
  EXPECT_NEAR(reflexive_threshold(0, 1), 6 * (7 * std::cbrt(4.0) - 8), 1e-12);
}

TEST(ReflexiveThreshold, IsInfiniteWhereNothingFliesHeadOn) {
  for (const double ratio : {1.0, 0.5, 0.1}) {
    EXPECT_EQ(reflexive_threshold(1, ratio), infinite);
    EXPECT_EQ(reflexive_threshold(2 * ratio / (1 + ratio), ratio), infinite);  // ξ = δ
    EXPECT_LT(reflexive_threshold(0, ratio), infinite);
  }
  EXPECT_EQ(reflexive_threshold(0.5, 1), infinite);  // δ⁶η_i + η_j < 0 although ξ < δ
}

TEST(BounceThreshold, IsWhereTheApproachPaysForTheLimitShape) {
  over_offsets_and_ratios([](double offset, double ratio) {
    const double weber = bounce_threshold(offset, ratio);
    if (weber == infinite) return;
    const Scene s(offset, ratio, weber);
    const double approach = 0.5 * rho * s.overlap_i() * s.u * s.u * (1 - offset * offset);
    const double shape = 4 * pi * sigma * (s.ri * s.ri + s.rj * s.rj) * (3.351 / 3 - 1);
    EXPECT_NEAR(approach / shape, 1, 1e-8) << offset << " " << ratio;
  });
  EXPECT_EQ(bounce_threshold(1, 1), infinite);
}

TEST(CoalescenceOffset, IsWhereTheSpinPaysForTheSurfaceOfTwo) {
  for (const double ratio : {1.0, 0.7, 0.3, 0.05}) {
    const double weber = 30 / (ratio * ratio * ratio), offset = coalescence_offset(weber, ratio);
    ASSERT_LT(offset, 1);
    const Scene s(offset, ratio, weber);
    const double mass = rho * (s.vi() + s.vj()), reduced = rho * s.vi() * s.vj() / (s.vi() + s.vj());
    const double merged = std::cbrt(std::pow(s.ri, 3) + std::pow(s.rj, 3));
    const double spin = std::pow(reduced * s.x * s.u, 2) / (2 * 0.4 * mass * merged * merged);
    EXPECT_NEAR(spin / (4 * pi * sigma * (s.ri * s.ri + s.rj * s.rj - merged * merged)), 1, 1e-9);
  }
  EXPECT_EQ(coalescence_offset(1, 1), 1);
  EXPECT_EQ(coalescence_offset(0, 1), 1);
  EXPECT_EQ(coalescence_offset(infinite, 1), 0);
}

TEST(BreakupRatio, SolvesItsEquationOverSixtyDecades) {
  const double beta = 3 / (4 * std::sqrt(2.0)) * 11.5 * 0.45;
  double last = 1;
  for (int k = -300; k <= 300; ++k) {
    const double weber = std::pow(10.0, k / 10.0), q = breakup_ratio(weber);
    ASSERT_GT(q, 0);
    ASSERT_LE(q, last) << weber;
    last = q;
    const double stretch = beta * std::sqrt(weber) * std::pow(q, 3.5);
    ASSERT_NEAR(stretch + q * q, 1, 2e-15 * (4 + std::abs(std::log(weber)))) << weber;
  }
  EXPECT_EQ(breakup_ratio(0), 1);
  EXPECT_EQ(breakup_ratio(infinite), 0);
  EXPECT_NEAR(breakup_ratio(1e30) / std::pow(beta * 1e15, -2.0 / 7), 1, 1e-8);
}

TEST(Outcome, ThresholdsAreNeverNaN) {
  const std::vector<double> ratios{0, 5e-324, 1e-200, 1e-100, 1e-16, 1e-6, 0.5, std::nextafter(1.0, 0), 1};
  const std::vector<double> offsets{0, 5e-324, 1e-200, 1e-16, 1e-3, 0.5, std::nextafter(1.0, 0), 1};
  const std::vector<double> webers{0, 5e-324, 1e-100, 1, 1e30, 1e300, infinite};
  for (const double ratio : ratios)
    for (const double offset : offsets) {
      EXPECT_GE(stretching_threshold(offset, ratio), 0) << offset << " " << ratio;
      EXPECT_GE(reflexive_threshold(offset, ratio), 0) << offset << " " << ratio;
      EXPECT_GE(bounce_threshold(offset, ratio), 0) << offset << " " << ratio;
      for (const double weber : webers) {
        const double edge = coalescence_offset(weber, ratio);
        EXPECT_TRUE(edge >= 0 && edge <= 1) << weber << " " << ratio;
        EXPECT_TRUE(weber > 0 || classify({weber, offset, ratio}, {}) == Outcome::coalescence)
            << offset << " " << ratio;
      }
    }
}

TEST(Outcome, ReflexiveComesBeforeStretchingAndBounceBeforeBoth) {
  const Impact both{1000, 0.2, 1};
  ASSERT_GT(both.weber, reflexive_threshold(both.offset, both.ratio));
  ASSERT_GT(both.weber, stretching_threshold(both.offset, both.ratio));
  EXPECT_EQ(classify(both, {}), Outcome::reflexive);
  EXPECT_EQ(classify({1, 0, 1}, {}), Outcome::coalescence);
  CollisionRules rules;
  rules.bounce = true;
  EXPECT_EQ(classify({1, 0, 1}, rules), Outcome::bounce);
  EXPECT_EQ(classify({10, 0.95, 1}, {}), Outcome::stretching);
  EXPECT_EQ(classify({10, 0.95, 1}, rules), Outcome::bounce);
  EXPECT_EQ(classify(both, rules), Outcome::reflexive);
}

TEST(Impact, IsTheSameAtEveryMomentOfTheMeeting) {
  const CollisionRules rules;
  const Droplet a{{0, 0, 0}, {1, 2, 3}, 1e-3, 1}, b{{0.2e-3, 1.1e-3, 0.4e-3}, {0.5, 0, 2}, 0.5e-3, 1};
  const Impact now = impact_of(a, b, rules);
  EXPECT_NEAR(now.ratio, 0.5, 1e-15);
  EXPECT_NEAR(now.weber, 2 * rho * 0.5e-3 * (0.25 + 4 + 1) / sigma, 1e-10 * now.weber);
  for (const double t : {-1e-3, 1e-4, 5e-4}) {
    Droplet a2 = a, b2 = b;
    a2.position += a.velocity * t, b2.position += b.velocity * t;
    EXPECT_NEAR(impact_of(a2, b2, rules).offset, now.offset, 1e-12);
    EXPECT_EQ(impact_of(b2, a2, rules).offset, impact_of(a2, b2, rules).offset);
  }
  EXPECT_EQ(impact_of(a, {b.position, a.velocity, 1e-3, 1}, rules).weber, 0);
  EXPECT_EQ(impact_of(a, {{1, -1, 1}, b.velocity, 1e-3, 1}, rules).offset, 1);  // they miss each other
}

}  // namespace
}  // namespace aegir
