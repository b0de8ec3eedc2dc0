// The particles of Objects as one set of points.
//
//   ObjectPoints input = points_of({&water, &drops}, {"v", "pscale", "age"});
#pragma once

#include <string>
#include <vector>

#include "io/point_set.h"

namespace aegir {

class Object;

struct ObjectPoints {
  PointSet points;
  std::vector<std::size_t> ends;  ///< where each Object's end
};

/// World positions and channels of this rank's particles, Object by Object, each in the order of the curve. Channels
/// that an Object does not have are zero, except where no Object has them.
ObjectPoints points_of(const std::vector<Object*>& objects, const std::vector<std::string>& channels);

}  // namespace aegir
