// What particles carry, on the surface: level set, velocity and attributes as volumes, and per vertex of a mesh.
//
//   std::vector<VolumeGrid> grids{level_set_of(grid), *attribute_volume(grid, points, "v", "vel")};
//   std::vector<float> age = attribute_at_vertices(mesh, *points.find("age"), 0);
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "io/point_set.h"
#include "surfacing/band_grid.h"
#include "surfacing/surface_mesh.h"

namespace aegir {

/// Distances in metres under the name `surface`; voxels inside the band are active.
VolumeGrid level_set_of(const BandGrid& grid);

/// An attribute of the particle that is nearest to each voxel of the band, in its deformed space; numbers or vectors.
Result<VolumeGrid> attribute_volume(const BandGrid& grid, const PointSet& points, const std::string& attribute,
                                    const std::string& name);

/// One component of an attribute per vertex; 0 where no particle is known.
std::vector<float> attribute_at_vertices(const SurfaceMesh& mesh, const PointAttribute& attribute, int component);

/// A component of an attribute's value as a number.
double component_of(const PointAttribute& attribute, std::size_t index, int component);

/// A number as it is, the length of a vector.
double magnitude_of(const PointAttribute& attribute, std::size_t index);

/// "there is no attribute 'agee'; did you mean 'age'?"
Error missing_attribute(const PointSet& points, const std::string& name);

}  // namespace aegir
