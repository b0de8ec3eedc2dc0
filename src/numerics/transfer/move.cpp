// Particle moves. The first velocity comes from the particles' own cells, as in to_particles(); the others are gathered
// around positions on the way, from a copy of the bucket and four cells around it.
#include <cmath>
#include <cstring>
#include <limits>

#include "base/simd.h"
#include "numerics/transfer/cell_runs.h"
#include "numerics/transfer/interpolate.h"
#include "numerics/transfer/on_demand.h"
#include "numerics/transfer/transfer.h"
#include "numerics/transfer/visible_faces.h"

namespace aegir {
namespace {

using lanes::fused;
using lanes::Line;
using lanes::spread;
using Tile = PaddedTile<float, 4>;
using Tiles = std::array<Tile, 3>;

constexpr int padded_block = block_size + 8;
constexpr int stride_x = Tile::side * Tile::pitch;
// Positions whose faces all lie in the tile: indices -4 … 11 on faces, ½ further across them.
constexpr float lowest = -3.5f, highest = 10.9999f;

/// A block on its way, in cells.
struct Way {
  const float* from[3];
  alignas(64) float velocity[3][padded_block] = {};  // at the start
  alignas(64) float to[3][padded_block];
};

/// Pairs of neighbours along z for eight lanes. Two gathers of four pairs, in an order that one shuffle undoes.
AEGIR_INLINE void gather_pairs(const float* base, __m128i first, __m128i second, Line& low, Line& high) {
  const auto* pairs = reinterpret_cast<const double*>(base);
  const __m256 a = _mm256_castpd_ps(_mm256_i32gather_pd(pairs, first, 4));
  const __m256 b = _mm256_castpd_ps(_mm256_i32gather_pd(pairs, second, 4));
  low = _mm256_shuffle_ps(a, b, 0x88), high = _mm256_shuffle_ps(a, b, 0xdd);
}

/// Component A where the lower faces and the fractions beyond them are known.
template <int A>
AEGIR_INLINE Line gathered(const float* origin, const Line (&base)[3][2], const Line (&fraction)[3][2]) {
  constexpr int kind[3] = {A != 0, A != 1, A != 2};
  const Line place = fused(base[0][kind[0]], spread(stride_x), fused(base[1][kind[1]], spread(16), base[2][kind[2]]));
  const __m256i ordered = _mm256_permute4x64_epi64(_mm256_cvtps_epi32(place), 0xd8);  // lanes 0 1 4 5 2 3 6 7
  const __m128i first = _mm256_castsi256_si128(ordered), second = _mm256_extracti128_si256(ordered, 1);
  const Line &fx = fraction[0][kind[0]], &fy = fraction[1][kind[1]], &fz = fraction[2][kind[2]];
  Line plane[2];
  for (int x = 0; x < 2; ++x) {
    Line row[2];
    for (int y = 0; y < 2; ++y) {
      Line low, high;
      gather_pairs(origin + x * stride_x + y * 16, first, second, low, high);
      row[y] = fused(fz, high - low, low);
    }
    plane[x] = fused(fy, row[1] - row[0], row[0]);
  }
  return fused(fx, plane[1] - plane[0], plane[0]);
}

/// The velocity at eight points anywhere: 24 gathers of four pairs.
AEGIR_INLINE void velocity_at(const float* const (&origin)[3], const Line (&point)[3], Line (&u)[3]) {
  Line base[3][2], fraction[3][2];
  for (int a = 0; a < 3; ++a) {
    const Line x = lanes::clamped(point[a], spread(lowest), spread(highest)), shifted = x - spread(0.5f);
    base[a][0] = lanes::floor(x), base[a][1] = lanes::floor(shifted);
    fraction[a][0] = x - base[a][0], fraction[a][1] = shifted - base[a][1];
  }
  u[0] = gathered<0>(origin[0], base, fraction);
  u[1] = gathered<1>(origin[1], base, fraction);
  u[2] = gathered<2>(origin[2], base, fraction);
}

/// The end of a way, or its beginning where the end is no finite number.
AEGIR_INLINE Line arrive(const Line& from, const Line& to) {
  const Line finite = _mm256_cmp_ps(lanes::magnitude(to), spread(std::numeric_limits<float>::max()), _CMP_LE_OQ);
  return _mm256_blendv_ps(from, to, finite);
}

/// Eight particles that start with velocities k1. `scale` turns velocities into cells per step.
/// Order 3 (Ralston 1962): k1 = u(x), k2 = u(x + dt/2 k1), k3 = u(x + 3/4 dt k2), x += dt (2 k1 + 3 k2 + 4 k3) / 9.
template <int Order>
AEGIR_INLINE void advance(const Line (&x)[3], const Line (&k1)[3], const float* const (&origin)[3], float scale,
                          Line (&end)[3]) {
  Line point[3], k2[3], k3[3];
  for (int a = 0; a < 3; ++a) point[a] = fused(spread(0.5f * scale), k1[a], x[a]);
  velocity_at(origin, point, k2);
  if constexpr (Order == 3) {
    for (int a = 0; a < 3; ++a) point[a] = fused(spread(0.75f * scale), k2[a], x[a]);
    velocity_at(origin, point, k3);
  }
  for (int a = 0; a < 3; ++a) {
    const Line mean = Order == 2 ? k2[a] : fused(spread(4), k3[a], fused(spread(3), k2[a], k1[a] + k1[a]));
    end[a] = arrive(x[a], fused(spread(Order == 2 ? scale : scale / 9), mean, x[a]));
  }
}

/// First velocities, cell by cell.
AEGIR_INLINE void first_velocities(Way& way, const CellRuns& runs, const float* const (&origin)[3]) {
  for (int r = 0; r < runs.count; ++r) {
    const CellRun run = runs.run[r];
    const int corner[3] = {run.cell >> 6, run.cell >> 3 & 7, run.cell & 7};
    const int at = corner[0] * stride_x + corner[1] * Tile::pitch + corner[2];
    for (int p = run.begin; p < run.end; p += 8) {
      lanes::Weights w;
      for (int a = 0; a < 3; ++a) w.set<false>(a, load_row(way.from[a] + p) - spread(static_cast<float>(corner[a])));
      store_row(way.velocity[0] + p, lanes::component<0, stride_x>(origin[0] + at, w));
      store_row(way.velocity[1] + p, lanes::component<1, stride_x>(origin[1] + at, w));
      store_row(way.velocity[2] + p, lanes::component<2, stride_x>(origin[2] + at, w));
    }
  }
}

template <int Order>
AEGIR_INLINE void advance_block(Way& way, int n, const CellRuns& runs, const float* const (&origin)[3], float scale) {
  first_velocities(way, runs, origin);
  for (int p = 0; p < n; p += 8) {
    Line x[3], k1[3], end[3];
    for (int a = 0; a < 3; ++a) x[a] = load_row(way.from[a] + p), k1[a] = load_row(way.velocity[a] + p);
    advance<Order>(x, k1, origin, scale, end);
    for (int a = 0; a < 3; ++a) store_row(way.to[a] + p, end[a]);
  }
}

/// Per particle 80 multiply-adds and 48 gathers of a pair, about 300 flops.
AEGIR_HOT void advance_third(Way& way, int n, const CellRuns& runs, const float* const (&origin)[3], float scale) {
  advance_block<3>(way, n, runs, origin, scale);
}
/// Per particle 80 multiply-adds and 24 gathers of a pair, about 200 flops.
AEGIR_HOT void advance_second(Way& way, int n, const CellRuns& runs, const float* const (&origin)[3], float scale) {
  advance_block<2>(way, n, runs, origin, scale);
}

/// One particle next to a barrier; faces are seen from where it starts. A component that has none in sight keeps the
/// velocity it had before.
struct NearMove {
  const Bucket& bucket;
  const Barrier& barrier;
  const Tiles& tiles;
  Vec3d start;

  Vec3d velocity_at(const Vec3d& point, const Vec3d& otherwise) const {
    const Vec3d inside = max(min(point, Vec3d(highest)), Vec3d(lowest));
    Vec3d u;
    for (int a = 0; a < 3; ++a) {
      const VisibleSample s = sample_visible<true>(bucket, barrier, a, inside, start, [&](int axis, const Vec3i& f) {
        return tiles[static_cast<std::size_t>(axis)](f.x, f.y, f.z);
      });
      u[a] = s.any ? s.value : otherwise[a];
    }
    return u;
  }
  Vec3d end(const Vec3d& own, double scale, int order) const {
    const Vec3d k1 = velocity_at(start, own), k2 = velocity_at(start + k1 * (0.5 * scale), k1);
    if (order == 2) return start + k2 * scale;
    const Vec3d k3 = velocity_at(start + k2 * (0.75 * scale), k2);
    return start + (k1 * 2 + k2 * 3 + k3 * 4) * (scale / 9);
  }
};

/// What does not change from bucket to bucket.
struct Mover {
  const MoveSettings& settings;
  const MoveHook* hook;
  float scale;

  /// `own` holds the particles' velocities, or nothing.
  void bucket(const Bucket& b, const ParticleSpan<Vec3f>& position, const ParticleSpan<const Vec3f>* own,
              const Tiles& tiles) const {
    const float* const origin[3] = {tiles[0].row(0, 0), tiles[1].row(0, 0), tiles[2].row(0, 0)};
    const Barrier* near = settings.barrier && settings.barrier->near(b.index) ? settings.barrier : nullptr;
    Way way;
    CellRuns runs;
    for (std::size_t first = 0; first < position.size(); first += block_size) {
      const int n = static_cast<int>(std::min<std::size_t>(block_size, position.size() - first));
      for (std::size_t a = 0; a < 3; ++a) way.from[a] = position.plane[a] + first;
      AEGIR_ASSERT(runs.find(way.from[0], way.from[1], way.from[2], n, b.index, near),
                   "particles lie outside their bucket: rebucket before a move");
      settings.order == 2 ? advance_second(way, n, runs, origin, scale) : advance_third(way, n, runs, origin, scale);
      for (int r = 0; r < runs.near_count; ++r)
        for (int p = runs.near[r].begin; p < runs.near[r].end; ++p)
          move_near(b, near, tiles, p, own ? (*own)[first + static_cast<std::size_t>(p)] : Vec3f{}, way);
      float* const to[3] = {way.to[0], way.to[1], way.to[2]};
      if (hook) (*hook)(b, first, static_cast<std::size_t>(n), way.from, to);
      for (std::size_t a = 0; a < 3; ++a)
        std::memcpy(position.plane[a] + first, way.to[a], static_cast<std::size_t>(n) * sizeof(float));
    }
  }

  void move_near(const Bucket& b, const Barrier* near, const Tiles& tiles, int p, const Vec3f& own, Way& way) const {
    const Vec3f start(way.from[0][p], way.from[1][p], way.from[2][p]);
    const Vec3f end(NearMove{b, *near, tiles, Vec3d(start)}.end(Vec3d(own), scale, settings.order));
    for (int a = 0; a < 3; ++a) way.to[a][p] = std::isfinite(end[a]) ? end[a] : start[a];
  }
};

}  // namespace

/// Bytes per particle at eight per cell: 24 read and written, 1.5 of the grid.
void move_particles(Exec& exec, ParticleSystem& particles, DiscreteVolume& volume, const FaceChannel<float>& velocity,
                    const MoveSettings& settings, const MoveHook* hook) {
  const Topology& topology = particles.topology();
  AEGIR_ASSERT(&topology == &volume.topology(), "particles and grid share their buckets");
  AEGIR_ASSERT(settings.order == 2 || settings.order == 3, "moves are of order 2 or 3");
  const Mover mover{settings, hook, static_cast<float>(settings.dt / topology.spacing())};
  auto position = particles.write(particle::position);
  auto grid = OnDemand(volume.read<Halo<4>>(velocity));
  if (settings.own_velocity) {
    for_each_bucket(
        exec, "move", topology,
        [&](const Bucket& b, auto& p, auto& own, auto& u) {
          if (p.size()) mover.bucket(b, p, &own, u.fetch());
        },
        position, particles.read(*settings.own_velocity), grid);
  } else {
    for_each_bucket(
        exec, "move", topology,
        [&](const Bucket& b, auto& p, auto& u) {
          if (p.size()) mover.bucket(b, p, nullptr, u.fetch());
        },
        position, grid);
  }
}

}  // namespace aegir
