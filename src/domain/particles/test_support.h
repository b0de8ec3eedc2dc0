// What the tests of particles share: a world of one process, and particles whose channels are functions of their id.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "base/random.h"
#include "domain/exec.h"
#include "domain/particles/particle_system.h"

namespace aegir::particle_test {

inline constexpr ParticleChannel<Vec3f> velocity{"v", unit::metre_per_second};
inline constexpr ParticleChannel<double> mass{"mass", unit::kilogram, 1.5};
inline constexpr ParticleChannel<std::int32_t> kind{"kind", {}, 4};
inline constexpr ParticleChannel<std::int64_t> parent{"parent", {}, -1};
inline constexpr ParticleChannel<Vec3d> rest{"rest", unit::metre};

struct World {
  std::unique_ptr<Comm> comm = make_single_comm();
  Profile profile;
  Exec exec{*comm, profile};
};

/// What the channels of a particle hold: a function of its id, so that a mix-up shows.
inline double tag(std::int64_t id, int what) { return static_cast<double>((id * 31 + what * 7) % 100003); }

inline void declare_all(ParticleSystem& p) {
  p.declare(velocity), p.declare(mass), p.declare(kind), p.declare(parent), p.declare(rest);
}

inline ParticleBatch tagged_batch(const ParticleSystem& p, const std::vector<std::pair<std::int64_t, Vec3d>>& who) {
  ParticleBatch batch = p.batch(who.size());
  for (std::size_t i = 0; i < who.size(); ++i) {
    const std::int64_t id = who[i].first;
    batch.id[i] = id, batch.position[i] = who[i].second;
    batch.set("v", i, Vec3d{tag(id, 0), tag(id, 1), tag(id, 2)});
    batch.set("mass", i, tag(id, 3)), batch.set("kind", i, tag(id, 4)), batch.set("parent", i, tag(id, 5));
    batch.set("rest", i, Vec3d{tag(id, 6), tag(id, 7), tag(id, 8)});
    batch.set("unknown", i, 1.0);
  }
  return batch;
}

inline std::vector<std::pair<std::int64_t, Vec3d>> cloud(std::size_t count, double size) {
  std::vector<std::pair<std::int64_t, Vec3d>> who;
  for (std::size_t i = 0; i < count; ++i) {
    const Random r(5, i, 0, Purpose::test);
    who.push_back({static_cast<std::int64_t>(mix(i) >> 20),
                   {r.uniform(0, -size, size), r.uniform(1, -size, size), r.uniform(2, -size, size)}});
  }
  return who;
}

}  // namespace aegir::particle_test
