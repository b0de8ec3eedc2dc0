// Colours for numbers, and between what is measured (linear light) and what a screen wants (sRGB).
//
//   Vec3f light = speed_color(0.7f);   // linear light, components in [0, 1]
#pragma once

#include "base/vec.h"

namespace aegir {

/// From deep blue over teal to pale gold for t in [0, 1], as linear light; equal steps of t look equally large.
Vec3f speed_color(float t);

/// Linear light to the value a screen wants, both in [0, 1].
float to_srgb(float linear);

/// The inverse of to_srgb.
float from_srgb(float encoded);

}  // namespace aegir
