// Who has how much to do: decides when cutting the curve of buckets anew pays, from work that was measured.
//
//   LoadBalance balance;                                       // one per Object, asked once per substep
//   if (const auto cuts = balance.better(comm, particles)) particles.rebucket(exec, *cuts, padding);
//   balance.begin(comm, Work::particles);                      // what is measured begins …
//   balance.begin(comm, Work::grid);                           // … goes on with another part of the substep …
//   balance.end(comm);                                         // … and ends: writing files is not the buckets' work
//
// Work on particles goes by their number, work on grids by the number of buckets. Ranks learn what a particle and a
// bucket cost them in CPU seconds. Results do not depend on where the curve is cut, so what is measured may be noisy;
// it is believed slowly, so that noise does not move anything.
#pragma once

#include <array>
#include <optional>

#include "domain/particles/particle_system.h"

namespace aegir {

/// What work goes by.
enum class Work { particles, grid };

class LoadBalance {
 public:
  /// Cuts are left alone while the busiest rank has less than this times the mean.
  static constexpr double tolerated = 1.006;
  /// Substeps after which a cut must have paid for moving, and for which it is left alone unless it has become bad.
  static constexpr int horizon = 10, rest = 3;
  static constexpr double bad = 1.15;

  /// Better cuts, where moving to them pays. Collective; the same answer on every rank.
  std::optional<Partition> better(Comm& comm, const ParticleSystem& particles);
  /// Work of a kind begins, and what was begun before ends.
  void begin(const Comm& comm, Work kind);
  void end(const Comm& comm);
  /// The same for work that was measured elsewhere, in CPU seconds.
  void worked(Work kind, double seconds) { parts_[static_cast<std::size_t>(kind)].worked += seconds; }
  /// The work of the busiest rank over the mean, as of the last time; 1 is perfect.
  double imbalance() const { return imbalance_; }

 private:
  struct Part {
    double cost;              // CPU seconds of a particle or of a bucket on this rank
    double worked = 0;        // CPU seconds since the last time
    std::int64_t weight = 0;  // particles or buckets that they were spent on; 0 if there are others by now
  };
  void learn(Comm& comm);

  std::array<Part, 2> parts_{Part{60e-9}, Part{120e-6}};  // at first what they take in a liquid
  std::vector<std::int64_t> weights_;                     // by local bucket, in picoseconds
  double begun_ = -1;                                     // CPU seconds
  Work kind_ = Work::particles;
  double imbalance_ = 1;
  int age_ = rest;  // substeps since the last cut
};

}  // namespace aegir
