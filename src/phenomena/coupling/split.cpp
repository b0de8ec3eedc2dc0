#include "phenomena/coupling/split.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace aegir {
namespace {

constexpr std::uint32_t draws = 8;  // random numbers per droplet

/// Radii over the particle's own; their cubes add up to 1.
std::vector<double> radii_of(const Whole& whole, const SplitRules& rules, const Random& random) {
  const double weight = rules.weighting * whole.excess;
  // `amount` moves the range from the particle's own size to the law's, and on.
  const auto share = [&](double radius) { return std::pow(radius / whole.radius, rules.amount); };
  const double a = share(rules.smallest),
               b = share(rules.greatest * std::pow(rules.smallest / rules.greatest, 0.5 * weight));
  SizeSettings law;
  law.law = rules.law;
  const SizeDistribution sizes(law, std::min(a, b), std::max(a, b));
  std::vector<double> radii;
  double sum = 0;
  while (sum < 1 && static_cast<int>(radii.size()) < rules.most) {
    const double r = sizes.radius(random.uniform(draws * static_cast<std::uint32_t>(radii.size())));
    radii.push_back(r), sum += r * r * r;
  }
  // The last is left out where the sum is nearer to the whole without it.
  const double last = std::pow(radii.back(), 3);
  if (radii.size() > 1 && 1 - (sum - last) < sum - 1) radii.pop_back(), sum -= last;
  const double factor = 1 / std::cbrt(sum);
  for (double& r : radii) r *= factor;
  return radii;
}

/// Takes the mean by mass from vectors.
void centre(std::span<Vec3d> vectors, std::span<const Splinter> droplets, double mass) {
  Vec3d mean;
  for (std::size_t i = 0; i < vectors.size(); ++i) mean += vectors[i] * static_cast<double>(droplets[i].mass);
  for (Vec3d& v : vectors) v -= mean / mass;
}

}  // namespace

void split(const Whole& whole, const SplitRules& rules, const Random& random, std::vector<Splinter>& out) {
  const std::vector<double> radii = radii_of(whole, rules, random);
  const std::size_t n = radii.size(), first = out.size();
  out.resize(first + n);
  const std::span<Splinter> droplets(out.data() + first, n);
  // The greatest takes what rounding leaves.
  const auto greatest = static_cast<std::size_t>(std::max_element(radii.begin(), radii.end()) - radii.begin());
  double rest = whole.mass;
  for (std::size_t i = 0; i < n; ++i)
    if (i != greatest)
      droplets[i].mass = static_cast<float>(whole.mass * radii[i] * radii[i] * radii[i]),
      rest -= static_cast<double>(droplets[i].mass);
  droplets[greatest].mass = static_cast<float>(rest);

  const double spread = rules.spread * (1 - rules.weighting + rules.weighting * whole.excess);
  std::vector<Vec3d> offset(n), velocity(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t number = draws * static_cast<std::uint32_t>(i);
    offset[i] = random.direction(number + 1) * (std::cbrt(random.uniform(number + 3)) * whole.radius * (1 - radii[i]));
    velocity[i] = random.direction(number + 4) * (std::cbrt(random.uniform(number + 6)) * spread);
  }
  centre(offset, droplets, whole.mass), centre(velocity, droplets, whole.mass);
  double farthest = whole.radius;
  for (const Vec3d& o : offset) farthest = std::max(farthest, length(o));
  for (std::size_t i = 0; i < n; ++i) {
    droplets[i].position = whole.position + offset[i] * (whole.radius / farthest);
    droplets[i].velocity = Vec3f(whole.velocity + velocity[i]);
    droplets[i].radius = static_cast<float>(whole.radius * radii[i]);
  }
}

}  // namespace aegir
