// Everything a ray-traced picture shows, ready for rays: water apart from what is opaque, normals and colours at hits.
//
//   Result<TracedScene> scene = TracedScene::create(shown, settings, box.center());
//   SurfaceHit hit;
//   if (scene->opaque(ray, hit)) shade(hit.normal, hit.albedo);
#pragma once

#include <optional>
#include <vector>

#include "geometry/mesh.h"
#include "geometry/ray_scene.h"
#include "preview/ray_picture.h"

namespace aegir {

/// Where a ray meets something, relative to the scene's origin.
struct SurfaceHit {
  float t = 0;
  Vec3f point;
  Vec3f flat;    ///< normal of the triangle, outwards
  Vec3f normal;  ///< smooth, outwards
  Vec3f albedo;  ///< opaque things
  float gloss = 0;
  float open = -1;  ///< share of the surroundings that is seen, where it is known beforehand; below 0: ask
};

class TracedScene {
 public:
  /// The settings' bounds are those of the picture, `low` and `high` its range of values.
  static Result<TracedScene> create(const ShownScene& shown, const ViewSettings& settings, const Vec3d& origin);

  /// The first crossing with a water surface.
  bool water(const SceneRay& ray, SurfaceHit& hit) const;
  /// The first opaque thing.
  bool opaque(const SceneRay& ray, SurfaceHit& hit) const;
  /// The first pane of glass.
  bool glass(const SceneRay& ray, SurfaceHit& hit) const;
  bool opaque_blocks(const SceneRay& ray) const { return opaque_.blocked(ray); }
  bool water_blocks(const SceneRay& ray) const { return water_.blocked(ray); }

  bool has_water() const { return !water_.empty(); }
  bool has_opaque() const { return !opaque_.empty(); }
  bool has_glass() const { return !glass_.empty(); }
  /// Typical length of a water triangle's edge, which is about the size of a voxel.
  float water_detail() const { return water_detail_; }
  /// Offset that keeps a ray from meeting again what it starts on.
  float offset() const { return offset_; }

 private:
  /// What is known at the vertices of a mesh.
  struct Mesh {
    std::vector<Vec3i> triangles;
    std::vector<Vec3f> normal;
    std::vector<Vec3f> albedo;  ///< empty: one colour
    std::vector<float> open;    ///< empty: not known
    std::vector<Vec3f> rest;    ///< of sand, in speckles; empty: smooth
    Vec3f color;
    float gloss = 0;
    bool creases = false;  ///< keeps edges sharp
    bool pressed = false;  ///< against walls: what lies along an axis is flat
  };

  /// What a particle looks like.
  struct Sphere {
    Vec3f color;
    bool grain = false;  ///< dull, and shaded by the others around it
  };

  /// An opaque mesh whose openness is kept per vertex.
  struct Dense {
    std::size_t surface, mesh;  ///< number in what is shown, and in opaque_mesh_
  };

  explicit TracedScene(const Vec3d& origin) : water_(origin), opaque_(origin), glass_(origin) {}
  void add_surfaces(const ShownScene& shown, const ViewSettings& settings);
  void add_solids(const ShownScene& shown, const std::vector<TriangleMesh>& panes);
  void add_points(const ShownScene& shown, float low, float high);
  void find_openness(const ShownScene& shown, float reach);
  static void complete(const Mesh& mesh, const RaySceneHit& found, SurfaceHit& hit);

  RayScene water_, opaque_, glass_;
  std::vector<Mesh> water_mesh_, opaque_mesh_;
  std::vector<int> mesh_of_;  ///< per opaque thing; -1 for spheres
  std::vector<Sphere> sphere_;
  std::vector<Dense> dense_;
  float water_detail_ = 0, offset_ = 1e-5f;
};

}  // namespace aegir
