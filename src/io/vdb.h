// Point and volume caches as OpenVDB files that other programs read.
//
//   Status written = write_points("water/water.points.1001.vdb", points, 0.015, {{"frame", "1001"}});
//   Result<PointSet> back = read_points("water/water.points.1001.vdb");
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "io/point_set.h"

namespace aegir {

/// How a VDB file is stored; the defaults keep every bit of a float.
struct VdbOptions {
  enum Compression { blosc, zip, none };
  enum Naming { houdini, blender };
  enum PositionCodec { full, fixed16, fixed8 };

  bool half = false;                ///< floats and vectors with 16 bits per number; positions, ids and doubles are kept
  Compression compression = blosc;  ///< of values; none is the fastest to write
  Naming naming = houdini;          ///< blender renames volumes: surface → phi, vel → velocity
  bool fill_inside = true;          ///< what level sets enclose is inside; false: missing buckets are all outside
  PositionCodec position = full;    ///< fixed16 and fixed8 store a position to 1/65536 or 1/256 of a voxel
};

/// Text stored with a file.
using Metadata = std::map<std::string, std::string>;

/// Writes one OpenVDB points grid called `points`, whole or not at all; voxel (i,j,k) covers [i,i+1]·voxel_size.
Status write_points(const std::string& path, const PointSet& points, double voxel_size, const Metadata& metadata = {},
                    const VdbOptions& options = {});

/// Reads all points grids of any VDB file, in the order of the file.
///
/// Groups, strings, matrices and arrays per point are left out; small integers become int32, other vectors vec3f.
Result<PointSet> read_points(const std::string& path);

/// Writes volumes, whole or not at all, with class and transform set.
Status write_volumes(const std::string& path, const std::vector<VolumeGrid>& volumes, const Metadata& metadata = {},
                     const VdbOptions& options = {});

/// Reads every grid of floats, doubles or vectors of them in a VDB file.
///
/// Active tiles become buckets, inactive tiles are lost. Names are those of the file. A rotated or stretched grid is an
/// error.
Result<std::vector<VolumeGrid>> read_volumes(const std::string& path);

}  // namespace aegir
