// One volume of a VDB file by name, and its values anywhere in space: for sources (level sets), forces (vector fields)
// and masks.
//
//   auto shape = VolumeField::read("geo/blob.vdb", "surface");
//   if ((*shape)->value({0, 1, 0}) < 0) …                        // inside; metres to the surface
//   auto wind = VolumeField::read("geo/wind.0012.vdb", "vel", {.up = VolumeImport::z, .metres_per_unit = 0.01});
//   Vec3f there = (*wind)->vector({0, 1, 0});
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "base/vec.h"
#include "io/point_set.h"

namespace aegir {

/// How the file's space becomes ours: y up, metres.
struct VolumeImport {
  enum Up { y, z };
  Up up = y;                   ///< axis that points up in the file; z up turns (x,y,z) into (x,z,-y)
  double metres_per_unit = 1;  ///< length of one unit of the file; distances and velocities are scaled with it
};

/// Reads one volume as buckets, in the space of the file; names are looked up as VolumeField::read does.
///
/// What a level set encloses beyond its band is no bucket: VolumeField knows it.
Result<VolumeGrid> read_volume(const std::string& path, const std::string& name);

/// A volume that can be asked for its value at any world position, from any number of threads.
///
/// Values are interpolated linearly between samples, components of staggered vectors each from its own faces. Constant
/// regions are kept as such, also the inside of level sets; far outside is the background.
class VolumeField {
 public:
  /// Reads a volume of floats, doubles or vectors of them.
  ///
  /// A name that the file does not have is looked for under the other names of the same thing: `surface`, `phi`;
  /// `vel`, `velocity`, `v`; three scalar volumes `vel.x`, `vel.y`, `vel.z` make one vector. An empty name is the only
  /// volume of the file. A rotated or stretched volume is an error.
  static Result<std::shared_ptr<const VolumeField>> read(const std::string& path, const std::string& name,
                                                         const VolumeImport& import = {});
  /// A field of what is in memory; missing buckets of a level set are outside.
  static Result<std::shared_ptr<const VolumeField>> create(const VolumeGrid& grid);

  virtual ~VolumeField() = default;

  /// The name in the file; of three scalar volumes the part before the dot.
  const std::string& name() const { return name_; }
  bool is_vector() const { return vector_; }
  /// Whether values are distances: metres, negative inside.
  bool is_level_set() const { return level_set_; }
  double voxel_size() const { return voxel_size_; }
  /// Around all samples that are stored; outside it the value is the background. Empty for an empty volume.
  const Box& bounds() const { return bounds_; }

  /// The value of a scalar volume or level set at one place.
  float value(const Vec3d& world) const;
  /// The value of a vector volume at one place.
  Vec3f vector(const Vec3d& world) const;
  /// The same at many places; faster when neighbours in the list are neighbours in space.
  virtual void values(std::span<const Vec3d> world, std::span<float> out) const = 0;
  virtual void vectors(std::span<const Vec3d> world, std::span<Vec3f> out) const = 0;

 protected:
  std::string name_;
  bool vector_ = false, level_set_ = false;
  double voxel_size_ = 1;
  Box bounds_;
};

}  // namespace aegir
