#include "io/gltf_camera.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace aegir {
namespace {

/// The matrix of a quaternion x, y, z, w.
Mat3d turned(const double (&q)[4]) {
  const double n = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3], s = n > 0 ? 2 / n : 0;
  const double x = q[0], y = q[1], z = q[2], w = q[3];
  Mat3d m = Mat3d::identity();
  m(0, 0) = 1 - s * (y * y + z * z), m(0, 1) = s * (x * y - z * w), m(0, 2) = s * (x * z + y * w);
  m(1, 0) = s * (x * y + z * w), m(1, 1) = 1 - s * (x * x + z * z), m(1, 2) = s * (y * z - x * w);
  m(2, 0) = s * (x * z - y * w), m(2, 1) = s * (y * z + x * w), m(2, 2) = 1 - s * (x * x + y * y);
  return m;
}

/// A curve's numbers at a time: linear between keys, the key before for steps; rotations take the shorter way.
std::vector<double> curve_at(const GltfCurve& curve, double seconds) {
  const bool cubic = curve.interpolation == GltfCurve::Interpolation::cubic;
  const std::size_t width = curve.target == GltfCurve::Target::rotation ? 4 : 3, block = cubic ? 3 * width : width;
  const auto key = [&](std::size_t k) {
    const auto from = curve.values.begin() + static_cast<std::ptrdiff_t>(k * block + (cubic ? width : 0));
    return std::vector<double>(from, from + static_cast<std::ptrdiff_t>(width));
  };
  const std::size_t keys = std::min(curve.times.size(), curve.values.size() / block);
  const auto after = static_cast<std::size_t>(
      std::upper_bound(curve.times.begin(), curve.times.begin() + static_cast<std::ptrdiff_t>(keys), seconds) -
      curve.times.begin());
  if (after == 0) return key(0);
  if (after == keys || curve.interpolation == GltfCurve::Interpolation::step) return key(after - 1);
  std::vector<double> a = key(after - 1), b = key(after);
  const double t = (seconds - curve.times[after - 1]) / (curve.times[after] - curve.times[after - 1]);
  double along = 0;
  for (std::size_t i = 0; i < width; ++i) along += a[i] * b[i];
  const double sign = width == 4 && along < 0 ? -1 : 1;
  for (std::size_t i = 0; i < width; ++i) a[i] += (sign * b[i] - a[i]) * t;
  return a;
}

}  // namespace

Result<GltfCamera> GltfCamera::read(const std::string& path, const std::string& name) {
  Result<GltfScene> scene = read_gltf_scene(path);
  if (!scene) return scene.error();
  GltfCamera camera;
  std::string known;
  for (std::size_t i = 0; i < scene->nodes.size(); ++i) {
    const GltfNode& node = scene->nodes[i];
    if (!(node.camera_field_of_view > 0)) continue;
    known += (known.empty() ? "'" : ", '") + node.name + "'";
    if (camera.node_ < 0 && (name.empty() || node.name == name)) camera.node_ = static_cast<int>(i);
  }
  if (camera.node_ < 0)
    return usage_error({}, "{} has no {}; {}", path, name.empty() ? "perspective camera" : "camera '" + name + "'",
                       known.empty() ? "export the scene with its cameras" : "there are " + known);
  camera.scene_ = std::move(*scene);
  return camera;
}

CameraPose GltfCamera::at(double seconds) const {
  Vec3d point, forward{0, 0, -1};
  for (int at = node_; at >= 0; at = scene_.nodes[static_cast<std::size_t>(at)].parent) {
    GltfNode node = scene_.nodes[static_cast<std::size_t>(at)];
    for (const GltfCurve& curve : scene_.curves) {
      if (curve.node != at || curve.times.empty() || curve.values.empty()) continue;
      const std::vector<double> v = curve_at(curve, seconds);
      if (curve.target == GltfCurve::Target::translation) node.translation = {v[0], v[1], v[2]};
      if (curve.target == GltfCurve::Target::scale) node.scale = {v[0], v[1], v[2]};
      if (curve.target == GltfCurve::Target::rotation) std::copy(v.begin(), v.end(), node.rotation);
    }
    const Mat3d linear = node.has_matrix ? node.linear : turned(node.rotation);
    const Vec3d scale = node.has_matrix ? Vec3d(1.0) : node.scale;
    point = linear * multiply(point, scale) + node.translation;
    forward = linear * multiply(forward, scale);
  }
  return {point, normalized(forward), scene_.nodes[static_cast<std::size_t>(node_)].camera_field_of_view};
}

}  // namespace aegir
