// Particles to grid. A particle of cell (i, j, k) touches 2 (along the component) × 3 × 3 faces when hats are written
// on three faces, one of which gets 0: the same faces for all particles of a cell. So eight lanes are faces, sums stay
// in registers while the particles of a cell pass, and move on along z with the cells of a row:
//
//   x component   lanes (x0 | x1) × (y0 y1 y2 0), one sum per z face; y likewise with x and y exchanged
//   z component   lanes (x0 | x1) × (y0 y1 y2 0), and x2 with (mass | momentum), one sum per z face
//
// What z faces the next cell of the row does not touch is added to the bucket's tile.
#include <cstring>

#include "base/simd.h"
#include "numerics/transfer/cell_runs.h"
#include "numerics/transfer/face_stencil.h"
#include "numerics/transfer/face_sums.h"
#include "numerics/transfer/lanes.h"
#include "numerics/transfer/transfer.h"

namespace aegir {
namespace {

using lanes::fused;
using lanes::Line;
using lanes::spread;

/// What a block's particles bring along, four floats each. With n the weights of the two faces along a component, h
/// the hats across, d the way from particle to face in cells and C Δx the change of velocity per cell.
struct Records {
  static constexpr int floats = 4 * (block_size + 8);
  alignas(64) float hat[3][floats];     // h0 h1 h2 0, per axis
  alignas(64) float share[3][floats];   // m n0, m n1, m v0 n0, m v1 n1, with v0, v1 = v + C_aa d; per component
  alignas(64) float lever[3][floats];   // h0 d0, h1 d1, h2 d2, 0, per axis
  alignas(64) float change[3][floats];  // x, y: m n0 C_o, m n1 C_o, m n0 C_z, m n1 C_z; z: n0, n1, m C_x, m C_y
};

/// Where a block's particles are: planes of positions, velocities, masses and gradient rows.
struct Source {
  const float *position[3], *velocity[3], *mass, *affine[3][3];
};

/// Eight particles' four numbers, each particle's together.
AEGIR_INLINE void store_four(float* to, const Line& a, const Line& b, const Line& c, const Line& d) {
  const __m256 ab = _mm256_unpacklo_ps(a, b), ab2 = _mm256_unpackhi_ps(a, b), cd = _mm256_unpacklo_ps(c, d),
               cd2 = _mm256_unpackhi_ps(c, d);
  const __m256 r[4] = {_mm256_shuffle_ps(ab, cd, 0x44), _mm256_shuffle_ps(ab, cd, 0xee),
                       _mm256_shuffle_ps(ab2, cd2, 0x44), _mm256_shuffle_ps(ab2, cd2, 0xee)};
  for (int i = 0; i < 4; ++i) {
    _mm_store_ps(to + 4 * i, _mm256_castps256_ps128(r[i]));
    _mm_store_ps(to + 4 * i + 16, _mm256_extractf128_ps(r[i], 1));
  }
}

/// Weights of particles [first, first + n): 28 bytes read per particle (64 with gradients), about 40 (100) flops.
template <bool Affine>
AEGIR_INLINE void write_records(const Source& s, int n, float cell, Records& records) {
  const Line half = spread(0.5f), one = spread(1), zero{};
  for (int p = 0; p < n; p += 8) {
    const Line m = load_row(s.mass + p);
    Line fraction[3], hat[3][3];
    for (int a = 0; a < 3; ++a) {
      const Line x = load_row(s.position[a] + p);
      fraction[a] = x - lanes::floor(x);
      lanes::hats(fraction[a], hat[a]);
      store_four(records.hat[a] + 4 * p, hat[a][0], hat[a][1], hat[a][2], zero);
      if (Affine) {
        const Line middle = half - fraction[a];
        store_four(records.lever[a] + 4 * p, hat[a][0] * (middle - one), hat[a][1] * middle, hat[a][2] * (middle + one),
                   zero);
      }
    }
    for (int a = 0; a < 3; ++a) {
      const Line n1 = fraction[a], n0 = one - n1, v = load_row(s.velocity[a] + p);
      Line v0 = v, v1 = v;
      if (Affine) {
        Line c[3];
        for (int b = 0; b < 3; ++b) c[b] = load_row(s.affine[a][b] + p) * spread(cell);
        v0 = v - c[a] * n1, v1 = v + c[a] * n0;
        if (a < 2)
          store_four(records.change[a] + 4 * p, m * n0 * c[1 - a], m * n1 * c[1 - a], m * n0 * c[2], m * n1 * c[2]);
        else
          store_four(records.change[a] + 4 * p, n0, n1, m * c[0], m * c[1]);
      }
      store_four(records.share[a] + 4 * p, m * n0, m * n1, m * n0 * v0, m * n1 * v1);
    }
  }
}

/// Four numbers twice.
AEGIR_INLINE Line twice(const float* four) { return _mm256_broadcast_ps(reinterpret_cast<const __m128*>(four)); }
/// Number Low of four in the lower lanes, High in the upper.
template <int Low, int High>
AEGIR_INLINE Line pick(const Line& four_twice) {
  return _mm256_permutevar_ps(four_twice, _mm256_setr_epi32(Low, Low, Low, Low, High, High, High, High));
}
AEGIR_INLINE void add_four(float* to, const __m128& four) { _mm_storeu_ps(to, _mm_add_ps(_mm_loadu_ps(to), four)); }
AEGIR_INLINE void add_halves(float* low, float* high, const Line& value) {
  add_four(low, _mm256_castps256_ps128(value));
  add_four(high, _mm256_extractf128_ps(value, 1));
}

/// Mass and momentum of one z face: lanes (0 | 1) of the axis that pairs of lines lie on.
struct FaceSum {
  Line mass{}, momentum{};

  AEGIR_INLINE void emit(float* at) const {
    add_halves(at, at + FaceSumTile::pair, mass);
    add_halves(at + FaceSumTile::line, at + FaceSumTile::pair + FaceSumTile::line, momentum);
  }
};

/// Sums of the x (Axis 0) or y (Axis 1) component on the three z faces around a row's current cell.
template <int Axis, bool Affine>
struct LateralSums {
  static constexpr int across = 1 - Axis, layer = FaceSumTile::lateral_layer;
  FaceSum below, here, above;

  static int place(int cell) {
    const int i = cell >> 6, j = cell >> 3 & 7, k = cell & 7;
    return k * layer + (Axis == 0 ? i * FaceSumTile::pair + j : j * FaceSumTile::pair + i);
  }
  AEGIR_INLINE void next_cell(float* at) {
    below.emit(at);
    below = here, here = above, above = {};
  }
  AEGIR_INLINE void finish(float* at) const { below.emit(at), here.emit(at + layer), above.emit(at + 2 * layer); }

  /// 8 multiply-adds of 8 lanes (14 with gradients).
  AEGIR_INLINE void add(const Records& r, int p) {
    const Line hat = twice(r.hat[across] + p), share = twice(r.share[Axis] + p);
    const Line m = pick<0, 1>(share) * hat;
    Line v = pick<2, 3>(share) * hat, v_z{};
    if (Affine) {
      const Line change = twice(r.change[Axis] + p);
      v = fused(pick<0, 1>(change), twice(r.lever[across] + p), v);
      v_z = pick<2, 3>(change) * hat;
    }
    const auto to = [&](FaceSum & face, int z) __attribute__((always_inline)) {
      const Line w = spread(r.hat[2][p + z]);
      face.mass = fused(w, m, face.mass);
      face.momentum = fused(w, v, face.momentum);
      if (Affine) face.momentum = fused(spread(r.lever[2][p + z]), v_z, face.momentum);
    };
    to(below, 0), to(here, 1), to(above, 2);
  }
};

/// Sums of the z component on the two z faces of a row's current cell: x0 | x1, and x2 as mass | momentum.
template <bool Affine>
struct VerticalSums {
  static constexpr int layer = FaceSumTile::vertical_layer;
  FaceSum lower, upper;
  Line lower_last{}, upper_last{};

  static int place(int cell) { return (cell & 7) * layer + (cell >> 6) * FaceSumTile::pair + (cell >> 3 & 7); }
  static AEGIR_INLINE void emit(const FaceSum& sum, const Line& last, float* at) {
    sum.emit(at);
    add_halves(at + 2 * FaceSumTile::pair, at + 2 * FaceSumTile::pair + FaceSumTile::line, last);
  }
  AEGIR_INLINE void next_cell(float* at) {
    emit(lower, lower_last, at);
    lower = upper, lower_last = upper_last, upper = {}, upper_last = Line{};
  }
  AEGIR_INLINE void finish(float* at) const { emit(lower, lower_last, at), emit(upper, upper_last, at + layer); }

  /// 8 multiply-adds of 8 lanes (18 with gradients).
  AEGIR_INLINE void add(const Records& r, int p) {
    const Line x = twice(r.hat[0] + p), y = twice(r.hat[1] + p), share = twice(r.share[2] + p);
    const Line w01 = pick<0, 1>(x) * y, w2 = pick<2, 2>(x) * y;
    lower.mass = fused(spread(r.share[2][p]), w01, lower.mass);
    upper.mass = fused(spread(r.share[2][p + 1]), w01, upper.mass);
    lower.momentum = fused(spread(r.share[2][p + 2]), w01, lower.momentum);
    upper.momentum = fused(spread(r.share[2][p + 3]), w01, upper.momentum);
    lower_last = fused(pick<0, 2>(share), w2, lower_last);
    upper_last = fused(pick<1, 3>(share), w2, upper_last);
    if (!Affine) return;
    const Line along_x = spread(r.change[2][p + 2]), along_y = spread(r.change[2][p + 3]);
    const Line x_lever = twice(r.lever[0] + p), y_lever = twice(r.lever[1] + p) * along_y, y_changed = y * along_x;
    const Line u01 = fused(pick<0, 1>(x_lever), y_changed, pick<0, 1>(x) * y_lever);
    const Line u2 = fused(pick<3, 2>(x_lever), y_changed, pick<3, 2>(x) * y_lever);  // number 3 is 0: no mass
    const Line n0 = spread(r.change[2][p]), n1 = spread(r.change[2][p + 1]);
    lower.momentum = fused(n0, u01, lower.momentum), lower_last = fused(n0, u2, lower_last);
    upper.momentum = fused(n1, u01, upper.momentum), upper_last = fused(n1, u2, upper_last);
  }
};

/// Passes the particles of a block, cell by cell, and adds their sums to the tile. All components at once: where a
/// cell's particles end is mispredicted once, not three times.
template <bool Affine>
AEGIR_INLINE void add_runs(const CellRuns& runs, const Records& records, FaceSumTile& tile) {
  using SumsX = LateralSums<0, Affine>;
  using SumsY = LateralSums<1, Affine>;
  using SumsZ = VerticalSums<Affine>;
  SumsX x;
  SumsY y;
  SumsZ z;
  float *at_x = nullptr, *at_y = nullptr, *at_z = nullptr;
  int next = -1;
  for (int r = 0; r < runs.count; ++r) {
    const CellRun run = runs.run[r];
    if (run.cell == next && (run.cell & 7) != 0) {
      x.next_cell(at_x), y.next_cell(at_y), z.next_cell(at_z);
      at_x += SumsX::layer, at_y += SumsY::layer, at_z += SumsZ::layer;
    } else {
      if (r > 0) x.finish(at_x), y.finish(at_y), z.finish(at_z);
      x = {}, y = {}, z = {};
      at_x = tile.values[0] + SumsX::place(run.cell);
      at_y = tile.values[1] + SumsY::place(run.cell);
      at_z = tile.values[2] + SumsZ::place(run.cell);
    }
    for (int p = run.begin; p < run.end; ++p) x.add(records, 4 * p), y.add(records, 4 * p), z.add(records, 4 * p);
    next = run.cell + 1;
  }
  if (runs.count > 0) x.finish(at_x), y.finish(at_y), z.finish(at_z);
}

/// A block without gradients: 24 multiply-adds of 8 lanes per particle.
AEGIR_HOT void add_block(const Source& source, int n, const CellRuns& runs, Records& records, FaceSumTile& tile) {
  write_records<false>(source, n, 0, records);
  add_runs<false>(runs, records, tile);
}

/// A block with gradients: 46 multiply-adds of 8 lanes per particle.
AEGIR_HOT void add_affine_block(const Source& source, int n, float cell, const CellRuns& runs, Records& records,
                                FaceSumTile& tile) {
  write_records<true>(source, n, cell, records);
  add_runs<true>(runs, records, tile);
}

/// One particle next to a barrier: faces that it hides get nothing.
void add_near(const Bucket& bucket, const Source& s, int p, bool affine, const Barrier& barrier, FaceSumTile& tile) {
  const Vec3d cells(s.position[0][p], s.position[1][p], s.position[2][p]);
  const double spacing = bucket.spacing();
  const Vec3d origin = bucket.origin();
  for (int a = 0; a < 3; ++a) {
    const FaceStencil<double> stencil(a, cells);
    for (int n = 0; n < 8; ++n) {
      const double w = stencil.weight(n) * s.mass[p];
      if (w == 0 || barrier.blocks(origin + cells * spacing, origin + stencil.position(n) * spacing)) continue;
      double v = s.velocity[a][p];
      if (affine)
        v += dot(Vec3d(s.affine[a][0][p], s.affine[a][1][p], s.affine[a][2][p]),
                 (stencil.position(n) - cells) * spacing);
      tile.add(a, stencil.face(n), static_cast<float>(w), static_cast<float>(w * v));
    }
  }
}

/// The particles of one bucket, block by block.
void add_bucket(const Bucket& bucket, Source s, std::size_t count, bool affine, const Barrier* barrier,
                FaceSumTile& tile) {
  Records records;
  CellRuns runs;
  const Barrier* near = barrier && barrier->near(bucket.index) ? barrier : nullptr;
  for (std::size_t first = 0; first < count; first += block_size) {
    const int n = static_cast<int>(std::min<std::size_t>(block_size, count - first));
    AEGIR_ASSERT(runs.find(s.position[0], s.position[1], s.position[2], n, bucket.index, near),
                 "particles lie outside their bucket: rebucket before a transfer");
    if (affine)
      add_affine_block(s, n, static_cast<float>(bucket.spacing()), runs, records, tile);
    else
      add_block(s, n, runs, records, tile);
    for (int r = 0; r < runs.near_count; ++r)
      for (int p = runs.near[r].begin; p < runs.near[r].end; ++p) add_near(bucket, s, p, affine, *near, tile);
    s.mass += n;
    for (int a = 0; a < 3; ++a) {
      s.position[a] += n, s.velocity[a] += n;
      if (affine)
        for (int b = 0; b < 3; ++b) s.affine[a][b] += n;
    }
  }
}

}  // namespace

/// Bytes per particle at eight per cell: 28 read (64 with gradients), 26 KB of sums per 4096 particles written
/// (twice, with write-allocate) and read, 12 KB of faces written: 28 + 19 + 6.
void to_grid(Exec& exec, ParticleSystem& particles, DiscreteVolume& volume, const TransferChannels& channels,
             bool affine, const Barrier* barrier, BufferPool* memory) {
  const Topology& topology = particles.topology();
  AEGIR_ASSERT(&topology == &volume.topology(), "particles and grid share their buckets");
  std::vector<char> occupied(static_cast<std::size_t>(topology.local_count()));
  for (int b = 0; b < topology.local_count(); ++b) occupied[static_cast<std::size_t>(b)] = particles.count(b) > 0;
  const auto source_of = [](const auto& position, const auto& velocity, const auto& mass) {
    Source s{};
    for (std::size_t a = 0; a < 3; ++a) s.position[a] = position.plane[a], s.velocity[a] = velocity.plane[a];
    s.mass = mass.plane[0];
    return s;
  };
  FaceSums sums(volume, channels.grid_velocity, channels.grid_mass, std::move(occupied), memory);
  if (!affine) {
    for_each_bucket(
        exec, "to_grid", topology,
        [&](const Bucket& bucket, auto& position, auto& velocity, auto& mass, auto& sum) {
          if (!sum.tile) return;
          add_bucket(bucket, source_of(position, velocity, mass), position.size(), false, barrier, *sum.tile);
        },
        particles.read(particle::position), particles.read(channels.velocity), particles.read(channels.mass), sums);
    return;
  }
  for_each_bucket(
      exec, "to_grid_apic", topology,
      [&](const Bucket& bucket, auto& position, auto& velocity, auto& mass, auto& cx, auto& cy, auto& cz, auto& sum) {
        if (!sum.tile) return;
        Source s = source_of(position, velocity, mass);
        for (std::size_t a = 0; a < 3; ++a)
          s.affine[0][a] = cx.plane[a], s.affine[1][a] = cy.plane[a], s.affine[2][a] = cz.plane[a];
        add_bucket(bucket, s, position.size(), true, barrier, *sum.tile);
      },
      particles.read(particle::position), particles.read(channels.velocity), particles.read(channels.mass),
      particles.read(channels.affine[0]), particles.read(channels.affine[1]), particles.read(channels.affine[2]), sums);
}

}  // namespace aegir
