// Where pictures are taken from: perspective for the eye, orthographic for the light.
//
//   Camera camera = fit_camera(box, 16.0 / 9, {});
//   View view = View::perspective(camera, 1280, 720);
//   Vec3f pixel = view.project(point);   // x, y in pixels from the upper left; z metres in front of the eye
#pragma once

#include "base/vec.h"

namespace aegir {

/// An eye that looks at a point, y up.
struct Camera {
  Vec3d eye{0, 0, 1};
  Vec3d target{0, 0, 0};
  double field_of_view = 0.55;  ///< vertical, radians
};

/// From which side a picture is taken when no camera is given; radians.
struct Direction {
  double azimuth = 0.55;    ///< around y, from +z towards +x
  double elevation = 0.24;  ///< above the horizon
};

/// The nearest camera from a direction that has the whole box in a frame of this aspect (width over height).
Camera fit_camera(const Box& box, double aspect, const Direction& direction);

/// Maps between the world and a raster of pixels with depth.
class View {
 public:
  /// What an eye sees on a raster of width × height pixels.
  static View perspective(const Camera& camera, int width, int height);
  /// What a light far away in `toward_light` sees of a box, on a square raster.
  static View orthographic(const Vec3d& toward_light, const Box& box, int size);

  /// Pixel coordinates (pixel centres at .5) and the distance in front of the viewer along its axis.
  Vec3f project(const Vec3d& point) const;
  /// The world point at a pixel coordinate and depth; inverse of project.
  Vec3d unproject(double x, double y, double depth) const;
  /// Unit vector from a pixel's point to the viewer.
  Vec3d toward_viewer(double x, double y) const;
  /// How many pixels a metre covers at a depth.
  float pixels_per_metre(float depth) const { return perspective_ ? focal_ / depth : focal_; }
  /// Depths at or below this one are not seen.
  float nearest() const { return nearest_; }
  bool is_perspective() const { return perspective_; }
  int width() const { return width_; }
  int height() const { return height_; }

 private:
  void look(const Vec3d& from, const Vec3d& along);

  Vec3d eye_, right_, up_, forward_;
  float focal_ = 1;  ///< pixels per metre at depth 1 (perspective) or everywhere (orthographic)
  float nearest_ = 0;
  bool perspective_ = true;
  int width_ = 0, height_ = 0;
};

}  // namespace aegir
