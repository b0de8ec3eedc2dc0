// What stands around everything in a ray-traced picture: sky, sun, a tiled floor that fades into the horizon.
//
//   Environment around(view, box, floor_height);
//   Vec3f light = around.sky(direction);                  // linear light from that direction, soft sun included
//   Vec3f shown = tone(light);                            // in [0, 1], still linear
#pragma once

#include "preview/view.h"

namespace aegir {

/// From `low` to `high` in a smooth step, 0 below and 1 above.
float smooth_step(float low, float high, float x);

/// a at t = 0, b at t = 1.
inline Vec3f blend(const Vec3f& a, const Vec3f& b, float t) { return a * (1 - t) + b * t; }

/// Bends highlights so that they do not clip; linear light in and out.
Vec3f tone(const Vec3f& light);

/// Sky, sun and floor in linear light. Positions are relative to `origin`.
class Environment {
 public:
  Environment(const View& view, const Box& box, double floor, bool show_floor);

  const Vec3d& origin() const { return origin_; }
  /// Unit vector towards the sun.
  const Vec3f& toward_sun() const { return toward_sun_; }
  Vec3f sun_light() const { return {2.10f, 2.00f, 1.84f}; }
  /// What the eye sees where nothing else is.
  Vec3f backdrop(const Vec3f& direction) const;
  /// Light from a direction, lamps that the eye does not see included; the sun is drawn as a glow wide enough to be
  /// sampled by few rays.
  Vec3f sky(const Vec3f& direction) const;
  /// The same without the sun: what a matte surface with that normal gathers.
  Vec3f ambient(const Vec3f& normal) const;
  /// Height of the floor; far below everything where there is none.
  float floor() const { return floor_; }
  bool has_floor() const { return show_floor_; }
  /// Colour of the floor's tiles; `footprint` metres are averaged.
  Vec3f floor_albedo(float x, float z, float footprint) const;
  /// 1 near the middle, 0 where the floor has faded into the horizon.
  float floor_presence(float x, float z) const;
  /// Half the diagonal of the box.
  float radius() const { return radius_; }

 private:
  Vec3d origin_;
  Vec3f toward_sun_, toward_panel_;
  float floor_, radius_, tile_;
  bool show_floor_;
};

}  // namespace aegir
