// The scene of the surfacing and preview benchmarks.
//
//   const PointSet& points = splash(bench.exec);
#pragma once

#include "domain/exec.h"
#include "io/point_set.h"

namespace aegir::bench {

/// A dam break of a million particles in a box of 2×1×1 m when it has hit the far wall; simulated once per program.
const PointSet& splash(Exec& exec);

}  // namespace aegir::bench
