// Neighbour queries of expressions: how many particles are near, and the mean of what they carry.
//
//   ExpressionNeighbours near(exec, particles, program.neighbour_channels());   // brings halos up to date; collective
//   application.services = &near.services();
//   …
//   if (near.farthest() > near.reach()) …                                       // a radius was beyond the halo
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "domain/particles/particle_system.h"
#include "expressions/program.h"

namespace aegir {

/// Holds while particles are sorted and nobody writes what is asked for. Answers any number of threads.
class ExpressionNeighbours {
 public:
  /// The grant covers P and `channels` (float or three floats) with a halo of a bucket.
  ExpressionNeighbours(Exec& exec, ParticleSystem& particles, const std::vector<expression::Named>& channels);
  ExpressionNeighbours(const ExpressionNeighbours&) = delete;
  ExpressionNeighbours& operator=(const ExpressionNeighbours&) = delete;

  const expression::Services& services() const { return services_; }
  /// The greatest radius that can be answered, in metres: the width of a bucket.
  double reach() const { return bucket_size * particles_.spacing(); }
  /// The greatest radius that was asked for on this rank.
  float farthest() const { return farthest_.load(); }

 private:
  struct Table;
  int count(std::int64_t bucket, std::int64_t element, float radius);
  void average(int source, std::int64_t bucket, std::int64_t element, float radius, float value[3]);
  Table& table(std::int64_t bucket);
  float cells(float radius);

  ParticleSystem& particles_;
  ParticleReadNeighbours<Vec3f> positions_;
  std::vector<const ParticleStore*> channels_;
  expression::Services services_;
  std::uint64_t serial_;  // tells the tables of this query from those of an earlier one
  std::atomic<float> farthest_{0};
};

}  // namespace aegir
