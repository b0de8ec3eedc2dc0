#include "phenomena/common/turbulence.h"

#include <algorithm>
#include <cmath>

namespace aegir {
namespace {

/// Eddies of a size turn over once in the time that air at their speed needs for it.
double lifetime_of(const TurbulenceSettings& s) {
  if (s.lifetime) return *s.lifetime;
  double fastest = std::abs(s.speed.constant());
  for (const auto& key : s.speed.keys()) fastest = std::max(fastest, std::abs(key.value));
  return fastest > 0 ? s.size / fastest : 0;
}

}  // namespace

void describe(Schema<TurbulenceSettings>& s) {
  s.shorthand("speed");
  s.field("speed", &TurbulenceSettings::speed)
      .unit("m/s")
      .min(0)
      .soft(0, 10)
      .doc("Root mean square of the random velocity.");
  s.field("size", &TurbulenceSettings::size).unit("m").min(1e-4).max(1e5).soft(0.01, 10).doc("Of the largest eddies.");
  s.field("lifetime", &TurbulenceSettings::lifetime)
      .unit("s")
      .min(0)
      .doc("Time after which the largest eddies are others; `size` over the greatest `speed` if not given, 0: never.");
  s.field("octaves", &TurbulenceSettings::octaves)
      .min(1)
      .max(CurlNoise::most_octaves)
      .doc("Each adds eddies half as large, 2^(1/3) times slower and 2^(2/3) times shorter-lived.");
  s.field("seed", &TurbulenceSettings::seed).doc("Another seed gives other eddies; the same seed the same.");
}

Turbulence::Turbulence(const TurbulenceSettings& s)
    : speed_(s.speed),
      noise_({.size = s.size,
              .lifetime = lifetime_of(s),
              .octaves = s.octaves,
              .seed = static_cast<std::uint64_t>(s.seed)}) {}

void Turbulence::add(const ForceBlock& b, double speed, const std::array<float*, 3>& out) const {
  noise_.add({b.origin, b.spacing, b.count, b.x, b.y, b.z}, b.time + 0.5 * b.dt, speed, out);
}

}  // namespace aegir
