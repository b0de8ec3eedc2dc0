#include "numerics/solids/wall_velocity.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <tuple>
#include <vector>

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
  old.prepare(exec);
  (reads.prepare(exec), ...);
  const std::unique_ptr<Planes[]> next(new Planes[buckets.size()]);  // not zeroed
  std::vector<std::uint8_t> changed(buckets.size(), 0);
  parallel_for(0, buckets.size(), 2, [&](std::size_t begin, std::size_t end) {
    typename decltype(old)::View u;
    typename decltype(out)::View own;
    std::tuple<typename std::remove_cvref_t<Reads>::View...> views;
    for (std::size_t i = begin; i < end; ++i) {
      const int b = buckets[i];
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
  const auto sticks = [&](int b, std::size_t c) {
    if (settings.no_slip || settings.sticks.empty()) return settings.no_slip;
    const int nearest = solids.nearest(b, static_cast<int>(c));
    return nearest >= 0 && settings.sticks[static_cast<std::size_t>(nearest)] != 0;
  };
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
      if (sticks(b, c) || sheet || !(slope > least_gradient) || std::abs(across) > 1 - 1e-6f) {
        next[a][c] = still;
      } else if (across != 0) {
        const Vec3f relative = face_vector(u, axis, place) - face_vector(solid, axis, place);
        next[a][c] -= across * dot(relative, wall.gradient / slope);
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

}  // namespace

void wall_friction(Exec& exec, DiscreteVolume& volume, const SolidGrid& solids, const FrictionChannels& channels,
                   const FrictionSettings& settings) {
  const double per_pressure = settings.dt / (settings.density * volume.topology().spacing());
  const auto kernel = [&](int b, const FaceTiles& u, const NodeTile& nodes, const auto& area, const FaceTiles& solid,
                          const PaddedTile<double, 2>& pressure, Planes& next) {
    for_faces([&](int axis, int place, std::size_t c) {
      const auto a = static_cast<std::size_t>(axis);
      if (area[a].values[c] == 0 || nodes.values[place] > 1.5f) return;
      const FaceDistance wall = face_distance(nodes, axis, place);
      if (!(wall.distance >= -0.25f && wall.distance < 0.75f)) return;
      const Vec3i cell(static_cast<int>(c >> 6), static_cast<int>(c >> 3 & 7), static_cast<int>(c & 7));
      Vec3i lower = cell;
      lower[axis] -= 1;
      if (!(pressure(cell.x, cell.y, cell.z) > 0 || pressure(lower.x, lower.y, lower.z) > 0)) return;
      const float slope = length(wall.gradient);
      if (!(slope > 0.1f)) return;
      if (!settings.rubs.empty() && !settings.rubs[static_cast<std::size_t>(solids.nearest(b, static_cast<int>(c)))])
        return;
      const double mu = solids.friction(b, static_cast<int>(c));
      if (!(mu > 0)) return;
      const Vec3f n = wall.gradient / slope;
      const Vec3f relative = face_vector(u, axis, place) - face_vector(solid, axis, place);
      const Vec3f along = relative - n * dot(relative, n);
      const float speed = length(along);
      if (!(speed > 0)) return;
      // The centres of the two cells are half a cell to either side of the face.
      const double p = 0.5 * (wall_pressure(pressure, cell, n, wall.distance + 0.5f * n[axis]) +
                              wall_pressure(pressure, lower, n, wall.distance - 0.5f * n[axis]));
      const double stopped = std::min(1.0, mu * p * per_pressure / (friction_reach(wall.distance) * speed));
      next[a][c] -= static_cast<float>(stopped) * along[axis];
    });
  };
  replace_velocity(exec, "solids.friction", volume, solids.touched(), channels.velocity, solids.moving(), kernel,
                   volume.read<Halo<1>>(channels.solids.distance), volume.read(channels.solids.area),
                   volume.read<Halo<1>>(channels.solids.velocity), volume.read<Halo<2>>(channels.pressure));
}

}  // namespace aegir
