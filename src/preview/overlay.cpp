#include "preview/overlay.h"

#include <algorithm>
#include <cmath>

#include "preview/color_map.h"
#include "preview/text.h"

namespace aegir {
namespace {

// Rounds to eight bits with an ordered pattern, so that gradients show no steps.
std::uint8_t to_byte(float linear, int x, int y) {
  static constexpr int pattern[4][4] = {{0, 8, 2, 10}, {12, 4, 14, 6}, {3, 11, 1, 9}, {15, 7, 13, 5}};
  const float threshold = (static_cast<float>(pattern[y & 3][x & 3]) + 0.5f) / 16;
  return static_cast<std::uint8_t>(std::clamp(to_srgb(linear) * 255 + threshold, 0.0f, 255.0f));
}

std::string short_number(float value) { return fmt::format("{:.{}g}", value, std::abs(value) >= 100 ? 4 : 3); }

// The colour bar with its ends and unit.
void draw_legend(Image& image, const ViewSettings& settings) {
  constexpr Color ink{222, 227, 234};
  const int scale = std::max(1, image.height() / 360), bar_width = 90 * scale, bar_height = 4 * scale;
  const int right = image.width() - 10 * scale, bottom = image.height() - 9 * scale;
  const std::string low = short_number(settings.low), high = short_number(settings.high) + " " + settings.legend;
  const int high_x = right - text_width(high, scale), bar_x = high_x - 6 * scale - bar_width;
  const int text_y = bottom - glyph_height * scale, bar_y = bottom - (glyph_height * scale + bar_height) / 2;
  draw_text(image, low, bar_x - 6 * scale - text_width(low, scale), text_y, scale, ink);
  draw_text(image, high, high_x, text_y, scale, ink);
  Image bar(bar_width, bar_height);
  for (int x = 0; x < bar_width; ++x) {
    const Vec3f color = speed_color(static_cast<float>(x) / static_cast<float>(bar_width - 1));
    for (int y = 0; y < bar_height; ++y)
      for (int i = 0; i < 3; ++i)
        bar.at(x, y)[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(to_srgb(color[i]) * 255 + 0.5f);
  }
  paste(image, bar, bar_x, bar_y);
}

}  // namespace

Color to_color(const Vec3f& linear, int x, int y) {
  return {to_byte(linear.x, x, y), to_byte(linear.y, x, y), to_byte(linear.z, x, y)};
}

void complete_range(const std::vector<float>& value, ViewSettings& settings) {
  if (settings.low != settings.high) return;
  bool any = false;
  for (const float v : value) {
    if (!std::isfinite(v)) continue;
    settings.low = any ? std::min(settings.low, v) : v, settings.high = any ? std::max(settings.high, v) : v;
    any = true;
  }
  if (settings.low > 0 && settings.low < 0.25f * settings.high) settings.low = 0;
}

void draw_captions(Image& image, const ViewSettings& settings) {
  if (!settings.legend.empty() && settings.high > settings.low) draw_legend(image, settings);
  const int scale = std::max(1, settings.height / 360);
  draw_text(image, settings.caption, 10 * scale, settings.height - (9 + glyph_height) * scale, scale, {222, 227, 234});
}

}  // namespace aegir
