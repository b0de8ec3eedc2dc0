#include "phenomena/common/projection.h"

#include <algorithm>
#include <cmath>

#include "base/simd.h"
#include "domain/for_each_bucket.h"
#include "domain/volume/upper_access.h"
#include "solvers/linear/free_surface.h"

namespace aegir {
namespace {

constexpr float barely_known = 1e-30f;

/// One row of eight faces between cells `back` and `here`. 45 bytes and about 12 flops per face.
AEGIR_HOT void gradient_row(float* __restrict u, float* __restrict mass, const float* __restrict area,
                            const double* __restrict p, const double* __restrict p_back, const float* __restrict phi,
                            const float* __restrict phi_back) {
  for (int k = 0; k < bucket_size; ++k) {
    const float here = phi[k], back = phi_back[k];
    const bool wet = here < 0, wet_back = back < 0;
    const float theta = std::max(here / (here - back), least_theta),
                theta_back = std::max(back / (back - here), least_theta);
    const double both = p[k] - p_back[k], up = p[k] / static_cast<double>(theta),
                 down = -p_back[k] / static_cast<double>(theta_back);
    const double step = wet ? (wet_back ? both : up) : (wet_back ? down : 0.0);
    const bool open = area[k] > 0;
    u[k] -= open ? static_cast<float>(step) : 0.0f;
    mass[k] = open ? std::max(mass[k], wet || wet_back ? barely_known : 0.0f) : 0.0f;
  }
}

/// Whether a cell is air with liquid across one of its faces.
template <class Tile>
bool first_air(const Tile& phi, int i, int j, int k) {
  return phi(i, j, k) >= 0 && (phi(i - 1, j, k) < 0 || phi(i + 1, j, k) < 0 || phi(i, j - 1, k) < 0 ||
                               phi(i, j + 1, k) < 0 || phi(i, j, k - 1) < 0 || phi(i, j, k + 1) < 0);
}
template <class Tile>
bool farther_air(const Tile& phi, int i, int j, int k) {
  return phi(i, j, k) >= 0 && !first_air(phi, i, j, k);
}

/// Whether a bucket and the layers of cells around it are all liquid or all air.
template <class Tile>
bool all_alike(const Tile& phi, int layers) {
  bool wet = false, dry = false;
  for (int i = -layers; i < bucket_size + layers; ++i)
    for (int j = -layers; j < bucket_size + layers; ++j)
      for (int k = -layers; k < bucket_size + layers; ++k) wet |= phi(i, j, k) < 0, dry |= phi(i, j, k) >= 0;
  return !(wet && dry);
}

/// Whether a cell is air with liquid of some depth across one of its faces.
template <class Tile>
bool beside_bulk(const Tile& phi, float bulk, int i, int j, int k) {
  return phi(i, j, k) >= 0 && (phi(i - 1, j, k) < bulk || phi(i + 1, j, k) < bulk || phi(i, j - 1, k) < bulk ||
                               phi(i, j + 1, k) < bulk || phi(i, j, k - 1) < bulk || phi(i, j, k + 1) < bulk);
}

/// Whether a cell is air with liquid of some depth among the 26 cells around.
template <class Tile>
bool near_bulk(const Tile& phi, float bulk, int i, int j, int k) {
  if (phi(i, j, k) < 0) return false;
  for (int x = i - 1; x <= i + 1; ++x)
    for (int y = j - 1; y <= j + 1; ++y)
      for (int z = k - 1; z <= k + 1; ++z)
        if (phi(x, y, z) < bulk) return true;
  return false;
}

}  // namespace

void forget_air(Exec& exec, DiscreteVolume& volume, const AirChannels& c, const BulkAir& air,
                std::span<const int> buckets) {
  const auto beside = [&](const auto& phi, int i, int j, int k) {
    return air.corners ? near_bulk(phi, -air.depth, i, j, k) : beside_bulk(phi, -air.depth, i, j, k);
  };
  auto distance = volume.read<Halo<2>>(c.distance);
  auto mass = volume.write(c.mass);
  distance.prepare(exec), mass.prepare(exec);
  parallel_for(0, buckets.size(), 4, [&](std::size_t begin, std::size_t end) {
    typename decltype(distance)::View d;
    typename decltype(mass)::View m;
    for (std::size_t n = begin; n < end; ++n) {
      distance.load(d, buckets[n]), mass.load(m, buckets[n]);
      const auto& phi = d.get();
      for (int i = 0; i < bucket_size; ++i)
        for (int j = 0; j < bucket_size; ++j)
          for (int k = 0; k < bucket_size; ++k) {
            if (phi(i, j, k) < 0) continue;
            for (int a = 0; a < 3; ++a) {
              const int bi = i - (a == 0), bj = j - (a == 1), bk = k - (a == 2);
              float& known = m.plane[static_cast<std::size_t>(a)](i, j, k);
              if (known > 0 && phi(bi, bj, bk) >= 0 && (beside(phi, i, j, k) || beside(phi, bi, bj, bk))) known = 0;
            }
          }
    }
  });
}

void forget_slivers(Exec& exec, DiscreteVolume& volume, const FaceChannel<float>& area, const FaceChannel<float>& mass,
                    float least, std::span<const int> buckets) {
  for_buckets(
      exec, "forget slivers", volume.topology(), buckets,
      [least](const Bucket&, auto& open, auto& known) {
        for (std::size_t a = 0; a < 3; ++a)
          for (int c = 0; c < bucket_cells; ++c) known[a][c] = open[a][c] < least ? 0.0f : known[a][c];
      },
      volume.read(area), volume.write(mass));
}

void close_air(Exec& exec, DiscreteVolume& volume, const ProjectionChannels& c) {
  for_each_bucket(
      exec, "air surplus", volume.topology(),
      [](const Bucket&, auto& u, auto& area, auto& solid, auto& room, auto& phi, auto& surplus) {
        std::fill_n(surplus.values, bucket_cells, 0.0f);
        if (all_alike(phi, 1)) return;
        for (int i = 0; i < bucket_size; ++i)
          for (int j = 0; j < bucket_size; ++j) {
            bool any = false;
            for (int k = 0; k < bucket_size; ++k) any |= first_air(phi, i, j, k);
            if (!any) continue;
            const Row<float> share = room.line(i, j);
            Row<float> out{}, low_area[3], high_area[3];
            float fastest[bucket_size] = {};
            for (std::size_t a = 0; a < 3; ++a) {
              const auto us = solid[a].line(i, j), us_up = solid[a].upper(i, j);
              low_area[a] = area[a].line(i, j), high_area[a] = area[a].upper(i, j);
              const auto low = u[a].line(i, j), high = u[a].upper(i, j);
              out += share * (us_up - us) + high_area[a] * (high - us_up) - low_area[a] * (low - us);
              for (int k = 0; k < bucket_size; ++k)
                fastest[k] = std::max({fastest[k], std::abs(low[k]), std::abs(high[k])});
            }
            for (int k = 0; k < bucket_size; ++k) {
              if (!first_air(phi, i, j, k)) continue;
              float way_out = 0;
              int wet = 0;
              for (int a = 0; a < 3; ++a) {
                const int di = a == 0, dj = a == 1, dk = a == 2;
                wet += (phi(i - di, j - dj, k - dk) < 0) + (phi(i + di, j + dj, k + dk) < 0);
                way_out += farther_air(phi, i - di, j - dj, k - dk) ? low_area[a][k] : 0.0f;
                way_out += farther_air(phi, i + di, j + dj, k + dk) ? high_area[a][k] : 0.0f;
              }
              // In small cavities what enters has nowhere to go; a change beyond the order of Δx ∂u/∂x is not
              // extension.
              if (way_out > 0.2f && wet <= 4)
                surplus(i, j, k) = std::clamp(out[k] / way_out, -3 * fastest[k], 3 * fastest[k]);
            }
          }
      },
      read_upper(volume, c.velocity), read_upper(volume, c.area), read_upper(volume, c.solid_velocity),
      volume.read(c.room), volume.read<Halo<2>>(c.distance), volume.write(c.rhs));
  for_each_bucket(
      exec, "close air", volume.topology(),
      [](const Bucket&, auto& u, auto& area, auto& phi, auto& surplus) {
        if (all_alike(phi, 2)) return;  // the first air may lie in the bucket beside
        for (int i = 0; i < bucket_size; ++i)
          for (int j = 0; j < bucket_size; ++j)
            for (int k = 0; k < bucket_size; ++k)
              for (int a = 0; a < 3; ++a) {
                const int bi = i - (a == 0), bj = j - (a == 1), bk = k - (a == 2);
                const float above = surplus(i, j, k), below = surplus(bi, bj, bk);
                if ((above == 0 && below == 0) || area[static_cast<std::size_t>(a)](i, j, k) == 0) continue;
                float& face = u[static_cast<std::size_t>(a)](i, j, k);
                if (below != 0 && farther_air(phi, i, j, k)) face -= below;
                if (above != 0 && farther_air(phi, bi, bj, bk)) face += above;
              }
      },
      volume.write(c.velocity), volume.read(c.area), volume.read<Halo<2>>(c.distance), volume.read<Star<1>>(c.rhs));
}

void divergence_of(Exec& exec, DiscreteVolume& volume, const ProjectionChannels& c) {
  for_each_bucket(
      exec, "divergence", volume.topology(),
      [](const Bucket&, auto& u, auto& area, auto& solid, auto& room, auto& phi, auto& rhs) {
        if (std::none_of(phi.values, phi.values + bucket_cells, [](float d) { return d < 0; })) {
          std::fill_n(rhs.values, bucket_cells, 0.0f);
          return;
        }
        for (int i = 0; i < bucket_size; ++i)
          for (int j = 0; j < bucket_size; ++j) {
            const Row<float> share = room.line(i, j);
            Row<float> out{};
            for (std::size_t a = 0; a < 3; ++a) {
              const auto us = solid[a].line(i, j), us_up = solid[a].upper(i, j);
              const auto low = share * us + area[a].line(i, j) * (u[a].line(i, j) - us),
                         high = share * us_up + area[a].upper(i, j) * (u[a].upper(i, j) - us_up);
              out += low - high;
            }
            rhs.set_line(i, j, out);
          }
      },
      read_upper(volume, c.velocity), read_upper(volume, c.area), read_upper(volume, c.solid_velocity),
      volume.read(c.room), volume.read(c.distance), volume.overwrite(c.rhs));
}

void subtract_gradient(Exec& exec, DiscreteVolume& volume, const ProjectionChannels& c) {
  for_each_bucket(
      exec, "subtract gradient", volume.topology(),
      [](const Bucket&, auto& u, auto& mass, auto& area, auto& p, auto& phi) {
        for (int i = 0; i < bucket_size; ++i)
          for (int j = 0; j < bucket_size; ++j) {
            const double* here = p.row(i, j);
            const float* d = phi.row(i, j);
            const double* back[3] = {p.row(i - 1, j), p.row(i, j - 1), here - 1};
            const float* d_back[3] = {phi.row(i - 1, j), phi.row(i, j - 1), d - 1};
            for (std::size_t a = 0; a < 3; ++a)
              gradient_row(u[a].row(i, j), mass[a].row(i, j), area[a].row(i, j), here, back[a], d, d_back[a]);
          }
      },
      volume.write(c.velocity), volume.write(c.mass), volume.read(c.area), volume.read<Star<1>>(c.pressure),
      volume.read<Star<1>>(c.distance));
}

void less_gradient(Exec& exec, DiscreteVolume& volume, const ProjectionChannels& c, const FaceChannel<float>& result) {
  for_each_bucket(
      exec, "less gradient", volume.topology(),
      [](const Bucket&, auto& u, auto& less, auto& area, auto& p, auto& phi) {
        float mass[bucket_size] = {};
        for (int i = 0; i < bucket_size; ++i)
          for (int j = 0; j < bucket_size; ++j) {
            const double* here = p.row(i, j);
            const float* d = phi.row(i, j);
            const double* back[3] = {p.row(i - 1, j), p.row(i, j - 1), here - 1};
            const float* d_back[3] = {phi.row(i - 1, j), phi.row(i, j - 1), d - 1};
            for (std::size_t a = 0; a < 3; ++a) {
              less[a].set_line(i, j, u[a].line(i, j));
              gradient_row(less[a].row(i, j), mass, area[a].row(i, j), here, back[a], d, d_back[a]);
            }
          }
      },
      volume.read(c.velocity), volume.overwrite(result), volume.read(c.area), volume.read<Star<1>>(c.pressure),
      volume.read<Star<1>>(c.distance));
}

}  // namespace aegir
