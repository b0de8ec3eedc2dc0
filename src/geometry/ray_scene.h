// Many rays, in single precision, against triangles and spheres: for pictures, where a ray that misses a seam by a
// millionth of the scene does no harm. Queries that must not be wrong ask a Surface.
//
//   RayScene scene(box.center());
//   int water = scene.add_mesh(mesh.positions, mesh.triangles);
//   if (Status built = scene.build(); !built) return built.error();
//   RaySceneHit hit;
//   if (scene.first({origin, direction}, hit)) shade(hit.thing, hit.primitive);   // from many threads
#pragma once

#include <limits>
#include <memory>
#include <span>

#include "base/result.h"
#include "base/vec.h"

namespace aegir {

/// A segment origin + t direction, t in [nearest, farthest], relative to the scene's origin; the direction has length
/// one.
struct SceneRay {
  Vec3f origin, direction;
  float nearest = 0, farthest = std::numeric_limits<float>::infinity();
};

struct RaySceneHit {
  float t = 0;
  Vec3f normal;        ///< of the triangle or sphere, of length one, not turned towards the ray
  int thing = -1;      ///< as returned when it was added
  int primitive = 0;   ///< triangle or sphere
  float u = 0, v = 0;  ///< weights of a triangle's second and third corner
};

class RayScene {
 public:
  explicit RayScene(const Vec3d& origin);
  ~RayScene();
  RayScene(RayScene&&) noexcept;
  RayScene& operator=(RayScene&&) noexcept;

  /// Adds triangles; nothing of what is given needs to live on. Returns the thing's number.
  int add_mesh(std::span<const Vec3d> positions, std::span<const Vec3i> triangles);
  /// Adds spheres; `radius` holds one for all or one each.
  int add_spheres(std::span<const Vec3d> centers, std::span<const float> radius);
  /// Builds the search tree over everything that was added.
  Status build();

  /// Whether nothing was added.
  bool empty() const;
  /// The point that rays are relative to.
  const Vec3d& origin() const;
  /// The nearest thing along a ray.
  bool first(const SceneRay& ray, RaySceneHit& hit) const;
  /// Whether anything is in the way.
  bool blocked(const SceneRay& ray) const;

 private:
  struct Tree;
  std::unique_ptr<Tree> tree_;
};

}  // namespace aegir
