// Which droplets meet in a substep: pairs that are each other's first. [Jones 2018, Algorithm 3]
//
//   Meetings meetings;
//   meetings.find(exec, particles, {.time = t, .dt = dt});           // collective
//   for (const Meeting& m : meetings.of(bucket)) …                   // at most one per droplet
//
// Every droplet looks for the one it touches first (ties: the smaller id). Two that name each other are a pair; the
// others look again among those that are left, `rounds` times. All that may meet are listed once, in a tree per bucket
// (sweep_tree.h); the rounds only walk these lists. A droplet sees its bucket and the 26 around it.
//
// Per droplet: 52 bytes of channels are read, 40 of tree written; a test of eight pairs takes about 40 flops.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "domain/particles/particle_system.h"
#include "phenomena/droplets/sweep_tree.h"

namespace aegir {

namespace particle {
/// The time from which on a droplet may collide again.
inline constexpr ParticleChannel<float> collide_after{"collide_after", unit::second};
}  // namespace particle

/// One droplet's partner in this substep.
struct Meeting {
  std::uint32_t droplet = 0;  ///< index in its bucket
  std::uint32_t other = 0;    ///< index of the partner in its bucket
  std::int64_t id = -1, other_id = -1;
  int neighbour = 0;  ///< which of the 27 buckets the partner is in
  float contact = 0;  ///< when they touch, in substeps; below 0: they overlap already
  float closest = 0;  ///< when they are closest
};

/// Where bucket n of the 27 around one lies, in cells.
inline Vec3f neighbour_shift(int n) {
  return Vec3f(static_cast<float>(n / 9 - 1), static_cast<float>(n / 3 % 3 - 1), static_cast<float>(n % 3 - 1)) *
         float{bucket_size};
}

/// Which droplets look at each other.
enum class Neighbourhood {
  overlap,     ///< |x_ij| < r_i + r_max when the substep begins
  trajectory,  ///< whoever may meet during the substep
};

struct MeetingSettings {
  double time = 0, dt = 0;  ///< the substep
  Neighbourhood neighbourhood = Neighbourhood::trajectory;
  int rounds = 4;
  int most_tests = 4096;  ///< others in one bucket that a droplet is compared with at most; bounds the cost of crowds
};

/// What was found, on all ranks.
struct MeetingCounts {
  std::int64_t pairs = 0;
  std::int64_t crowded = 0;  ///< droplets with more others around than `most_tests`, at most
  std::int64_t blind = 0;    ///< buckets whose droplets might meet others beyond the neighbouring buckets
};

class Meetings {
 public:
  /// Pairs of this substep; particles are sorted. Collective.
  MeetingCounts find(Exec& exec, ParticleSystem& particles, const MeetingSettings& settings);
  /// The meetings of a local bucket's droplets, by index.
  std::span<const Meeting> of(int bucket) const { return met_[static_cast<std::size_t>(bucket)]; }
  /// Seconds of the last find(): trees, search, rounds.
  double seconds() const { return seconds_; }

 private:
  void plant(Exec& exec, ParticleSystem& particles, const MeetingSettings& s);
  void search(const ParticleSystem& particles, const MeetingSettings& s, MeetingCounts& counts);
  template <class Meet>
  std::int64_t for_each_pair(int a, int b, int n, int most, Meet&& meet) const;
  bool looks_far(const Topology& topology, int bucket) const;
  void pair_up(Exec& exec, const ParticleSystem& particles, const MeetingSettings& s, MeetingCounts& counts);

  SweepTrees trees_;
  std::vector<std::vector<Meeting>> candidates_, met_;  // per local bucket; candidates by droplet, contact, id
  std::vector<std::array<std::vector<Meeting>, neighbour_self>> sent_;  // per local bucket, for those after it
  std::vector<std::int64_t> word_;  // per particle and ghost: what it says in a round
  double largest_ = 0;              // radius in cells
  double seconds_ = 0;
};

}  // namespace aegir
