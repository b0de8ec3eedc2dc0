// Points from files of any program: OpenVDB points or the vertices of a PLY file.
//
//   Result<PointSet> points = read_point_file("splash.0012.ply");
//   Result<std::vector<PointSequence>> inputs = find_point_files({"sim/water.points.$F4.vdb", "spray.0001.ply"});
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "io/point_set.h"

namespace aegir {

/// Points with `v`, `pscale`, `id` and whatever else is there. In PLY files `vx vy vz` make `v`, `radius` is another
/// name of `pscale`, `red green blue` make `Cd`; positions that are not finite are kept.
Result<PointSet> read_point_file(const std::string& path);

/// Appends points of another file; attributes that only one of them has are zero in the other, and those whose types
/// differ are left out.
void append_points(PointSet& points, const PointSet& more);

/// The files of one sequence, by frame.
struct PointSequence {
  std::string name;  ///< of the files, without frame
  std::map<int, std::string> files;
};

/// Files and frame patterns to sequences: files whose names differ only in the number before the extension belong
/// together, files without one are frame 0 … of their own. Fails where a file or every file of a pattern is missing.
Result<std::vector<PointSequence>> find_point_files(const std::vector<std::string>& inputs);

}  // namespace aegir
