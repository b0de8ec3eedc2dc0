#include "phenomena/common/crowding.h"

#include <algorithm>
#include <cmath>

#include "domain/for_each_bucket.h"

namespace aegir {
namespace {

constexpr float deep = -1.4f;       // cells below the surface
constexpr float dead_band = 0.03f;  // crowding that particles at rest may have
constexpr float most = 0.5f;        // crowding beyond it is corrected no faster

/// Crowding around a cell of a padded tile, or 1 where there is no room.
template <class Tile>
float crowding(const Tile& fill, const Tile& room, int i, int j, int k) {
  float filled = 0, open = 0;
  for (int a = -1; a <= 1; ++a)
    for (int b = -1; b <= 1; ++b)
      for (int c = -1; c <= 1; ++c) filled += fill(i + a, j + b, k + c), open += room(i + a, j + b, k + c);
  return open > 4 ? filled / open : 1.0f;
}

bool any_deep(const float* distance) {
  return std::any_of(distance, distance + bucket_cells, [](float d) { return d < deep; });
}

}  // namespace

Crowding measure_crowding(Exec& exec, ParticleSystem& particles, DiscreteVolume& volume, const CrowdingChannels& c,
                          double particles_per_cell) {
  const auto share = static_cast<float>(1 / particles_per_cell);
  for_each_bucket(
      exec, "count particles", volume.topology(),
      [share](const Bucket&, auto& p, auto& nodes, auto& fill, auto& room) {
        std::fill_n(fill.values, bucket_cells, 0.0f);
        for (std::size_t n = 0; n < p.count; ++n)
          fill[cell_offset(static_cast<int>(p.plane[0][n]), static_cast<int>(p.plane[1][n]),
                           static_cast<int>(p.plane[2][n]))] += share;
        for (int i = 0; i < bucket_size; ++i)
          for (int j = 0; j < bucket_size; ++j)
            for (int k = 0; k < bucket_size; ++k) {
              float sum = 0, least = 1000, greatest = -1000;
              for (int corner = 0; corner < 8; ++corner) {
                const float d = nodes(i + (corner & 1), j + (corner >> 1 & 1), k + (corner >> 2));
                sum += d, least = std::min(least, d), greatest = std::max(greatest, d);
              }
              // Cells between walls on faces are whole, also in edges and corners.
              room(i, j, k) = least > -1e-3f     ? 1.0f
                              : greatest < 1e-3f ? 0.0f
                                                 : std::clamp(0.125f * sum + 0.5f, 0.0f, 1.0f);
            }
      },
      particles.read(particle::position), volume.read<Halo<1>>(c.solid_distance), volume.write(cell_fill),
      volume.write(cell_room));
  require_access(volume.owner(), c.distance.name, AccessMode::read, 0);
  const float* phi = volume.store(c.distance.name).plane<float>(0);
  const float* filled = volume.store(cell_fill.name).plane<float>(0);
  const float* open = volume.store(cell_room.name).plane<float>(0);
  const auto sums = exact_sums<2>(exec, volume.topology(), [&](const Bucket& b) {
    std::array<double, 2> s{};
    const std::size_t first = static_cast<std::size_t>(b.index) * bucket_cells;
    for (std::size_t i = first; i < first + bucket_cells; ++i)
      if (phi[i] < deep && open[i] >= 1) s[0] += static_cast<double>(filled[i]), s[1] += 1;
    return s;
  });
  return sums[1] > 0 ? Crowding{sums[0] / sums[1], sums[1]} : Crowding{};
}

void correct_crowding(Exec& exec, DiscreteVolume& volume, const CrowdingChannels& c, double rate) {
  const auto speed = static_cast<float>(rate);
  for_each_bucket(
      exec, "correct crowding", volume.topology(),
      [speed](const Bucket&, auto& fill, auto& room, auto& distance, auto& rhs) {
        if (!any_deep(distance.values)) return;
        for (int i = 0; i < bucket_size; ++i)
          for (int j = 0; j < bucket_size; ++j)
            for (int k = 0; k < bucket_size; ++k)
              if (distance(i, j, k) < deep) {
                const float excess = std::clamp(crowding(fill, room, i, j, k) - 1, -most, most);
                rhs(i, j, k) +=
                    speed * (excess > 0 ? std::max(0.0f, excess - dead_band) : std::min(0.0f, excess + dead_band));
              }
      },
      volume.read<Halo<1>>(cell_fill), volume.read<Halo<1>>(cell_room), volume.read(c.distance), volume.write(c.rhs));
}

}  // namespace aegir
