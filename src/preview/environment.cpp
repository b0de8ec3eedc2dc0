#include "preview/environment.h"

#include <algorithm>
#include <cmath>

namespace aegir {
namespace {

constexpr Vec3f zenith{0.050f, 0.095f, 0.185f}, horizon{0.30f, 0.355f, 0.42f}, below{0.20f, 0.21f, 0.22f};

// A wide soft light behind the scene, as photographers put behind glass: gives wet surfaces something to mirror.
constexpr Vec3f soft_light{1.15f, 1.13f, 1.09f};

// A direction given by how far to the viewer's right, up, and towards the viewer it points.
Vec3f seen_from(const View& view, double right, double up, double near) {
  const Vec3d center = view.toward_viewer(0.5 * view.width(), 0.5 * view.height());
  const Vec3d across = cross(Vec3d{0, 1, 0}, center);
  const Vec3d side = length(across) > 1e-6 ? normalized(across) : Vec3d{1, 0, 0};
  const Vec3d level = cross(side, Vec3d{0, 1, 0});
  return Vec3f(normalized(side * right + Vec3d{0, up, 0} + level * near));
}

// The share of a checkerboard's white squares along one axis, averaged over a width: the integral of a square wave is a
// triangle wave, so its average is a difference of two of them.
float averaged_wave(float x, float width) {
  const auto integral = [](float s) {
    const float f = s * 0.5f - std::floor(s * 0.5f);
    return f < 0.5f ? 2 * f : 2 - 2 * f;
  };
  const float w = std::max(width, 1e-4f);
  return (integral(x + 0.5f * w) - integral(x - 0.5f * w)) / w;
}

}  // namespace

float smooth_step(float low, float high, float x) {
  const float t = std::clamp((x - low) / (high - low), 0.0f, 1.0f);
  return t * t * (3 - 2 * t);
}

Vec3f tone(const Vec3f& light) {
  constexpr float white = 3.2f;
  Vec3f out;
  for (int i = 0; i < 3; ++i) {
    const float c = std::max(0.0f, light[i]);
    out[i] = std::min(1.0f, c * (1 + c / (white * white)) / (1 + 0.45f * c));
  }
  return out;
}

Environment::Environment(const View& view, const Box& box, double floor, bool show_floor)
    : origin_(box.center()),
      toward_sun_(seen_from(view, -0.62, 1.0, -0.20)),  // shadows and caustics fall towards the viewer
      toward_panel_(seen_from(view, -0.25, 0.62, -1.0)),
      floor_(static_cast<float>(floor - box.center().y)),
      radius_(static_cast<float>(0.5 * length(box.size()))),
      show_floor_(show_floor) {
  // Tiles of a round size: 1, 2 or 5 times a power of ten, about a twelfth of the scene.
  const float wanted = radius_ / 6, power = std::pow(10.0f, std::floor(std::log10(wanted)));
  const float digit = wanted / power;
  tile_ = power * (digit < 1.5f ? 1.0f : digit < 3.5f ? 2.0f : digit < 7.5f ? 5.0f : 10.0f);
}

Vec3f Environment::backdrop(const Vec3f& d) const {
  if (d.y <= 0) return show_floor_ ? horizon : blend(horizon, below, smooth_step(0.0f, 0.7f, -d.y));
  return blend(horizon, zenith, smooth_step(-0.12f, 0.50f, d.y) * 1.06f - 0.06f);
}

Vec3f Environment::sky(const Vec3f& d) const {
  Vec3f color = backdrop(d);
  color += soft_light * (smooth_step(0.72f, 0.97f, dot(d, toward_panel_)) * smooth_step(0.05f, 0.35f, d.y));
  const float to_sun = dot(d, toward_sun_);
  if (to_sun > 0.9f) {
    const float off = 1 - to_sun;
    color += sun_light() *
             (9.0f * std::exp(-off * 2500.0f) + 0.9f * std::exp(-off * 260.0f) + 0.25f * std::exp(-off * 40.0f));
  }
  return color;
}

Vec3f Environment::ambient(const Vec3f& n) const {
  const float up = 0.5f + 0.5f * n.y;
  return blend(Vec3f{0.30f, 0.29f, 0.28f}, Vec3f{0.50f, 0.60f, 0.74f}, up);
}

Vec3f Environment::floor_albedo(float x, float z, float footprint) const {
  const float u = (x + static_cast<float>(origin_.x)) / tile_, v = (z + static_cast<float>(origin_.z)) / tile_;
  const float width = footprint / tile_;
  const float checker = averaged_wave(u, width) * averaged_wave(v, width);  // 1 on light tiles, -1 on dark ones
  return Vec3f{0.300f, 0.302f, 0.306f} * (1 + 0.085f * checker);
}

float Environment::floor_presence(float x, float z) const {
  return 1 - smooth_step(2.0f, 9.0f, std::sqrt(x * x + z * z) / radius_);
}

}  // namespace aegir
