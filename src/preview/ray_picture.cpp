#include "preview/ray_picture.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/assert.h"
#include "io/vdb_volumes.h"
#include "parallel/threads.h"
#include "preview/outline.h"
#include "preview/overlay.h"
#include "preview/tracer.h"

namespace aegir {
namespace {

constexpr int tile = 32;                  // pixels
constexpr std::size_t first_samples = 4;  // of every pixel

// Places in a pixel: a 4×4 pattern turned a little, so that no two share a row or a column; the first four lie in
// different quarters.
constexpr std::array<std::array<float, 2>, 16> places{{{0.219f, 0.281f},
                                                       {0.719f, 0.219f},
                                                       {0.281f, 0.781f},
                                                       {0.781f, 0.719f},
                                                       {0.031f, 0.094f},
                                                       {0.531f, 0.031f},
                                                       {0.094f, 0.594f},
                                                       {0.594f, 0.531f},
                                                       {0.406f, 0.156f},
                                                       {0.906f, 0.094f},
                                                       {0.469f, 0.656f},
                                                       {0.969f, 0.594f},
                                                       {0.156f, 0.469f},
                                                       {0.656f, 0.406f},
                                                       {0.344f, 0.969f},
                                                       {0.844f, 0.906f}}};

// How many samples a pixel gets after the first ones differed by so much.
std::size_t samples_for(float contrast) { return contrast > 0.30f ? 16 : contrast > 0.10f ? 8 : first_samples; }

float luminance(const Vec3f& c) { return 0.2126f * c.x + 0.7152f * c.y + 0.0722f * c.z; }

// Differs between neighbouring pixels as much as possible, so that what is left of it looks even.
float pixel_noise(int x, int y, std::size_t sample) {
  const float inner = 0.06711056f * static_cast<float>(x) + 0.00583715f * static_cast<float>(y);
  const float n = 52.9829189f * (inner - std::floor(inner)) + 0.61803399f * static_cast<float>(sample);
  return n - std::floor(n);
}

// Rays of a view, relative to the scene's origin.
class Eye {
 public:
  Eye(const View& view, const Vec3d& origin) : view_(view), origin_(origin) {}

  SceneRay ray(double x, double y) const {
    return {Vec3f(view_.unproject(x, y, 0) - origin_), Vec3f(-view_.toward_viewer(x, y))};
  }
  float depth(const SceneRay& ray, float t) const {
    return view_.project(Vec3d(ray.origin + ray.direction * t) + origin_).z;
  }
  float spread() const { return 1 / view_.pixels_per_metre(1); }

 private:
  const View& view_;
  Vec3d origin_;
};

// Light per pixel, and depths of the first samples at twice the resolution.
struct Raster {
  int width, height;
  std::vector<Vec3f> light;
  Visibility seen;

  Raster(int w, int h) : width(w), height(h), light(static_cast<std::size_t>(w) * static_cast<std::size_t>(h)) {
    seen.depth.assign(4 * light.size(), 3e38f);
  }
};

void trace_pixel(int x, int y, const Eye& eye, const Tracer& tracer, Raster& raster) {
  // Corners are darkened a little.
  const float u = static_cast<float>(x) / static_cast<float>(raster.width) - 0.5f,
              v = static_cast<float>(y) / static_cast<float>(raster.height) - 0.5f, shade = 1 - 0.5f * (u * u + v * v);
  Vec3f sum;
  float least = 1e30f, most = -1e30f;
  std::size_t taken = 0;
  const auto take = [&](std::size_t s) {
    const SceneRay ray = eye.ray(static_cast<double>(x) + places[s][0], static_cast<double>(y) + places[s][1]);
    const float turn = 0.61803399f * static_cast<float>(s);
    const Seen seen = tracer.seen(ray, eye.spread(), {turn - std::floor(turn), pixel_noise(x, y, s)});
    const Vec3f shown = tone(seen.light * shade);
    const float bright = std::sqrt(luminance(shown));
    least = std::min(least, bright), most = std::max(most, bright);
    sum += shown, ++taken;
    if (s < first_samples && seen.t < 1e29f)
      raster.seen.depth[static_cast<std::size_t>(2 * y + static_cast<int>(s / 2)) *
                            static_cast<std::size_t>(2 * raster.width) +
                        static_cast<std::size_t>(2 * x + static_cast<int>(s % 2))] = eye.depth(ray, seen.t);
  };
  for (std::size_t s = 0; s < first_samples; ++s) take(s);
  const std::size_t wanted = samples_for(most - least);
  for (std::size_t s = first_samples; s < wanted; ++s) take(s);
  raster.light[static_cast<std::size_t>(y) * static_cast<std::size_t>(raster.width) + static_cast<std::size_t>(x)] =
      sum / static_cast<float>(taken);
}

void trace_tiles(const Eye& eye, const Tracer& tracer, Raster& raster) {
  const int columns = (raster.width + tile - 1) / tile, rows = (raster.height + tile - 1) / tile;
  parallel_for(0, static_cast<std::size_t>(columns * rows), 1, [&](std::size_t begin, std::size_t end) {
    for (int t = static_cast<int>(begin); t < static_cast<int>(end); ++t) {
      const int x0 = t % columns * tile, y0 = t / columns * tile;
      for (int y = y0; y < std::min(y0 + tile, raster.height); ++y)
        for (int x = x0; x < std::min(x0 + tile, raster.width); ++x) trace_pixel(x, y, eye, tracer, raster);
    }
  });
}

void draw_outline(const Camera& camera, const Box& box, Raster& raster) {
  const View fine = View::perspective(camera, 2 * raster.width, 2 * raster.height);
  const std::vector<float> lines = find_outline(fine, box, raster.seen);
  constexpr Vec3f ink{0.93f, 0.96f, 1.0f};
  const std::size_t width = static_cast<std::size_t>(raster.width);
  for (std::size_t i = 0; i < raster.light.size(); ++i) {
    const std::size_t corner = i / width * 4 * width + i % width * 2;
    const float strength =
        0.25f * (lines[corner] + lines[corner + 1] + lines[corner + 2 * width] + lines[corner + 2 * width + 1]);
    if (strength > 0) raster.light[i] = blend(raster.light[i], ink, 0.5f * strength);
  }
}

// The box of everything shown, where none is given.
Box shown_box(const ShownScene& scene, const ViewSettings& settings) {
  Box box = settings.bounds;
  if (box.empty()) {
    box = framing_box(scene.positions);
    for (const ShownSurface& surface : scene.surfaces)
      for (const Vec3d& p : surface.mesh.positions)
        if (is_finite(p)) box.add(p);
    for (const TriangleMesh& solid : scene.solids) box.add(solid.bounds());
    for (const auto& fog : scene.fog)
      if (!fog->bounds().empty()) box.add(fog->bounds());
  }
  if (box.empty()) box = {{-0.5, 0, -0.5}, {0.5, 1, 0.5}};
  return box.grown(1e-3 * length(box.size()) + 1e-6);
}

}  // namespace

Result<Image> render_scene(const ShownScene& scene, const ViewSettings& settings) {
  AEGIR_ASSERT(scene.value.empty() || scene.value.size() == scene.positions.size(),
               "values of a picture do not match its positions");
  AEGIR_ASSERT(scene.grain.empty() || scene.grain.size() == scene.positions.size(),
               "grains of a picture do not match its positions");
  AEGIR_ASSERT(scene.positions.empty() || scene.radius.size() == 1 || scene.radius.size() == scene.positions.size(),
               "radii of a picture do not match its positions");
  AEGIR_ASSERT(settings.width > 0 && settings.height > 0, "a picture needs pixels");
  ViewSettings complete = settings;
  bool coloured = !scene.value.empty();
  std::vector<float> values = scene.value;
  for (const ShownSurface& surface : scene.surfaces)
    if (surface.look == SurfaceLook::matte && !surface.value.empty()) {
      AEGIR_ASSERT(surface.value.size() == surface.mesh.positions.size(),
                   "values of a surface do not match its vertices");
      values.insert(values.end(), surface.value.begin(), surface.value.end());
      coloured = true;
    }
  for (const ShownSurface& surface : scene.surfaces)
    for (const auto* each : {&surface.grain, &surface.rest})
      AEGIR_ASSERT(each->empty() || each->size() == surface.mesh.positions.size(),
                   "grains of a surface do not match its vertices");
  complete_range(values, complete);
  if (!coloured) complete.legend.clear();
  complete.bounds = shown_box(scene, settings);
  const double aspect = static_cast<double>(settings.width) / settings.height;
  const Camera camera = settings.camera ? *settings.camera : fit_camera(complete.bounds, aspect, settings.direction);
  const View view = View::perspective(camera, settings.width, settings.height);
  const Environment around(view, complete.bounds, settings.ground.value_or(complete.bounds.min.y),
                           settings.show_ground);

  const Result<TracedScene> traced = TracedScene::create(scene, complete, around.origin());
  if (!traced) return traced.error();
  const WaterOptics water = scaled_water(around.radius());
  const GroundLight floor_light(*traced, around, water, complete.bounds);
  const FogVolumes fog(scene.fog, around);
  Raster raster(settings.width, settings.height);
  trace_tiles(Eye(view, around.origin()), Tracer(*traced, around, floor_light, water, fog), raster);
  if (!settings.outline.empty()) draw_outline(camera, settings.outline, raster);

  Image image(settings.width, settings.height);
  for (int y = 0; y < settings.height; ++y)
    for (int x = 0; x < settings.width; ++x)
      image.at(x, y) = to_color(raster.light[static_cast<std::size_t>(y) * static_cast<std::size_t>(settings.width) +
                                             static_cast<std::size_t>(x)],
                                x, y);
  draw_captions(image, complete);
  return image;
}

}  // namespace aegir
