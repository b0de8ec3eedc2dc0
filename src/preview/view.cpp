#include "preview/view.h"

namespace aegir {
namespace {

Vec3d corner(const Box& box, int i) {
  return {i & 1 ? box.max.x : box.min.x, i & 2 ? box.max.y : box.min.y, i & 4 ? box.max.z : box.min.z};
}

}  // namespace

void View::look(const Vec3d& from, const Vec3d& along) {
  eye_ = from;
  forward_ = normalized(along);
  const Vec3d side = cross(forward_, Vec3d{0, 1, 0});
  right_ = length(side) > 1e-9 ? normalized(side) : Vec3d{1, 0, 0};
  up_ = cross(right_, forward_);
}

View View::perspective(const Camera& camera, int width, int height) {
  View view;
  view.width_ = width, view.height_ = height;
  view.look(camera.eye, camera.target - camera.eye);
  view.focal_ = static_cast<float>(0.5 * height / std::tan(0.5 * camera.field_of_view));
  view.nearest_ = static_cast<float>(std::max(1e-6, 1e-3 * length(camera.target - camera.eye)));
  return view;
}

View View::orthographic(const Vec3d& toward_light, const Box& box, int size) {
  View view;
  view.perspective_ = false;
  view.width_ = view.height_ = size;
  const double radius = std::max(1e-6, 0.5 * length(box.size()));
  view.look(box.center() + normalized(toward_light) * (2 * radius), -toward_light);
  view.focal_ = static_cast<float>(0.5 * size / radius);
  return view;
}

Vec3f View::project(const Vec3d& point) const {
  const Vec3d d = point - eye_;
  const double depth = dot(d, forward_), scale = perspective_ ? focal_ / depth : focal_;
  return Vec3f(Vec3d{0.5 * width_ + dot(d, right_) * scale, 0.5 * height_ - dot(d, up_) * scale, depth});
}

Vec3d View::unproject(double x, double y, double depth) const {
  const double metres = (perspective_ ? depth : 1.0) / focal_;
  return eye_ + forward_ * depth + right_ * ((x - 0.5 * width_) * metres) + up_ * ((0.5 * height_ - y) * metres);
}

Vec3d View::toward_viewer(double x, double y) const {
  if (!perspective_) return -forward_;
  return normalized(eye_ - unproject(x, y, 1.0));
}

Camera fit_camera(const Box& box, double aspect, const Direction& direction) {
  Camera camera;
  const double level = std::cos(direction.elevation);
  const Vec3d toward_eye{level * std::sin(direction.azimuth), std::sin(direction.elevation),
                         level * std::cos(direction.azimuth)};
  const Vec3d forward = -toward_eye;
  const Vec3d right = normalized(cross(forward, Vec3d{0, 1, 0})), up = cross(right, forward);
  const double tangent_y = std::tan(0.5 * camera.field_of_view), tangent_x = tangent_y * aspect;
  constexpr double margin = 1.06;

  // Where the frame's edges touch the box: with s = depth of a corner relative to the middle, the eye at distance D
  // sees the corner at height h inside the frame if |h - shift| <= (D + s) tangent. Each side gives the eye's limit.
  camera.target = box.center();
  double distance = 1e-3;
  for (int round = 0; round < 8; ++round) {
    double needed = 1e-3, low_x = 1e300, high_x = -1e300, low_y = 1e300, high_y = -1e300;
    for (int i = 0; i < 8; ++i) {
      const Vec3d d = corner(box, i) - camera.target;
      const double s = dot(d, forward), x = dot(d, right), y = dot(d, up);
      needed = std::max({needed, std::abs(x) * margin / tangent_x - s, std::abs(y) * margin / tangent_y - s});
    }
    distance = needed;
    for (int i = 0; i < 8; ++i) {
      const Vec3d d = corner(box, i) - camera.target;
      const double depth = std::max(1e-9, distance + dot(d, forward));
      low_x = std::min(low_x, dot(d, right) / depth), high_x = std::max(high_x, dot(d, right) / depth);
      low_y = std::min(low_y, dot(d, up) / depth), high_y = std::max(high_y, dot(d, up) / depth);
    }
    // Centres what is seen, so that both edges touch; a few rounds settle it.
    camera.target += right * (0.5 * (low_x + high_x) * distance) + up * (0.5 * (low_y + high_y) * distance);
  }
  double needed = 1e-3;
  for (int i = 0; i < 8; ++i) {
    const Vec3d d = corner(box, i) - camera.target;
    needed = std::max({needed, std::abs(dot(d, right)) * margin / tangent_x - dot(d, forward),
                       std::abs(dot(d, up)) * margin / tangent_y - dot(d, forward)});
  }
  camera.eye = camera.target + toward_eye * needed;
  return camera;
}

}  // namespace aegir
