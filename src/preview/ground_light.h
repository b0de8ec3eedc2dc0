// How much light reaches the floor: shadows of solids, and what water focuses (caustics) and swallows.
//
//   GroundLight light(scene, around, water);
//   Vec3f sun = light.sun(x, z);        // 1 in the open, more where water focuses light
//   float sky = light.sky(x, z);        // share of the sky that is seen
#pragma once

#include <vector>

#include "preview/environment.h"
#include "preview/traced_scene.h"

namespace aegir {

/// What water does to light on its way.
struct WaterOptics {
  static constexpr float index = 1.333f;
  Vec3f absorption;  ///< per metre
  Vec3f scatter;     ///< light that comes back from a deep body of it

  /// Beer–Lambert: what is left after a way of some metres.
  Vec3f left_after(float metres) const;
};

/// Water whose colour shows over the size of the scene, whatever that is in metres.
WaterOptics scaled_water(float scene_radius);

/// Share of light that a smooth surface mirrors: `cosine` on the side of the ray, `ratio` index before over behind.
float fresnel(float cosine, float ratio);

/// The direction behind a surface whose normal is turned against the ray; false where all light is mirrored.
bool refract(const Vec3f& direction, const Vec3f& normal, float ratio, Vec3f& bent);

inline Vec3f reflect(const Vec3f& d, const Vec3f& n) { return d - n * (2 * dot(d, n)); }

/// Maps of light on the floor around the scene, made once per picture. Light is followed from the sun, two by two rays
/// per texel on a regular pattern; what the sun's width scatters is softened over a few texels.
class GroundLight {
 public:
  GroundLight(const TracedScene& scene, const Environment& around, const WaterOptics& water, const Box& box);

  Vec3f sun(float x, float z) const;
  float sky(float x, float z) const;

 private:
  struct Arrival {
    float x = 0, z = 0;
    Vec3f light;
  };
  Arrival follow(float x, float z, std::size_t number) const;
  void collect_sun();
  void collect_sky();

  const TracedScene& scene_;
  const Environment& around_;
  const WaterOptics& water_;
  float corner_x_ = 0, corner_z_ = 0, side_ = 1;
  std::vector<Vec3f> sun_;
  std::vector<float> sky_;
};

}  // namespace aegir
