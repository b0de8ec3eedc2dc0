#include "phenomena/common/crowding.h"

#include <algorithm>
#include <bitset>
#include <cmath>
#include <optional>

#include "domain/for_each_bucket.h"
#include "domain/volume/upper_access.h"
#include "numerics/surface/liquid_volume.h"

namespace aegir {
namespace {

constexpr float dead_band = 0.03f;   // crowding that particles at rest may have
constexpr float loose_band = 0.08f;  // of material that opens: it lies as it fell
constexpr float per_shear = 2.4f;    // times crowding is undone over a shear of 1, at most
constexpr float mean_dead_band = 0.002f;
constexpr float most = 0.5f;   // crowding beyond it is corrected no faster
constexpr float haste = 4;     // the mean is known better than a place and is undone faster
constexpr float deep = -1.2f;  // below a surface that has an inside
constexpr float gap = 0.75f;   // crowding above which there is no surface

float beyond(float value, float band) {
  return value > 0 ? std::max(0.0f, value - band) : std::min(0.0f, value + band);
}

/// What a cell beside counts for, per axis: as much as the cell itself, or half.
constexpr float alike = 1.0f, half = 0.5f;

/// Weighted sums over the 27 cells around each cell of a row, of two channels.
struct RowSums {
  Row<float> filled{}, open{};
};
template <class Tile>
RowSums around(const Tile& fill, const Tile& room, int i, int j, float beside) {
  RowSums s;
  for (int a = -1; a <= 1; ++a)
    for (int b = -1; b <= 1; ++b)
      for (int c = -1; c <= 1; ++c) {
        const float weight = (a ? beside : 1) * (b ? beside : 1) * (c ? beside : 1);
        s.filled += weight * fill.line(i + a, j + b, c), s.open += weight * room.line(i + a, j + b, c);
      }
  return s;
}

/// Least and greatest distance among the 27 cells around each cell of a row.
struct RowExtremes {
  Row<float> least, greatest;
};
template <class Tile>
RowExtremes extremes(const Tile& distance, int i, int j) {
  RowExtremes m{distance.line(i, j), distance.line(i, j)};
  for (int a = -1; a <= 1; ++a)
    for (int b = -1; b <= 1; ++b)
      for (int c = -1; c <= 1; ++c) {
        const Row<float> d = distance.line(i + a, j + b, c);
        m.greatest = d > m.greatest ? d : m.greatest, m.least = d < m.least ? d : m.least;
      }
  return m;
}

/// Mean crowding of the surface around a cell; 1 where nothing is known.
template <class Tile>
float mean_crowding(const Tile& crowding, int i, int j, int k) {
  float sum = 0, count = 0;
  for (int a = -1; a <= 1; ++a)
    for (int b = -1; b <= 1; ++b)
      for (int c = -1; c <= 1; ++c)
        if (const float value = crowding(i + a, j + b, k + c); value > 0) sum += value, count += 1;
  return count > 0 ? sum / count : 1.0f;
}

/// Share of a cell outside solids: it is cut by the plane that fits the distances of its corners. Exact for one plane.
template <class Tile>
float open_share(const Tile& nodes, int i, int j, int k) {
  double mean = 0;
  Vec3d slope;
  for (int corner = 0; corner < 8; ++corner) {
    const int x = corner & 1, y = corner >> 1 & 1, z = corner >> 2;
    const auto d = static_cast<double>(nodes(i + x, j + y, k + z));
    mean += 0.125 * d;
    slope += Vec3d(x ? d : -d, y ? d : -d, z ? d : -d) * 0.25;
  }
  const double steepness = length(slope);
  if (steepness < 0.25) return static_cast<float>(std::clamp(mean + 0.5, 0.0, 1.0));
  return static_cast<float>(1 - share_below(slope / steepness, mean / steepness));
}

}  // namespace

void count_particles(Exec& exec, const CellCounts& counts, DiscreteVolume& volume, double particles_per_cell) {
  const auto share = static_cast<float>(1 / particles_per_cell);
  for_each_bucket(
      exec, "fill", volume.topology(),
      [&](const Bucket& bucket, auto& fill) {
        const float* count = counts.plane() + static_cast<std::size_t>(bucket.index) * bucket_cells;
        for (int c = 0; c < bucket_cells; ++c) fill.values[c] = share * count[c];
      },
      volume.overwrite(cell_fill));
}

void count_masses(Exec& exec, ParticleSystem& particles, DiscreteVolume& volume, const ParticleChannel<float>& mass,
                  double full) {
  const auto share = static_cast<float>(1 / full);
  for_each_bucket(
      exec, "fill", volume.topology(),
      [&](const Bucket&, auto& p, auto& own, auto& fill) {
        std::fill_n(fill.values, bucket_cells, 0.0f);
        for (std::size_t n = 0; n < p.count; ++n)
          fill[cell_offset(static_cast<int>(p.plane[0][n]), static_cast<int>(p.plane[1][n]),
                           static_cast<int>(p.plane[2][n]))] += own[n] * share;
      },
      particles.read(particle::position), particles.read(mass), volume.overwrite(cell_fill));
}

void measure_room(Exec& exec, DiscreteVolume& volume, const NodeChannel<float>& solid_distance) {
  for_each_bucket(
      exec, "room", volume.topology(),
      [&](const Bucket&, auto& nodes, auto& room) {
        for (int i = 0; i < bucket_size; ++i)
          for (int j = 0; j < bucket_size; ++j) {
            Row<float> least = nodes.line(i, j), greatest = least;
            for (int corner = 1; corner < 8; ++corner) {
              const Row<float> d = nodes.line(i + (corner & 1), j + (corner >> 1 & 1), corner >> 2);
              least = d < least ? d : least, greatest = d > greatest ? d : greatest;
            }
            // Cells between walls on faces are whole, also in edges and corners.
            for (int k = 0; k < bucket_size; ++k)
              room(i, j, k) = least[k] > -1e-3f ? 1.0f : greatest[k] < 1e-3f ? 0.0f : open_share(nodes, i, j, k);
          }
      },
      volume.read<Halo<1>>(solid_distance), volume.overwrite(cell_room));
}

namespace {

/// Whether solids cut a cell or one of the 26 around it: their open parts are known roughly, and lie to one side.
template <class Tile>
bool cut_around(const Tile& room, int i, int j, int k) {
  for (int a = -1; a <= 1; ++a)
    for (int b = -1; b <= 1; ++b)
      for (int c = -1; c <= 1; ++c)
        if (const float r = room(i + a, j + b, k + c); r > 0 && r < 1) return true;
  return false;
}

/// Whether every cell across a face is full, as far as it is open.
template <class Tile>
bool surrounded(const Tile& fill, const Tile& room, int i, int j, int k) {
  for (int a = 0; a < 3; ++a)
    for (const int side : {-1, 1}) {
      const int x = i + (a == 0 ? side : 0), y = j + (a == 1 ? side : 0), z = k + (a == 2 ? side : 0);
      if (fill(x, y, z) < gap * room(x, y, z)) return false;
    }
  return true;
}

}  // namespace

void close_gaps(Exec& exec, DiscreteVolume& volume, const CellChannel<float>& distance, const Barrier& sheets) {
  for_each_bucket(
      exec, "close gaps", volume.topology(),
      [&](const Bucket& bucket, auto& fill, auto& room, auto& phi) {
        for (int i = 0; i < bucket_size; ++i)
          for (int j = 0; j < bucket_size; ++j) {
            float* row = phi.row(i, j);
            if (std::none_of(row, row + bucket_size, [](float d) { return d >= 0; })) continue;
            const RowSums s = around(fill, room, i, j, alike);
            for (int k = 0; k < bucket_size; ++k)
              if (row[k] >= 0 && s.open[k] > 4 && s.filled[k] > gap * s.open[k] &&
                  (!cut_around(room, i, j, k) || (room(i, j, k) >= 1 && surrounded(fill, room, i, j, k))) &&
                  !sheets.near(bucket.index, cell_offset(i, j, k)))
                row[k] = -0.5f;
          }
      },
      volume.read<Halo<1>>(cell_fill), volume.read<Halo<1>>(cell_room), volume.write(distance));
}

void close_pockets(Exec& exec, DiscreteVolume& volume, const CellChannel<float>& distance,
                   const FaceChannel<float>& open_area, std::span<const int> buckets) {
  constexpr float narrow = 0.5f, inside = -0.5f;
  std::vector<std::bitset<bucket_cells>> pockets(static_cast<std::size_t>(volume.topology().local_count()));
  for_buckets(
      exec, "find pockets", volume.topology(), buckets,
      [&](const Bucket& bucket, auto& fill, auto& room, auto& phi, auto& area) {
        const auto is_pocket = [&](int i, int j, int k) {
          const float most = fill(i, j, k) >= gap * room(i, j, k) ? 0.0f : inside;
          bool any = false;
          for (std::size_t a = 0; a < 3; ++a)
            for (const int side : {-1, 1}) {
              const float open = side < 0 ? area[a].line(i, j)[k] : area[a].upper(i, j)[k];
              const int x = i + (a == 0 ? side : 0), y = j + (a == 1 ? side : 0), z = k + (a == 2 ? side : 0);
              if (open <= 0 || room(x, y, z) < narrow) continue;
              if (phi(x, y, z) > most) return false;
              any = true;
            }
          return any;
        };
        auto& found = pockets[static_cast<std::size_t>(bucket.index)];
        for (int c = 0; c < bucket_cells; ++c) {
          const int i = c >> 6, j = c >> 3 & 7, k = c & 7;
          found[static_cast<std::size_t>(c)] =
              room(i, j, k) > 0 && room(i, j, k) < narrow && phi(i, j, k) >= 0 && is_pocket(i, j, k);
        }
      },
      volume.read(cell_fill), volume.read<Halo<1>>(cell_room), volume.read<Halo<1>>(distance),
      read_upper(volume, open_area));
  for_buckets(
      exec, "close pockets", volume.topology(), buckets,
      [&](const Bucket& bucket, auto& phi) {
        const auto& found = pockets[static_cast<std::size_t>(bucket.index)];
        if (found.none()) return;
        for (std::size_t c = 0; c < bucket_cells; ++c)
          if (found[c]) phi.values[c] = inside;
      },
      volume.write(distance));
}

Crowding spread_crowds(Exec& exec, DiscreteVolume& volume, const CellChannel<float>& distance,
                       const CellChannel<float>& rhs, const Spreading& how) {
  const Barrier* sheets = how.sheets;
  const auto rate = static_cast<float>(how.rate);
  const float all =
      how.opens ? 0.0f : beyond(std::clamp(static_cast<float>(how.mean) - 1, -0.1f, 0.1f), mean_dead_band);
  const auto spread = [opens = how.opens](float excess) {
    return opens ? std::max(0.0f, beyond(excess, loose_band)) : beyond(excess, dead_band);
  };
  const bool everywhere = how.sheared == nullptr;
  constexpr float least = 1.2f;  // of the open cells around, by their weights: 8 together
  std::vector<std::array<double, 2>> sums(static_cast<std::size_t>(volume.topology().local_count()));
  for_each_bucket(
      exec, "spread crowds", volume.topology(),
      [&spread, rate, everywhere, all, &sums, sheets](const Bucket& bucket, auto& fill, auto& room, auto& surface,
                                                      auto& phi, auto& sheared, auto& b) {
        std::array<double, 2>& sum = sums[static_cast<std::size_t>(bucket.index)];
        sum = {};
        for (int i = 0; i < bucket_size; ++i)
          for (int j = 0; j < bucket_size; ++j) {
            const RowExtremes near = extremes(phi, i, j);
            bool any = false;
            for (int k = 0; k < bucket_size; ++k) any |= near.least[k] < 0;
            if (!any) continue;
            const RowSums s = around(fill, room, i, j, half);
            for (int k = 0; k < bucket_size; ++k) {
              if (sheets && sheets->near(bucket.index, cell_offset(i, j, k))) continue;
              const float speed = everywhere ? rate : std::min(rate, per_shear * sheared(i, j, k));
              if (near.greatest[k] >= 0) {  // a film has no inside
                if (phi(i, j, k) >= 0 || near.least[k] > deep) continue;
                // In walls that a sheet ends at, the air may be that of its other side.
                if (sheets && sheets->around(bucket.index) && !(surface(i, j, k) > 0)) continue;
                const float excess = std::clamp(mean_crowding(surface, i, j, k) - 1, -most, most);
                b(i, j, k) += speed * room(i, j, k) * spread(excess);
                continue;
              }
              if (s.open[k] <= least) continue;
              const float excess = std::clamp(s.filled[k] / s.open[k] - 1, -most, most) - all;
              // A cell grows by its open part only.
              b(i, j, k) += room(i, j, k) * (speed * spread(excess) + rate * haste * all);
              if (room(i, j, k) >= 1) sum[0] += static_cast<double>(fill(i, j, k)), sum[1] += 1;
            }
          }
      },
      volume.read<Halo<1>>(cell_fill), volume.read<Halo<1>>(cell_room), volume.read<Halo<1>>(surface_crowding),
      volume.read<Halo<1>>(distance), volume.read(everywhere ? cell_room : *how.sheared), volume.write(rhs));
  const auto total =
      exact_sums<2>(exec, volume.topology(), [&](const Bucket& b) { return sums[static_cast<std::size_t>(b.index)]; });
  return {total[1] > 0 ? total[0] / total[1] : 1, total[1]};
}

}  // namespace aegir
