#include "io/gltf_motion.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numbers>
#include <optional>
#include <set>

#include "io/gltf_scene.h"

namespace aegir {
namespace {

using Target = GltfCurve::Target;
using Interpolation = GltfCurve::Interpolation;

/// x → linear x + translation.
struct Affine {
  Mat3d linear = Mat3d::identity();
  Vec3d translation{};
};

Affine operator*(const Affine& a, const Affine& b) {
  return {a.linear * b.linear, a.linear * b.translation + a.translation};
}

using Quaternion = std::array<double, 4>;  // x, y, z, w

Quaternion unit(Quaternion q) {
  const double l = std::sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
  if (!(l > 0)) return {0, 0, 0, 1};
  for (double& v : q) v /= l;
  return q;
}

Mat3d matrix_of(const Quaternion& raw) {
  const auto [x, y, z, w] = unit(raw);
  return {{{1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)},
           {2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)},
           {2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)}}};
}

/// The shortest way from a to b on the sphere of unit quaternions.
Quaternion between(const Quaternion& from, const Quaternion& to, double s) {
  const Quaternion a = unit(from);
  Quaternion b = unit(to);
  double cosine = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
  if (cosine < 0) {
    for (double& v : b) v = -v;
    cosine = -cosine;
  }
  double wa = 1 - s, wb = s;
  if (cosine < 1 - 1e-10) {
    const double angle = std::acos(cosine);
    wa = std::sin((1 - s) * angle) / std::sin(angle), wb = std::sin(s * angle) / std::sin(angle);
  }
  return unit({wa * a[0] + wb * b[0], wa * a[1] + wb * b[1], wa * a[2] + wb * b[2], wa * a[3] + wb * b[3]});
}

/// A curve's value at a time; it holds outside of its keys.
Quaternion value_at(const GltfCurve& c, double time) {
  const std::size_t width = c.target == Target::rotation ? 4 : 3;
  const bool cubic = c.interpolation == Interpolation::cubic;
  const auto at = [&](std::size_t key, int part) {  // part: in-tangent, value, out-tangent
    Quaternion v{};
    for (std::size_t k = 0; k < width; ++k)
      v[k] = c.values[cubic ? (3 * key + static_cast<std::size_t>(part)) * width + k : key * width + k];
    return v;
  };
  const auto next = static_cast<std::size_t>(std::upper_bound(c.times.begin(), c.times.end(), time) - c.times.begin());
  if (next == 0) return at(0, 1);
  if (next == c.times.size() || c.interpolation == Interpolation::step) return at(next - 1, 1);
  const double span = c.times[next] - c.times[next - 1], s = (time - c.times[next - 1]) / span;
  const Quaternion a = at(next - 1, 1), b = at(next, 1);
  if (!cubic && width == 4) return between(a, b, s);
  Quaternion v{};
  const Quaternion out = at(next - 1, 2), in = at(next, 0);
  const double s2 = s * s, s3 = s2 * s;
  for (std::size_t k = 0; k < width; ++k)
    v[k] = !cubic ? a[k] + (b[k] - a[k]) * s
                  : (2 * s3 - 3 * s2 + 1) * a[k] + span * (s3 - 2 * s2 + s) * out[k] + (3 * s2 - 2 * s3) * b[k] +
                        span * (s3 - s2) * in[k];
  return v;
}

/// Angles about the fixed axes x, then y, then z, in degrees, near those before. Where x and z turn about the same
/// line, z is chosen and x follows from it.
Vec3d angles_of(const Mat3d& m, const Vec3d& before) {
  const double z = std::atan2(m(1, 0), m(0, 0)), c = std::cos(z), s = std::sin(z);
  const double q00 = c * m(0, 0) + s * m(1, 0), q11 = c * m(1, 1) - s * m(0, 1), q12 = c * m(1, 2) - s * m(0, 2);
  Vec3d angle{std::atan2(-q12, q11), std::atan2(-m(2, 0), q00), z};
  angle *= 180 / std::numbers::pi;
  for (int k = 0; k < 3; ++k) angle[k] += 360 * std::round((before[k] - angle[k]) / 360);
  return angle;
}

class MotionReader {
 public:
  MotionReader(const GltfScene& scene, const std::string& path, const MeshImportOptions& options, double fps)
      : scene_(scene), path_(path), options_(options), fps_(fps) {}

  Result<GltfMotion> read() {
    if (Status s = refuse_bending(); !s) return s.error();
    if (Status s = assign_curves(); !s) return s.error();
    const auto body = find_body();
    if (!body) return body.error();
    for (int at = *body; at >= 0; at = scene_.nodes[at].parent) chain_.insert(chain_.begin(), at);

    GltfMotion motion;
    const auto rest = pose(std::nullopt);
    if (!rest) return rest.error();
    motion.rest = *rest;
    const auto times = key_times(motion.interpolation);
    if (!times) return times.error();
    for (const double time : *times) {
      const auto p = pose(time);
      if (!p) return p.error();
      motion.keys.push_back(key_at(time, *p, motion.keys.empty() ? MotionKey{} : motion.keys.back()));
    }
    return motion;
  }

 private:
  Status refuse_bending() const {
    for (const GltfNode& node : scene_.nodes)
      if (node.in_scene && node.has_mesh && node.has_skin)
        return usage_error({},
                           "'{}': bones bend the mesh of node '{}', which is not read; export it as a sequence of "
                           "meshes and use 'motion: deforming'",
                           path_, node.name);
    for (const GltfCurve& c : scene_.curves)
      if (c.target == Target::weights && scene_.nodes[c.node].in_scene)
        return usage_error({},
                           "'{}': animation '{}' morphs the mesh of node '{}', which is not read; export it as a "
                           "sequence of meshes and use 'motion: deforming'",
                           path_, c.animation, scene_.nodes[c.node].name);
    return {};
  }

  Status assign_curves() {
    for (const GltfCurve& c : scene_.curves) {
      const auto [known, fresh] = curves_.emplace(std::pair(c.node, c.target), &c);
      if (!fresh && known->second->animation != c.animation)
        return usage_error({}, "'{}': the animations '{}' and '{}' both move node '{}'; export one of them", path_,
                           known->second->animation, c.animation, scene_.nodes[c.node].name);
    }
    return {};
  }

  bool animated(int node) const {
    for (const Target t : {Target::translation, Target::rotation, Target::scale})
      if (curves_.contains({node, t})) return true;
    return false;
  }

  /// The node that moves all meshes: the lowest animated one above each of them.
  Result<int> find_body() const {
    int body = -1, of = -1;
    for (int i = 0; i < static_cast<int>(scene_.nodes.size()); ++i) {
      if (!scene_.nodes[i].has_mesh || !scene_.nodes[i].in_scene) continue;
      int at = i;
      while (at >= 0 && !animated(at)) at = scene_.nodes[at].parent;
      if (of >= 0 && at != body)
        return usage_error(
            {},
            "'{}': the meshes of nodes '{}' and '{}' move differently; export each to a file of its own, "
            "or all as a sequence of meshes with 'motion: deforming'",
            path_, scene_.nodes[of].name, scene_.nodes[i].name);
      body = at, of = i;
    }
    if (of < 0) return usage_error({}, "'{}' holds no mesh", path_);
    if (body < 0)
      return usage_error({}, "'{}': no animation of the file moves its mesh; 'motion: static' takes it as it is",
                         path_);
    return body;
  }

  Result<std::vector<double>> key_times(MotionInterpolation& interpolation) const {
    std::set<double> times;
    int nodes = 0;
    bool step = false, line = false, cubic = false;
    for (const int node : chain_) {
      nodes += animated(node);
      for (const Target t : {Target::translation, Target::rotation, Target::scale})
        if (const auto found = curves_.find({node, t}); found != curves_.end()) {
          times.insert(found->second->times.begin(), found->second->times.end());
          const bool moves = found->second->times.size() > 1;
          step |= moves && found->second->interpolation == Interpolation::step;
          line |= moves && found->second->interpolation == Interpolation::linear;
          cubic |= moves && found->second->interpolation == Interpolation::cubic;
        }
    }
    if (step && (line || cubic))
      return usage_error(
          {}, "'{}': its animations jump in some properties and glide in others; sample them when exporting", path_);
    if (step) interpolation = MotionInterpolation::step;
    if (!step && (nodes > 1 || cubic)) {
      const double first = *times.begin(), last = *times.rbegin();
      const double apart = std::max(1 / (8 * fps_), (last - first) / 100000);
      for (double t = first + apart; t < last; t += apart) times.insert(t);
    }
    return std::vector<double>(times.begin(), times.end());
  }

  Affine local(int number, std::optional<double> time) const {
    const GltfNode& node = scene_.nodes[number];
    const auto curve = [&](Target t) -> std::optional<Quaternion> {
      const auto found = time ? curves_.find({number, t}) : curves_.end();
      if (found == curves_.end()) return std::nullopt;
      return value_at(*found->second, *time);
    };
    if (node.has_matrix) return {node.linear, node.translation};
    const auto t = curve(Target::translation), r = curve(Target::rotation), s = curve(Target::scale);
    const Vec3d translation = t ? Vec3d{(*t)[0], (*t)[1], (*t)[2]} : node.translation;
    const Vec3d scale = s ? Vec3d{(*s)[0], (*s)[1], (*s)[2]} : node.scale;
    Mat3d linear =
        matrix_of(r ? *r : Quaternion{node.rotation[0], node.rotation[1], node.rotation[2], node.rotation[3]});
    for (Vec3d& row : linear.row) row = multiply(row, scale);
    return {linear, translation};
  }

  /// The body's place in our space at a time, or without animations.
  Result<Pose> pose(std::optional<double> time) const {
    Affine world;
    for (const int node : chain_) world = world * local(node, time);
    // A mirrored body is the mirror image of a body that is not.
    if (determinant(world.linear) < 0)
      for (Vec3d& row : world.linear.row) row.x = -row.x;
    const Mat3d square = transpose(world.linear) * world.linear;
    const double scale2 = (square(0, 0) + square(1, 1) + square(2, 2)) / 3;
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j)
        if (!(scale2 > 0) || std::abs(square(i, j) - (i == j ? scale2 : 0)) > 1e-4 * scale2)
          return usage_error(
              {},
              "'{}': node '{}' is {}{}; apply the scale before exporting, or export a sequence of meshes "
              "and use 'motion: deforming'",
              path_, scene_.nodes[chain_.back()].name,
              scale2 > 0 ? "scaled differently along its axes" : "scaled to nothing",
              time ? fmt::format(" at {} s", *time) : std::string());
    Pose pose;
    pose.scale = std::sqrt(scale2);
    const Mat3d turn = world.linear * (1 / pose.scale);
    const Mat3d up =
        options_.up == MeshImportOptions::z ? Mat3d{{{1, 0, 0}, {0, 0, 1}, {0, -1, 0}}} : Mat3d::identity();
    pose.rotation = up * turn * transpose(up);
    pose.translation = imported(world.translation, options_);
    return pose;
  }

  const GltfScene& scene_;
  const std::string& path_;
  const MeshImportOptions& options_;
  double fps_;
  std::map<std::pair<int, Target>, const GltfCurve*> curves_;
  std::vector<int> chain_;  // from the root to the body
};

}  // namespace

MotionKey key_at(double time, const Pose& pose, const MotionKey& before) {
  return {time, pose.translation, angles_of(pose.rotation, before.rotation_degrees), pose.scale};
}

Result<GltfMotion> read_gltf_motion(const std::string& path, const MeshImportOptions& options, double fps) {
  const auto scene = read_gltf_scene(path);
  if (!scene) return scene.error();
  return MotionReader(*scene, path, options, fps).read();
}

}  // namespace aegir
