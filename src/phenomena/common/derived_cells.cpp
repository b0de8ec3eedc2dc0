// Derived channels on cells.
#include <algorithm>
#include <array>
#include <cmath>

#include "domain/for_each_bucket.h"
#include "numerics/surface/liquid_volume.h"
#include "phenomena/common/channels.h"
#include "phenomena/common/derived_channels.h"
#include "solvers/linear/free_surface.h"

namespace aegir {
namespace {

constexpr Vec3i unit_step(int axis) { return {axis == 0, axis == 1, axis == 2}; }

/// Whether a cell holds liquid and is not all solid.
template <class Distance, class Room>
bool wet(const Distance& phi, const Room& room, const Vec3i& c) {
  return phi(c.x, c.y, c.z) < 0 && room(c.x, c.y, c.z) > 0;
}

/// What a cell is joined to along each axis: the wet cells across its open faces.
struct Joined {
  bool low[3], high[3];
};
template <class Areas, class Tile>
Joined joined_to(const Areas& area, const Tile& phi, const Tile& room, const Vec3i& c) {
  Joined j;
  for (int a = 0; a < 3; ++a) {
    const Vec3i down = c - unit_step(a), up = c + unit_step(a);
    const auto& faces = area[static_cast<std::size_t>(a)];
    j.low[a] = faces(c.x, c.y, c.z) > 0 && wet(phi, room, down);
    j.high[a] = faces(up.x, up.y, up.z) > 0 && wet(phi, room, up);
  }
  return j;
}

/// Velocity at the centre of a cell, one component.
template <class Faces>
float at_centre(const Faces& u, int axis, const Vec3i& c) {
  const Vec3i up = c + unit_step(axis);
  const auto& faces = u[static_cast<std::size_t>(axis)];
  return 0.5f * (faces(c.x, c.y, c.z) + faces(up.x, up.y, up.z));
}

/// ∂u_component / ∂x_along at a cell's centre, per cell.
template <class Faces>
float slope(const Faces& u, int component, int along, const Vec3i& c, const Joined& j) {
  if (!j.low[along] && !j.high[along]) return 0;
  const float here = at_centre(u, component, c);
  const float low = j.low[along] ? at_centre(u, component, c - unit_step(along)) : here,
              high = j.high[along] ? at_centre(u, component, c + unit_step(along)) : here;
  return (high - low) / static_cast<float>(j.low[along] + j.high[along]);
}

template <class Body>
void for_cells(Body&& body) {
  for (int i = 0; i < bucket_size; ++i)
    for (int j = 0; j < bucket_size; ++j)
      for (int k = 0; k < bucket_size; ++k) body(Vec3i{i, j, k});
}

template <class Out>
void put(Out& out, const Vec3i& c, const Vec3f& value) {
  for (int a = 0; a < 3; ++a) out[static_cast<std::size_t>(a)](c.x, c.y, c.z) = value[a];
}

}  // namespace

// Per cell: 32 bytes read, 12 written, about 70 flops.
void derive_vorticity(Exec& exec, DiscreteVolume& volume, const FlowChannels& ch) {
  const auto per_length = static_cast<float>(1 / volume.topology().spacing());
  for_each_bucket(
      exec, "vorticity", volume.topology(),
      [per_length](const Bucket&, auto& u, auto& area, auto& phi, auto& room, auto& out) {
        for_cells([&](const Vec3i& c) {
          Vec3f curl{};
          if (wet(phi, room, c)) {
            const Joined j = joined_to(area, phi, room, c);
            for (int a = 0; a < 3; ++a) {
              const int b = (a + 1) % 3, d = (a + 2) % 3;
              curl[a] = (slope(u, d, b, c, j) - slope(u, b, d, c, j)) * per_length;
            }
          }
          put(out, c, curl);
        });
      },
      volume.read<Halo<1>>(ch.velocity), volume.read<Halo<1>>(ch.open_area), volume.read<Halo<1>>(ch.surface_distance),
      volume.read<Halo<1>>(ch.room), volume.overwrite(grid::vorticity));
}

namespace {

/// Pressure's step over the face between two cells, one of them wet, as the solve has it (projection.h).
double step_over(double p_low, double p_high, float low, float high) {
  if (low < 0 && high < 0) return p_high - p_low;
  return low < 0 ? -p_low / static_cast<double>(std::max(low / (low - high), least_theta))
                 : p_high / static_cast<double>(std::max(high / (high - low), least_theta));
}

}  // namespace

// Per cell: 28 bytes read, 12 written, about 25 flops.
void derive_pressure_gradient(Exec& exec, DiscreteVolume& volume, const FlowChannels& ch, double scale) {
  const double factor = scale / volume.topology().spacing();
  for_each_bucket(
      exec, "pressure gradient", volume.topology(),
      [factor](const Bucket&, auto& p, auto& area, auto& phi, auto& room, auto& out) {
        for_cells([&](const Vec3i& c) {
          Vec3f gradient{};
          for (int a = 0; a < 3 && wet(phi, room, c); ++a) {
            const auto& faces = area[static_cast<std::size_t>(a)];
            double sum = 0;
            int open = 0;
            for (const int side : {0, 1}) {
              const Vec3i high = side ? c + unit_step(a) : c, low = high - unit_step(a);
              if (!(faces(high.x, high.y, high.z) > 0)) continue;
              sum += step_over(p(low.x, low.y, low.z), p(high.x, high.y, high.z), phi(low.x, low.y, low.z),
                               phi(high.x, high.y, high.z));
              ++open;
            }
            if (open) gradient[a] = static_cast<float>(sum / open * factor);
          }
          put(out, c, gradient);
        });
      },
      volume.read<Halo<1>>(ch.pressure), volume.read<Halo<1>>(ch.open_area), volume.read<Halo<1>>(ch.surface_distance),
      volume.read(ch.room), volume.overwrite(grid::pressure_gradient));
}

// Per particle 16 bytes read; per cell 8 bytes read and 8 written, then 8 and 4, about 80 flops.
void derive_density(Exec& exec, const ParticleSystem& particles, DiscreteVolume& volume, const FlowChannels& ch,
                    double least) {
  for_each_bucket(
      exec, "cell mass", volume.topology(),
      [](const Bucket&, auto& p, auto& m, auto& phi, auto& room, auto& mass, auto& share) {
        std::fill_n(mass.values, bucket_cells, 0.0f);
        for (std::size_t n = 0; n < p.count; ++n)
          mass.values[cell_offset(static_cast<int>(p.plane[0][n]), static_cast<int>(p.plane[1][n]),
                                  static_cast<int>(p.plane[2][n]))] += m[n];
        for_cells([&](const Vec3i& c) {
          share(c.x, c.y, c.z) = room(c.x, c.y, c.z) * static_cast<float>(liquid_share(phi, c.x, c.y, c.z));
        });
      },
      particles.read(particle::position), particles.read(particle::mass), volume.read<Halo<1>>(ch.surface_distance),
      volume.read(ch.room), volume.overwrite(grid::cell_mass), volume.overwrite(grid::cell_share));
  const double dx = volume.topology().spacing();
  const auto per_volume = static_cast<float>(1 / (dx * dx * dx)), floor = static_cast<float>(least);
  for_each_bucket(
      exec, "density", volume.topology(),
      [per_volume, floor](const Bucket&, auto& mass, auto& share, auto& out) {
        for (int i = 0; i < bucket_size; ++i)
          for (int j = 0; j < bucket_size; ++j) {
            Row<float> m{}, v{};
            for (int a = -1; a <= 1; ++a)
              for (int b = -1; b <= 1; ++b)
                for (int k = -1; k <= 1; ++k) m += mass.line(i + a, j + b, k), v += share.line(i + a, j + b, k);
            for (int k = 0; k < bucket_size; ++k) {
              const bool any = mass(i, j, k) > 0 || share(i, j, k) > 0;
              out(i, j, k) = any ? m[k] * per_volume / std::max(v[k], floor) : 0.0f;
            }
          }
      },
      volume.read<Halo<1>>(grid::cell_mass), volume.read<Halo<1>>(grid::cell_share), volume.overwrite(grid::density));
}

}  // namespace aegir
