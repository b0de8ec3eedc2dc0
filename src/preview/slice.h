// A plane through a volume, its values as colours, with a colour bar and a scale.
//
//   SliceSettings slice{.axis = 2, .at = 0.5};
//   widen_slice(*field, slice);                              // range and bounds, once for a sequence
//   Image picture = render_slice(*field, slice);
#pragma once

#include <optional>
#include <string>

#include "base/vec.h"
#include "io/vdb_volumes.h"
#include "preview/image.h"

namespace aegir {

struct SliceSettings {
  int axis = 2;                ///< 0, 1, 2: the plane is perpendicular to x, y, z
  std::optional<double> at{};  ///< metres along the axis; empty: middle of the bounds
  int width = 1280, height = 720;
  Box bounds{};             ///< what is shown; empty: where the volume is
  float low = 0, high = 0;  ///< values of the first and last colour; equal: the least and largest in the plane
  std::string caption{};    ///< in the lower left corner
};

/// Values of a volume as numbers: vectors count by their length.
float slice_value(const VolumeField& field, const Vec3d& point);

/// Widens bounds and range of values by those of one frame.
void widen_slice(const VolumeField& field, SliceSettings& settings);

/// Draws the plane. Ranges with both signs go from blue over white to red; the zero line of a level set is drawn.
Image render_slice(const VolumeField& field, const SliceSettings& settings);

}  // namespace aegir
