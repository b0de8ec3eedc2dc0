// Follows the light of one ray back through water, air and fog.
//
//   Tracer tracer(scene, around, floor_light, water, fog);
//   Seen seen = tracer.seen(ray, pixel_angle, {});
#pragma once

#include "preview/environment.h"
#include "preview/fog.h"
#include "preview/ground_light.h"
#include "preview/traced_scene.h"

namespace aegir {

/// Where the few rays and steps start that stand for many; all in [0, 1).
struct Offsets {
  float sample = 0;  ///< differs between the samples of a pixel, is the same for all pixels: edges, never grain
  float pixel = 0;   ///< differs between pixels, too: where steps are fine enough that no grain is seen
};

/// What a ray of the picture brings.
struct Seen {
  Vec3f light;
  float t = 1e30f;  ///< metres to the first thing that is not glass or fog; huge for the sky
};

/// A picture's light by recursive ray tracing: water mirrors and bends, everything else is matte under sun and sky. No
/// random numbers decide which way light goes; the only ones are offsets of a few shadow rays.
class Tracer {
 public:
  Tracer(const TracedScene& scene, const Environment& around, const GroundLight& floor_light, const WaterOptics& water,
         const FogVolumes& fog)
      : scene_(scene), around_(around), floor_light_(floor_light), water_(water), fog_(fog) {}

  /// The light of a ray from the eye; `spread` is the angle between pixels.
  Seen seen(const SceneRay& ray, float spread, const Offsets& offsets) const;

 private:
  /// How a ray came to be.
  struct Way {
    int depth = 0;
    float spread = 0, noise = 0, weight = 1;
    float metres = 0;  ///< travelled so far
  };
  Vec3f in_air(const SceneRay& ray, const Way& way, float* first) const;
  Vec3f in_water(SceneRay ray, Way way) const;
  Vec3f water_surface(const SceneRay& ray, const SurfaceHit& hit, const Way& way) const;
  Vec3f floor(const SceneRay& ray, float t, const Way& way) const;
  Vec3f matte(const SceneRay& ray, const SurfaceHit& hit, const Way& way) const;
  Vec3f sun_at(const Vec3f& point, const Way& way) const;
  float openness(const SurfaceHit& hit, const Vec3f& normal, const Way& way) const;
  float to_floor(const SceneRay& ray) const;

  const TracedScene& scene_;
  const Environment& around_;
  const GroundLight& floor_light_;
  const WaterOptics& water_;
  const FogVolumes& fog_;
};

}  // namespace aegir
