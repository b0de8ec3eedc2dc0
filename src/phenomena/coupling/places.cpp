#include "phenomena/coupling/places.h"

#include <numeric>

#include "domain/for_each_bucket.h"
#include "parallel/ask_ranks.h"

namespace aegir {

// Per particle: 12 bytes read, 24 written.
std::vector<Vec3d> places_of(Exec& exec, const ParticleSystem& particles) {
  std::vector<Vec3d> places(particles.size());
  for_each_bucket(
      exec, "places", particles.topology(),
      [&](const Bucket& b, auto& p) {
        for (std::size_t i = 0; i < p.count; ++i)
          places[particles.first(b.index) + i] = b.origin() + Vec3d(p[i]) * b.spacing();
      },
      particles.read(particle::position));
  return places;
}

PlacesByBucket::PlacesByBucket(const Topology& topology, const std::vector<Vec3d>& places)
    : cells_(places.size()), first_(static_cast<std::size_t>(topology.local_count()) + 1, 0) {
  std::vector<std::int32_t> bucket(places.size());
  parallel_for(0, places.size(), 1024, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const BucketPosition at = locate(places[i], topology.spacing());
      const int b = topology.find(at.key);
      bucket[i] = b < topology.local_count() ? b : -1, cells_[i] = at.cell;
    }
  });
  for (const std::int32_t b : bucket)
    if (b >= 0) ++first_[static_cast<std::size_t>(b) + 1];
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  order_.resize(first_.back());
  std::vector<std::uint32_t> cursor(first_.begin(), first_.end());
  for (std::size_t i = 0; i < places.size(); ++i)
    if (bucket[i] >= 0) order_[cursor[static_cast<std::size_t>(bucket[i])]++] = static_cast<std::uint32_t>(i);
  for (int b = 0; b < topology.local_count(); ++b)
    if (!in(b).empty()) buckets_.push_back(b);
}

std::vector<float> ask_owners(Exec& exec, const Topology& topology, const std::vector<Vec3d>& places, float nobody,
                              FunctionRef<std::vector<float>(const std::vector<Vec3d>&)> answer) {
  if (exec.comm.size() == 1) return answer(places);
  std::vector<int> owner(places.size(), -1);
  for (std::size_t i = 0; i < places.size(); ++i)
    if (const BucketKey key = locate(places[i], topology.spacing()).key; addressable(key))
      owner[i] = topology.partition().owner(curve_position(key));
  std::vector<float> found = ask_ranks<float>(exec.comm, std::span<const Vec3d>(places), owner, answer);
  for (std::size_t i = 0; i < places.size(); ++i)
    if (owner[i] < 0) found[i] = nobody;
  return found;
}

}  // namespace aegir
