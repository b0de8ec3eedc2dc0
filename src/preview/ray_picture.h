// A ray-traced picture of surfaces, particles and solids: water that mirrors, bends and swallows light, or matte
// surfaces, under a sky and over a floor on which shadows and caustics fall.
//
//   ShownScene scene;
//   scene.surfaces.push_back({std::move(mesh), SurfaceLook::water});
//   ViewSettings settings;
//   settings.bounds = box_of_all_frames;                         // the camera stands still over a sequence
//   Result<Image> picture = render_scene(scene, settings);
#pragma once

#include <memory>
#include <vector>

#include "geometry/mesh.h"
#include "preview/image.h"
#include "preview/points.h"

namespace aegir {

class VolumeField;

enum class SurfaceLook { water, matte };

/// A closed surface; matte ones are coloured by `value` or `grain` where one is given, one per vertex.
struct ShownSurface {
  TriangleMesh mesh;
  SurfaceLook look = SurfaceLook::water;
  std::vector<float> value{};
  std::vector<Vec3f> grain{};  ///< colours, linear light
  std::vector<Vec3f> rest{};   ///< of grains, where they were born: for speckles; empty: none
};

/// Everything a picture shows. Particles without a value and that are no grains are drops of water.
struct ShownScene : ShownPoints {
  std::vector<ShownSurface> surfaces{};
  std::vector<TriangleMesh> solids{};
  std::vector<std::shared_ptr<const VolumeField>> fog{};  ///< densities, drawn as smoke
};

/// Renders on the threads of the enclosing scope; the same input gives the same picture on any number of them.
///
/// Vessels (`settings.glass`) are drawn as panes. Particles and vertices that are not finite are left out.
Result<Image> render_scene(const ShownScene& scene, const ViewSettings& settings);

}  // namespace aegir
