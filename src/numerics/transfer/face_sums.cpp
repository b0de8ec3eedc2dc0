#include "numerics/transfer/face_sums.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include <immintrin.h>

#include "parallel/threads.h"

namespace aegir {
namespace {

/// Eight rows become eight columns.
inline void transpose(Row<float> (&r)[8]) {
  __m256 t[8], u[8];
  for (int i = 0; i < 8; i += 2)
    t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]), t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
  for (int i = 0; i < 8; i += 4) {
    u[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44), u[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
    u[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44), u[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
  }
  for (int i = 0; i < 4; ++i) {
    r[i] = _mm256_permute2f128_ps(u[i], u[i + 4], 0x20);
    r[i + 4] = _mm256_permute2f128_ps(u[i], u[i + 4], 0x31);
  }
}

/// Sums of one component in one bucket, laid out as tiles are: layers along z, then the axis of pairs, then lines.
struct BucketSums {
  alignas(64) float values[bucket_cells];
  static int place(int z, int pair) { return z * 64 + pair * 8; }
};

/// Copies the part of a bucket's own tile that lies in it; q is 0 for mass and 1 for momentum.
void take_own(int axis, const FaceSumTile& tile, int q, BucketSums& sums) {
  const Vec3i s = FaceSumTile::strides(axis);
  const float* from = tile.values[axis] + FaceSumTile::place(axis, {0, 0, 0}) + q * FaceSumTile::line;
  for (int z = 0; z < bucket_size; ++z)
    for (int p = 0; p < bucket_size; ++p)
      store_row(sums.values + BucketSums::place(z, p), load_row(from + z * s.z + p * FaceSumTile::pair));
}
/// Adds the part of the tile of the neighbour at offset o that lies in this bucket.
void add_part(int axis, const FaceSumTile& tile, int q, const Vec3i& o, BucketSums& sums) {
  const int layer = FaceSumTile::strides(axis).z;
  const float* from = tile.values[axis] + q * FaceSumTile::line +
                      FaceSumTile::place(axis, {-bucket_size * o.x, -bucket_size * o.y, -bucket_size * o.z});
  const int along_pairs = axis == 1 ? o.y : o.x, along_lines = axis == 1 ? o.x : o.y;
  const auto first = [](int d) { return d > 0 ? bucket_size - 1 : 0; };
  const auto last = [](int d) { return d < 0 ? 1 : bucket_size; };
  for (int z = first(o.z); z < last(o.z); ++z)
    for (int p = first(along_pairs); p < last(along_pairs); ++p) {
      float* to = sums.values + BucketSums::place(z, p);
      const float* line = from + z * layer + p * FaceSumTile::pair;
      if (along_lines == 0)
        store_row(to, load_row(to) + load_row(line));
      else
        to[first(along_lines)] += line[first(along_lines)];
    }
}

/// Calls visit(axis, place, count) for the floats of a tile that lie in the neighbour at offset o: those that
/// add_part() reads there.
template <class Visit>
void for_part(const Vec3i& o, const Visit& visit) {
  const auto first = [](int d) { return d < 0 ? -1 : d > 0 ? bucket_size : 0; };
  const auto count = [](int d) { return d == 0 ? bucket_size : 1; };
  for (int axis = 0; axis < 3; ++axis) {
    if (o[axis] < 0) continue;
    const int start = FaceSumTile::place(axis, {first(o.x), first(o.y), first(o.z)});
    const int along_pairs = axis == 1 ? o.y : o.x, along_lines = axis == 1 ? o.x : o.y;
    for (int z = 0; z < count(o.z); ++z)
      for (int p = 0; p < count(along_pairs); ++p)
        for (int q = 0; q < 2; ++q)
          visit(axis, start + z * FaceSumTile::strides(axis).z + p * FaceSumTile::pair + q * FaceSumTile::line,
                count(along_lines));
  }
}

std::size_t part_floats(const Vec3i& o) {
  std::size_t floats = 0;
  for_part(o, [&](int, int, int count) { floats += static_cast<std::size_t>(count); });
  return floats;
}

/// Turns sums into rows along z, and momentum into velocity.
void divide(int axis, const BucketSums& mass, const BucketSums& momentum, float* out_mass, float* out_velocity) {
  const int pairs = axis == 1 ? 8 : 64, lines = axis == 1 ? 64 : 8;
  const Row<float> least = _mm256_set1_ps(std::numeric_limits<float>::min());  // a quotient of denormals means nothing
  for (int p = 0; p < bucket_size; ++p) {
    Row<float> m[8], v[8];
    for (int z = 0; z < bucket_size; ++z) {
      const int at = BucketSums::place(z, p);
      m[z] = load_row(mass.values + at), v[z] = load_row(momentum.values + at);
    }
    transpose(m), transpose(v);
    for (int l = 0; l < bucket_size; ++l) {
      const __m256 reached = _mm256_cmp_ps(m[l], least, _CMP_GE_OQ);
      store_row<float>(out_mass + p * pairs + l * lines, _mm256_and_ps(reached, m[l]));
      store_row<float>(out_velocity + p * pairs + l * lines, _mm256_and_ps(reached, v[l] / m[l]));
    }
  }
}

}  // namespace

FaceSums::FaceSums(DiscreteVolume& volume, const FaceChannel<float>& velocity, const FaceChannel<float>& mass,
                   std::vector<char> occupied, BufferPool* memory)
    : topology_(&volume.topology()),
      velocity_(&volume.store(velocity.name)),
      mass_(&volume.store(mass.name)),
      occupied_(std::move(occupied)),
      memory_(memory) {
  require_access(volume.owner(), velocity.name, AccessMode::add, 1);
  require_access(volume.owner(), mass.name, AccessMode::add, 1);
}

FaceSumTile* FaceSums::tile(int b) const {
  const auto slot = static_cast<std::size_t>(b);
  if (first_[slot] == first_[slot + 1]) return nullptr;
  return reinterpret_cast<FaceSumTile*>(const_cast<std::byte*>(tiles_.data())) + first_[slot];
}

void FaceSums::prepare(Exec& exec) {
  velocity_->valid_ghosts = mass_->valid_ghosts = 0;
  const auto total = static_cast<std::size_t>(topology_->total_count());
  occupied_.resize(total);
  exchange_halo(exec.comm, *topology_, reinterpret_cast<std::byte*>(occupied_.data()), 1);
  first_.assign(total + 1, 0);
  for (std::size_t b = 0; b < total; ++b) first_[b + 1] = first_[b] + (occupied_[b] ? 1 : 0);
  tiles_ = PooledBuffer(first_.back() * sizeof(FaceSumTile), memory_);
}

void FaceSums::load(View& v, int b) const {
  v.tile = tile(b);
  if (v.tile) std::memset(v.tile->values, 0, sizeof v.tile->values);
}

/// Both sides list parts alike: by bucket along the curve, then by direction.
void FaceSums::send(HaloFlight& flight) {
  std::vector<Transfer> sends, receives;
  std::vector<FlightBuffer> packed;
  std::array<std::size_t, 27> part_bytes;
  for (int n = 0; n < 27; ++n)
    part_bytes[static_cast<std::size_t>(n)] = part_floats(neighbour_offset(n)) * sizeof(float);
  for (const HaloPeer& peer : topology_->peers()) {
    const int first = peer.first_ghost, last = first + peer.ghost_count;
    const auto for_sent = [&](const auto& visit) {
      for (const int b : peer.send)
        for (int n = 0; n < (tile(b) ? 27 : 0); ++n)
          if (const int other = topology_->neighbours(b)[static_cast<std::size_t>(n)]; other >= first && other < last)
            visit(b, n);
    };
    std::size_t sent = 0, received = 0;
    for_sent([&](int, int n) { sent += part_bytes[static_cast<std::size_t>(n)]; });
    for (int g = first; g < last; ++g)
      for (int n = 0; n < (tile(g) ? 27 : 0); ++n)
        if (topology_->local_around(g) >> n & 1u) received += part_bytes[static_cast<std::size_t>(n)];
    if (sent) {
      auto* out = reinterpret_cast<float*>(packed.emplace_back(sent).data());
      for_sent([&](int b, int n) {
        for_part(neighbour_offset(n),
                 [&](int axis, int place, int count) { out = std::copy_n(tile(b)->values[axis] + place, count, out); });
      });
      sends.push_back({peer.rank, packed.back().data(), sent});
    }
    if (received) {
      arrivals_.push_back({&peer, FlightBuffer(received)});
      receives.push_back({peer.rank, arrivals_.back().parts.data(), received});
    }
  }
  flight.add(sends, receives, std::move(packed));
}

/// Puts parts where gather() looks for them; the rest of a ghost's tile is never read.
void FaceSums::unpack(Arrival& arrival) {
  const auto* in = reinterpret_cast<const float*>(arrival.parts.data());
  for (int g = arrival.peer->first_ghost; g < arrival.peer->first_ghost + arrival.peer->ghost_count; ++g)
    for (int n = 0; n < (tile(g) ? 27 : 0); ++n)
      if (topology_->local_around(g) >> n & 1u)
        for_part(neighbour_offset(n), [&](int axis, int place, int count) {
          std::copy_n(in, count, tile(g)->values[axis] + place);
          in += count;
        });
}

void FaceSums::finish(Exec&) {
  for (Arrival& a : arrivals_) unpack(a);
  arrivals_.clear();
  parallel_for(0, static_cast<std::size_t>(topology_->local_count()), 8, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b) gather(static_cast<int>(b));
  });
}

std::int64_t FaceSums::bytes() const {
  const auto tiles = static_cast<std::int64_t>(first_[static_cast<std::size_t>(topology_->local_count())]);
  return 3 * tiles * static_cast<std::int64_t>(sizeof(FaceSumTile)) +
         2 * 6 * std::int64_t{topology_->local_count()} * bucket_cells * std::int64_t{sizeof(float)};
}

/// Per bucket: reads 26 KB of its own and 8 KB of others' sums, writes 12 KB; 3500 additions, 1536 divisions.
void FaceSums::gather(int b) {
  const auto& neighbours = topology_->neighbours(b);
  const std::size_t at = static_cast<std::size_t>(b) * bucket_cells;
  const FaceSumTile* tiles[27];
  bool any = false;
  for (int n = 0; n < 27; ++n) {
    const int other = neighbours[static_cast<std::size_t>(n)];
    tiles[n] = n == neighbour_self ? tile(b) : other < 0 ? nullptr : tile(other);
    any |= tiles[n] != nullptr;
    AEGIR_CHECK(!tiles[n] || topology_->relation(b, n) == Relation::same,
                "sums across levels come with the gas solver");
  }
  for (int axis = 0; axis < 3; ++axis) {
    float* velocity = velocity_->plane<float>(axis) + at;
    float* mass = mass_->plane<float>(axis) + at;
    if (!any) {
      std::memset(velocity, 0, bucket_cells * sizeof(float));
      std::memset(mass, 0, bucket_cells * sizeof(float));
      continue;
    }
    BucketSums sums[2];
    for (int q = 0; q < 2; ++q) {
      if (tiles[neighbour_self])
        take_own(axis, *tiles[neighbour_self], q, sums[q]);
      else
        std::memset(sums[q].values, 0, sizeof sums[q].values);
      for (int n = 0; n < 27; ++n) {
        // The particles of the next bucket along the axis touch its own lower faces, none of this bucket.
        const Vec3i o = neighbour_offset(n);
        if (n != neighbour_self && tiles[n] && o[axis] <= 0) add_part(axis, *tiles[n], q, o, sums[q]);
      }
    }
    divide(axis, sums[0], sums[1], mass, velocity);
  }
}

}  // namespace aegir
