// Questions about places in another Object: sorted by its buckets, and carried to the ranks that own them and back.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/function_ref.h"
#include "domain/exec.h"
#include "domain/grid/topology.h"
#include "domain/particles/particle_system.h"

namespace aegir {

/// World positions of all particles of this rank, in order of memory. Reads P.
std::vector<Vec3d> places_of(Exec& exec, const ParticleSystem& particles);

/// Places by the local bucket that holds them; those in no bucket are left out.
class PlacesByBucket {
 public:
  PlacesByBucket(const Topology& topology, const std::vector<Vec3d>& places);
  /// Buckets that hold some.
  const std::vector<int>& buckets() const { return buckets_; }
  /// Numbers of the places in a bucket, ascending.
  std::span<const std::uint32_t> in(int bucket) const {
    const auto b = static_cast<std::size_t>(bucket);
    return std::span(order_).subspan(first_[b], first_[b + 1] - first_[b]);
  }
  /// Where a place is in its bucket, in cells.
  const Vec3f& cell(std::uint32_t place) const { return cells_[place]; }

 private:
  std::vector<Vec3f> cells_;
  std::vector<std::uint32_t> first_, order_;
  std::vector<int> buckets_;
};

/// One number for every place: `answer` is called once on every rank with all places that it owns, and may be
/// collective; `nobody` where no rank could own a place. Collective.
std::vector<float> ask_owners(Exec& exec, const Topology& topology, const std::vector<Vec3d>& places, float nobody,
                              FunctionRef<std::vector<float>(const std::vector<Vec3d>&)> answer);

}  // namespace aegir
