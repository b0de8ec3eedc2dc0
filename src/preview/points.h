// A lit picture of particles, coloured by a value, with the solids around them and their shadow on the ground.
//
//   ViewSettings settings;
//   settings.bounds = box_of_all_frames;                         // the camera stands still over a sequence
//   settings.low = 0, settings.high = 12;
//   Image picture = render_points({positions, speed, {0.01f}}, solids, settings);
//   Status written = write_png(picture, "splash.png");
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "geometry/mesh.h"
#include "preview/image.h"
#include "preview/view.h"

namespace aegir {

/// How a picture is taken; the defaults frame whatever is there.
struct ViewSettings {
  int width = 1280, height = 720;
  Box bounds;                    ///< what the camera frames and the light reaches; empty: what this picture shows
  std::optional<Camera> camera;  ///< empty: fitted to the bounds, from `direction`
  Direction direction;           ///< used when no camera is given
  std::optional<double> ground;  ///< height of the ground; empty: bottom of the bounds
  bool show_ground = true;       ///< without it only the background is behind the particles
  float low = 0, high = 0;       ///< values that get the first and last colour; equal: least and largest value shown
  std::string legend = "m/s";    ///< unit beside the colour bar; empty: no bar
  Box outline{};                 ///< drawn as thin lines, e.g. a domain; empty: none
  std::vector<TriangleMesh> glass{};  ///< solids that the rest is seen through, e.g. a tank
  std::string caption;                ///< a line in the lower left corner, e.g. the frame
};

/// The box to frame: around all finite positions but the outermost 0.05 % on each side, which are stray droplets.
Box framing_box(const std::vector<Vec3d>& positions);

/// Particles, drawn as spheres.
struct ShownPoints {
  std::vector<Vec3d> positions{};
  std::vector<float> value{};   ///< for their colour; empty or one each
  std::vector<float> radius{};  ///< metres; empty, one for all, or one each
  std::vector<Vec3f> grain{};   ///< colours of matte grains, linear light; empty, or one each: x < 0 is no grain
};

/// Renders spheres and solids; the same input gives the same picture on any number of threads.
///
/// Positions that are not finite are left out. Sizes below one pixel are raised to one.
Image render_points(const ShownPoints& points, const std::vector<TriangleMesh>& solids, const ViewSettings& settings);

}  // namespace aegir
