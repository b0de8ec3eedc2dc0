// What every picture has in common once its light is known: eight bits, colour bar, caption.
//
//   complete_range(speed, settings);                           // from the values shown, where none was given
//   image.at(x, y) = to_color(light, x, y);
//   draw_captions(image, settings);
#pragma once

#include <vector>

#include "preview/image.h"
#include "preview/points.h"

namespace aegir {

/// Linear light in [0, 1] as a screen shows it, rounded with an ordered pattern, so that gradients show no steps.
Color to_color(const Vec3f& linear, int x, int y);

/// Fills in `low` and `high` where they are equal: the least and the largest finite value.
void complete_range(const std::vector<float>& value, ViewSettings& settings);

/// Draws the colour bar in the lower right corner, where there is a legend, and the caption in the lower left.
void draw_captions(Image& image, const ViewSettings& settings);

}  // namespace aegir
