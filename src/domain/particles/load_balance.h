// Who has how much to do: decides when cutting the curve of buckets anew pays, from work that was measured.
//
//   LoadBalance balance;                                       // one per Object, asked once per substep
//   if (const auto cuts = balance.better(comm, particles)) particles.rebucket(exec, *cuts, padding);
//   balance.begin(comm);                                       // what is measured begins …
//   balance.end(comm);                                         // … and ends: writing files is not the buckets' work
//
// A bucket weighs as many particles as it holds, and some more for its grid. Ranks learn what a unit of weight costs
// them in CPU seconds, compared with the mean of all. Results do not depend on where the curve is cut, so what is
// measured may be noisy; it is believed slowly, so that noise does not move anything.
#pragma once

#include <optional>

#include "domain/particles/particle_system.h"

namespace aegir {

class LoadBalance {
 public:
  /// Work that a bucket without particles takes, in particles.
  static constexpr std::int64_t bucket_weight = 256;
  /// Cuts are left alone while the busiest rank has less than this times the mean.
  static constexpr double tolerated = 1.015;
  /// Substeps after which a cut must have paid for moving; it is left alone for as long unless it has become bad.
  static constexpr int horizon = 10;
  static constexpr double bad = 1.15;

  /// Better cuts, where moving to them pays. Collective; the same answer on every rank.
  std::optional<Partition> better(Comm& comm, const ParticleSystem& particles);
  /// The work on the Object's buckets begins and ends.
  void begin(const Comm& comm);
  void end(const Comm& comm);
  /// The same for work that was measured elsewhere, in CPU seconds.
  void worked(double seconds) { worked_ += seconds; }
  /// The work of the busiest rank over the mean, as of the last time; 1 is perfect.
  double imbalance() const { return imbalance_; }

 private:
  std::int64_t weigh(const ParticleSystem& particles);
  void learn(Comm& comm);

  std::vector<std::int64_t> weights_;  // by local bucket
  std::int64_t weight_ = 0;            // of all of them, when work was measured
  double begun_ = -1, worked_ = 0;     // CPU seconds
  double cost_ = 1;                    // of a unit of weight on this rank, over the mean of all ranks
  double imbalance_ = 1;
  int age_ = horizon;  // substeps since the last cut
};

}  // namespace aegir
