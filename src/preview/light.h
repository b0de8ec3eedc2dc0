// The key light: where it shines, and how much of it reaches a point or the ground.
//
//   KeyLight light(toward_light, box, ground_height, things);
//   float lit = light.reaches(point, bias);        // 0 in shadow, 1 in full light
//   float ground = light.reaches_ground(x, z);     // the same with soft, height-dependent edges
#pragma once

#include <vector>

#include "preview/visibility.h"

namespace aegir {

/// A light far away with a depth map of what it sees first.
class KeyLight {
 public:
  KeyLight(const Vec3d& toward_light, const Box& box, double ground, const VisibleThings& things);

  const Vec3d& direction() const { return direction_; }
  /// The share of light at a point; `bias` metres in front of it do not count, so that nothing shades itself.
  float reaches(const Vec3d& point, float bias) const;
  /// The share of light on the ground plane; 1 far away.
  float reaches_ground(double x, double z) const;

 private:
  void cast_on_ground(double ground);

  Vec3d direction_;
  View view_;
  Visibility seen_;
  Vec3d ground_corner_;
  double ground_texel_ = 1;
  double radius_ = 1;
  std::vector<float> ground_light_;
};

}  // namespace aegir
