// How much a liquid's particle has broken away, from 0 to 1: the one place that decides who leaves a liquid.
//
//   BreakingCriteria criteria;
//   criteria.neighbours = {14, 5};                       // counts from 14 others down to 5
//   BreakingMetric metric(criteria, particles);          // inside a task that reads metric_channels(criteria)
//   metric.evaluate(bucket, values);                     // one number per particle of the bucket
//
//   m = Π_c s((x_c - from_c) / (to_c - from_c)),   s(t) = t² (3 - 2 t), t clamped to [0, 1]
// over the criteria c that are given: speed |v|, distance to the surface φ, number of neighbours n, and |∇p|; times
// what an expression said, if there is one (when.h). A product: who fails one of them stays, whatever the others say.
// [Lesser et al. 2022, §7.1.1, names the quantities]
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "domain/particles/particle_system.h"

namespace aegir {

/// A number goes from 0 to 1 while a quantity goes from `from` to `to`, upwards or downwards; smooth at both ends.
struct Ramp {
  double from = 0, to = 1;
  float operator()(float x) const;
};

/// What is asked of a particle that leaves; a criterion that is not given does not count.
struct BreakingCriteria {
  std::optional<Ramp> speed;              ///< m/s
  std::optional<Ramp> surface_distance;   ///< m, negative inside
  std::optional<Ramp> neighbours;         ///< others within one cell size
  std::optional<Ramp> pressure_gradient;  ///< Pa/m
  std::string when;                       ///< channel of a factor that is worked out elsewhere; empty: none
  double threshold = 0.5;                 ///< of the metric, above 0

  bool none() const { return !speed && !surface_distance && !neighbours && !pressure_gradient && when.empty(); }
  /// How far a metric is beyond the threshold: 0 at it, 1 for a metric of 1.
  double excess(double metric) const;
};

/// Channels that the metric reads.
std::vector<const char*> metric_channels(const BreakingCriteria& criteria);

/// Reads the channels of one ParticleSystem; from any number of threads.
class BreakingMetric {
 public:
  BreakingMetric(const BreakingCriteria& criteria, const ParticleSystem& particles);
  /// The metric of every particle of a bucket. Per particle at most 32 bytes read, 4 written, about 40 flops.
  void evaluate(int bucket, std::span<float> out) const;

 private:
  BreakingCriteria criteria_;
  std::optional<ParticleRead<Vec3f>> velocity_, gradient_;
  std::optional<ParticleRead<float>> distance_, when_;
  std::optional<ParticleRead<std::int32_t>> neighbours_;
};

}  // namespace aegir
