#include "domain/particles/id_lookup.h"

#include <algorithm>
#include <atomic>

#include "parallel/threads.h"

namespace aegir {
namespace {

/// The bucket that holds the particle at a position of the planes.
ParticlePlace place_of(const ParticleSystem& particles, std::uint64_t at) {
  int low = 0, high = particles.topology().local_count() - 1;
  while (low < high) {
    const int middle = low + (high - low + 1) / 2;
    if (particles.first(middle) <= at)
      low = middle;
    else
      high = middle - 1;
  }
  return {low, static_cast<std::size_t>(at - particles.first(low))};
}

}  // namespace

std::optional<ParticlePlace> find_id(const ParticleSystem& particles, std::int64_t id) {
  const std::int64_t* ids = particles.store(particle::id.name).plane<std::int64_t>(0);
  constexpr std::uint64_t none = ~std::uint64_t{0};
  std::atomic<std::uint64_t> found{none};
  parallel_for(0, particles.size(), 1 << 16, [&](std::size_t begin, std::size_t end) {
    if (const auto* at = std::find(ids + begin, ids + end, id); at != ids + end)
      found = static_cast<std::uint64_t>(at - ids);
  });
  if (found == none) return std::nullopt;
  return place_of(particles, found);
}

IdIndex::IdIndex(const ParticleSystem& particles) : particles_(particles), entries_(particles.size()) {
  const std::int64_t* ids = particles.store(particle::id.name).plane<std::int64_t>(0);
  for (std::size_t i = 0; i < entries_.size(); ++i) entries_[i] = {ids[i], i};
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return a.id < b.id; });
}

std::optional<ParticlePlace> IdIndex::find(std::int64_t id) const {
  const auto at =
      std::lower_bound(entries_.begin(), entries_.end(), id, [](const Entry& e, std::int64_t i) { return e.id < i; });
  if (at == entries_.end() || at->id != id) return std::nullopt;
  return place_of(particles_, at->at);
}

}  // namespace aegir
