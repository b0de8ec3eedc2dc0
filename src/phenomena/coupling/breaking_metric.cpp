#include "phenomena/coupling/breaking_metric.h"

#include <algorithm>
#include <cmath>

#include "phenomena/common/channels.h"
#include "phenomena/common/derived_channels.h"

namespace aegir {

float Ramp::operator()(float x) const {
  const double t = std::clamp((static_cast<double>(x) - from) / (to - from), 0.0, 1.0);
  return static_cast<float>(t * t * (3 - 2 * t));
}

double BreakingCriteria::excess(double metric) const {
  return threshold < 1 ? std::clamp((metric - threshold) / (1 - threshold), 0.0, 1.0) : 1.0;
}

std::vector<const char*> metric_channels(const BreakingCriteria& c) {
  std::vector<const char*> names;
  if (c.speed) names.push_back(particle::velocity.name);
  if (c.surface_distance) names.push_back(particle::surface_distance.name);
  if (c.neighbours) names.push_back(particle::neighbours.name);
  if (c.pressure_gradient) names.push_back(particle::pressure_gradient.name);
  if (!c.when.empty()) names.push_back(c.when.c_str());
  return names;
}

BreakingMetric::BreakingMetric(const BreakingCriteria& criteria, const ParticleSystem& particles)
    : criteria_(criteria) {
  if (criteria.speed) velocity_.emplace(particles.read(particle::velocity));
  if (criteria.surface_distance) distance_.emplace(particles.read(particle::surface_distance));
  if (criteria.neighbours) neighbours_.emplace(particles.read(particle::neighbours));
  if (criteria.pressure_gradient) gradient_.emplace(particles.read(particle::pressure_gradient));
  if (!criteria.when.empty()) when_.emplace(particles.read(ParticleChannel<float>{criteria.when.c_str()}));
}

void BreakingMetric::evaluate(int bucket, std::span<float> out) const {
  std::fill(out.begin(), out.end(), 1.0f);
  const auto apply = [&](const auto& ramp, const auto& access, auto&& number) {
    const auto values = access(bucket);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] *= ramp(number(values[i]));
  };
  const auto size = [](const Vec3f& x) { return length(x); };
  const auto same = [](auto x) { return static_cast<float>(x); };
  if (velocity_) apply(*criteria_.speed, *velocity_, size);
  if (distance_) apply(*criteria_.surface_distance, *distance_, same);
  if (neighbours_) apply(*criteria_.neighbours, *neighbours_, same);
  if (gradient_) apply(*criteria_.pressure_gradient, *gradient_, size);
  if (when_) apply([](float x) { return x; }, *when_, same);
}

}  // namespace aegir
