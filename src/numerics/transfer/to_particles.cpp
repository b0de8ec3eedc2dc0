// Grid to particles. FLIP with one ratio r samples the difference u - r u_previous once and adds r v; with a ratio per
// particle it samples both.
#include <algorithm>
#include <cmath>

#include "base/simd.h"
#include "numerics/transfer/cell_runs.h"
#include "numerics/transfer/interpolate.h"
#include "numerics/transfer/on_demand.h"
#include "numerics/transfer/transfer.h"
#include "numerics/transfer/visible_faces.h"

namespace aegir {
namespace {

using lanes::Line;
using Tile = PaddedTile<float, 1>;
using Tiles = std::array<Tile, 3>;

constexpr int stride_x = Tile::side * Tile::pitch;
constexpr int padded_block = block_size + 8;  // the last lanes of a cell's last vector are overwritten by the next cell

/// What a block's particles find on the grid.
struct Found {
  alignas(64) float velocity[3][padded_block];
  alignas(64) float gradient[3][3][padded_block];  // per metre
};

struct Positions {
  const float* axis[3];
};

template <bool Gradients>
AEGIR_INLINE void sample(const Positions& position, const CellRuns& runs, const float* const (&origin)[3],
                         float per_cell, Found& found) {
  for (int r = 0; r < runs.count; ++r) {
    const CellRun run = runs.run[r];
    const int corner[3] = {run.cell >> 6, run.cell >> 3 & 7, run.cell & 7};
    const int at = corner[0] * stride_x + corner[1] * Tile::pitch + corner[2];
    for (int p = run.begin; p < run.end; p += 8) {
      lanes::Weights w;
      for (int a = 0; a < 3; ++a)
        w.set<Gradients>(a, load_row(position.axis[a] + p) - lanes::spread(static_cast<float>(corner[a])));
      if constexpr (!Gradients) {
        store_row(found.velocity[0] + p, lanes::component<0, stride_x>(origin[0] + at, w));
        store_row(found.velocity[1] + p, lanes::component<1, stride_x>(origin[1] + at, w));
        store_row(found.velocity[2] + p, lanes::component<2, stride_x>(origin[2] + at, w));
      } else {
        Line g[3][3];
        store_row(found.velocity[0] + p, lanes::component<0, stride_x>(origin[0] + at, w, g[0]));
        store_row(found.velocity[1] + p, lanes::component<1, stride_x>(origin[1] + at, w, g[1]));
        store_row(found.velocity[2] + p, lanes::component<2, stride_x>(origin[2] + at, w, g[2]));
        for (int a = 0; a < 3; ++a)
          for (int b = 0; b < 3; ++b) store_row(found.gradient[a][b] + p, g[a][b] * lanes::spread(per_cell));
      }
    }
  }
}

/// Per particle about 80 multiply-adds.
AEGIR_HOT void sample_velocities(const Positions& position, const CellRuns& runs, const float* const (&origin)[3],
                                 Found& found) {
  sample<false>(position, runs, origin, 0, found);
}
/// Per particle about 180 multiply-adds.
AEGIR_HOT void sample_gradients(const Positions& position, const CellRuns& runs, const float* const (&origin)[3],
                                float per_cell, Found& found) {
  sample<true>(position, runs, origin, per_cell, found);
}

/// u -= r u_previous, everywhere in a tile.
AEGIR_HOT void subtract(float* __restrict u, const float* __restrict previous, float ratio) {
  for (int c = 0; c < Tile::side * stride_x; ++c) u[c] -= ratio * previous[c];
}
/// v = r v + f.
AEGIR_HOT void blend(float* __restrict v, const float* __restrict f, float ratio, int n) {
  for (int p = 0; p < n; ++p) v[p] = ratio * v[p] + f[p];
}
/// v = u + r (v - u_previous), with a ratio per particle.
AEGIR_HOT void blend(float* __restrict v, const float* __restrict u, const float* __restrict previous,
                     const float* __restrict ratio, int n) {
  for (int p = 0; p < n; ++p) v[p] = u[p] + ratio[p] * (v[p] - previous[p]);
}

/// Particles next to a barrier: their old velocities become new ones.
struct NearSampler {
  const Bucket& bucket;
  const Barrier& barrier;
  const Tiles& tiles;

  /// Calls use(axis, p, sample) for every particle of the runs that has a face in sight.
  template <class Use>
  void each(const CellRuns& runs, const Positions& position, const Use& use) const {
    for (int r = 0; r < runs.near_count; ++r)
      for (int p = runs.near[r].begin; p < runs.near[r].end; ++p) {
        const Vec3d cells(position.axis[0][p], position.axis[1][p], position.axis[2][p]);
        for (int a = 0; a < 3; ++a)
          use(a, p, sample_visible(bucket, barrier, a, cells, cells, [&](int axis, const Vec3i& f) {
                return tiles[static_cast<std::size_t>(axis)](f.x, f.y, f.z);
              }));
      }
  }
};

/// Cuts a bucket's particles into blocks; block(first, n, position, runs, barrier or null).
template <class Block>
void for_each_block(const Bucket& bucket, const ParticleSpan<const Vec3f>& position, const Barrier* barrier,
                    const Block& block) {
  CellRuns runs;
  const Barrier* near = barrier && barrier->near(bucket.index) ? barrier : nullptr;
  for (std::size_t first = 0; first < position.size(); first += block_size) {
    const int n = static_cast<int>(std::min<std::size_t>(block_size, position.size() - first));
    const Positions at{{position.plane[0] + first, position.plane[1] + first, position.plane[2] + first}};
    AEGIR_ASSERT(runs.find(at.axis[0], at.axis[1], at.axis[2], n, bucket.index, near),
                 "particles lie outside their bucket: rebucket before a transfer");
    block(first, n, at, runs, near);
  }
}

struct Origins {
  const float* of[3];
  explicit Origins(const Tiles& tiles) : of{tiles[0].row(0, 0), tiles[1].row(0, 0), tiles[2].row(0, 0)} {}
};

/// PIC, or FLIP with one ratio for all where `tiles` hold u - ratio u_previous.
void blend_bucket(const Bucket& bucket, const ParticleSpan<const Vec3f>& position, const ParticleSpan<Vec3f>& velocity,
                  const Tiles& tiles, float ratio, const Barrier* barrier) {
  Found found;
  const Origins origins(tiles);
  for_each_block(bucket, position, barrier,
                 [&](std::size_t first, int n, const Positions& at, const CellRuns& runs, const Barrier* near) {
                   sample_velocities(at, runs, origins.of, found);
                   if (near)
                     NearSampler{bucket, *near, tiles}.each(runs, at, [&](int a, int p, const VisibleSample& s) {
                       const double v =
                           velocity.plane[static_cast<std::size_t>(a)][first + static_cast<std::size_t>(p)];
                       found.velocity[a][p] = static_cast<float>(s.any ? s.value : (1.0 - ratio) * v);
                     });
                   for (std::size_t a = 0; a < 3; ++a) {
                     float* v = velocity.plane[a] + first;
                     ratio == 0 ? void(std::copy_n(found.velocity[a], n, v)) : blend(v, found.velocity[a], ratio, n);
                   }
                 });
}

/// FLIP with a ratio per particle.
void blend_bucket(const Bucket& bucket, const ParticleSpan<const Vec3f>& position, const ParticleSpan<Vec3f>& velocity,
                  const ParticleSpan<const float>& ratio, const Tiles& tiles, const Tiles& previous,
                  const Barrier* barrier) {
  Found found, found_previous;
  const Origins origins(tiles), previous_origins(previous);
  for_each_block(
      bucket, position, barrier,
      [&](std::size_t first, int n, const Positions& at, const CellRuns& runs, const Barrier* near) {
        sample_velocities(at, runs, origins.of, found);
        sample_velocities(at, runs, previous_origins.of, found_previous);
        if (near) {
          const auto into = [&](Found& f) {
            return [&](int a, int p, const VisibleSample& s) {
              const float v = velocity.plane[static_cast<std::size_t>(a)][first + static_cast<std::size_t>(p)];
              f.velocity[a][p] = s.any ? static_cast<float>(s.value) : v;
            };
          };
          NearSampler{bucket, *near, tiles}.each(runs, at, into(found));
          NearSampler{bucket, *near, previous}.each(runs, at, into(found_previous));
        }
        for (std::size_t a = 0; a < 3; ++a)
          blend(velocity.plane[a] + first, found.velocity[a], found_previous.velocity[a], ratio.plane[0] + first, n);
      });
}

/// APIC.
void affine_bucket(const Bucket& bucket, const ParticleSpan<const Vec3f>& position, const ParticleSpan<Vec3f>& velocity,
                   const std::array<ParticleSpan<Vec3f>, 3>& affine, const Tiles& tiles, const Barrier* barrier) {
  Found found;
  const Origins origins(tiles);
  const double per_cell = 1 / bucket.spacing();
  for_each_block(bucket, position, barrier,
                 [&](std::size_t first, int n, const Positions& at, const CellRuns& runs, const Barrier* near) {
                   sample_gradients(at, runs, origins.of, static_cast<float>(per_cell), found);
                   if (near)
                     NearSampler{bucket, *near, tiles}.each(runs, at, [&](int a, int p, const VisibleSample& s) {
                       const float v = velocity.plane[static_cast<std::size_t>(a)][first + static_cast<std::size_t>(p)];
                       found.velocity[a][p] = s.any ? static_cast<float>(s.value) : v;
                       for (int b = 0; b < 3; ++b)
                         found.gradient[a][b][p] = static_cast<float>(s.gradient[b] * per_cell);
                     });
                   for (std::size_t a = 0; a < 3; ++a) {
                     std::copy_n(found.velocity[a], n, velocity.plane[a] + first);
                     for (std::size_t b = 0; b < 3; ++b)
                       std::copy_n(found.gradient[a][b], n, affine[a].plane[b] + first);
                   }
                 });
}

}  // namespace

/// Bytes per particle at eight per cell: 12 read, 24 written (96 with gradients); 1.5 per grid field, of which FLIP has
/// two.
void to_particles(Exec& exec, ParticleSystem& particles, DiscreteVolume& volume, const TransferChannels& channels,
                  const ToParticles& settings) {
  const Topology& topology = particles.topology();
  AEGIR_ASSERT(&topology == &volume.topology(), "particles and grid share their buckets");
  const Barrier* barrier = settings.barrier;
  const auto grid = [&](const FaceChannel<float>& c) { return OnDemand(volume.read<Halo<1>>(c)); };
  auto position = particles.read(particle::position);
  auto velocity = particles.write(channels.velocity);
  if (settings.transfer == TransferMethod::apic) {
    for_each_bucket(
        exec, "to_particles_apic", topology,
        [&](const Bucket& bucket, auto& p, auto& v, auto& cx, auto& cy, auto& cz, auto& u) {
          if (p.size()) affine_bucket(bucket, p, v, {cx, cy, cz}, u.fetch(), barrier);
        },
        position, velocity, particles.write(channels.affine[0]), particles.write(channels.affine[1]),
        particles.write(channels.affine[2]), grid(channels.grid_velocity));
  } else if (settings.transfer == TransferMethod::pic) {
    for_each_bucket(
        exec, "to_particles_pic", topology,
        [&](const Bucket& bucket, auto& p, auto& v, auto& u) {
          if (p.size()) blend_bucket(bucket, p, v, u.fetch(), 0, barrier);
        },
        position, velocity, grid(channels.grid_velocity));
  } else if (settings.flip_ratio_per_particle) {
    for_each_bucket(
        exec, "to_particles", topology,
        [&](const Bucket& bucket, auto& p, auto& v, auto& ratio, auto& u, auto& before) {
          if (p.size()) blend_bucket(bucket, p, v, ratio, u.fetch(), before.fetch(), barrier);
        },
        position, velocity, particles.read(*settings.flip_ratio_per_particle), grid(channels.grid_velocity),
        grid(settings.previous));
  } else {
    const float ratio = settings.flip_ratio;
    for_each_bucket(
        exec, "to_particles", topology,
        [&](const Bucket& bucket, auto& p, auto& v, auto& u, auto& before) {
          if (!p.size()) return;
          Tiles& tiles = u.fetch();
          const Tiles& previous = before.fetch();
          for (std::size_t a = 0; a < 3; ++a) subtract(tiles[a].values, previous[a].values, ratio);
          blend_bucket(bucket, p, v, tiles, ratio, barrier);
        },
        position, velocity, grid(channels.grid_velocity), grid(settings.previous));
  }
}

void limit_loose_gradients(Exec& exec, ParticleSystem& particles, DiscreteVolume& volume,
                           const CellChannel<float>& distance, const TransferChannels& channels, float most) {
  const auto scale = static_cast<float>(volume.topology().spacing()) / most;
  for_each_bucket(
      exec, "limit loose gradients", volume.topology(),
      [scale](const Bucket&, const auto& d, const auto& position, const auto& velocity, const auto& cx, const auto& cy,
              const auto& cz) {
        if (std::all_of(d.values, d.values + bucket_cells, [](float v) { return v < 0; })) return;
        for (std::size_t p = 0; p < position.size(); ++p) {
          const int cell = cell_offset(static_cast<int>(position.plane[0][p]), static_cast<int>(position.plane[1][p]),
                                       static_cast<int>(position.plane[2][p]));
          if (d[cell] < 0) continue;
          float speed = 0, change = 0;  // squared
          for (std::size_t b = 0; b < 3; ++b) {
            speed += velocity.plane[b][p] * velocity.plane[b][p];
            change +=
                cx.plane[b][p] * cx.plane[b][p] + cy.plane[b][p] * cy.plane[b][p] + cz.plane[b][p] * cz.plane[b][p];
          }
          change *= scale * scale;
          if (!(change > speed)) continue;
          const float share = std::sqrt(speed / change);
          for (std::size_t b = 0; b < 3; ++b) cx.plane[b][p] *= share, cy.plane[b][p] *= share, cz.plane[b][p] *= share;
        }
      },
      volume.read(distance), particles.read(particle::position), particles.read(channels.velocity),
      particles.write(channels.affine[0]), particles.write(channels.affine[1]), particles.write(channels.affine[2]));
}

}  // namespace aegir
