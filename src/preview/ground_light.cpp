#include "preview/ground_light.h"

#include <algorithm>
#include <cmath>

#include "parallel/threads.h"

namespace aegir {
namespace {

constexpr std::size_t sun_size = 512, sky_size = 96;
constexpr std::size_t rays_per_side = 2;  // of a texel
constexpr float sun_spread = 0.012f;      // radians; a little more than the true sun, for softer edges

/// Bilinear between texel centres; the border goes on.
template <class T>
T lookup(const std::vector<T>& map, std::size_t size, float u, float v) {
  const float last = static_cast<float>(size - 1);
  const float x = std::clamp(u * static_cast<float>(size) - 0.5f, 0.0f, last);
  const float y = std::clamp(v * static_cast<float>(size) - 0.5f, 0.0f, last);
  const std::size_t i = std::min(static_cast<std::size_t>(x), size - 2),
                    j = std::min(static_cast<std::size_t>(y), size - 2);
  const float a = x - static_cast<float>(i), b = y - static_cast<float>(j);
  const T* p = &map[j * size + i];
  return (p[0] * (1 - a) + p[1] * a) * (1 - b) + (p[size] * (1 - a) + p[size + 1] * a) * b;
}

// Tent filter over 3 texels, along rows, written transposed: twice filters both directions.
template <class T>
void soften_transposed(const std::vector<T>& from, std::vector<T>& to, std::size_t size) {
  for (std::size_t j = 0; j < size; ++j)
    for (std::size_t i = 0; i < size; ++i) {
      const T* row = &from[j * size];
      to[i * size + j] = row[i] * 0.5f + (row[i > 0 ? i - 1 : i] + row[i + 1 < size ? i + 1 : i]) * 0.25f;
    }
}

template <class T>
void soften(std::vector<T>& map, std::size_t size) {
  std::vector<T> other(map.size());
  soften_transposed(map, other, size);
  soften_transposed(other, map, size);
}

}  // namespace

Vec3f WaterOptics::left_after(float metres) const {
  return {std::exp(-absorption.x * metres), std::exp(-absorption.y * metres), std::exp(-absorption.z * metres)};
}

WaterOptics scaled_water(float scene_radius) {
  // Clear water takes metres to show its colour: these shares are left after one radius of the scene.
  constexpr Vec3f left{0.16f, 0.58f, 0.74f};
  return {Vec3f{-std::log(left.x), -std::log(left.y), -std::log(left.z)} / scene_radius, {0.008f, 0.075f, 0.130f}};
}

float fresnel(float cosine, float ratio) {
  const float sine2 = ratio * ratio * (1 - cosine * cosine);
  if (sine2 >= 1) return 1;
  const float behind = std::sqrt(1 - sine2);
  const float across = (ratio * cosine - behind) / (ratio * cosine + behind);
  const float along = (cosine - ratio * behind) / (cosine + ratio * behind);
  return 0.5f * (across * across + along * along);
}

bool refract(const Vec3f& d, const Vec3f& n, float ratio, Vec3f& bent) {
  const float cosine = -dot(d, n), sine2 = ratio * ratio * (1 - cosine * cosine);
  if (sine2 >= 1) return false;
  bent = normalized(d * ratio + n * (ratio * cosine - std::sqrt(1 - sine2)));
  return true;
}

GroundLight::GroundLight(const TracedScene& scene, const Environment& around, const WaterOptics& water, const Box& box)
    : scene_(scene), around_(around), water_(water) {
  if (!around.has_floor()) return;
  // The box and where its shadow falls.
  const Vec3f low = Vec3f(box.min - around.origin()), high = Vec3f(box.max - around.origin());
  const Vec3f sun = around.toward_sun();
  const float reach = std::max(0.0f, high.y - around.floor()) / sun.y, margin = 0.08f * around.radius();
  const float x0 = low.x + std::min(0.0f, -sun.x * reach) - margin,
              x1 = high.x + std::max(0.0f, -sun.x * reach) + margin;
  const float z0 = low.z + std::min(0.0f, -sun.z * reach) - margin,
              z1 = high.z + std::max(0.0f, -sun.z * reach) + margin;
  side_ = std::max(x1 - x0, z1 - z0);
  corner_x_ = 0.5f * (x0 + x1 - side_), corner_z_ = 0.5f * (z0 + z1 - side_);
  collect_sun();
  collect_sky();
}

// The way of one ray that would meet the floor at (x, z) if nothing were there.
GroundLight::Arrival GroundLight::follow(float x, float z, std::size_t number) const {
  const float floor = around_.floor(), contact = 1.5f * scene_.water_detail();
  // A place on the sun's disc, from a sequence that fills it evenly.
  const float radius = std::sqrt(std::fmod(0.5f + 0.7548777f * static_cast<float>(number % 4096), 1.0f));
  const float angle = 6.2831853f * std::fmod(0.5698403f * static_cast<float>(number % 4096), 1.0f);
  const Vec3f sun = around_.toward_sun(), side = normalized(cross(sun, Vec3f{0, 0, 1})), other = cross(sun, side);
  const Vec3f toward = normalized(sun + (side * std::cos(angle) + other * std::sin(angle)) * (radius * sun_spread));
  SceneRay ray{Vec3f{x, floor, z} + toward * (8 * around_.radius()), -toward};
  Vec3f light(1.0f);
  bool in_water = false;
  for (int crossing = 0; crossing < 8; ++crossing) {
    const float to_floor = (floor - ray.origin.y) / ray.direction.y;
    SurfaceHit hit;
    ray.farthest = to_floor > 0 ? to_floor : 1e30f;
    const bool met = scene_.water(ray, hit);
    const float way = met ? hit.t : ray.farthest;
    if (scene_.opaque_blocks({ray.origin, ray.direction, ray.nearest, way})) return {};
    if (in_water && way < 1e29f) light = multiply(light, water_.left_after(way));
    if (!met) {
      if (!(to_floor > 0)) return {};
      return {ray.origin.x + ray.direction.x * to_floor, ray.origin.z + ray.direction.z * to_floor, light};
    }
    const bool leaving = dot(hit.flat, ray.direction) > 0;
    if (leaving && hit.flat.y < -0.5f && hit.point.y - floor < contact) return {hit.point.x, hit.point.z, light};
    const Vec3f normal = leaving ? -hit.normal : hit.normal;
    const float ratio = leaving ? WaterOptics::index : 1 / WaterOptics::index;
    const float cosine = std::max(0.02f, -dot(ray.direction, normal));
    Vec3f bent;
    if (!refract(ray.direction, normal, ratio, bent)) return {};
    light *= 1 - fresnel(cosine, ratio);
    in_water = !leaving;
    ray = {hit.point + bent * scene_.offset(), bent};
    if (std::max({light.x, light.y, light.z}) < 0.02f) return {};
  }
  return {};
}

void GroundLight::collect_sun() {
  constexpr std::size_t lines = sun_size * rays_per_side;
  sun_.assign(sun_size * sun_size, Vec3f(0.0f));
  if (!scene_.has_water() && !scene_.has_opaque()) {
    std::fill(sun_.begin(), sun_.end(), Vec3f(1.0f));
    return;
  }
  const float step = side_ / static_cast<float>(lines), share = 1.0f / (rays_per_side * rays_per_side);
  std::vector<Arrival> arrivals(lines * lines);
  parallel_for(0, lines, 8, [&](std::size_t begin, std::size_t end) {
    for (std::size_t j = begin; j < end; ++j)
      for (std::size_t i = 0; i < lines; ++i)
        arrivals[j * lines + i] = follow(corner_x_ + (static_cast<float>(i) + 0.5f) * step,
                                         corner_z_ + (static_cast<float>(j) + 0.5f) * step, j * 1637 + i);
  });
  // In the order of the rays, so that sums do not depend on threads.
  const float scale = static_cast<float>(sun_size) / side_;
  for (const Arrival& a : arrivals) {
    const float u = (a.x - corner_x_) * scale - 0.5f, v = (a.z - corner_z_) * scale - 0.5f;
    if (!(a.light.y > 0) || !(u >= 0 && v >= 0 && u < sun_size - 1 && v < sun_size - 1)) continue;
    const std::size_t i = static_cast<std::size_t>(u), j = static_cast<std::size_t>(v);
    const float p = u - static_cast<float>(i), q = v - static_cast<float>(j);
    Vec3f* texel = &sun_[j * sun_size + i];
    texel[0] += a.light * ((1 - p) * (1 - q) * share), texel[1] += a.light * (p * (1 - q) * share);
    texel[sun_size] += a.light * ((1 - p) * q * share), texel[sun_size + 1] += a.light * (p * q * share);
  }
  soften(sun_, sun_size);
  for (Vec3f& light : sun_)
    for (int k = 0; k < 3; ++k)
      light[k] = light[k] < 1.5f ? light[k] : 1.5f + 1.5f * (1 - std::exp((1.5f - light[k]) / 1.5f));
}

void GroundLight::collect_sky() {
  constexpr int rays = 24;
  sky_.assign(sky_size * sky_size, 1.0f);
  const float texel = side_ / sky_size, reach = 0.9f * around_.radius();
  parallel_for(0, sky_size, 4, [&](std::size_t begin, std::size_t end) {
    for (std::size_t j = begin; j < end; ++j)
      for (std::size_t i = 0; i < sky_size; ++i) {
        const Vec3f from{corner_x_ + (static_cast<float>(i) + 0.5f) * texel, around_.floor() + 2 * scene_.offset(),
                         corner_z_ + (static_cast<float>(j) + 0.5f) * texel};
        float seen = 0;
        for (int k = 0; k < rays; ++k) {
          const float u = (static_cast<float>(k) + 0.5f) / rays, angle = 2.3999632f * static_cast<float>(k);
          const Vec3f d{std::sqrt(u) * std::cos(angle), std::sqrt(1 - u), std::sqrt(u) * std::sin(angle)};
          if (scene_.opaque_blocks({from, d, 0, reach})) continue;
          seen += scene_.water_blocks({from, d, 0, reach}) ? 0.75f : 1.0f;
        }
        sky_[j * sky_size + i] = seen / rays;
      }
  });
  soften(sky_, sky_size);
}

Vec3f GroundLight::sun(float x, float z) const {
  const float u = (x - corner_x_) / side_, v = (z - corner_z_) / side_;
  constexpr float border = 2.0f / sun_size;  // the last texels have lost light to the outside
  if (sun_.empty() || !(u > border && v > border && u < 1 - border && v < 1 - border)) return Vec3f(1.0f);
  return lookup(sun_, sun_size, u, v);
}

float GroundLight::sky(float x, float z) const {
  const float u = (x - corner_x_) / side_, v = (z - corner_z_) / side_;
  if (sky_.empty()) return 1;
  const float edge = std::max(std::abs(u - 0.5f), std::abs(v - 0.5f));
  if (edge >= 0.6f) return 1;
  return 1 - (1 - lookup(sky_, sky_size, u, v)) * (1 - smooth_step(0.42f, 0.6f, edge));
}

}  // namespace aegir
