#include "preview/color_map.h"

namespace aegir {
namespace {

// OKLab (Ottosson 2020): a space in which equal distances look equal. L lightness, a green-red, b blue-yellow.
Vec3f oklab_to_linear(float lightness, float a, float b) {
  const float l = lightness + 0.3963377774f * a + 0.2158037573f * b;
  const float m = lightness - 0.1055613458f * a - 0.0638541728f * b;
  const float s = lightness - 0.0894841775f * a - 1.2914855480f * b;
  const Vec3f cone{l * l * l, m * m * m, s * s * s};
  return {4.0767416621f * cone.x - 3.3077115913f * cone.y + 0.2309699292f * cone.z,
          -1.2684380046f * cone.x + 2.6097574011f * cone.y - 0.3413193965f * cone.z,
          -0.0041960863f * cone.x - 0.7034186147f * cone.y + 1.7076147010f * cone.z};
}

}  // namespace

Vec3f speed_color(float t) {
  t = t >= 0 ? std::min(t, 1.0f) : 0.0f;  // NaN counts as 0
  // Lightness grows evenly; the hue walks from blue through teal to gold; chroma stays inside what a screen can show.
  const float lightness = 0.40f + 0.53f * t;
  const float hue = 4.66f - 2.95f * t * (0.75f + 0.25f * t);
  const float chroma = 0.160f - 0.19f * t + 0.19f * t * t;
  const Vec3f color = oklab_to_linear(lightness, chroma * std::cos(hue), chroma * std::sin(hue));
  return max(Vec3f(0.0f), min(Vec3f(1.0f), color));
}

float to_srgb(float linear) {
  if (!(linear > 0)) return 0;
  if (linear >= 1) return 1;
  return linear <= 0.0031308f ? 12.92f * linear : 1.055f * std::pow(linear, 1 / 2.4f) - 0.055f;
}

float from_srgb(float encoded) {
  if (!(encoded > 0)) return 0;
  return encoded <= 0.04045f ? encoded / 12.92f : std::pow((encoded + 0.055f) / 1.055f, 2.4f);
}

}  // namespace aegir
