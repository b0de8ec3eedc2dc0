// Where liquid is put or taken away, as users write it: a shape, the closed mesh of an input, or a level set of an
// OpenVDB file; and what else sources read from such files.
//
//   - source: blob
//     level_set: {file: geo/blob.vdb, volume: surface}
//     velocity_field: {file: geo/blob.vdb, volume: vel}
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "io/point_set.h"
#include "io/vdb_volumes.h"
#include "phenomena/common/region.h"
#include "phenomena/common/shape_settings.h"
#include "pipeline/model/behavior.h"
#include "pipeline/schema/schema.h"
#include "pipeline/schema/types.h"

namespace aegir {

/// One volume of an OpenVDB file.
struct VolumeReference {
  FilePath file;
  std::string volume;  ///< empty: the only one
};
void describe(Schema<VolumeReference>& s);

/// The points of an OpenVDB file.
struct PointsReference {
  FilePath file;
};
void describe(Schema<PointsReference>& s);

/// A part of space; one of its members is given.
struct RegionSettings {
  Located<std::string> input;
  std::optional<ShapeSettings> shape;
  std::optional<VolumeReference> level_set;

  /// How many members are given.
  int given() const { return (input.value.empty() ? 0 : 1) + (shape ? 1 : 0) + (level_set ? 1 : 0); }
  /// What is wrong with the shape, if anything.
  std::string trouble() const;
};

/// The three fields of a RegionSettings inside other settings.
template <class Settings>
void describe_region(Schema<Settings>& s) {
  s.field("input", &Settings::input).doc("Name of the input whose closed mesh is the region.");
  s.field("shape", &Settings::shape).doc("A shape instead of a mesh.");
  s.field("level_set", &Settings::level_set)
      .doc("A level set of an OpenVDB file instead of a mesh: where it is negative.");
}

/// Reads what settings name; a mistake is told at its place.
Result<Region> load_region(Builder& build, const RegionSettings& settings);

/// A volume of vectors.
Result<std::shared_ptr<const VolumeField>> load_vectors(Builder& build, const VolumeReference& reference);

/// All points of a file, in metres with y up; `v` and `pscale` too.
Result<std::shared_ptr<const PointSet>> load_points(Builder& build, const PointsReference& reference);

}  // namespace aegir
