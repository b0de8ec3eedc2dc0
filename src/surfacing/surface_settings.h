// What a surface is made with: method, sizes, filters.
//
//   SurfaceSettings settings;                    // ellipsoids, voxels of half a particle spacing
//   settings.method = SurfaceMethod::zhu_bridson;
//   settings.filters = {{.kind = FilterKind::gaussian, .width = 2}};
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace aegir {

enum class SurfaceMethod { spheres, zhu_bridson, solenthaler, ellipsoids };

enum class FilterKind { mean, gaussian, median, mean_curvature, dilate, erode };

/// Where a filter works: fully where a quantity is at `full`, not at all where it is at `none`.
struct FilterMask {
  std::string attribute;  ///< of the particles; the length of vectors
  std::string volume;     ///< VDB file; level sets count 1 inside and 0 outside
  std::string grid;       ///< of the file; the only one if not given
  double none = 0, full = 1;
  bool empty() const { return attribute.empty() && volume.empty(); }
};

struct SurfaceFilter {
  FilterKind kind = FilterKind::mean;
  int width = 1;  ///< voxels to each side: mean, gaussian
  int iterations = 1;
  double distance = 1;          ///< voxels: dilate, erode
  bool spare_droplets = false;  ///< leaves what particles alone have drawn as it is; ellipsoids only
  bool never_raise = false;     ///< only adds to the inside, so that thin features survive
  FilterMask mask;
};

struct SurfaceSettings {
  SurfaceMethod method = SurfaceMethod::ellipsoids;
  double voxel_size = 0;      ///< metres; 0: half of the particle spacing
  double radius_scale = 1;    ///< factor on the radii of all particles, on top of the method's own
  double default_radius = 0;  ///< metres, for particles without; 0: from their spacing
  double search_radius = 0;   ///< in particle radii: ellipsoids, zhu_bridson, solenthaler; 0: the method's own
  double sphericity = 0.15;   ///< k_r: smallest stretch of an ellipsoid over its largest
  double normalisation = 0;   ///< 0: every ellipsoid keeps its volume; 1: all of them together; between: a blend
  double droplet_size = 1;    ///< radius of a particle alone over its given one
  double droplet_low = 4;     ///< up to so many neighbours a particle is alone …
  double droplet_high = 12;   ///< … from so many on it is not
  double smoothing = 0.4;     ///< of ellipsoid centres: 0 none, 1 to the mean of the neighbours
  int band = 3;               ///< half width of the level set in voxels
  std::optional<std::vector<SurfaceFilter>> filters;  ///< in order; a little mean_curvature if not given
  std::vector<std::string> attributes;                ///< carried to the surface besides `v`
};

/// How much larger than its own radius a method draws a particle, so that flat surfaces come out where they are:
/// ellipsoids are thin towards the outside, averages lie inside. Found on a plane of particles jittered like those of
/// a simulation; spheres are as small as they can be without holes below the surface.
constexpr double method_scale(SurfaceMethod method) {
  switch (method) {
    case SurfaceMethod::spheres:
      return 1.6;
    case SurfaceMethod::zhu_bridson:
    case SurfaceMethod::solenthaler:
      return 0.9;
    case SurfaceMethod::ellipsoids:
      return 2.05;
  }
  return 1;
}

}  // namespace aegir
