// Curl noise: a random velocity field without sources and sinks, a pure function of seed, place and time.
//
//   const CurlNoise noise({.size = 0.2, .lifetime = 0.5, .octaves = 2, .seed = 7});
//   Vec3d wind = noise.at({0, 1, 0}, time) * 3;                     // 3 m/s in the root mean square
//   noise.add({.origin = o, .spacing = dx, .count = n, .x = x, .y = y, .z = z}, time, 3, {wx, wy, wz});
//
// The velocity is the curl of a vector potential (Bridson, Houriham and Nordenstam 2007), differentiated by hand:
//   v = ∇ × ψ,   ψ(x) = Σ_c W_c(x) (κ a_c + ω_c × d_c)        sum over the eight lattice points c around x
//   d_c = x - c, in lattice spacings;  W_c: product over the axes of the quintic s(t) = 6t⁵ - 15t⁴ + 10t³ of 1 - |d_c|
//   a_c, ω_c: random vectors, each component uniform in [-1, 1];   κ² = 0.66
//   v = Σ_c ∇W_c × (κ a_c + ω_c × d_c) + 2 W_c ω_c
// The swirls ω alone are strong at lattice points, the potentials a alone vanish there; together, with this κ, the mean
// square is the same everywhere in a cell within 6 %. ψ is twice differentiable, so v is once, and ∇·v = 0.
//
// In time each lattice holds random vectors at knots one lifetime apart, blended with cos and sin of a smooth angle:
// two independent fields of the same mean square keep it at all times. Octave k has eddies 2^k times smaller, 2^(k/3)
// times slower and 2^(2k/3) times shorter-lived, as eddies of developed turbulence are (Kolmogorov 1941).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/vec.h"

namespace aegir {

struct CurlNoiseSettings {
  double size = 1;      ///< metres; distance between the lattice points of the largest eddies
  double lifetime = 1;  ///< seconds after which the largest eddies are others; 0: they stay
  int octaves = 1;      ///< 1 to CurlNoise::most_octaves
  std::uint64_t seed = 1;
};

/// Places to ask for: origin + spacing · (x, y, z), metres.
struct NoisePlaces {
  Vec3d origin;
  double spacing = 1;
  std::size_t count = 0;
  const float *x = nullptr, *y = nullptr, *z = nullptr;
};

/// Noise whose root mean square speed is 1; it has no period closer than 2³² lattice points.
class CurlNoise {
 public:
  static constexpr int most_octaves = 3;

  explicit CurlNoise(const CurlNoiseSettings& settings);

  /// The velocity at one place and time (seconds).
  Vec3d at(const Vec3d& place, double time) const;
  /// Adds `speed` times the velocities at many places to three arrays; in single precision, so that it may differ from
  /// at() by some 1e-6 of the speed per place's distance from the origin in lattice spacings.
  void add(const NoisePlaces& places, double time, double speed, const std::array<float*, 3>& out) const;

 private:
  /// One octave at one time, as seen from an origin.
  template <class Real>
  struct Octave;
  template <class Real>
  Octave<Real> octave(int k, const Vec3d& origin, double spacing, double time) const;

  CurlNoiseSettings settings_;
  std::array<Vec3d, most_octaves> offset_;  // of the lattices, in spacings
  double amplitude_ = 1;                    // of the first octave
};

}  // namespace aegir
