#include "preview/tracer.h"

#include <algorithm>
#include <cmath>

namespace aegir {
namespace {

constexpr float far_away = 1e30f;
constexpr int most_bounces = 7;  // inside water

// What would change a pixel less than this is guessed; deeper down more is, because many such rays would follow.
float least_weight(int depth) { return 0.04f * static_cast<float>(1 << std::min(depth, 5)); }

float brightest(const Vec3f& c) { return std::max({c.x, c.y, c.z}); }

Vec3f limited(const Vec3f& c, float most) {
  const float b = brightest(c);
  return b > most ? c * (most / b) : c;
}

}  // namespace

float Tracer::to_floor(const SceneRay& ray) const {
  if (!around_.has_floor() || !(ray.direction.y < -1e-5f)) return far_away;
  const float t = (around_.floor() - ray.origin.y) / ray.direction.y;
  return t > 0 ? t : far_away;
}

Seen Tracer::seen(const SceneRay& ray, float spread, const Offsets& offsets) const {
  Seen result;
  result.light = in_air(ray, {.spread = spread, .noise = offsets.sample}, &result.t);
  if (!fog_.empty()) result.light = fog_.over(ray, result.t, offsets.pixel, result.light);
  SurfaceHit pane;
  if (scene_.has_glass() && scene_.glass({ray.origin, ray.direction, 0, result.t}, pane)) {
    const float straight = std::abs(dot(pane.flat, ray.direction)),
                facing = std::abs(dot(pane.flat, around_.toward_sun()));
    result.light = blend(result.light, Vec3f{0.60f, 0.64f, 0.66f} * (0.7f + 0.5f * facing),
                         0.12f + 0.3f * (1 - straight) * (1 - straight));
  }
  return result;
}

Vec3f Tracer::in_air(const SceneRay& from, const Way& way, float* first) const {
  SceneRay ray = from;
  const float floor_t = to_floor(ray);
  ray.farthest = floor_t;
  SurfaceHit solid, water;
  const bool has_solid = scene_.opaque(ray, solid);
  if (has_solid) ray.farthest = solid.t;
  bool has_water = scene_.water(ray, water);
  // A film on a solid that is thinner than the surface's detail is not there: whose bumps come through is chance.
  if (has_water && has_solid && solid.t - water.t < 1.5f * scene_.water_detail()) has_water = false;
  if (first) *first = has_water ? water.t : has_solid ? solid.t : floor_t;
  if (has_water) return water_surface(ray, water, way);
  if (has_solid) return matte(ray, solid, way);
  if (floor_t < far_away) return floor(ray, floor_t, way);
  return way.depth == 0 ? around_.backdrop(ray.direction) : around_.sky(ray.direction);
}

Vec3f Tracer::water_surface(const SceneRay& ray, const SurfaceHit& hit, const Way& way) const {
  if (dot(hit.flat, ray.direction) > 0) {  // started inside
    SceneRay again{ray.origin, ray.direction, ray.nearest};
    return in_water(again, way);
  }
  float cosine = -dot(ray.direction, hit.normal);
  Vec3f normal = hit.normal;
  if (cosine < 0.02f) {  // a smooth normal that looks away from the eye
    normal = normalized(normal + ray.direction * (-dot(ray.direction, normal) + 0.02f) * -1.0f);
    cosine = 0.02f;
  }
  const float mirrored = fresnel(cosine, 1 / WaterOptics::index);
  Way next = way;
  ++next.depth, next.metres += hit.t;
  Vec3f color;
  next.weight = way.weight * mirrored;
  Vec3f up = reflect(ray.direction, normal);
  if (dot(up, hit.flat) < 0.01f) up = normalized(up + hit.flat * (0.02f - dot(up, hit.flat)));
  color = next.weight > least_weight(way.depth) && way.depth < 4
              ? in_air({hit.point + hit.flat * scene_.offset(), up}, next, nullptr) * mirrored
              : around_.ambient(up) * mirrored;
  next.weight = way.weight * (1 - mirrored);
  Vec3f bent;
  if (!refract(ray.direction, normal, 1 / WaterOptics::index, bent)) return color;
  if (next.weight > least_weight(way.depth) && way.depth < 4)
    color += in_water({hit.point - hit.flat * scene_.offset(), bent}, next) * (1 - mirrored);
  else
    color += water_.scatter * (1.6f * (1 - mirrored));
  return limited(color, way.depth == 0 ? 8.0f : 4.0f);
}

// Inside water: what comes back from the body of it, what stands in it, and at its surfaces what comes in from the air;
// the mirrored rest goes on.
Vec3f Tracer::in_water(SceneRay ray, Way way) const {
  Vec3f color, left(1.0f);
  const float contact = 1.5f * scene_.water_detail();
  ++way.depth;
  for (int bounce = 0; bounce < most_bounces; ++bounce) {
    const float floor_t = to_floor(ray);
    SurfaceHit solid, water;
    ray.farthest = floor_t;
    const bool has_water = scene_.water(ray, water) && dot(water.flat, ray.direction) > 0;
    // Liquid ends a little before what it rests on; what is that near is touched by it.
    ray.farthest = has_water ? water.t + 2 * contact : floor_t;
    const bool has_solid = scene_.opaque(ray, solid);
    const bool on_floor =
        has_water && water.flat.y < -0.5f && around_.has_floor() && water.point.y - around_.floor() < contact;
    const float metres = has_solid ? solid.t : has_water ? water.t : std::min(floor_t, 4 * around_.radius());
    const Vec3f kept = water_.left_after(metres);
    color += multiply(multiply(left, Vec3f(1.0f) - kept), water_.scatter);
    left = multiply(left, kept);
    way.metres += metres;
    Way next = way;
    next.weight = way.weight * brightest(left);
    if (has_solid) return color + multiply(left, matte(ray, solid, next));
    if (on_floor || (!has_water && floor_t < far_away))
      return color + multiply(left, floor(ray, on_floor ? water.t : floor_t, next));
    if (!has_water) return color + multiply(left, around_.ambient(ray.direction));

    const Vec3f normal = dot(water.normal, ray.direction) > 0 ? -water.normal : -water.flat;
    const float cosine = std::max(0.01f, -dot(ray.direction, normal));
    const float mirrored = fresnel(cosine, WaterOptics::index);
    Vec3f bent;
    next.weight *= 1 - mirrored;
    if (mirrored < 1 && refract(ray.direction, normal, WaterOptics::index, bent)) {
      const Vec3f out = next.weight > least_weight(way.depth) && way.depth < 5
                            ? in_air({water.point + water.flat * scene_.offset(), bent}, next, nullptr)
                            : around_.ambient(bent);
      color += multiply(left, limited(out, 3.0f)) * (1 - mirrored);
      left *= mirrored;
      if (way.weight * brightest(left) < 2 * least_weight(way.depth)) break;
    }
    Vec3f back = reflect(ray.direction, normal);
    if (dot(back, water.flat) > -0.01f) back = normalized(back - water.flat * (0.02f + dot(back, water.flat)));
    ray = {water.point - water.flat * scene_.offset(), back};
  }
  return color + multiply(left, water_.scatter) * 1.5f;
}

Vec3f Tracer::floor(const SceneRay& ray, float t, const Way& way) const {
  const Vec3f point = ray.origin + ray.direction * t;
  const float presence = around_.floor_presence(point.x, point.z);
  const Vec3f behind = around_.backdrop({ray.direction.x, 0, ray.direction.z});
  if (presence <= 0) return behind;
  const float footprint = (way.metres + t) * way.spread / std::max(0.05f, -ray.direction.y);
  const Vec3f sun = multiply(around_.sun_light(), floor_light_.sun(point.x, point.z)) *
                    (0.92f * around_.toward_sun().y * fog_.left_along({point, around_.toward_sun()}));
  const Vec3f sky = around_.ambient({0, 1, 0}) * (0.50f * floor_light_.sky(point.x, point.z));
  return blend(behind, multiply(around_.floor_albedo(point.x, point.z, footprint), sun + sky), presence);
}

// Direct sunlight at a point: 0 behind what is opaque, coloured by the water it has crossed.
Vec3f Tracer::sun_at(const Vec3f& point, const Way& way) const {
  const Vec3f sun = around_.toward_sun(), side = normalized(cross(sun, Vec3f{0, 0, 1})), other = cross(sun, side);
  const float angle = 6.2831853f * way.noise, radius = std::sqrt(std::fmod(way.noise * 7.31f, 1.0f)) * 0.012f;
  const Vec3f toward = normalized(sun + (side * std::cos(angle) + other * std::sin(angle)) * radius);
  if (scene_.opaque_blocks({point, toward, 0, far_away})) return {};
  Vec3f light(fog_.left_along({point, toward}));
  SceneRay ray{point, toward};
  float entered = 0, passed = 0;
  bool inside = false;
  for (int crossing = 0; crossing < 6; ++crossing) {
    SurfaceHit hit;
    if (!scene_.water(ray, hit)) break;
    passed += hit.t;
    const bool leaving = dot(hit.flat, toward) > 0;
    if (leaving) light = multiply(light, water_.left_after(passed - entered)) * 0.92f;
    inside = !leaving;
    if (inside) entered = passed;
    ray.origin = hit.point + toward * scene_.offset();
  }
  return light;
}

// The share of the surroundings that is not hidden nearby.
float Tracer::openness(const SurfaceHit& hit, const Vec3f& normal, const Way& way) const {
  if (hit.open >= 0) return hit.open;
  const int rays = way.depth == 0 ? 16 : 8;
  const float reach = 0.25f * around_.radius();
  const Vec3f side =
      normalized(std::abs(normal.x) < 0.6f ? cross(normal, Vec3f{1, 0, 0}) : cross(normal, Vec3f{0, 1, 0}));
  const Vec3f other = cross(normal, side), from = hit.point + normal * (4 * scene_.offset());
  float open = 0;
  for (int i = 0; i < rays; ++i) {
    const float u = (static_cast<float>(i) + std::fmod(way.noise * 5.17f, 1.0f)) / static_cast<float>(rays);
    const float angle = 2.3999632f * static_cast<float>(i) + 6.2831853f * way.noise;
    const Vec3f d =
        side * (std::sqrt(u) * std::cos(angle)) + other * (std::sqrt(u) * std::sin(angle)) + normal * std::sqrt(1 - u);
    // What is hidden far away hides less; the floor hides, too.
    SceneRay ray{from, d, 0, std::min(reach, to_floor({from, d}))};
    open += scene_.opaque_blocks(ray) ? 0.0f : ray.farthest < reach ? 0.4f : 1.0f;
  }
  return open / static_cast<float>(rays);
}

Vec3f Tracer::matte(const SceneRay& ray, const SurfaceHit& hit, const Way& way) const {
  const bool front = dot(hit.flat, ray.direction) < 0;
  const Vec3f normal = front ? hit.normal : -hit.normal, flat = front ? hit.flat : -hit.flat;
  const Vec3f from = hit.point + flat * (2 * scene_.offset());
  const float facing = dot(normal, around_.toward_sun());
  Vec3f light = around_.ambient(normal) * (0.15f + 0.85f * openness(hit, normal, way));
  Vec3f shine;
  if (facing > 0) {
    const Vec3f sun = multiply(around_.sun_light(), sun_at(from, way));
    light += sun * (0.62f * facing);
    const float half = std::max(0.0f, dot(normal, normalized(around_.toward_sun() - ray.direction)));
    shine = sun * (hit.gloss * std::pow(half, 60.0f) * 2.0f);
  }
  return multiply(hit.albedo, light) + shine;
}

}  // namespace aegir
