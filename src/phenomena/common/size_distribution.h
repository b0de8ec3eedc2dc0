// Sizes of drops: radii between two limits, drawn by inverse transform from one uniform number.
//
//   const SizeDistribution sizes({.law = SizeLaw::inverse_cubic}, 0.1e-3, 2e-3);
//   double radius = sizes.radius(Random(seed, number, 0, Purpose::emission_attribute).uniform(0));
//
// Laws by the number density n(r) of drops, r₀ ≤ r ≤ r₁ being the limits; outside them n = 0:
//   uniform         n constant
//   inverse_cubic   n ∝ r⁻³
//   log_normal      n ∝ exp(-ln²(r/m) / 2s²) / r           m: median of the law without limits, s: spread of ln r
//   rosin_rammler   volume in drops larger than r ∝ exp(-ln 2 (r/m)^q), so n ∝ r^(q-4) exp(-ln 2 (r/m)^q)
//                                                          m: median of the volume without limits, q: exponent
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pipeline/schema/schema.h"

namespace aegir {

enum class SizeLaw { uniform, inverse_cubic, log_normal, rosin_rammler };

/// What a user says about sizes beside their limits: `sizes: inverse_cubic`, `sizes: {law: log_normal, spread: 0.4}`.
struct SizeSettings {
  SizeLaw law = SizeLaw::uniform;
  std::optional<double> median;  ///< metres; the geometric mean of the limits if not given
  double spread = 0.5;           ///< of ln r
  double exponent = 3;
};
void describe(Schema<SizeSettings>& s);

/// What is wrong with sizes between two radii; empty if nothing is.
std::string check_sizes(const SizeSettings& settings, double smallest, double largest);

/// A law of sizes between two radii.
class SizeDistribution {
 public:
  /// The limits are positive and in order, and check_sizes() has no complaint.
  SizeDistribution(const SizeSettings& settings, double smallest, double largest);

  /// The radius below which a share u of all drops is, 0 ≤ u ≤ 1.
  double radius(double u) const;

 private:
  SizeLaw law_;
  double smallest_, largest_;
  // Laws without a simple inverse: number density over ln r and its sum, both at nodes that are evenly spaced in ln r.
  std::vector<double> density_, sum_;
};

}  // namespace aegir
