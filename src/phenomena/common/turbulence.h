// Turbulence as users write it: `turbulence: {speed: 2 m/s, size: 30 cm, octaves: 2}`, curl noise in metres and
// seconds.
//
//   struct Settings { std::optional<TurbulenceSettings> turbulence; };
//   const Turbulence turbulence(*settings.turbulence);
//   Vec3d gust = turbulence.at(place, time, turbulence.speed(frame));
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/curl_noise.h"
#include "pipeline/model/action.h"
#include "pipeline/schema/parameter.h"
#include "pipeline/schema/schema.h"

namespace aegir {

/// What a user says about turbulence.
struct TurbulenceSettings {
  Parameter<double> speed = 1.0;   ///< m/s, root mean square
  double size = 0.3;               ///< m, of the largest eddies
  std::optional<double> lifetime;  ///< s; size over the greatest speed if not given
  int octaves = 2;
  std::int64_t seed = 1;
};
void describe(Schema<TurbulenceSettings>& s);

/// A random velocity field without divergence, the same for everybody who gives the same settings.
class Turbulence {
 public:
  explicit Turbulence(const TurbulenceSettings& settings);

  /// Root mean square speed at a frame, m/s.
  double speed(double frame) const { return speed_.at(frame); }
  /// The velocity at one place and time (seconds) at a speed.
  Vec3d at(const Vec3d& place, double time, double speed) const { return noise_.at(place, time) * speed; }
  /// Adds the velocities at the places of a block in the middle of its substep to three arrays.
  void add(const ForceBlock& block, double speed, const std::array<float*, 3>& out) const;

 private:
  Parameter<double> speed_;
  CurlNoise noise_;
};

}  // namespace aegir
