#include "preview/points.h"

#include <array>

#include "base/assert.h"
#include "parallel/threads.h"
#include "preview/color_map.h"
#include "preview/grains.h"
#include "preview/light.h"
#include "preview/outline.h"
#include "preview/overlay.h"
#include "preview/vertex_normals.h"
#include "preview/visibility.h"

namespace aegir {
namespace {

constexpr int samples = 2;  // per pixel and axis

// The look of every picture, in linear light.
constexpr Vec3f sky_top{0.030f, 0.042f, 0.064f}, sky_bottom{0.190f, 0.222f, 0.262f};
constexpr Vec3f floor_color{0.235f, 0.250f, 0.275f}, solid_color{0.52f, 0.50f, 0.47f};
constexpr Vec3f key_color{2.05f, 1.96f, 1.82f}, sky_light{0.62f, 0.70f, 0.82f}, ground_light{0.30f, 0.28f, 0.26f};

Vec3f mix(const Vec3f& a, const Vec3f& b, float t) { return a * (1 - t) + b * t; }
float smooth(float low, float high, float x) {
  const float t = std::clamp((x - low) / (high - low), 0.0f, 1.0f);
  return t * t * (3 - 2 * t);
}

int rounded(float x) { return static_cast<int>(x + 1000.5f) - 1000; }  // for |x| < 1000, where pixels are

struct Hit {
  Vec3d point;
  Vec3f normal;
  Vec3f albedo;
  float gloss = 0;
  float bias = 0;
};

// Everything one picture needs; built once, then read by all threads.
class Picture {
 public:
  Picture(const VisibleThings& things, const ShownPoints& points, const ViewSettings& settings, const Box& box,
          const View& view);
  Vec3f sample(int x, int y) const;

 private:
  Vec3f background(int y) const;
  Vec3f ground_seen(int x, int y) const;
  Hit sphere_hit(std::size_t sphere, int x, int y, float depth) const;
  Vec3f heap_normal(float radius, int x, int y, float depth) const;
  Hit triangle_hit(std::size_t triangle, int x, int y, float depth) const;
  Vec3f through_glass(const Vec3f& behind, std::size_t pixel, int x, int y) const;
  Vec3f shade(const Hit& hit, const Vec3f& to_eye, float open) const;
  float openness(int x, int y, float depth) const;

  const VisibleThings& things_;
  const ShownPoints& points_;
  const ViewSettings& settings_;
  Box box_;
  View view_;
  double ground_;
  float radius_;  ///< of the box
  KeyLight light_;
  Visibility seen_;
  std::vector<std::size_t> first_triangle_;  ///< per solid, and their total
  std::vector<std::vector<Vec3f>> normals_;  ///< per solid and vertex
  Visibility glass_;                         ///< empty without glass
  std::vector<float> outline_;               ///< per pixel; empty without an outline
};

// Towards the light: from above, left of and behind the viewer.
Vec3d light_direction(const View& view) {
  const Vec3d center = view.toward_viewer(0.5 * view.width(), 0.5 * view.height());
  const Vec3d side = normalized(cross(Vec3d{0, 1, 0}, center));
  const Vec3d level = cross(side, Vec3d{0, 1, 0});
  return normalized(Vec3d{0, 1.0, 0} - side * 0.62 + level * 0.30);
}

Picture::Picture(const VisibleThings& things, const ShownPoints& points, const ViewSettings& settings, const Box& box,
                 const View& view)
    : things_(things),
      points_(points),
      settings_(settings),
      box_(box),
      view_(view),
      ground_(settings.ground.value_or(box.min.y)),
      radius_(static_cast<float>(0.5 * length(box.size()))),
      light_(light_direction(view), box, ground_, things),
      seen_(find_visible(view, things, 0.8f)),
      first_triangle_{0} {
  for (const TriangleMesh& mesh : things.solids) {
    first_triangle_.push_back(first_triangle_.back() + mesh.triangles.size());
    normals_.push_back(vertex_normals(mesh));
  }
  if (!settings.glass.empty()) glass_ = find_visible(view, {{}, {}, settings.glass}, 0.8f);
  if (!settings.outline.empty()) outline_ = find_outline(view, settings.outline, seen_);
}

// A pane lets most of what is behind it through, more so where it is looked at straight on.
Vec3f Picture::through_glass(const Vec3f& behind, std::size_t pixel, int x, int y) const {
  std::size_t triangle = glass_.item[pixel], solid = 0;
  while (triangle >= settings_.glass[solid].triangles.size()) triangle -= settings_.glass[solid++].triangles.size();
  const TriangleMesh& mesh = settings_.glass[solid];
  const auto at = [&](int i) { return mesh.positions[static_cast<std::size_t>(i)]; };
  const Vec3i& t = mesh.triangles[triangle];
  const Vec3f normal = Vec3f(normalized(cross(at(t.y) - at(t.x), at(t.z) - at(t.x))));
  const float straight = std::abs(dot(normal, Vec3f(view_.toward_viewer(x + 0.5, y + 0.5))));
  const float facing = std::abs(dot(normal, Vec3f(light_.direction())));
  const Vec3f pane = solid_color * (0.75f + 0.75f * facing);
  return mix(behind, pane, 0.14f + 0.3f * (1 - straight) * (1 - straight));
}

Vec3f Picture::background(int y) const {
  const float t = (static_cast<float>(y) + 0.5f) / static_cast<float>(view_.height());
  return mix(sky_top, sky_bottom, smooth(-0.15f, 0.85f, t));
}

// The ground fades into the background with distance, so that there is no horizon.
Vec3f Picture::ground_seen(int x, int y) const {
  const Vec3f behind = background(y);
  if (!settings_.show_ground) return behind;
  const Vec3d to_eye = view_.toward_viewer(x + 0.5, y + 0.5), eye = view_.unproject(x + 0.5, y + 0.5, 0);
  const double along = (eye.y - ground_) / to_eye.y;
  if (!(to_eye.y > 1e-4) || !(along > 0)) return behind;
  const Vec3d point = eye - to_eye * along;
  const double dx = point.x - box_.center().x, dz = point.z - box_.center().z;
  const float far = static_cast<float>(std::sqrt(dx * dx + dz * dz)) / radius_;
  const float presence = 1 - smooth(0.6f, 3.0f, far);
  if (presence <= 0) return behind;
  const float lit = light_.reaches_ground(point.x, point.z);
  const float open = 0.35f + 0.65f * openness(x, y, view_.project(point).z);
  const Vec3f light = key_color * (0.42f * lit) + sky_light * (0.38f * open * (0.55f + 0.45f * lit));
  return mix(behind, multiply(floor_color, light), presence * 0.92f);
}

Hit Picture::sphere_hit(std::size_t sphere, int x, int y, float depth) const {
  Hit hit;
  const float radius = std::max(things_.radius_of(sphere), 0.8f / view_.pixels_per_metre(depth));
  hit.point = view_.unproject(x + 0.5, y + 0.5, depth);
  const Vec3f outward = Vec3f(hit.point - things_.positions[sphere]) / radius;
  // Below two pixels a sphere's own shape is noise; it then faces the viewer.
  const float resolved = smooth(0.8f, 2.5f, radius * view_.pixels_per_metre(depth));
  hit.normal = normalized(mix(Vec3f(view_.toward_viewer(x + 0.5, y + 0.5)), outward, 0.35f + 0.5f * resolved));
  if (!points_.grain.empty() && points_.grain[sphere].x >= 0) {
    hit.albedo = points_.grain[sphere] * speckle(points_.grain[sphere], outward);
    hit.normal = normalized(mix(heap_normal(radius, x, y, depth), outward, 0.1f + 0.25f * resolved));
    hit.bias = std::max(3 * radius, 0.006f * radius_);
    return hit;
  }
  const float range = settings_.high - settings_.low;
  const std::vector<float>& value = points_.value;
  hit.albedo = speed_color(value.empty() || !(range > 0) ? 0.25f : (value[sphere] - settings_.low) / range);
  hit.gloss = 0.30f * resolved;
  hit.bias = std::max(3 * radius, 0.025f * radius_);
  return hit;
}

// Grains are too small to have a shape, but what they lie on has one: the normal of the surface through the places seen
// some grains to either side. Across an edge, the side that is as deep as the grain counts.
Vec3f Picture::heap_normal(float radius, int x, int y, float depth) const {
  const Vec3d here = view_.unproject(x + 0.5, y + 0.5, depth), to_eye = view_.toward_viewer(x + 0.5, y + 0.5);
  const float grain = radius * view_.pixels_per_metre(depth);
  const auto along = [&](int dx, int dy, double reach, Vec3d& tangent) {
    double nearest = reach;
    for (const int side : {-1, 1}) {
      const int i = x + side * dx, j = y + side * dy;
      if (i < 0 || j < 0 || i >= view_.width() || j >= view_.height()) continue;
      const std::size_t pixel =
          static_cast<std::size_t>(j) * static_cast<std::size_t>(view_.width()) + static_cast<std::size_t>(i);
      if (seen_.item[pixel] == nothing_seen || !(std::abs(seen_.depth[pixel] - depth) < nearest)) continue;
      nearest = std::abs(seen_.depth[pixel] - depth);
      tangent = (view_.unproject(i + 0.5, j + 0.5, seen_.depth[pixel]) - here) * side;
    }
    return nearest < reach;
  };
  Vec3d sum = to_eye * 0.05;
  for (const float grains : {3.0f, 5.0f, 8.0f}) {
    const int pixels = rounded(std::clamp(grains * grain, 2.0f, 60.0f));
    const double reach = 4.0 * pixels / view_.pixels_per_metre(depth);  // steeper is another thing behind this one
    Vec3d right, down;
    if (!along(pixels, 0, reach, right) || !along(0, pixels, reach, down)) continue;
    const Vec3d normal = normalized(cross(down, right));
    sum += dot(normal, to_eye) < 0 ? -normal : normal;
  }
  return Vec3f(normalized(sum));
}

Hit Picture::triangle_hit(std::size_t triangle, int x, int y, float depth) const {
  std::size_t solid = 0;
  while (triangle >= first_triangle_[solid + 1]) ++solid;
  const TriangleMesh& mesh = things_.solids[solid];
  const Vec3i& t = mesh.triangles[triangle - first_triangle_[solid]];
  const auto at = [](int i) { return static_cast<std::size_t>(i); };
  const Vec3d &a = mesh.positions[at(t.x)], &b = mesh.positions[at(t.y)], &c = mesh.positions[at(t.z)];
  Hit hit;
  hit.point = view_.unproject(x + 0.5, y + 0.5, depth);
  const Vec3d face = cross(b - a, c - a);
  const double area = std::max(1e-300, dot(face, face));
  const double wb = dot(cross(hit.point - a, c - a), face) / area, wc = dot(cross(b - a, hit.point - a), face) / area;
  const Vec3f flat = Vec3f(normalized(face));
  const auto corner = [&](int i) {  // a crease keeps its edge
    const Vec3f& normal = normals_[solid][at(i)];
    return dot(normal, flat) > 0.75f ? normal : flat;
  };
  hit.normal = normalized(corner(t.x) * static_cast<float>(1 - wb - wc) + corner(t.y) * static_cast<float>(wb) +
                          corner(t.z) * static_cast<float>(wc));
  if (dot(hit.normal, Vec3f(view_.toward_viewer(x + 0.5, y + 0.5))) < 0) hit.normal = -hit.normal;
  hit.albedo = solid_color;
  hit.gloss = 0.06f;
  hit.bias = 0.02f * radius_;
  return hit;
}

// How much of the surroundings is not hidden by what stands in front nearby, from the depths around a pixel.
float Picture::openness(int x, int y, float depth) const {
  static constexpr std::array<std::array<float, 2>, 8> ring{{{1, 0},
                                                             {0.7071f, 0.7071f},
                                                             {0, 1},
                                                             {-0.7071f, 0.7071f},
                                                             {-1, 0},
                                                             {-0.7071f, -0.7071f},
                                                             {0, -1},
                                                             {0.7071f, -0.7071f}}};
  const float reach = 0.07f * radius_, pixels = std::clamp(reach * view_.pixels_per_metre(depth), 3.0f, 90.0f);
  float hidden = 0, total = 0;
  for (const float step : {0.22f, 0.55f, 1.0f})
    for (const auto& [u, v] : ring) {
      const int i = x + rounded(u * step * pixels), j = y + rounded(v * step * pixels);
      if (i < 0 || j < 0 || i >= view_.width() || j >= view_.height()) continue;
      const float before = (depth - seen_.depth[static_cast<std::size_t>(j) * static_cast<std::size_t>(view_.width()) +
                                                static_cast<std::size_t>(i)]) /
                           reach;
      total += 1;
      if (before > 0) hidden += std::min(1.0f, before / step) * (1 - smooth(1.0f, 3.0f, before));
    }
  return total > 0 ? 1 - hidden / total : 1;
}

Vec3f Picture::shade(const Hit& hit, const Vec3f& to_eye, float open) const {
  const Vec3f to_light(light_.direction());
  const float facing = dot(hit.normal, to_light), lit = light_.reaches(hit.point, hit.bias);
  const float wrapped = std::max(0.0f, (facing + 0.25f) / 1.25f);
  const Vec3f around = mix(ground_light, sky_light, 0.5f + 0.5f * hit.normal.y) * (open * open);
  Vec3f color = multiply(hit.albedo, key_color * (wrapped * (0.12f + 0.88f * lit)) + around);
  const float shine = std::max(0.0f, dot(hit.normal, normalized(to_light + to_eye)));
  color += key_color * (hit.gloss * lit * std::pow(shine, 40.0f));
  const float rim = 1 - std::max(0.0f, dot(hit.normal, to_eye));
  return color + sky_light * (0.5f * hit.gloss * open * rim * rim * rim);
}

Vec3f Picture::sample(int x, int y) const {
  const std::size_t pixel =
      static_cast<std::size_t>(y) * static_cast<std::size_t>(view_.width()) + static_cast<std::size_t>(x);
  const std::size_t item = seen_.item[pixel], spheres = things_.positions.size();
  Vec3f color;
  if (item == nothing_seen) {
    color = ground_seen(x, y);
  } else {
    const float depth = seen_.depth[pixel];
    const Hit hit = item < spheres ? sphere_hit(item, x, y, depth) : triangle_hit(item - spheres, x, y, depth);
    color = shade(hit, Vec3f(view_.toward_viewer(x + 0.5, y + 0.5)), openness(x, y, depth));
  }
  if (!glass_.item.empty() && glass_.item[pixel] != nothing_seen && glass_.depth[pixel] < seen_.depth[pixel])
    color = through_glass(color, pixel, x, y);
  if (!outline_.empty()) color = mix(color, sky_light, 0.55f * outline_[pixel]);
  // Darkens corners a little and bends highlights so that they do not clip.
  const float u = (static_cast<float>(x) / static_cast<float>(view_.width()) - 0.5f),
              v = (static_cast<float>(y) / static_cast<float>(view_.height()) - 0.5f);
  color *= 1 - 0.45f * (u * u + v * v);
  constexpr float white = 2.2f;
  for (int i = 0; i < 3; ++i) color[i] = color[i] * (1 + color[i] / (white * white)) / (1 + 0.55f * color[i]);
  return color;
}

}  // namespace

Box framing_box(const std::vector<Vec3d>& positions) {
  constexpr double left_out = 0.0005;
  Box box;
  std::vector<double> along;
  for (int axis = 0; axis < 3; ++axis) {
    along.clear();
    for (const Vec3d& p : positions)
      if (is_finite(p)) along.push_back(p[axis]);
    if (along.empty()) return {};
    const auto low = along.begin() + static_cast<std::ptrdiff_t>(left_out * static_cast<double>(along.size()));
    const auto high = along.end() - 1 - (low - along.begin());
    std::nth_element(along.begin(), low, along.end());
    box.min[axis] = *low;
    std::nth_element(along.begin(), high, along.end());
    box.max[axis] = *high;
  }
  return box;
}

Image render_points(const ShownPoints& points, const std::vector<TriangleMesh>& solids, const ViewSettings& settings) {
  const std::size_t count = points.positions.size();
  AEGIR_ASSERT(points.value.empty() || points.value.size() == count, "values of a picture do not match its positions");
  AEGIR_ASSERT(points.grain.empty() || points.grain.size() == count, "grains of a picture do not match its positions");
  AEGIR_ASSERT(points.radius.size() <= 1 || points.radius.size() == count,
               "radii of a picture do not match its positions");
  AEGIR_ASSERT(settings.width > 0 && settings.height > 0, "a picture needs pixels");
  ViewSettings complete = settings;
  complete_range(points.value, complete);
  if (points.value.empty()) complete.legend.clear();
  VisibleThings things{points.positions, points.radius, solids};
  Box box = settings.bounds.empty() ? framing_box(points.positions) : settings.bounds;
  if (settings.bounds.empty())
    for (const TriangleMesh& mesh : solids) box.add(mesh.bounds());
  if (box.empty()) box = {{-0.5, 0, -0.5}, {0.5, 1, 0.5}};
  box = box.grown(1e-3 * length(box.size()) + 1e-6);
  const std::vector<float> default_radius{static_cast<float>(0.004 * length(box.size()))};
  if (points.radius.empty()) things.radius = default_radius;

  const double aspect = static_cast<double>(settings.width) / settings.height;
  const Camera camera = settings.camera ? *settings.camera : fit_camera(box, aspect, settings.direction);
  const View view = View::perspective(camera, samples * settings.width, samples * settings.height);
  const Picture picture(things, points, complete, box, view);

  Image image(settings.width, settings.height);
  parallel_for(0, static_cast<std::size_t>(settings.height), 8, [&](std::size_t begin, std::size_t end) {
    for (int y = static_cast<int>(begin); y < static_cast<int>(end); ++y)
      for (int x = 0; x < settings.width; ++x) {
        Vec3f sum;
        for (int j = 0; j < samples; ++j)
          for (int i = 0; i < samples; ++i) sum += picture.sample(samples * x + i, samples * y + j);
        image.at(x, y) = to_color(sum / (samples * samples), x, y);
      }
  });
  draw_captions(image, complete);
  return image;
}

}  // namespace aegir
