#include "phenomena/common/expression_neighbours.h"

#include <algorithm>
#include <optional>

#include "domain/particles/neighbours.h"

namespace aegir {

/// What a thread keeps of the bucket that it is at work in.
struct ExpressionNeighbours::Table {
  std::uint64_t serial = 0;
  std::int64_t bucket = -1;
  ParticleReadNeighbours<Vec3f>::View near;
  std::optional<NeighbourSearch> search;
};

ExpressionNeighbours::ExpressionNeighbours(Exec& exec, ParticleSystem& particles,
                                           const std::vector<expression::Named>& channels)
    : particles_(particles), positions_(particles.read_neighbours(particle::position)) {
  static std::atomic<std::uint64_t> serials{0};
  serial_ = ++serials;
  positions_.prepare(exec);
  for (const expression::Named& c : channels) {
    require_access(particles.owner(), c.name, AccessMode::read, bucket_size);
    ParticleStore& store = particles.store(c.name);
    particles.update_ghosts(exec, store);
    channels_.push_back(&store);
  }
  services_.context = this;
  services_.neighbour_count = [](void* me, std::int64_t bucket, std::int64_t element, float radius) {
    return static_cast<ExpressionNeighbours*>(me)->count(bucket, element, radius);
  };
  services_.neighbour_average = [](void* me, int source, std::int64_t bucket, std::int64_t element, float radius,
                                   float value[3]) {
    static_cast<ExpressionNeighbours*>(me)->average(source, bucket, element, radius, value);
  };
}

ExpressionNeighbours::Table& ExpressionNeighbours::table(std::int64_t bucket) {
  thread_local Table mine;
  if (mine.serial != serial_ || mine.bucket != bucket) {
    mine.serial = serial_, mine.bucket = bucket;
    positions_.load(mine.near, static_cast<int>(bucket));
    mine.search.emplace(mine.near.span);
  }
  return mine;
}

/// From metres to cells, no farther than the halo; what is no radius is 0.
float ExpressionNeighbours::cells(float radius) {
  if (!(radius > 0)) return 0;
  float before = farthest_.load(std::memory_order_relaxed);
  while (before < radius && !farthest_.compare_exchange_weak(before, radius)) {
  }
  return static_cast<float>(std::min<double>(static_cast<double>(radius) / particles_.spacing(), bucket_size));
}

int ExpressionNeighbours::count(std::int64_t bucket, std::int64_t element, float radius) {
  int found = 0;
  table(bucket).search->within(static_cast<std::size_t>(element), cells(radius),
                               [&](int, std::size_t, float) { ++found; });
  return found;
}

// Sums in double and in canonical order, so that threads and ranks do not enter.
void ExpressionNeighbours::average(int source, std::int64_t bucket, std::int64_t element, float radius,
                                   float value[3]) {
  Table& t = table(bucket);
  const ParticleStore& store = *channels_[static_cast<std::size_t>(source)];
  const Topology& topology = particles_.topology();
  const auto& around = topology.neighbours(static_cast<int>(bucket));
  const bool is_position = store.info.name == particle::position.name;
  double sum[3] = {0, 0, 0};
  int found = 0;
  const Vec3f here = t.near.span.self()[static_cast<std::size_t>(element)];
  t.search->around(here, cells(radius), [&](int n, std::size_t j, float) {
    const int other = around[static_cast<std::size_t>(n)];
    for (int c = 0; c < store.info.components; ++c) {
      const auto raw = static_cast<double>(store.plane<float>(c)[particles_.first(other) + j]);
      sum[c] += is_position ? topology.origin(other)[c] + raw * particles_.spacing() : raw;
    }
    ++found;
  });
  for (int c = 0; c < store.info.components; ++c) value[c] = static_cast<float>(found ? sum[c] / found : 0.0);
}

}  // namespace aegir
