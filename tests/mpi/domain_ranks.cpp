#include <cmath>
#include <cstdio>
#include <cstring>

#include "base/random.h"
#include "domain/for_each_bucket.h"
#include "domain/particles/neighbours.h"
#include "domain/particles/particle_system.h"
#include "domain/volume/discrete_volume.h"
#include "tests/mpi/ranks.h"

namespace aegir::ranks {
namespace {

constexpr ParticleChannel<Vec3f> velocity{"v", unit::metre_per_second};
constexpr ParticleChannel<float> density{"density"};
constexpr ParticleChannel<double> mass{"mass", unit::kilogram};
constexpr CellChannel<float> field{"field", {}, 0.25f, Keep::between_steps};
constexpr CellChannel<float> smooth{"smooth"};
constexpr CellChannel<double> weight{"weight", {}, 0.0, Keep::between_steps};
constexpr FaceChannel<float> faces{"faces", {}, -1.0f, Keep::between_steps};

/// Hash of one bucket's key and values.
class BucketHash {
 public:
  void add(const void* data, std::size_t size) {
    const auto* from = static_cast<const std::byte*>(data);
    for (; size >= 8; from += 8, size -= 8) {
      std::uint64_t word;
      std::memcpy(&word, from, 8);
      value_ = (value_ ^ word) * 0x9e3779b97f4a7c15ull, value_ ^= value_ >> 29;
    }
    for (; size; ++from, --size) value_ = (value_ ^ static_cast<std::uint64_t>(*from)) * 0x100000001b3ull;
  }
  std::uint64_t value() const { return mix(value_); }

 private:
  std::uint64_t value_ = 1;
};

/// Prints one hash of the hashes of all buckets. Ranks own successive stretches of the curve, so rank order is curve
/// order and the whole does not depend on where it was cut.
void print_hash(Comm& comm, const char* phase, const std::vector<std::uint64_t>& mine) {
  Bytes bytes(mine.size() * sizeof(std::uint64_t));
  if (!mine.empty()) std::memcpy(bytes.data(), mine.data(), bytes.size());
  const auto all = comm.gather(std::move(bytes));
  if (!comm.root()) return;
  BucketHash hash;
  std::size_t buckets = 0;
  for (const Bytes& part : all) hash.add(part.data(), part.size()), buckets += part.size() / sizeof(std::uint64_t);
  std::printf("%-24s %016llx %zu buckets\n", phase, static_cast<unsigned long long>(hash.value()), buckets);
}

void print_particles(Exec& exec, const char* phase, const ParticleSystem& p) {
  std::vector<std::uint64_t> hashes;
  for (int b = 0; b < p.topology().local_count(); ++b) {
    BucketHash hash;
    hash.add(&p.topology().key(b), sizeof(BucketKey));
    for (const ParticleStore& s : p.channels())
      for (const Buffer& plane : s.planes) {
        const std::size_t width = scalar_size(s.info.scalar);
        hash.add(plane.data() + p.first(b) * width, p.count(b) * width);
      }
    hashes.push_back(hash.value());
  }
  print_hash(exec.comm, phase, hashes);
}

void print_volume(Exec& exec, const char* phase, const DiscreteVolume& v) {
  std::vector<std::uint64_t> hashes;
  for (int b = 0; b < v.topology().local_count(); ++b) {
    BucketHash hash;
    hash.add(&v.topology().key(b), sizeof(BucketKey));
    for (const GridStore& s : v.channels())
      for (const Buffer& plane : s.planes)
        hash.add(plane.data() + static_cast<std::size_t>(b) * s.bucket_bytes(), s.bucket_bytes());
    hashes.push_back(hash.value());
  }
  print_hash(exec.comm, phase, hashes);
}

/// Every rank brings its share of the particles, wherever they belong.
void emit(Exec& exec, ParticleSystem& p, std::int64_t count) {
  std::vector<std::int64_t> ids;
  for (std::int64_t i = exec.comm.rank(); i < count; i += exec.comm.size()) ids.push_back(i);
  ParticleBatch batch = p.batch(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const Random r(11, static_cast<std::uint64_t>(ids[i]), 0, Purpose::test);
    batch.id[i] = ids[i];
    batch.position[i] = {r.uniform(0, -2, 2), r.uniform(1, -1, 1), r.uniform(2, -1, 3)};
    batch.set("v", i, r.direction(3));
    batch.set("mass", i, r.uniform(5));
  }
  p.add(batch);
}

void move(Exec& exec, ParticleSystem& p, std::uint64_t step) {
  for_each_bucket(
      exec, "move", p.topology(),
      [=](const Bucket&, auto& id, auto& x) {
        for (std::size_t i = 0; i < x.size(); ++i) {
          const Random r(12, static_cast<std::uint64_t>(id[i]), step, Purpose::test);
          const double reach = id[i] < 150 && r.uniform(9) < 0.3 ? 100.0 : 1.2;
          x.set(i, x[i] + Vec3f(Vec3d{r.uniform(0, -reach, reach), r.uniform(1, -reach, reach),
                                      r.uniform(2, -reach, reach)}));
        }
      },
      p.read(particle::id), p.write(particle::position));
}

void print_sums(Exec& exec, const char* phase, const ParticleSystem& p) {
  const auto m = p.read(mass);
  const auto v = p.read(velocity);
  const auto sums = exact_sums<2>(exec, p.topology(), [&](const Bucket& b) {
    std::array<double, 2> part{};
    const auto masses = m(b.index);
    const auto velocities = v(b.index);
    for (std::size_t i = 0; i < masses.size(); ++i)
      part[0] += masses[i], part[1] += masses[i] * static_cast<double>(velocities[i].x);
    return part;
  });
  const double fastest = maximum(exec, p.topology(), -1.0, [&](const Bucket& b) {
    double most = -1;
    for (std::size_t i = 0; i < v(b.index).size(); ++i) most = std::max(most, static_cast<double>(v(b.index)[i].y));
    return most;
  });
  const std::int64_t count = p.global_size(exec.comm);
  if (exec.comm.root())
    std::printf("%-24s %lld particles, mass %a, momentum %a, fastest %a\n", phase, static_cast<long long>(count),
                sums[0], sums[1], fastest);
}

/// Twenty steps; the cuts move with the particles.
void run_particles(Exec& exec, ParticleSystem& p) {
  emit(exec, p, 20000);
  require(static_cast<bool>(p.rebucket(exec)), "the first rebucket");
  print_particles(exec, "emitted", p);
  for (std::uint64_t step = 0; step < 20; ++step) {
    move(exec, p, step);
    const bool balance = step % 4 == 3;
    const Partition cuts = balance ? p.balanced(exec.comm) : p.topology().partition();
    require(static_cast<bool>(p.rebucket(exec, cuts, static_cast<int>(step % 3))), "rebucket");
    if (balance) require(p.imbalance(exec.comm) < 1.5, "balanced");
    if (step % 5 == 4) print_particles(exec, "moved", p), print_sums(exec, "sums", p);
  }
  require(static_cast<bool>(p.rebucket(exec, static_cast<int>(19 % 3))), "rebucket at rest");
  print_particles(exec, "at rest", p);
}

void near(Exec& exec, ParticleSystem& p) {
  for (int round = 0; round < 2; ++round)  // the second time with ghosts that are up to date
    for_each_bucket(
        exec, "near", p.topology(),
        [](const Bucket&, auto& x, auto& m, auto& d) {
          NeighbourSearch search(x);
          for (std::size_t i = 0; i < d.size(); ++i) {
            double sum = 0;
            search.within(i, 3.0f, [&](int n, std::size_t j, float distance2) {
              sum += m.at[static_cast<std::size_t>(n)][j] * static_cast<double>(9.0f - distance2);
            });
            d.set(i, static_cast<float>(sum));
          }
        },
        p.read_neighbours(particle::position), p.read_neighbours(mass), p.write(density));
  print_particles(exec, "near", p);
}

void fill(Exec& exec, DiscreteVolume& v) {
  for_each_bucket(
      exec, "fill", v.topology(),
      [](const Bucket& b, auto& f, auto& u) {
        const Vec3i at = b.topology.key(b.index).coord;
        for (int c = 0; c < bucket_cells; ++c) {
          const Random r(13, static_cast<std::uint64_t>(((at.x * 4096 + at.y) * 4096 + at.z) * 512 + c), 0,
                         Purpose::test);
          f[c] = static_cast<float>(r.uniform(0));
          for (std::size_t a = 0; a < 3; ++a)
            u[a][c] = static_cast<float>(r.uniform(1 + static_cast<std::uint32_t>(a)));
        }
      },
      v.write(field), v.write(faces));
}

void blur(Exec& exec, DiscreteVolume& v) {
  for_each_bucket(
      exec, "blur", v.topology(),
      [](const Bucket&, auto& wide, auto& star, auto& u, auto& out) {
        for (int i = 0; i < 8; ++i)
          for (int j = 0; j < 8; ++j)
            for (int k = 0; k < 8; ++k)
              out(i, j, k) = wide(i - 2, j + 2, k - 2) + 0.3f * wide(i + 1, j - 1, k + 2) + star(i + 1, j, k) +
                             star(i, j, k - 1) + u[0](i + 1, j, k) - u[2](i, j, k + 1);
      },
      v.read<Halo<2>>(field), v.read<Star<1>>(field), v.read<Halo<1>>(faces), v.overwrite(smooth));
  print_volume(exec, "halos", v);
}

/// Sums of all that a kernel may read around its buckets; ghosts that did not come would make them NaN.
template <int Width>
void sum_around(Exec& exec, DiscreteVolume& v) {
  GridStore& store = v.store(field.name);
  const Topology& t = v.topology();
  std::fill(store.plane<float>(0) + static_cast<std::size_t>(t.local_count()) * bucket_cells,
            store.plane<float>(0) + static_cast<std::size_t>(t.total_count()) * bucket_cells, std::nanf(""));
  store.valid_ghosts = 0;
  for_each_bucket(
      exec, "sum around", t,
      [](const Bucket&, auto& wide, auto& out) {
        float sum = 0;
        for (int i = -Width; i < 8 + Width; ++i)
          for (int j = -Width; j < 8 + Width; ++j)
            for (int k = -Width; k < 8 + Width; ++k)
              sum += static_cast<float>(1 + ((i * 16 + j) * 16 + k) % 7) * wide(i, j, k);
        std::fill_n(out.values, bucket_cells, sum);
      },
      v.read<Halo<Width>>(field), v.overwrite(smooth));
  print_volume(exec, "layers", v);
}

/// Copies of particles near local buckets only: none is missing, none is wrong, and the order is that of the owner.
void check_near_ghosts(Exec& exec, int width) {
  if (exec.comm.size() == 1) return;
  ParticleSystem p("water", 0.05, Partition::even(exec.comm.size()));
  p.declare(velocity), p.declare(mass);
  emit(exec, p, 20000);
  require(static_cast<bool>(p.rebucket(exec, p.balanced(exec.comm), 0)), "the first rebucket");
  const Topology& t = p.topology();
  const auto copies = [&](int reach) {
    for (const char* name : {particle::id.name, particle::position.name}) {
      HaloFlight flight(exec.comm);
      p.update_ghosts(exec, flight, p.store(name), reach);
      flight.end();
    }
    std::vector<std::pair<std::int64_t, Vec3f>> all;
    const ParticleStore& places = p.store(particle::position.name);
    for (int g = t.local_count(); g < t.total_count(); ++g)
      for (std::uint64_t i = p.first(g); i < p.first(g) + p.count(g); ++i) {
        const Vec3f x{places.plane<float>(0)[i], places.plane<float>(1)[i], places.plane<float>(2)[i]};
        const Vec3i cell{static_cast<int>(x.x), static_cast<int>(x.y), static_cast<int>(x.z)};
        bool near = false;
        for (int n = 0; n < 27; ++n) {
          const Vec3i o = neighbour_offset(n);
          const int other = t.find({t.key(g).coord + o, t.key(g).level});
          bool within = other >= 0 && other < t.local_count();
          for (int a = 0; a < 3; ++a)
            within = within && (o[a] == 0 || (o[a] < 0 ? cell[a] < width : cell[a] >= bucket_size - width));
          near = near || within;
        }
        if (near) all.push_back({p.store(particle::id.name).plane<std::int64_t>(0)[i], x});
      }
    return all;
  };
  const auto some = copies(width);
  const std::uint64_t few = p.first(t.total_count());
  const auto whole = copies(whole_buckets);
  require(some == whole, "particles near other ranks' buckets have copies there");
  require(few < p.first(t.total_count()), "narrow copies are fewer than whole ones");
}

/// Particles to grid: weights to the eight cell centres around.
void splat(Exec& exec, const ParticleSystem& p, DiscreteVolume& v) {
  for_each_bucket(
      exec, "splat", p.topology(),
      [](const Bucket&, auto& x, auto& m, auto& sum) {
        for (std::size_t n = 0; n < x.size(); ++n) {
          const Vec3f at = x[n] - Vec3f(0.5f);
          const Vec3f low{std::floor(at.x), std::floor(at.y), std::floor(at.z)};
          for (int c = 0; c < 8; ++c) {
            const Vec3i o{c >> 2, c >> 1 & 1, c & 1};
            const Vec3f w = Vec3f(1.0f) - max(at - low - Vec3f(o), Vec3f(o) - (at - low));
            sum(static_cast<int>(low.x) + o.x, static_cast<int>(low.y) + o.y, static_cast<int>(low.z) + o.z) +=
                m[n] * static_cast<double>(w.x * w.y * w.z);
          }
        }
      },
      p.read(particle::position), p.read(mass), v.add<Halo<1>>(weight));
  print_volume(exec, "sums of particles", v);
}

void remove_some(Exec& exec, ParticleSystem& p) {
  for_each_bucket(
      exec, "remove", p.topology(),
      [](const Bucket&, auto& id) {
        for (std::size_t i = 0; i < id.size(); ++i)
          if (id[i] % 5 < 2) id.set(i, ~id[i]);
      },
      p.write(particle::id));
  require(static_cast<bool>(p.rebucket(exec)), "rebucket with removals");
  print_particles(exec, "removed", p);
}

void check_failure(Exec& exec, ParticleSystem& p) {
  // One particle of one rank goes astray; every rank hears of it.
  for_each_bucket(
      exec, "break", p.topology(),
      [](const Bucket&, auto& id, auto& x) {
        for (std::size_t i = 0; i < id.size(); ++i)
          if (id[i] == 1002) x.set(i, Vec3f(std::nanf("")));
      },
      p.read(particle::id), p.write(particle::position));
  const Status status = p.rebucket(exec);
  require(!status && status.error().kind == Failure::simulation, "a lost particle is everybody's failure");
  if (exec.comm.root()) std::printf("%s\n", status.error().message.c_str());
}

}  // namespace

void check_domain(Exec& exec) {
  ParticleSystem p("water", 0.05, Partition::even(exec.comm.size()));
  p.declare(velocity), p.declare(mass), p.declare(density);
  run_particles(exec, p);
  near(exec, p);
  require(static_cast<bool>(p.rebucket(exec, p.balanced(exec.comm), 1)), "padding");
  DiscreteVolume v("water", p.shared_topology());
  v.declare(field), v.declare(smooth), v.declare(weight), v.declare(faces);
  fill(exec, v);
  blur(exec, v);
  sum_around<1>(exec, v), sum_around<2>(exec, v), sum_around<3>(exec, v), sum_around<4>(exec, v);
  splat(exec, p, v);
  for (int width = 1; width <= 4; ++width) check_near_ghosts(exec, width);
  // Other cuts, other buckets: kept values follow their bucket to its new rank.
  move(exec, p, 100);
  require(static_cast<bool>(p.rebucket(exec, Partition::even(exec.comm.size()), 1)), "other cuts");
  v.adopt(exec.comm, p.shared_topology());
  print_volume(exec, "adopted", v);
  require(static_cast<bool>(p.rebucket(exec, p.balanced(exec.comm), 1)), "cuts again");
  v.adopt(exec.comm, p.shared_topology());
  blur(exec, v);
  near(exec, p);
  remove_some(exec, p);
  print_sums(exec, "sums", p);
  check_failure(exec, p);
}

}  // namespace aegir::ranks
