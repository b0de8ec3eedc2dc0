#include "preview/traced_scene.h"

#include <algorithm>
#include <cmath>

#include "parallel/threads.h"
#include "preview/color_map.h"
#include "preview/grains.h"
#include "preview/vertex_normals.h"

namespace aegir {
namespace {

constexpr Vec3f solid_color{0.56f, 0.52f, 0.47f}, matte_color{0.60f, 0.47f, 0.31f}, drop_color{0.72f, 0.80f, 0.84f};
constexpr float grain_light = 1.3f;           // on colours of grains, so that sand is as light as in pictures of points
constexpr std::size_t dense_vertices = 4000;  // from here on, openness per vertex is fine enough

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// Triangles whose corners are all numbers.
std::vector<Vec3i> usable_triangles(const TriangleMesh& mesh) {
  std::vector<Vec3i> usable;
  usable.reserve(mesh.triangles.size());
  for (const Vec3i& t : mesh.triangles)
    if (is_finite(mesh.positions[at(t.x)]) && is_finite(mesh.positions[at(t.y)]) && is_finite(mesh.positions[at(t.z)]))
      usable.push_back(t);
  return usable;
}

float median_edge(const TriangleMesh& mesh, const std::vector<Vec3i>& triangles) {
  std::vector<float> lengths;
  const std::size_t stride = std::max<std::size_t>(1, triangles.size() / 4096);
  for (std::size_t i = 0; i < triangles.size(); i += stride)
    lengths.push_back(
        static_cast<float>(length(mesh.positions[at(triangles[i].x)] - mesh.positions[at(triangles[i].y)])));
  if (lengths.empty()) return 0;
  const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
  std::nth_element(lengths.begin(), middle, lengths.end());
  return *middle;
}

// Particles rest against a wall with a bumpy skin, half a spacing off. Behind glass that would look like ice: vertices
// near a side of the box whose normal points there are moved onto it.
void press_against(const Box& walls, float reach, const std::vector<Vec3f>& normals, std::vector<Vec3d>& positions) {
  for (std::size_t i = 0; i < positions.size(); ++i)
    for (int a = 0; a < 3; ++a) {
      const Vec3d& p = positions[i];
      if (std::abs(p[a] - walls.min[a]) < reach && normals[i][a] < -0.15f) positions[i][a] = walls.min[a];
      if (std::abs(p[a] - walls.max[a]) < reach && normals[i][a] > 0.15f) positions[i][a] = walls.max[a];
    }
}

// Directions over the half sphere around +z with the density of cosine, in a spiral that fills it evenly.
Vec3f cosine_direction(int i, int count) {
  const float u = (static_cast<float>(i) + 0.5f) / static_cast<float>(count);
  const float angle = 2.3999632f * static_cast<float>(i), r = std::sqrt(u);
  return {r * std::cos(angle), r * std::sin(angle), std::sqrt(1 - u)};
}

}  // namespace

Result<TracedScene> TracedScene::create(const ShownScene& shown, const ViewSettings& settings, const Vec3d& origin) {
  TracedScene scene(origin);
  Box box = settings.bounds;
  scene.offset_ = static_cast<float>(2e-5 * length(box.size()));
  scene.add_surfaces(shown, settings);
  scene.add_solids(shown, settings.glass);
  scene.add_points(shown, settings.low, settings.high);
  for (RayScene* part : {&scene.water_, &scene.opaque_, &scene.glass_})
    if (Status built = part->build(); !built) return built.error();
  scene.find_openness(shown, static_cast<float>(0.06 * length(box.size())));
  return scene;
}

void TracedScene::add_surfaces(const ShownScene& shown, const ViewSettings& settings) {
  const float low = settings.low, high = settings.high;
  const Box& walls = settings.outline;
  for (std::size_t s = 0; s < shown.surfaces.size(); ++s) {
    const ShownSurface& surface = shown.surfaces[s];
    Mesh mesh;
    mesh.triangles = usable_triangles(surface.mesh);
    if (mesh.triangles.empty()) continue;
    mesh.normal = vertex_normals(surface.mesh);
    mesh.color = matte_color;
    mesh.creases = surface.mesh.positions.size() < dense_vertices;  // a coarse mesh means its edges
    if (surface.look == SurfaceLook::water) {
      // Large triangles say nothing about the particles behind them.
      const float largest = static_cast<float>(0.015 * length(settings.bounds.size()));
      const float detail = std::min(largest, median_edge(surface.mesh, mesh.triangles));
      water_detail_ = std::max(water_detail_, detail);
      TriangleMesh pressed{surface.mesh.positions, mesh.triangles, {}};
      if (!walls.empty()) {
        press_against(walls, 3 * detail, mesh.normal, pressed.positions);
        mesh.normal = vertex_normals(pressed);
        mesh.pressed = true;
      }
      water_.add_mesh(pressed.positions, pressed.triangles);
      water_mesh_.push_back(std::move(mesh));
      continue;
    }
    mesh.gloss = surface.grain.empty() ? 0.02f : 0;
    mesh.albedo = surface.grain;
    for (Vec3f& color : mesh.albedo) color *= grain_light;
    mesh.rest = surface.rest;
    const float speckles = 3 / std::max(1e-6f, median_edge(surface.mesh, mesh.triangles));  // per metre
    for (Vec3f& rest : mesh.rest) rest *= speckles;
    if (surface.grain.empty() && !surface.value.empty() && high > low) {
      mesh.albedo.resize(surface.mesh.positions.size());
      for (std::size_t i = 0; i < mesh.albedo.size(); ++i)
        mesh.albedo[i] = speed_color((surface.value[i] - low) / (high - low));
    }
    opaque_.add_mesh(surface.mesh.positions, mesh.triangles);
    mesh_of_.push_back(static_cast<int>(opaque_mesh_.size()));
    if (surface.mesh.positions.size() >= dense_vertices) dense_.push_back({s, opaque_mesh_.size()});
    opaque_mesh_.push_back(std::move(mesh));
  }
}

void TracedScene::add_solids(const ShownScene& shown, const std::vector<TriangleMesh>& panes) {
  for (const TriangleMesh& solid : shown.solids) {
    Mesh mesh;
    mesh.triangles = usable_triangles(solid);
    if (mesh.triangles.empty()) continue;
    mesh.normal = vertex_normals(solid);
    mesh.color = solid_color;
    mesh.gloss = 0.06f;
    mesh.creases = true;
    opaque_.add_mesh(solid.positions, mesh.triangles);
    mesh_of_.push_back(static_cast<int>(opaque_mesh_.size()));
    opaque_mesh_.push_back(std::move(mesh));
  }
  for (const TriangleMesh& pane : panes)
    if (const std::vector<Vec3i> triangles = usable_triangles(pane); !triangles.empty())
      glass_.add_mesh(pane.positions, triangles);
}

void TracedScene::add_points(const ShownScene& shown, float low, float high) {
  std::vector<Vec3d> centers;
  std::vector<float> radii;
  for (std::size_t i = 0; i < shown.positions.size(); ++i) {
    const float radius = shown.radius[shown.radius.size() == 1 ? 0 : i];
    if (!is_finite(shown.positions[i]) || !(radius > 0) || !std::isfinite(radius)) continue;
    centers.push_back(shown.positions[i]);
    radii.push_back(radius);
    if (!shown.grain.empty() && shown.grain[i].x >= 0)
      sphere_.push_back({shown.grain[i] * grain_light, true});
    else
      sphere_.push_back(
          {shown.value.empty() || !(high > low) ? drop_color : speed_color((shown.value[i] - low) / (high - low))});
  }
  if (centers.empty()) return;
  opaque_.add_spheres(centers, radii);
  mesh_of_.push_back(-1);
}

// Dense meshes get the share of their surroundings that each vertex sees once, from the same directions everywhere, and
// averaged with their neighbours: no noise. About 16 rays per vertex.
void TracedScene::find_openness(const ShownScene& shown, float reach) {
  constexpr int rays = 16;
  for (const Dense& dense : dense_) {
    const TriangleMesh& from = shown.surfaces[dense.surface].mesh;
    Mesh& mesh = opaque_mesh_[dense.mesh];
    std::vector<float> open(from.positions.size());
    parallel_for(0, open.size(), 256, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const Vec3f n = mesh.normal[i], point = Vec3f(from.positions[i] - opaque_.origin());
        if (!is_finite(point)) continue;
        const Vec3f side = normalized(std::abs(n.x) < 0.6f ? cross(n, Vec3f{1, 0, 0}) : cross(n, Vec3f{0, 1, 0}));
        const Vec3f other = cross(n, side);
        int free = 0;
        for (int k = 0; k < rays; ++k) {
          const Vec3f d = cosine_direction(k, rays);
          free += !opaque_.blocked({point + n * (20 * offset_), side * d.x + other * d.y + n * d.z, 0, reach});
        }
        open[i] = static_cast<float>(free) / rays;
      }
    });
    mesh.open.assign(open.size(), 0);
    std::vector<float> weight(open.size(), 0);
    for (const Vec3i& t : mesh.triangles) {
      const float sum = open[at(t.x)] + open[at(t.y)] + open[at(t.z)];
      for (int k = 0; k < 3; ++k) mesh.open[at(t[k])] += sum, weight[at(t[k])] += 3;
    }
    for (std::size_t i = 0; i < open.size(); ++i)
      if (weight[i] > 0) mesh.open[i] /= weight[i];
  }
}

void TracedScene::complete(const Mesh& mesh, const RaySceneHit& found, SurfaceHit& hit) {
  const Vec3i& t = mesh.triangles[at(found.primitive)];
  const float w = 1 - found.u - found.v;
  const auto corner = [&](int i) {  // a crease keeps its edge
    const Vec3f& n = mesh.normal[at(i)];
    return mesh.creases && dot(n, found.normal) < 0.75f ? found.normal : n;
  };
  hit.flat = found.normal;
  hit.normal = normalized(corner(t.x) * w + corner(t.y) * found.u + corner(t.z) * found.v);
  const float along_axis = std::max({std::abs(hit.flat.x), std::abs(hit.flat.y), std::abs(hit.flat.z)});
  if (mesh.pressed && along_axis > 0.99999f) hit.normal = hit.flat;
  if (!(dot(hit.normal, hit.flat) > 0.1f)) hit.normal = normalized(hit.normal + hit.flat * 1.5f);
  hit.albedo = mesh.albedo.empty()
                   ? mesh.color
                   : mesh.albedo[at(t.x)] * w + mesh.albedo[at(t.y)] * found.u + mesh.albedo[at(t.z)] * found.v;
  if (!mesh.rest.empty()) {
    const Vec3f place = mesh.rest[at(t.x)] * w + mesh.rest[at(t.y)] * found.u + mesh.rest[at(t.z)] * found.v;
    hit.albedo *= speckle(place);
    const Vec3f rough = normalized(hit.normal + roughness(place) * 0.35f);
    if (dot(rough, hit.flat) > 0.2f) hit.normal = rough;
  }
  hit.gloss = mesh.gloss;
  hit.open =
      mesh.open.empty() ? -1 : mesh.open[at(t.x)] * w + mesh.open[at(t.y)] * found.u + mesh.open[at(t.z)] * found.v;
}

bool TracedScene::water(const SceneRay& ray, SurfaceHit& hit) const {
  RaySceneHit found;
  if (!water_.first(ray, found)) return false;
  hit.t = found.t;
  hit.point = ray.origin + ray.direction * found.t;
  complete(water_mesh_[at(found.thing)], found, hit);
  return true;
}

bool TracedScene::opaque(const SceneRay& ray, SurfaceHit& hit) const {
  RaySceneHit found;
  if (!opaque_.first(ray, found)) return false;
  hit.t = found.t;
  hit.point = ray.origin + ray.direction * found.t;
  if (const int mesh = mesh_of_[at(found.thing)]; mesh >= 0) {
    complete(opaque_mesh_[at(mesh)], found, hit);
  } else {
    hit.flat = hit.normal = found.normal;
    const Sphere& sphere = sphere_[at(found.primitive)];
    hit.albedo = sphere.grain ? sphere.color * speckle(sphere.color, found.normal) : sphere.color;
    hit.gloss = sphere.grain ? 0 : 0.25f;
    hit.open = sphere.grain ? -1.0f : 1.0f;
  }
  return true;
}

bool TracedScene::glass(const SceneRay& ray, SurfaceHit& hit) const {
  RaySceneHit found;
  if (!glass_.first(ray, found)) return false;
  hit.t = found.t;
  hit.point = ray.origin + ray.direction * found.t;
  hit.flat = hit.normal = found.normal;
  return true;
}

}  // namespace aegir
