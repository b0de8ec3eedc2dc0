#include "phenomena/coupling/join.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>
#include <span>

#include "base/random.h"
#include "domain/for_each_bucket.h"

namespace aegir {
namespace {

constexpr float reach = 1.5f;  // cells

/// A droplet with its place in the liquid's buckets.
struct Placed {
  Fallen droplet;
  BucketKey key;
  std::uint64_t curve = 0;
  Vec3f cell;
};

/// A particle that is to come.
struct NewParticle {
  Vec3d position;
  Vec3f velocity;
  float mass = 0;
  std::optional<std::size_t> like;  // the particle that it takes the rest from, by its place in memory
};

float radius_of(double mass, double density) {
  return static_cast<float>(std::cbrt(mass / density / 4.1887902047863905));
}

/// Brings droplets to the ranks that own their places, in order of the curve and then of ids.
std::vector<Placed> route(Comm& comm, const Topology& topology, const std::vector<Fallen>& mine) {
  std::vector<std::vector<Fallen>> away(static_cast<std::size_t>(comm.size()));
  for (const Fallen& f : mine) {
    const BucketKey key = locate(f.position, topology.spacing()).key;
    away[static_cast<std::size_t>(topology.partition().owner(curve_position(key)))].push_back(f);
  }
  const auto rank = static_cast<std::size_t>(comm.rank());
  std::vector<Fallen> here = std::move(away[rank]);
  std::vector<Message> outgoing;
  for (std::size_t r = 0; r < away.size(); ++r)
    if (r != rank && !away[r].empty()) {
      Message m{static_cast<int>(r), Bytes(away[r].size() * sizeof(Fallen))};
      std::memcpy(m.bytes.data(), away[r].data(), m.bytes.size());
      outgoing.push_back(std::move(m));
    }
  if (comm.size() > 1)
    for (const Message& m : comm.exchange(std::move(outgoing))) {
      const std::size_t before = here.size();
      here.resize(before + m.bytes.size() / sizeof(Fallen));
      std::memcpy(here.data() + before, m.bytes.data(), m.bytes.size());
    }
  std::vector<Placed> placed;
  for (const Fallen& f : here) {
    const BucketPosition at = locate(f.position, topology.spacing());
    placed.push_back({f, at.key, curve_position(at.key), at.cell});
  }
  std::sort(placed.begin(), placed.end(), [](const Placed& a, const Placed& b) {
    return std::pair(a.curve, a.droplet.id) < std::pair(b.curve, b.droplet.id);
  });
  return placed;
}

/// The particles of one bucket by cell.
class CellTable {
 public:
  explicit CellTable(const ParticleSpan<const Vec3f>& p) : p_(p) {
    for (std::size_t j = 0; j < p.count; ++j)
      ++first_[static_cast<std::size_t>(cell_offset(static_cast<int>(p.plane[0][j]), static_cast<int>(p.plane[1][j]),
                                                    static_cast<int>(p.plane[2][j]))) +
               1];
    std::partial_sum(std::begin(first_), std::end(first_), std::begin(first_));
  }
  /// The particle nearest to a place within reach, the first of equals.
  std::optional<std::size_t> nearest(const Vec3f& x) const {
    int low[3], high[3];
    for (int a = 0; a < 3; ++a) {
      low[a] = std::max(0, static_cast<int>(std::floor(x[a] - reach)));
      high[a] = std::min(bucket_size - 1, static_cast<int>(std::floor(x[a] + reach)));
    }
    std::optional<std::size_t> best;
    float least = reach * reach;
    for (int i = low[0]; i <= high[0]; ++i)
      for (int j = low[1]; j <= high[1]; ++j)
        for (std::size_t n = first_[cell_offset(i, j, low[2])]; n < first_[cell_offset(i, j, high[2]) + 1]; ++n) {
          const Vec3f d = p_[n] - x;
          if (const float squared = dot(d, d); squared < least) least = squared, best = n;
        }
    return best;
  }

 private:
  const ParticleSpan<const Vec3f>& p_;
  std::uint32_t first_[bucket_cells + 1] = {};
};

/// A droplet and the particle that it joins.
struct Pair {
  std::size_t particle, droplet;
};

/// Joins droplets to particles of one bucket.
class BucketJoiner {
 public:
  BucketJoiner(const HybridObject& liquid, std::span<const Placed> droplets, std::uint64_t seed, std::uint64_t step)
      : liquid_(liquid), droplets_(droplets), seed_(seed), step_(step) {}

  void alone(std::size_t droplet, std::vector<NewParticle>& out) const {
    const Fallen& f = droplets_[droplet].droplet;
    out.push_back({f.position, f.velocity, f.mass, {}});
  }

  /// What becomes of a particle that droplets have joined: sets its mass and velocity, and appends the parts that it
  /// divides into. `place` is its place in memory.
  void merge(std::span<const Pair> pairs, float& mass, Vec3f& velocity, std::size_t place,
             std::vector<NewParticle>& out) const {
    auto whole = static_cast<double>(mass);
    Vec3d momentum = Vec3d(velocity) * whole;
    for (const Pair& p : pairs) {
      const Fallen& f = droplets_[p.droplet].droplet;
      const auto m = static_cast<double>(f.mass);
      whole += m, momentum += Vec3d(f.velocity) * m;
    }
    velocity = Vec3f(momentum / whole);
    const double unit = liquid_.particle_mass();
    const int parts = whole >= 2 * unit ? static_cast<int>(std::min(whole / unit, 1e6)) : 1;
    const auto share = static_cast<float>(whole / parts);
    mass = static_cast<float>(whole - static_cast<double>(share) * (parts - 1));
    for (int k = 1; k < parts; ++k) out.push_back({place_of(pairs, k - 1), velocity, share, place});
  }

 private:
  /// Of part k: that of a droplet, or inside one where there are more parts than droplets.
  Vec3d place_of(std::span<const Pair> pairs, int k) const {
    const auto n = static_cast<std::size_t>(k);
    const Fallen& f = droplets_[pairs[n % pairs.size()].droplet].droplet;
    if (n < pairs.size()) return f.position;
    const Random draw(seed_, static_cast<std::uint64_t>(f.id), step_, Purpose::transition);
    const auto number = static_cast<std::uint32_t>(4 * k);
    const double radius = std::max(static_cast<double>(f.radius), liquid_.particle_radius());
    const Vec3d x = f.position + draw.direction(number) * (radius * std::cbrt(draw.uniform(number + 2)));
    return liquid_.obstructed(x) ? f.position : x;
  }

  const HybridObject& liquid_;
  std::span<const Placed> droplets_;
  std::uint64_t seed_, step_;
};

/// Droplets [first, last) of the list lie in one bucket.
struct Heap {
  std::size_t first, last;
  int bucket;  // -1: the liquid has none there
};

std::vector<Heap> heaps_of(const std::vector<Placed>& placed, const Topology& topology) {
  std::vector<Heap> heaps;
  for (std::size_t i = 0; i < placed.size(); ++i) {
    if (!heaps.empty() && placed[heaps.back().first].curve == placed[i].curve) {
      heaps.back().last = i + 1;
      continue;
    }
    const int b = topology.find(placed[i].key);
    heaps.push_back({i, i + 1, b < topology.local_count() ? b : -1});
  }
  return heaps;
}

/// Takes the new particles in, numbered along the curve.
void add(Exec& exec, HybridObject& liquid, const std::vector<std::vector<NewParticle>>& made) {
  ParticleSystem& particles = *liquid.particles();
  std::size_t mine = 0, n = 0;
  for (const auto& heap : made) mine += heap.size();
  std::vector<std::int64_t> counts(static_cast<std::size_t>(exec.comm.size()), 0);
  const auto rank = static_cast<std::size_t>(exec.comm.rank());
  counts[rank] = static_cast<std::int64_t>(mine);
  exec.comm.sum(std::span<std::int64_t>(counts));
  std::int64_t id = liquid.take_ids(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}));
  for (std::size_t r = 0; r < rank; ++r) id += counts[r];
  ParticleBatch batch = particles.batch(mine);
  for (const auto& heap : made)
    for (const NewParticle& p : heap) {
      if (p.like)
        particles.copy_to(batch, n, *p.like);
      else
        batch.set(particle::rest.name, n, p.position);
      batch.position[n] = p.position, batch.id[n] = id++;
      batch.set(particle::velocity.name, n, Vec3d(p.velocity));
      batch.set(particle::mass.name, n, static_cast<double>(p.mass));
      batch.set(particle::radius.name, n,
                static_cast<double>(radius_of(static_cast<double>(p.mass), liquid.settings().density)));
      if (!p.like) batch.set(particle::age.name, n, 0.0);
      ++n;
    }
  particles.add(batch);
}

}  // namespace

// Per bucket with droplets: positions (12 bytes per particle) twice; per droplet about 27 cells of particles, 8 flops
// each.
void join(Exec& exec, HybridObject& liquid, const std::vector<Fallen>& mine, std::uint64_t seed, std::uint64_t step,
          Handover& handover) {
  ParticleSystem& particles = *liquid.particles();
  const Topology& topology = particles.topology();
  const std::vector<Placed> placed = route(exec.comm, topology, mine);
  const std::vector<Heap> heaps = heaps_of(placed, topology);
  std::vector<std::vector<NewParticle>> made(heaps.size());
  const BucketJoiner joiner(liquid, placed, seed, step);
  // What particles had before droplets joined them, and have after.
  struct Change {
    float mass_before, mass;
    Vec3f velocity_before, velocity;
  };
  std::vector<std::vector<Change>> changes(heaps.size());
  std::vector<int> buckets;
  std::vector<std::size_t> heap_of_bucket(static_cast<std::size_t>(topology.local_count()));
  for (std::size_t h = 0; h < heaps.size(); ++h) {
    if (heaps[h].bucket >= 0)
      buckets.push_back(heaps[h].bucket), heap_of_bucket[static_cast<std::size_t>(heaps[h].bucket)] = h;
    else
      for (std::size_t d = heaps[h].first; d < heaps[h].last; ++d) joiner.alone(d, made[h]);
  }
  for_buckets(
      exec, "join droplets", topology, buckets,
      [&](const Bucket& b, auto& p, auto& v, auto& mass, auto& radius) {
        const std::size_t h = heap_of_bucket[static_cast<std::size_t>(b.index)];
        const CellTable table(p);
        std::vector<Pair> pairs;
        for (std::size_t d = heaps[h].first; d < heaps[h].last; ++d)
          if (const auto near = table.nearest(placed[d].cell))
            pairs.push_back({*near, d});
          else
            joiner.alone(d, made[h]);
        std::stable_sort(pairs.begin(), pairs.end(),
                         [](const Pair& a, const Pair& other) { return a.particle < other.particle; });
        for (std::size_t begin = 0, end = 0; begin < pairs.size(); begin = end) {
          const std::size_t i = pairs[begin].particle;
          for (end = begin + 1; end < pairs.size() && pairs[end].particle == i;) ++end;
          Change change{mass[i], mass[i], v[i], v[i]};
          joiner.merge(std::span(pairs).subspan(begin, end - begin), change.mass, change.velocity,
                       particles.first(b.index) + i, made[h]);
          mass.set(i, change.mass), v.set(i, change.velocity);
          radius.set(i, radius_of(static_cast<double>(change.mass), liquid.settings().density));
          changes[h].push_back(change);
        }
      },
      particles.read(particle::position), particles.write(particle::velocity), particles.write(particle::mass),
      particles.write(particle::radius));
  for (const Placed& p : placed) handover.leaves(static_cast<double>(p.droplet.mass), Vec3d(p.droplet.velocity));
  for (const auto& heap : changes)
    for (const Change& ch : heap)
      handover.enters(static_cast<double>(ch.mass), Vec3d(ch.velocity)),
          handover.enters(-static_cast<double>(ch.mass_before), Vec3d(ch.velocity_before));
  for (const auto& heap : made)
    for (const NewParticle& n : heap) handover.enters(static_cast<double>(n.mass), Vec3d(n.velocity));
  add(exec, liquid, made);
}

}  // namespace aegir
