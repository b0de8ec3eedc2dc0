// The particles of Objects as one set of points on rank 0.
//
//   PointSet points = gather_points({&water, &drops}, {"v", "pscale", "age"}, comm);
#pragma once

#include <string>
#include <vector>

#include "io/point_set.h"
#include "parallel/comm.h"

namespace aegir {

class Object;

/// World positions and channels, Object by Object, each in the order of the curve: the same for any number of ranks.
/// Channels that an Object does not have are zero, except where no Object has them. Nothing on other ranks. Collective.
PointSet gather_points(const std::vector<Object*>& objects, const std::vector<std::string>& channels, Comm& comm);

}  // namespace aegir
