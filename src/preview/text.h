// A tiny built-in font, enough for captions and numbers.
//
//   draw_text(image, "frame 1001", 10, 10, 2, {255, 255, 255});
#pragma once

#include <string_view>

#include "preview/image.h"

namespace aegir {

/// Size of a glyph in font pixels; one empty column follows each.
inline constexpr int glyph_width = 5, glyph_height = 7;

/// Width in pixels of a text drawn at a scale.
int text_width(std::string_view text, int scale);

/// Draws ASCII text with its upper left corner at (x, y); what the font does not have is drawn as a box.
void draw_text(Image& image, std::string_view text, int x, int y, int scale, Color color);

}  // namespace aegir
