// Smoke: densities between the eye and what it sees, lit by the sun through themselves.
//
//   FogVolumes fog(fields, around);
//   Vec3f light = fog.over(ray, t_of_what_is_behind, noise, light_of_what_is_behind);
#pragma once

#include <memory>
#include <vector>

#include "geometry/ray_scene.h"
#include "preview/environment.h"

namespace aegir {

class VolumeField;

/// Density volumes in one dense box of samples, with how much sunlight reaches each. Positions are relative to the
/// environment's origin.
class FogVolumes {
 public:
  FogVolumes() = default;
  FogVolumes(const std::vector<std::shared_ptr<const VolumeField>>& fields, const Environment& around);

  bool empty() const { return density_.empty(); }
  /// The light of what is behind, seen through the fog in front of it. `noise` in [0, 1) shifts the samples.
  Vec3f over(const SceneRay& ray, float behind, float noise, const Vec3f& light) const;
  /// Share of light that comes through all fog along a ray.
  float left_along(const SceneRay& ray) const;

 private:
  float sample(const std::vector<float>& grid, const Vec3f& point) const;
  bool clip(const SceneRay& ray, float behind, float& t0, float& t1) const;
  void light(const Environment& around);

  Vec3f corner_, sun_, ambient_;
  float step_ = 1;  ///< metres between samples
  Vec3i size_;
  float extinction_ = 0;        ///< per metre and unit of density
  std::vector<float> density_;  ///< x fastest
  std::vector<float> lit_;
};

}  // namespace aegir
