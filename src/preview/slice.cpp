#include "preview/slice.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "parallel/threads.h"
#include "preview/color_map.h"
#include "preview/overlay.h"
#include "preview/text.h"

namespace aegir {
namespace {

constexpr Color ink{222, 227, 234}, paper{30, 34, 40};

Vec3f mixed(const Vec3f& a, const Vec3f& b, float t) { return a * (1 - t) + b * t; }

// Blue over white to red, as linear light.
Vec3f two_sided(float t) {
  constexpr Vec3f blue{0.03f, 0.12f, 0.45f}, white{0.86f, 0.86f, 0.84f}, red{0.45f, 0.03f, 0.03f};
  t = std::clamp(t, 0.0f, 1.0f);
  return t < 0.5f ? mixed(blue, white, 2 * t) : mixed(white, red, 2 * t - 1);
}

bool has_both_signs(const SliceSettings& s) { return s.low < 0 && s.high > 0; }

Vec3f color_of(float value, const SliceSettings& s) {
  if (!std::isfinite(value)) return Vec3f(0.2f);
  if (has_both_signs(s)) {
    const float most = std::max(-s.low, s.high);
    return two_sided(0.5f + 0.5f * value / most);
  }
  return speed_color(s.high > s.low ? (value - s.low) / (s.high - s.low) : 0.5f);
}

std::string short_number(float value) { return fmt::format("{:.3g}", value); }

// The plane on the raster: a rectangle of pixels, and the world along its sides.
struct Plane {
  int across, up;  // axes
  int left, top, width, height;
  double metres;  // per pixel
  double depth;   // along the plane's axis
};

Plane place(const SliceSettings& s) {
  Plane p{};
  p.across = s.axis == 0 ? 2 : 0;
  p.up = s.axis == 1 ? 2 : 1;
  const int scale = std::max(1, s.height / 360), margin = 16 * scale, bar = 74 * scale, line = 22 * scale;
  const double room_x = std::max(8, s.width - 2 * margin - bar), room_y = std::max(8, s.height - 2 * margin - line);
  const Vec3d size = s.bounds.size();
  p.metres = std::max({size[p.across] / room_x, size[p.up] / room_y, 1e-30});
  p.width = std::clamp(static_cast<int>(std::lround(size[p.across] / p.metres)), 1, static_cast<int>(room_x));
  p.height = std::clamp(static_cast<int>(std::lround(size[p.up] / p.metres)), 1, static_cast<int>(room_y));
  p.left = margin + (static_cast<int>(room_x) - p.width) / 2;
  p.top = margin + (static_cast<int>(room_y) - p.height) / 2;
  p.depth = s.at.value_or(s.bounds.center()[s.axis]);
  return p;
}

Vec3d point_at(const Plane& p, const SliceSettings& s, double x, double y) {
  Vec3d point;
  point[s.axis] = p.depth;
  point[p.across] = s.bounds.min[p.across] + x * p.metres;
  // Seen from above, z points down the picture as it does for an eye over the ground.
  point[p.up] = s.axis == 1 ? s.bounds.min[p.up] + y * p.metres : s.bounds.max[p.up] - y * p.metres;
  return point;
}

void draw_bar(Image& image, const Plane& p, const SliceSettings& s) {
  const int scale = std::max(1, s.height / 360), left = s.width - 66 * scale, width = 10 * scale;
  const float most = std::max(-s.low, s.high), low = has_both_signs(s) ? -most : s.low,
              high = has_both_signs(s) ? most : s.high;
  for (int y = 0; y < p.height; ++y) {
    const float t = 1 - (static_cast<float>(y) + 0.5f) / static_cast<float>(p.height);
    const Color color = to_color(color_of(low + t * (high - low), s), 0, y);
    for (int x = 0; x < width; ++x) image.at(left + x, p.top + y) = color;
  }
  constexpr int ticks = 4;
  for (int i = 0; i <= ticks; ++i) {
    const float t = static_cast<float>(i) / ticks;
    const int y = p.top + static_cast<int>((1 - t) * static_cast<float>(p.height - 1));
    draw_text(image, short_number(low + t * (high - low)), left + width + 4 * scale,
              std::clamp(y - 3 * scale, 0, s.height - 8 * scale), scale, ink);
  }
}

}  // namespace

float slice_value(const VolumeField& field, const Vec3d& point) {
  if (!field.is_vector()) return field.value(point);
  const Vec3f v = field.vector(point);
  return length(v);
}

void widen_slice(const VolumeField& field, SliceSettings& s) {
  if (field.bounds().empty()) return;
  s.bounds.add(field.bounds());
  constexpr int samples = 96;
  const Plane p = place(s);
  bool any = s.low != s.high;
  for (int j = 0; j < samples; ++j)
    for (int i = 0; i < samples; ++i) {
      const float v = slice_value(field, point_at(p, s, (i + 0.5) * p.width / samples, (j + 0.5) * p.height / samples));
      if (!std::isfinite(v)) continue;
      s.low = any ? std::min(s.low, v) : v, s.high = any ? std::max(s.high, v) : v;
      any = true;
    }
  if (field.is_vector() || (s.low > 0 && s.low < 0.25f * s.high)) s.low = 0;
}

Image render_slice(const VolumeField& field, const SliceSettings& settings) {
  SliceSettings s = settings;
  if (s.bounds.empty() || s.low == s.high) widen_slice(field, s);
  Image image(s.width, s.height, paper);
  const int scale = std::max(1, s.height / 360);
  if (!s.bounds.empty()) {
    const Plane p = place(s);
    // Row by row with one more row and column than pixels, so that the zero line can be found between them.
    const std::size_t row = static_cast<std::size_t>(p.width + 1);
    std::vector<float> values(row * static_cast<std::size_t>(p.height + 1));
    parallel_for(0, static_cast<std::size_t>(p.height + 1), 8, [&](std::size_t begin, std::size_t end) {
      for (std::size_t y = begin; y < end; ++y)
        for (std::size_t x = 0; x < row; ++x)
          values[y * row + x] =
              slice_value(field, point_at(p, s, static_cast<double>(x) + 0.5, static_cast<double>(y) + 0.5));
    });
    for (int y = 0; y < p.height; ++y)
      for (int x = 0; x < p.width; ++x) {
        const float* v = &values[static_cast<std::size_t>(y) * row + static_cast<std::size_t>(x)];
        const bool edge = field.is_level_set() && ((v[0] < 0) != (v[1] < 0) || (v[0] < 0) != (v[row] < 0));
        image.at(p.left + x, p.top + y) = edge ? Color{20, 20, 22} : to_color(color_of(v[0], s), x, y);
      }
    draw_bar(image, p, s);
    const char* names = "xyz";
    const std::string text = fmt::format("{}{} at {} = {:.4g} m   {} {:.4g} to {:.4g} m   {} {:.4g} to {:.4g} m",
                                         field.is_vector() ? "length of " : "", field.name(), names[s.axis], p.depth,
                                         names[p.across], s.bounds.min[p.across], s.bounds.max[p.across], names[p.up],
                                         s.bounds.min[p.up], s.bounds.max[p.up]);
    draw_text(image, text, s.width - 10 * scale - text_width(text, scale), s.height - (9 + glyph_height) * scale, scale,
              ink);
  }
  draw_text(image, s.caption, 10 * scale, s.height - (9 + glyph_height) * scale, scale, ink);
  return image;
}

}  // namespace aegir
