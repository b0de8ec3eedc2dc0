// What a run holds, as files that any program reads: points and colliders as PLY, and a list of them.
//
//   Result<ExportReport> made = export_run({.run = "runs/splash", .frames = {{1040, 1040}}}, [](int, int) {});
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"

namespace aegir {

struct ExportOptions {
  std::string run;                            ///< its directory
  std::string output;                         ///< folder; empty: `export` in the run
  std::optional<std::pair<int, int>> frames;  ///< both included; all if not given
};

struct ExportReport {
  std::string output;
  int files = 0;   ///< written now
  int frames = 0;  ///< looked at
};

/// Writes NAME.points.FRAME.ply (x y z vx vy vz radius and other numbers) for every cache of points,
/// NAME.collider.FRAME.ply for every collider that has an end, and scene.json: frames, rate, names, and where the run's
/// own meshes and volumes are, and that sand is to look `matte`. Files that are there and
/// newer than the run's are kept. Calls progress(done, all).
Result<ExportReport> export_run(const ExportOptions& options, const std::function<void(int, int)>& progress);

}  // namespace aegir
