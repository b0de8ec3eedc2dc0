#include "base/curl_noise.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"
#include "base/random.h"
#include "base/simd.h"

namespace aegir {
namespace {

constexpr double kappa = 0.8124038404635961;  // κ = √0.66
// Mean over a cell of |v|² for random components of variance 1: 4.38968457 from ω, 10.52486166 κ² from a. Both are
// integrals of polynomials.
constexpr double mean_square = 11.336093267127186;
constexpr double farthest = 1e9;  // lattice points from the origin; a place that is no number counts as that far

/// Spreads the bits of a lattice point; every bit of the point and of the key reaches every bit of the outcome.
[[gnu::always_inline]] inline std::uint32_t scatter(std::uint32_t h) {
  h ^= h >> 16, h *= 0x7feb352du;
  h ^= h >> 15, h *= 0x846ca68bu;
  return h ^ (h >> 16);
}

/// A component in (-1, 1) from ten bits.
template <class Real, int Shift>
[[gnu::always_inline]] inline Real component(std::uint32_t h) {
  return static_cast<Real>(static_cast<std::int32_t>(h >> Shift & 1023)) * static_cast<Real>(1.0 / 512) -
         static_cast<Real>(1023.0 / 1024);
}

/// Between the knots before and after a time: the angle whose cos and sin weigh them, flat at both.
double blend_angle(double t) { return 1.5707963267948966 * t * t * (3 - 2 * t); }

}  // namespace

template <class Real>
struct CurlNoise::Octave {
  Real scale;             // lattice spacings per spacing of the places
  Real first[3];          // of the origin within its cell
  std::uint32_t cell[3];  // of the origin
  std::uint32_t key[2];   // of the knots before and after
  Real weight[2];         // of the knots, amplitude included
  static constexpr Real a = static_cast<Real>(kappa);
};

namespace {

/// What lattice point `Corner` (bits x, y, z) adds to the velocity at a place: f within the cell, s(f) and s'(f).
/// `row` are the hashes of the point's x and y, for the knots before and after.
template <int Corner, class Real, class Octave>
[[gnu::always_inline]] inline void add_corner(const Octave& o, const std::uint32_t (*row)[4], std::uint32_t z_cell,
                                              const Real (*f)[3], Real* v) {
  constexpr int cx = Corner >> 2 & 1, cy = Corner >> 1 & 1, cz = Corner & 1;
  const std::uint32_t point = (z_cell + cz) * 0xcb1ab31fu;
  // Two draws of three components for each of the two knots; weights make one pair of vectors of them.
  const std::uint32_t h0 = scatter(row[0][Corner >> 1] ^ point), h1 = scatter(row[1][Corner >> 1] ^ point);
  const std::uint32_t g0 = scatter(h0 + 0x9e3779b9u), g1 = scatter(h1 + 0x9e3779b9u);
  const Real w0 = o.weight[0], w1 = o.weight[1];
  const Real wx = w0 * component<Real, 0>(h0) + w1 * component<Real, 0>(h1),
             wy = w0 * component<Real, 10>(h0) + w1 * component<Real, 10>(h1),
             wz = w0 * component<Real, 20>(h0) + w1 * component<Real, 20>(h1);
  const Real ax = o.a * (w0 * component<Real, 0>(g0) + w1 * component<Real, 0>(g1)),
             ay = o.a * (w0 * component<Real, 10>(g0) + w1 * component<Real, 10>(g1)),
             az = o.a * (w0 * component<Real, 20>(g0) + w1 * component<Real, 20>(g1));
  const Real dx = f[0][0] - cx, dy = f[0][1] - cy, dz = f[0][2] - cz;
  const Real *s = f[1], *slope = f[2];
  const Real x = cx ? s[0] : 1 - s[0], y = cy ? s[1] : 1 - s[1], z = cz ? s[2] : 1 - s[2];
  const Real gx = (cx ? slope[0] : -slope[0]) * y * z, gy = (cy ? slope[1] : -slope[1]) * x * z,
             gz = (cz ? slope[2] : -slope[2]) * x * y;
  const Real px = ax + (wy * dz - wz * dy), py = ay + (wz * dx - wx * dz), pz = az + (wx * dy - wy * dx);
  const Real twice = 2 * (x * y * z);
  v[0] += gy * pz - gz * py + twice * wx;
  v[1] += gz * px - gx * pz + twice * wy;
  v[2] += gx * py - gy * px + twice * wz;
}

/// Adds the octave's velocity at a place in spacings from the origin.
template <class Real, class Octave>
[[gnu::always_inline]] inline void add_octave(const Octave& o, const Real* place, Real* v) {
  std::uint32_t cell[3];
  Real f[3][3];  // within the cell, s and s' of it
  for (int a = 0; a < 3; ++a) {
    const auto most = static_cast<Real>(farthest);
    const Real p = std::max(-most, std::min(most, o.first[a] + place[a] * o.scale)), low = std::floor(p);
    cell[a] = o.cell[a] + static_cast<std::uint32_t>(static_cast<std::int32_t>(low));
    const Real t = f[0][a] = p - low;
    f[1][a] = t * t * t * (t * (6 * t - 15) + 10);
    f[2][a] = 30 * t * t * ((t - 1) * (t - 1));
  }
  // One axis after the other, each scattered before the next comes in: a sum over the axes would repeat itself.
  std::uint32_t row[2][4];
  for (int knot = 0; knot < 2; ++knot)
    for (std::uint32_t c = 0; c < 4; ++c)
      row[knot][c] =
          scatter(scatter(o.key[knot] ^ (cell[0] + (c >> 1)) * 0x8da6b343u) ^ (cell[1] + (c & 1)) * 0xd8163841u);
  add_corner<0>(o, row, cell[2], f, v), add_corner<1>(o, row, cell[2], f, v);
  add_corner<2>(o, row, cell[2], f, v), add_corner<3>(o, row, cell[2], f, v);
  add_corner<4>(o, row, cell[2], f, v), add_corner<5>(o, row, cell[2], f, v);
  add_corner<6>(o, row, cell[2], f, v), add_corner<7>(o, row, cell[2], f, v);
}

/// 36 bytes and about 1000 operations per place, of which some 450 are on whole numbers.
template <class Octave>
AEGIR_HOT void noise_kernel(std::size_t n, Octave o, const float* __restrict x, const float* __restrict y,
                            const float* __restrict z, float* __restrict vx, float* __restrict vy,
                            float* __restrict vz) {
  for (std::size_t i = 0; i < n; ++i) {
    const float place[3] = {x[i], y[i], z[i]};
    float v[3] = {0, 0, 0};
    add_octave(o, place, v);
    vx[i] += v[0], vy[i] += v[1], vz[i] += v[2];
  }
}

}  // namespace

CurlNoise::CurlNoise(const CurlNoiseSettings& settings) : settings_(settings) {
  AEGIR_ASSERT(settings.size > 0 && settings.lifetime >= 0, "noise needs a size");
  AEGIR_ASSERT(settings.octaves >= 1 && settings.octaves <= most_octaves, "noise has one to three octaves");
  double sum = 0;
  for (int k = 0; k < settings.octaves; ++k) {
    const Random where(settings.seed, static_cast<std::uint64_t>(k), ~0ull, Purpose::noise);
    offset_[static_cast<std::size_t>(k)] = {where.uniform(0), where.uniform(1), where.uniform(2)};
    sum += std::pow(4.0, -k / 3.0);
  }
  const double variance = (1 - 1.0 / (1024.0 * 1024.0)) / 3;  // of component()
  amplitude_ = 1 / std::sqrt(sum * mean_square * variance);
}

template <class Real>
CurlNoise::Octave<Real> CurlNoise::octave(int k, const Vec3d& origin, double spacing, double time) const {
  Octave<Real> o;
  const double per_metre = std::ldexp(1.0, k) / settings_.size;
  o.scale = static_cast<Real>(spacing * per_metre);
  for (int a = 0; a < 3; ++a) {
    const double p = std::max(-1e18, std::min(1e18, origin[a] * per_metre + offset_[static_cast<std::size_t>(k)][a]));
    o.first[a] = static_cast<Real>(p - std::floor(p));
    o.cell[a] = static_cast<std::uint32_t>(static_cast<std::uint64_t>(static_cast<std::int64_t>(std::floor(p))));
  }
  const double age = settings_.lifetime > 0 ? time / settings_.lifetime * std::pow(4.0, k / 3.0) : 0;
  const double knot = std::floor(std::max(-1e15, std::min(1e15, age))),
               angle = blend_angle(std::max(0.0, std::min(1.0, age - knot)));
  const double amplitude = amplitude_ * std::pow(2.0, -k / 3.0);
  o.weight[0] = static_cast<Real>(amplitude * std::cos(angle)),
  o.weight[1] = static_cast<Real>(amplitude * std::sin(angle));
  for (int side = 0; side < 2; ++side) {
    const auto step = static_cast<std::uint64_t>(static_cast<std::int64_t>(knot) + side);
    o.key[side] =
        static_cast<std::uint32_t>(Random(settings_.seed, static_cast<std::uint64_t>(k), step, Purpose::noise).bits(0));
  }
  return o;
}

Vec3d CurlNoise::at(const Vec3d& place, double time) const {
  double v[3] = {0, 0, 0};
  const double here[3] = {0, 0, 0};
  for (int k = 0; k < settings_.octaves; ++k) add_octave(octave<double>(k, place, 1, time), here, v);
  return {v[0], v[1], v[2]};
}

void CurlNoise::add(const NoisePlaces& p, double time, double speed, const std::array<float*, 3>& out) const {
  for (int k = 0; k < settings_.octaves; ++k) {
    Octave<float> o = octave<float>(k, p.origin, p.spacing, time);
    for (float& w : o.weight) w *= static_cast<float>(speed);
    noise_kernel(p.count, o, p.x, p.y, p.z, out[0], out[1], out[2]);
  }
}

}  // namespace aegir
