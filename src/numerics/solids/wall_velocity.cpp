#include "numerics/solids/wall_velocity.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "domain/for_each_bucket.h"
#include "domain/transport/overlap.h"
#include "numerics/solids/face_frame.h"

namespace aegir {
namespace {

/// New velocities of the buckets that solids touch: faces read their neighbours' old values, so the new ones wait.
using Planes = std::array<std::array<float, bucket_cells>, 3>;

/// Whether all velocities of a tile are zero: among solids at rest they stay so.
bool at_rest(const FaceTiles& u) {
  for (const NodeTile& plane : u)
    for (int i = -1; i <= bucket_size; ++i)
      for (int j = -1; j <= bucket_size; ++j) {
        const float* row = plane.row(i, j);
        float sum = 0;
        for (int k = -1; k <= bucket_size; ++k) sum += std::abs(row[k]);
        if (sum != 0) return false;
      }
  return true;
}

/// Replaces the velocity of some buckets: the kernel gets a bucket's number, its views and the planes to change. About
/// 20 KiB of tiles per accessor of faces and bucket, 12 KiB copied; some 60 flops per face near a solid.
template <class Kernel, class... Reads>
void replace_velocity(Exec& exec, const char* label, DiscreteVolume& volume, std::span<const int> buckets,
                      const FaceChannel<float>& velocity, bool moving, Kernel&& kernel, Reads&&... reads) {
  Stopwatch watch;
  auto old = volume.read<Halo<1>>(velocity);
  auto out = volume.write(velocity);
  HaloFlight flight(exec.comm);
  old.begin(exec, flight);
  (detail::begin(reads, exec, flight), ...);
  const std::unique_ptr<Planes[]> next(new Planes[buckets.size()]);  // not zeroed
  std::vector<std::int32_t> place_of(static_cast<std::size_t>(volume.topology().local_count()));
  for (std::size_t i = 0; i < buckets.size(); ++i)
    place_of[static_cast<std::size_t>(buckets[i])] = static_cast<std::int32_t>(i);
  std::vector<std::uint8_t> changed(buckets.size(), 0);
  inner_first(BorderSplit(volume.topology(), buckets), flight, [&](std::span<const int> some) {
    typename decltype(old)::View u;
    typename decltype(out)::View own;
    std::tuple<typename std::remove_cvref_t<Reads>::View...> views;
    for (const int b : some) {
      const auto i = static_cast<std::size_t>(place_of[static_cast<std::size_t>(b)]);
      old.load(u, b), out.load(own, b);
      if (!moving && at_rest(u.plane)) continue;
      changed[i] = 1;
      for (std::size_t axis = 0; axis < 3; ++axis)
        std::memcpy(next[i][axis].data(), own.plane[axis].values, sizeof next[i][axis]);
      std::apply([&](auto&... view) { (reads.load(view, b), ...); }, views);
      std::apply([&](auto&... view) { kernel(b, u.plane, view.get()..., next[i]); }, views);
    }
  });
  out.prepare(exec);
  parallel_for(0, buckets.size(), 8, [&](std::size_t begin, std::size_t end) {
    typename decltype(out)::View u;
    for (std::size_t i = begin; i < end; ++i) {
      if (!changed[i]) continue;
      out.load(u, buckets[i]);
      for (std::size_t axis = 0; axis < 3; ++axis)
        std::memcpy(u.plane[axis].values, next[i][axis].data(), sizeof next[i][axis]);
    }
  });
  exec.profile.kernel(label, watch.seconds(), static_cast<std::int64_t>(buckets.size()) * bucket_cells * 60);
}

/// Calls face(axis, place in tiles, number in the bucket) for every face.
template <class Face>
void for_faces(Face face) {
  for (int axis = 0; axis < 3; ++axis)
    for (int i = 0; i < bucket_size; ++i)
      for (int j = 0; j < bucket_size; ++j)
        for (int k = 0; k < bucket_size; ++k)
          face(axis, tile_place(i, j, k), static_cast<std::size_t>(cell_offset(i, j, k)));
}

/// Liquid is moved and solved for no deeper in solids than this, in cells: velocities below are nobody's.
constexpr float deepest = -2.75f;
/// Below this length the gradient of the distance says nothing: in the middle of solids, on sheets.
constexpr float least_gradient = 0.25f;

}  // namespace

void constrain_velocity(Exec& exec, DiscreteVolume& volume, const SolidGrid& solids, const FaceChannel<float>& velocity,
                        const SolidChannels& channels, const SlipSettings& settings) {
  const auto is = [&](bool all, std::span<const std::uint8_t> single, int b, std::size_t c) {
    if (all || single.empty()) return all;
    const int nearest = solids.nearest(b, static_cast<int>(c));
    return nearest >= 0 && single[static_cast<std::size_t>(nearest)] != 0;
  };
  const auto sticks = [&](int b, std::size_t c) { return is(settings.no_slip, settings.sticks, b, c); };
  const auto lets_go = [&](int b, std::size_t c) { return is(settings.leaves, settings.lets_go, b, c); };
  const auto kernel = [&](int b, const FaceTiles& u, const NodeTile& nodes, const auto& area, const FaceTiles& solid,
                          Planes& next) {
    for_faces([&](int axis, int place, std::size_t c) {
      const auto a = static_cast<std::size_t>(axis);
      const float open = area[a].values[c];
      if (open == 1 || nodes.values[place] < deepest) return;
      const FaceDistance wall = face_distance(nodes, axis, place);
      if (open > 0 && wall.distance >= 0) return;
      const float still = solid[a].values[place];
      const float slope = length(wall.gradient);
      const bool sheet = open == 0 && wall.distance > 0;
      const float across = wall.gradient[axis] / slope;
      if (sticks(b, c) || sheet || !(slope > least_gradient)) {
        next[a][c] = still;
      } else if (std::abs(across) > 1 - 1e-6f) {
        if (!((next[a][c] - still) * across > 0 && lets_go(b, c))) next[a][c] = still;
      } else if (across != 0) {
        const Vec3f relative = face_vector(u, axis, place) - face_vector(solid, axis, place);
        const float away = dot(relative, wall.gradient / slope);
        if (!(away > 0 && lets_go(b, c))) next[a][c] -= across * away;
      }
    });
  };
  std::vector<int> buckets;
  for (const int b : solids.touched())
    if (solids.cut(b)) buckets.push_back(b);
  replace_velocity(exec, "solids.constrain", volume, buckets, velocity, solids.moving(), kernel,
                   volume.read<Halo<1>>(channels.distance), volume.read(channels.area),
                   volume.read<Halo<1>>(channels.velocity));
}

namespace {

/// Pressure where the normal through a cell's centre meets the wall, `distance` cells away.
double wall_pressure(const PaddedTile<double, 2>& pressure, const Vec3i& cell, const Vec3f& n, float distance) {
  const double here = pressure(cell.x, cell.y, cell.z);
  if (!(here > 0)) return 0;
  int axis = 0;
  for (int a = 1; a < 3; ++a)
    if (std::abs(n[a]) > std::abs(n[axis])) axis = a;
  Vec3i out = cell;
  out[axis] += n[axis] > 0 ? 1 : -1;
  const double way = std::clamp(distance / std::abs(n[axis]), -1.0f, 1.0f);
  return std::clamp(here + (here - pressure(out.x, out.y, out.z)) * way, 0.0, 2 * here);
}

/// What a bucket shows of its walls.
struct WallViews {
  const NodeTile& nodes;
  const FaceTiles &area, &solid;
  const PaddedTile<double, 2>& pressure;
  Vec3d weight;
  const FaceTiles* velocity = nullptr;
  const PaddedTile<float, 2>* surface = nullptr;
  const FaceTiles *stress = nullptr, *shear = nullptr;
};

/// What lies on a wall, as one cell above it sees it: pressure at the wall and thickness of the layer in cells.
struct WallLoad {
  double pressure = 0, thickness = 1;
  double below = 0;  // cells between its centre and the wall
};

/// The pressure of the cell and the weight of what lies between its centre and the wall. Pressure is not carried on
/// from cell to cell, because stress inside sand makes it jump beside solids.
WallLoad wall_load(const WallViews& w, const Vec3i& cell, const Vec3f& n, float distance, double cell_weight) {
  const auto& surface = *w.surface;
  double here = w.pressure(cell.x, cell.y, cell.z);
  if (w.stress)
    for (std::size_t a = 0; a < 3; ++a) {
      const auto b = static_cast<int>((a + 1) % 3), c = static_cast<int>((a + 2) % 3), own = static_cast<int>(a);
      here -= n[own] * n[own] * (*w.stress)[a](cell.x, cell.y, cell.z) +
              2 * n[b] * n[c] * (*w.shear)[a](cell.x, cell.y, cell.z);
    }
  const float depth = -surface(cell.x, cell.y, cell.z);
  if (!(here > 0) || !(depth > 0)) return {};
  int axis = 0;
  for (int a = 1; a < 3; ++a)
    if (std::abs(n[a]) > std::abs(n[axis])) axis = a;
  Vec3i out = cell;
  out[axis] += n[axis] > 0 ? 1 : -1;
  const float beyond = surface(out.x, out.y, out.z);
  const double way = std::clamp(distance, -1.0f, 1.0f);
  const double load = std::clamp(here + cell_weight * way, 0.0, 16 * here);
  return {load, beyond < 0 ? 1 : std::clamp(depth / (depth + beyond) + way, 0.2, 1.0), way};
}

/// Speed towards a wall on the open faces around a face.
float approach(const FaceTiles& u, const FaceTiles& solid, const FaceTiles& area, int axis, int place, const Vec3f& n) {
  const int back = tile_step[static_cast<std::size_t>(axis)];
  float speed = 0;
  for (int other = 0; other < 3; ++other) {
    const auto o = static_cast<std::size_t>(other);
    const int up = tile_step[o];
    const auto relative = [&](int at) { return u[o].values[at] - solid[o].values[at]; };
    if (other == axis) {
      speed -= n[other] * relative(place);
      continue;
    }
    float sum = 0, open = 0;
    for (const int at : {place, place + up - back, place - back, place + up})
      if (area[o].values[at] > 0) sum += relative(at), open += 1;
    if (open > 0) speed -= n[other] * sum / open;
  }
  return std::max(speed, 0.0f);
}

/// What presses on the layer of a face: the greatest change of velocity that friction may make, over the coefficient (0
/// where nothing presses), the load and what of it lies between the cells' centres and the wall, over the mass of a
/// cell.
struct Pressing {
  double bound = 0, load = 0, below = 0;
};
Pressing pressing(const WallViews& w, int axis, int place, const Vec3i& cell, const FaceDistance& wall, const Vec3f& n,
                  double per_pressure) {
  Vec3i lower = cell;
  lower[axis] -= 1;
  const bool pressed = w.pressure(cell.x, cell.y, cell.z) > 0 || w.pressure(lower.x, lower.y, lower.z) > 0;
  const double reach = friction_reach(wall.distance);
  // The centres of the two cells are half a cell to either side of the face.
  const float above = wall.distance + 0.5f * n[axis], below = wall.distance - 0.5f * n[axis];
  if (!w.surface) {
    if (!pressed) return {};
    const double load =
        0.5 * (wall_pressure(w.pressure, cell, n, above) + wall_pressure(w.pressure, lower, n, below)) * per_pressure;
    return {load / reach, load};
  }
  if (!pressed) return {approach(*w.velocity, w.solid, w.area, axis, place, n), 0};
  const double cell_weight = std::max(0.0, -dot(w.weight, Vec3d(n)));
  const WallLoad a = wall_load(w, cell, n, above, cell_weight), b = wall_load(w, lower, n, below, cell_weight);
  const double load = 0.5 * (a.pressure + b.pressure) * per_pressure;
  const double thickness = !(a.pressure > 0)   ? 0.5 * b.thickness
                           : !(b.pressure > 0) ? 0.5 * a.thickness
                                               : 0.5 * (a.thickness + b.thickness);
  return {load / (reach * thickness), load, 0.5 * (a.below + b.below)};
}

}  // namespace

std::vector<std::vector<WallContact>> wall_contacts(Exec& exec, DiscreteVolume& volume, const SolidGrid& solids,
                                                    const FrictionChannels& channels,
                                                    const FrictionSettings& settings) {
  Stopwatch watch;
  const double per_pressure = settings.dt / (settings.density * volume.topology().spacing());
  const std::span<const int> buckets = solids.touched();
  std::vector<std::vector<WallContact>> contacts(buckets.size());
  const auto find = [&](int b, const WallViews& w, std::vector<WallContact>& list) {
    for_faces([&](int axis, int place, std::size_t c) {
      if (w.area[static_cast<std::size_t>(axis)].values[place] == 0 || w.nodes.values[place] > 1.5f) return;
      const FaceDistance wall = face_distance(w.nodes, axis, place);
      if (!(wall.distance >= -0.25f && wall.distance < 0.75f)) return;
      const float slope = length(wall.gradient);
      if (!(slope > 0.1f)) return;
      if (!settings.rubs.empty() && !settings.rubs[static_cast<std::size_t>(solids.nearest(b, static_cast<int>(c)))])
        return;
      const double mu = solids.friction(b, static_cast<int>(c));
      if (!(mu > 0)) return;
      const Vec3f n = wall.gradient / slope;
      if (settings.along_grid && across_grid(wall.gradient)) return;
      const Vec3i cell(static_cast<int>(c >> 6), static_cast<int>(c >> 3 & 7), static_cast<int>(c & 7));
      const Pressing press = pressing(w, axis, place, cell, wall, n, per_pressure);
      const double bound = mu * press.bound;
      if (!(bound > 0)) return;
      list.push_back({static_cast<std::uint16_t>(c), static_cast<std::uint8_t>(axis), n,
                      face_vector(w.solid, axis, place), slope > 0.95f, static_cast<float>(bound),
                      static_cast<float>(mu), static_cast<float>(press.load), static_cast<float>(press.below)});
    });
  };
  auto distances = volume.read<Halo<1>>(channels.solids.distance);
  auto areas = volume.read<Halo<1>>(channels.solids.area);
  auto still = volume.read<Halo<1>>(channels.solids.velocity);
  auto pressures = volume.read<Halo<2>>(channels.pressure);
  std::optional<decltype(areas)> velocities;
  std::optional<GridReadHalo<float, 3, Halo<1>>> stresses, shears;
  std::optional<GridReadHalo<float, 1, Halo<2>>> surfaces;
  distances.prepare(exec), areas.prepare(exec), still.prepare(exec), pressures.prepare(exec);
  if (channels.surface) {
    velocities = volume.read<Halo<1>>(channels.velocity), surfaces = volume.read<Halo<2>>(*channels.surface);
    velocities->prepare(exec), surfaces->prepare(exec);
  }
  if (channels.normal_stress) {
    stresses = volume.read<Halo<1>>(*channels.normal_stress), shears = volume.read<Halo<1>>(*channels.shear_stress);
    stresses->prepare(exec), shears->prepare(exec);
  }
  parallel_for(0, buckets.size(), 2, [&](std::size_t begin, std::size_t end) {
    typename decltype(distances)::View nodes;
    typename decltype(areas)::View area, solid, velocity, stress, shear;
    typename decltype(pressures)::View pressure;
    Views<PaddedTile<float, 2>, 1> surface;
    for (std::size_t i = begin; i < end; ++i) {
      const int b = buckets[i];
      distances.load(nodes, b), areas.load(area, b), still.load(solid, b), pressures.load(pressure, b);
      if (velocities) velocities->load(velocity, b), surfaces->load(surface, b);
      if (stresses) stresses->load(stress, b), shears->load(shear, b);
      find(b,
           {nodes.get(), area.get(), solid.get(), pressure.get(), settings.weight,
            velocities ? &velocity.get() : nullptr, velocities ? &surface.get() : nullptr,
            stresses ? &stress.get() : nullptr, stresses ? &shear.get() : nullptr},
           contacts[i]);
    }
  });
  exec.profile.kernel("solids.contacts", watch.seconds(),
                      static_cast<std::int64_t>(buckets.size()) * bucket_cells * 60);
  return contacts;
}

void wall_friction(Exec& exec, DiscreteVolume& volume, const SolidGrid& solids, const FrictionChannels& channels,
                   const FrictionSettings& settings) {
  const auto contacts = wall_contacts(exec, volume, solids, channels, settings);
  std::vector<int> list_of(static_cast<std::size_t>(volume.topology().local_count()), -1);
  for (std::size_t i = 0; i < contacts.size(); ++i)
    list_of[static_cast<std::size_t>(solids.touched()[i])] = static_cast<int>(i);
  replace_velocity(
      exec, "solids.friction", volume, solids.touched(), channels.velocity, solids.moving(),
      [&](int b, const FaceTiles& u, const FaceTiles& solid, Planes& next) {
        for (const WallContact& c : contacts[static_cast<std::size_t>(list_of[static_cast<std::size_t>(b)])]) {
          const int place = tile_place(c.cell >> 6, c.cell >> 3 & 7, c.cell & 7);
          const Vec3f relative = face_vector(u, c.axis, place) - face_vector(solid, c.axis, place);
          const Vec3f along = relative - c.normal * dot(relative, c.normal);
          const float speed = length(along);
          if (speed > 0) next[c.axis][c.cell] -= std::min(1.0f, c.bound / speed) * along[c.axis];
        }
      },
      volume.read<Halo<1>>(channels.solids.velocity));
}

}  // namespace aegir
