#include "phenomena/common/slide.h"

#include <algorithm>
#include <cmath>

#include "base/simd.h"
#include "numerics/solids/solid_bucket.h"

namespace aegir {
namespace {

Vec3d without_inward(const Vec3d& v, const Vec3d& normal) { return v - normal * std::min(0.0, dot(v, normal)); }

}  // namespace

Slide slide(const SlideWay& way, std::span<const Collider* const> colliders, FunctionRef<Vec3d(const Vec3d&)> stored) {
  const Vec3d& begin = way.begin;
  const double clearance = way.clearance;
  const auto blocked = [&](const Vec3d& a, const Vec3d& b, const Collider* except) {
    return std::any_of(colliders.begin(), colliders.end(), [&](const Collider* c) {
      return c != except && c->in_reach(a, b, clearance) && c->blocks(a, b);
    });
  };
  Slide now{stored(way.goal), way.velocity, false};
  std::optional<Contact> first;
  const Collider* touched = nullptr;
  for (const Collider* c : colliders)
    if (c->in_reach(begin, now.position, clearance))
      if (const auto hit = c->sweep(begin, now.position, way.time, std::max(0.25 * clearance, 2 * c->tolerance()));
          hit && (!first || hit->fraction < first->fraction))
        first = hit, touched = c;
  if (!first && way.goal_is_free) return now;
  const auto surely_outside = [&] { return way.free_place && !blocked(*way.free_place, now.position, nullptr); };
  if (first) {
    now.touched = true;
    now.velocity = first->surface_velocity + without_inward(way.velocity - first->surface_velocity, first->normal);
    // From where the touched place ends up, along the surface, what is left of the way.
    const double left = 1 - first->fraction;
    const Vec3d rest =
        without_inward((now.position - begin - first->surface_velocity * way.dt) * left, first->normal_at_end);
    const Vec3d place = stored(first->resting_point + first->normal_at_end * clearance), beyond = stored(place + rest);
    if (blocked(begin, place, touched))
      now.position = begin, now.velocity = first->surface_velocity;
    else
      now.position = blocked(place, beyond, nullptr) ? place : beyond;
  }
  // Whoever was put inside a solid goes to its surface.
  if (surely_outside()) return now;
  for (const Collider* c : colliders) {
    if (c->thin() || !c->swept_bounds().contains(now.position)) continue;
    if (c->distance(now.position, c->tolerance()) >= 0) continue;
    const SurfaceSample at = c->sample(now.position);
    const Vec3d out = stored(now.position + at.normal * (clearance - at.distance));
    if (at.distance >= 0 || blocked(now.position, out, c)) continue;
    now = {out, at.velocity + without_inward(now.velocity - at.velocity, at.normal), true};
  }
  return now;
}

namespace {
constexpr double room = 0.1;  // for clearance and rounding, in cells

Vec3i floor_of(const Vec3f& x) {
  return {static_cast<int>(std::floor(x.x)), static_cast<int>(std::floor(x.y)), static_cast<int>(std::floor(x.z))};
}
}  // namespace

FarFromSolids::FarFromSolids(std::span<const Collider* const> colliders, double spacing) {
  double known = solid_band, all = room, other = room;
  for (const Collider* c : colliders) {
    const double way = room + (c->way() + 8 * c->tolerance()) / spacing;
    all = std::max(all, way);
    if (!c->triangles().triangles.empty())
      known = drawn_exact, slack_ = static_cast<float>(drawn_slack);
    else
      other = std::max(other, way), others_ = true;
  }
  held_ = static_cast<float>(solid_band), known_ = static_cast<float>(known);
  all_ways_ = static_cast<float>(all), other_ways_ = static_cast<float>(other);
}

namespace {

constexpr std::size_t doubt_chunk = 256;

struct Bounds {
  float held, known, slack, all_ways;
};

/// The node nearest to where each particle starts tells how far solids are from there. 28 bytes and about 30 flops per
/// particle.
AEGIR_HOT void find_doubts(std::size_t count, const float* __restrict x, const float* __restrict y,
                           const float* __restrict z, const float* __restrict to_x, const float* __restrict to_y,
                           const float* __restrict to_z, const float* __restrict nodes, Bounds b,
                           std::int32_t* __restrict doubtful) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto nearest = [](float at) { return static_cast<std::int32_t>(std::min(std::max(at + 0.5f, 0.0f), 7.0f)); };
    const std::int32_t nx = nearest(x[i]), ny = nearest(y[i]), nz = nearest(z[i]);
    const float distance = std::min(nodes[nx << 6 | ny << 3 | nz], b.held);
    const float dx = x[i] - static_cast<float>(nx), dy = y[i] - static_cast<float>(ny),
                dz = z[i] - static_cast<float>(nz);
    const float wx = to_x[i] - x[i], wy = to_y[i] - y[i], wz = to_z[i] - z[i];
    const float clear =
        std::min(distance, std::max(distance - b.slack, b.known)) - std::sqrt(dx * dx + dy * dy + dz * dz);
    doubtful[i] = !(clear > std::sqrt(wx * wx + wy * wy + wz * wz) + b.all_ways);
  }
}

}  // namespace

void FarFromSolids::list_doubtful(const float* nodes, std::size_t count, const float* const from[3],
                                  const float* const to[3], std::vector<std::uint32_t>& list) const {
  list.clear();
  std::int32_t doubtful[doubt_chunk];
  for (std::size_t first = 0; first < count; first += doubt_chunk) {
    const std::size_t n = std::min(doubt_chunk, count - first);
    find_doubts(n, from[0] + first, from[1] + first, from[2] + first, to[0] + first, to[1] + first, to[2] + first,
                nodes, {held_, known_, slack_, all_ways_}, doubtful);
    for (std::size_t i = 0; i < n; ++i)
      if (doubtful[i]) list.push_back(static_cast<std::uint32_t>(first + i));
  }
}

FarFromSolids::Outlook FarFromSolids::outlook(const SolidsNearby& nearby, const Vec3f& place) const {
  const auto below = [](float x) { return std::clamp(static_cast<int>(std::floor(x)), -2, bucket_size); };
  const Vec3i low{below(place.x), below(place.y), below(place.z)};
  Outlook best{low, -2 * held_, false};
  for (int corner = 0; corner < 8; ++corner) {
    const Vec3i node = low + Vec3i(corner >> 2, corner >> 1 & 1, corner & 1);
    const float distance = nearby.nodes(node.x, node.y, node.z), sure = clear(distance, node, place);
    if (sure > best.clear) best = {node, sure, distance > 0.01f};
  }
  return best;
}

bool FarFromSolids::surely(const SolidsNearby& nearby, const Vec3f& from, const Vec3f& to) const {
  const Vec3f way = to - from;
  const Outlook there = outlook(nearby, to);
  const float long_way = length(way), end = there.clear;
  if (others_ && !(end > long_way + other_ways_)) return false;
  // Meshes that end farther than some cells from there are not in its ways, and do not matter up to these ways.
  const Vec3f beyond = max(max(-to, to - Vec3f(float{bucket_size})), Vec3f{});
  const float reach_of_ways = length(beyond) + long_way + all_ways_;
  const auto part = [](float x, int shift) {
    return std::clamp(static_cast<int>(std::floor(x)), 0, bucket_size - 1) >> shift;
  };
  const Box* around = nullptr;
  if (nearby.drawn_ways && reach_of_ways < 2)
    around =
        &nearby.drawn_ways->blocks[static_cast<std::size_t>(part(to.x, 1) << 4 | part(to.y, 1) << 2 | part(to.z, 1))];
  else if (nearby.drawn_ways && reach_of_ways < 4)
    around =
        &nearby.drawn_ways->eighths[static_cast<std::size_t>(part(to.x, 2) << 2 | part(to.y, 2) << 1 | part(to.z, 2))];
  if (!around || around->empty()) return end > long_way + all_ways_;
  const Box& ways = *around;
  const Vec3f relative = way - Vec3f(ways.center());
  const float spread = 0.5f * static_cast<float>(length(ways.size())) + static_cast<float>(room);
  const float straight = length(relative);
  if (end > straight + spread) return true;
  return ends_outside(nearby, to, there) && misses_drawn(nearby, to, way, ways);
}

/// Whether no drawn mesh, of those that go these ways, touches a particle on its way. Seen from what goes a way w it
/// comes from to - (way - w): all that it may touch ends in the cells around these places and its goal.
bool FarFromSolids::misses_drawn(const SolidsNearby& nearby, const Vec3f& to, const Vec3f& way, const Box& ways) {
  const Vec3f from = to - way, room(DrawnPatch::room);
  const Vec3f low = min(to, from + Vec3f(ways.min)) - room, high = max(to, from + Vec3f(ways.max)) + room;
  return nearby.drawn.all_of(floor_of(low), floor_of(high), [&](const DrawnPatch& patch, const Vec3f& bucket) {
    return patch.misses(to - bucket, way);
  });
}

/// Whether a place is on the side of the corner of its cell from which it was looked at.
bool FarFromSolids::ends_outside(const SolidsNearby& nearby, const Vec3f& to, const Outlook& outlook) {
  if (!outlook.outside) return false;
  if (outlook.clear > DrawnPatch::room) return true;
  const Vec3f node(outlook.node);
  const Vec3i cell = floor_of(to), off = outlook.node - cell;
  if (std::min({off.x, off.y, off.z}) < 0 || std::max({off.x, off.y, off.z}) > 1) return false;
  return nearby.drawn.all_of(cell, cell, [&](const DrawnPatch& patch, const Vec3f& bucket) {
    return patch.leaves_free(node - bucket, to - bucket);
  });
}

}  // namespace aegir
