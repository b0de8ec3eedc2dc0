// Where is the particle with this id? Only this rank's particles are looked at.
//
//   if (auto place = find_id(particles, 4711)) use(place->bucket, place->index);      // one question: looks at all
//   IdIndex index(particles);                                                         // many: sorts once
//   auto place = index.find(4711);
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "domain/particles/particle_system.h"

namespace aegir {

/// A particle by its bucket and its index there.
struct ParticlePlace {
  int bucket = 0;
  std::size_t index = 0;
  bool operator==(const ParticlePlace&) const = default;
};

/// The place of a particle on this rank, or nothing.
std::optional<ParticlePlace> find_id(const ParticleSystem& particles, std::int64_t id);

/// Ids in order with their places; valid until the next rebucket().
class IdIndex {
 public:
  explicit IdIndex(const ParticleSystem& particles);
  std::optional<ParticlePlace> find(std::int64_t id) const;

 private:
  struct Entry {
    std::int64_t id;
    std::uint64_t at;
  };
  const ParticleSystem& particles_;
  std::vector<Entry> entries_;
};

}  // namespace aegir
