#include "phenomena/common/reseed.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "base/random.h"
#include "domain/for_each_bucket.h"
#include "numerics/transfer/face_stencil.h"
#include "phenomena/common/channels.h"
#include "phenomena/common/crowding.h"
#include "phenomena/common/hybrid_channels.h"

namespace aegir {
namespace {

constexpr double farthest = 3.5;  // cells beyond its bucket that a velocity can be asked for

/// A particle that is to come.
struct NewParticle {
  Vec3d position;  // world, at the end of the substep
  Vec3f velocity;
  Vec3f affine[3];
  float mass = 0;
  std::size_t like = 0;  // the particle that it takes the rest from
};

/// The particles of this rank as plain arrays.
struct Arrays {
  explicit Arrays(ParticleSystem& particles) {
    for (const ParticleStore& c : particles.channels()) {
      ParticleStore& store = particles.store(c.info.name);
      store.valid_ghosts = 0;
      if (c.info.name == particle::id.name) id = store.plane<std::int64_t>(0);
      if (c.info.scalar != Scalar::f32) continue;
      for (int p = 0; p < c.info.components; ++p) {
        float* plane = store.plane<float>(p);
        if (c.info.name == particle::position.name) position[p] = plane;
        if (c.info.name == particle::velocity.name) velocity[p] = plane;
        if (c.info.name == particle::mass.name) mass = plane;
        if (c.info.name == particle::radius.name) radius = plane;
        const bool other = c.info.name != particle::mass.name && c.info.name != particle::radius.name;
        if (other) averaged.push_back(plane);
      }
    }
  }
  Vec3f at(std::size_t i) const { return {position[0][i], position[1][i], position[2][i]}; }

  float *position[3], *velocity[3], *mass = nullptr, *radius = nullptr;
  std::int64_t* id = nullptr;
  std::vector<float*> averaged;  // everything but mass and radius
};

float radius_of(double mass, double density) {
  return static_cast<float>(std::cbrt(mass / density / 4.1887902047863905));
}

/// Works on the cells of one bucket, one after the other.
template <class Velocity>
class BucketReseeder {
 public:
  BucketReseeder(const Arrays& arrays, const ReseedRules& rules, const Bucket& bucket, const Velocity& u,
                 FunctionRef<bool(const Vec3d&)> blocked)
      : a_(arrays), rules_(rules), bucket_(bucket), u_(u), blocked_(blocked) {}

  /// Adds to the particles [first, first + count) of a cell.
  void fill(int cell, std::size_t first, std::size_t count, std::vector<NewParticle>& out) {
    const std::size_t begin = out.size();
    double mass = 0;
    Vec3d momentum, of_grid;
    for (std::size_t i = first; i < first + count; ++i) {
      const auto m = static_cast<double>(a_.mass[i]);
      mass += m;
      for (int c = 0; c < 3; ++c) momentum[c] += m * static_cast<double>(a_.velocity[c][i]);
      of_grid += Vec3d(sample_velocity<float>(u_, a_.at(i))) * m;
    }
    const Vec3f apart((momentum - of_grid) / mass);
    place(cell, first, count, out);
    const auto total = static_cast<double>(count + out.size() - begin);
    if (out.size() == begin) return;
    for (std::size_t n = begin; n < out.size(); ++n) out[n].velocity += apart;
    const auto share = static_cast<float>(mass / total);
    Vec3d moved;
    for (std::size_t i = first; i < first + count; ++i)
      for (int c = 0; c < 3; ++c) moved[c] += static_cast<double>(a_.velocity[c][i]);
    for (std::size_t n = begin; n < out.size(); ++n) moved += Vec3d(out[n].velocity);
    const Vec3d change = (momentum - moved * (mass / total)) / mass;
    for (std::size_t i = first; i < first + count; ++i) {
      for (int c = 0; c < 3; ++c)
        a_.velocity[c][i] = static_cast<float>(static_cast<double>(a_.velocity[c][i]) + change[c]);
      a_.mass[i] = share, a_.radius[i] = radius_of(static_cast<double>(share), rules_.density);
    }
    for (std::size_t n = begin; n < out.size(); ++n)
      out[n].mass = share, out[n].velocity = Vec3f(Vec3d(out[n].velocity) + change);
  }

  /// Merges the closest two of a cell until there are few enough; returns how many are marked for removal.
  std::int64_t thin(std::size_t first, std::size_t count) {
    std::vector<std::size_t> left(count);
    for (std::size_t n = 0; n < count; ++n) left[n] = first + n;
    std::int64_t merged = 0;
    for (; left.size() > static_cast<std::size_t>(rules_.limits.maximum); ++merged) {
      std::size_t one = 0, other = 1;
      float least = 1e30f;
      for (std::size_t i = 0; i < left.size(); ++i)
        for (std::size_t j = i + 1; j < left.size(); ++j) {
          const Vec3f d = a_.at(left[i]) - a_.at(left[j]);
          if (const float squared = dot(d, d); squared < least) least = squared, one = i, other = j;
        }
      merge(left[one], left[other]);
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(other));
    }
    return merged;
  }

 private:
  void merge(std::size_t into, std::size_t from) {
    const auto a = static_cast<double>(a_.mass[into]), b = static_cast<double>(a_.mass[from]), both = a + b;
    for (float* plane : a_.averaged)
      plane[into] =
          static_cast<float>((a * static_cast<double>(plane[into]) + b * static_cast<double>(plane[from])) / both);
    a_.mass[into] = static_cast<float>(both), a_.radius[into] = radius_of(both, rules_.density);
    a_.id[from] = ~a_.id[from];
  }

  /// Puts new particles into the emptiest parts of the cell, at a random place in each.
  void place(int cell, std::size_t first, std::size_t count, std::vector<NewParticle>& out) {
    const int n = rules_.per_axis, parts = n * n * n;
    const Vec3i low{cell >> 6, cell >> 3 & 7, cell & 7};
    std::vector<int> taken(static_cast<std::size_t>(parts), 0);
    const auto part_of = [&](const Vec3f& x) {
      Vec3i p;
      for (int c = 0; c < 3; ++c)
        p[c] = std::clamp(static_cast<int>((x[c] - static_cast<float>(low[c])) * static_cast<float>(n)), 0, n - 1);
      return static_cast<std::size_t>((p.x * n + p.y) * n + p.z);
    };
    for (std::size_t i = first; i < first + count; ++i) ++taken[part_of(a_.at(i))];
    const auto bits = [](std::int32_t v) { return static_cast<std::uint64_t>(static_cast<std::uint32_t>(v)); };
    const Vec3i where = bucket_.topology.key(bucket_.index).coord * bucket_size + low;
    const Random draw(rules_.seed, mix(bits(where.x) | bits(where.y) << 32) ^ bits(where.z), rules_.step,
                      Purpose::reseeding);
    for (int k = static_cast<int>(count); k < rules_.limits.minimum; ++k) {
      const auto number = static_cast<std::uint32_t>(4 * k);
      // The first of the emptiest, counted from a random one.
      const auto start = static_cast<int>(draw.bits(number) % static_cast<std::uint64_t>(parts));
      int best = start;
      for (int m = 1; m < parts; ++m)
        if (const int p = (start + m) % parts;
            taken[static_cast<std::size_t>(p)] < taken[static_cast<std::size_t>(best)])
          best = p;
      ++taken[static_cast<std::size_t>(best)];
      const Vec3i part{best / (n * n), best / n % n, best % n};
      Vec3f x;
      for (int c = 0; c < 3; ++c)
        x[c] = static_cast<float>(low[c] + (part[c] + draw.uniform(number + 1 + static_cast<std::uint32_t>(c))) / n);
      if (auto p = make(x, first, count)) out.push_back(*p);
    }
  }

  std::optional<NewParticle> make(const Vec3f& x, std::size_t first, std::size_t count) const {
    NewParticle p;
    p.velocity = sample_velocity<float>(u_, x);
    const auto step = static_cast<float>(rules_.dt / bucket_.spacing());
    const Vec3f middle = within(x + p.velocity * (0.5f * step));
    const Vec3f end = x + sample_velocity<float>(u_, middle) * step;
    p.position = bucket_.origin() + Vec3d(end) * bucket_.spacing();
    if (!(std::isfinite(end.x) && std::isfinite(end.y) && std::isfinite(end.z)) || blocked_(p.position)) return {};
    if (rules_.affine)
      for (int axis = 0; axis < 3; ++axis) {
        const FaceStencil<float> stencil(axis, x);
        Vec3f row;
        for (int n = 0; n < 8; ++n) row += stencil.gradient(n) * u_(axis, stencil.face(n));
        p.affine[axis] = row / static_cast<float>(bucket_.spacing());
      }
    float least = 1e30f;
    for (std::size_t i = first; i < first + count; ++i) {
      const Vec3f d = a_.at(i) - x;
      if (const float squared = dot(d, d); squared < least) least = squared, p.like = i;
    }
    return p;
  }
  static Vec3f within(Vec3f x) {
    for (int c = 0; c < 3; ++c)
      x[c] = std::clamp(x[c], static_cast<float>(-farthest + 0.5), static_cast<float>(bucket_size + farthest - 0.5));
    return x;
  }

  const Arrays& a_;
  const ReseedRules& rules_;
  const Bucket& bucket_;
  const Velocity& u_;
  FunctionRef<bool(const Vec3d&)> blocked_;
};

/// Whether a cell is inside the liquid; a cell of rock beside it is no air.
template <class Tile>
bool inside(const Tile& distance, const Tile& room, int i, int j, int k) {
  if (room(i, j, k) < 1) return false;
  for (int a = -1; a <= 1; ++a)
    for (int b = -1; b <= 1; ++b)
      for (int c = -1; c <= 1; ++c)
        if (distance(i + a, j + b, k + c) >= 0 && room(i + a, j + b, k + c) > 0) return false;
  return true;
}

int cell_of(const Vec3f& x) { return cell_offset(static_cast<int>(x.x), static_cast<int>(x.y), static_cast<int>(x.z)); }

/// Takes the new particles of all buckets in.
std::int64_t add(Exec& exec, ParticleSystem& particles, const ReseedRules& rules,
                 const std::vector<std::vector<NewParticle>>& made) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(exec.comm.size()), 0);
  std::size_t mine = 0;
  for (const auto& bucket : made) mine += bucket.size();
  counts[static_cast<std::size_t>(exec.comm.rank())] = static_cast<std::int64_t>(mine);
  exec.comm.sum(std::span<std::int64_t>(counts));
  // Ranks own consecutive stretches of the curve, so this numbers along it.
  std::int64_t id = rules.next_id, all = 0;
  for (std::size_t r = 0; r < counts.size(); ++r) {
    if (static_cast<int>(r) < exec.comm.rank()) id += counts[r];
    all += counts[r];
  }
  if (mine == 0) return all;
  ParticleBatch batch = particles.batch(mine);
  std::size_t n = 0;
  for (const auto& bucket : made)
    for (const NewParticle& p : bucket) batch.position[n] = p.position, batch.id[n++] = id++;
  for (ParticleBatch::Column& column : batch.columns) {
    const ParticleStore& store = particles.store(column.info.name);
    const bool velocity = column.info.name == particle::velocity.name, mass = column.info.name == particle::mass.name,
               radius = column.info.name == particle::radius.name;
    int row = -1;
    for (int a = 0; a < 3 && rules.affine; ++a)
      if (column.info.name == particle::affine[a].name) row = a;
    for (std::size_t c = 0; c < column.planes.size(); ++c) {
      n = 0;
      const int plane = static_cast<int>(c);
      for (const auto& bucket : made)
        for (const NewParticle& p : bucket) {
          double& value = column.planes[c][n++];
          if (velocity)
            value = static_cast<double>(p.velocity[plane]);
          else if (row >= 0)
            value = static_cast<double>(p.affine[row][plane]);
          else if (mass)
            value = static_cast<double>(p.mass);
          else if (radius)
            value = static_cast<double>(radius_of(static_cast<double>(p.mass), rules.density));
          else if (column.info.scalar == Scalar::f32)
            value = static_cast<double>(store.plane<float>(plane)[p.like]);
          else if (column.info.scalar == Scalar::i32)
            value = store.plane<std::int32_t>(plane)[p.like];
        }
    }
  }
  particles.add(batch);
  return all;
}

}  // namespace

Reseeded reseed(Exec& exec, ParticleSystem& particles, DiscreteVolume& volume, const ReseedRules& rules,
                FunctionRef<bool(const Vec3d&)> blocked) {
  const Topology& topology = volume.topology();
  const Arrays arrays(particles);
  std::vector<std::vector<NewParticle>> made(static_cast<std::size_t>(topology.local_count()));
  std::vector<std::int64_t> merged(made.size(), 0);
  for_each_bucket(
      exec, "reseed", topology,
      [&](const Bucket& bucket, auto& p, auto& u, auto& distance, auto& room) {
        if (p.count == 0) return;
        const auto face = [&](int axis, const Vec3i& f) { return u[static_cast<std::size_t>(axis)](f.x, f.y, f.z); };
        BucketReseeder work(arrays, rules, bucket, face, blocked);
        const auto index = static_cast<std::size_t>(bucket.index);
        const std::size_t first = particles.first(bucket.index);
        for (std::size_t begin = 0, end = 0; begin < p.count; begin = end) {
          const int cell = cell_of(p[begin]);
          for (end = begin + 1; end < p.count && cell_of(p[end]) == cell;) ++end;
          const std::size_t count = end - begin;
          const bool few = count<static_cast<std::size_t>(rules.limits.minimum), many = count> static_cast<std::size_t>(
              rules.limits.maximum);
          if ((!few && !many) || !inside(distance, room, cell >> 6, cell >> 3 & 7, cell & 7)) continue;
          if (rules.sheets && rules.sheets->near(bucket.index, cell)) continue;
          if (few) work.fill(cell, first + begin, count, made[index]);
          if (many) merged[index] += work.thin(first + begin, count);
        }
      },
      particles.read(particle::position), volume.read<Halo<4>>(grid::velocity),
      volume.read<Halo<1>>(grid::surface_distance), volume.read<Halo<1>>(cell_room));
  Reseeded done;
  for (const std::int64_t n : merged) done.merged += n;
  done.merged = exec.comm.sum(done.merged);
  done.added = add(exec, particles, rules, made);
  return done;
}

}  // namespace aegir
