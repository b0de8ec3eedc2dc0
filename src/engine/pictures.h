// Pictures of a run or of point caches: one PNG per frame and a contact sheet.
//
//   Result<PictureReport> made = make_pictures({.sources = {"runs/rain"}, .output = "runs/rain/preview"}, [](int, int)
//   {});
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace aegir {

/// What to draw and where to put it.
struct PictureOptions {
  std::vector<std::string> sources;  ///< run directories or point caches
  std::string output;                ///< folder; empty: `preview` in the first run directory, or beside the first file
  int width = 1280, height = 720;
  std::optional<std::pair<int, int>> frames;  ///< both included
};

struct PictureReport {
  std::string output;
  int pictures = 0;
  std::string sheet;  ///< path of the contact sheet
};

/// "1280x720".
Result<std::pair<int, int>> parse_size(const std::string& text);

/// A run directory and what stands under its picture.
struct ComparedRun {
  std::string directory;
  std::string caption;
};

/// Puts the last frame of every run that has point caches on one sheet, all with the same camera and colours; returns
/// how many there are. Nothing is written where there are none.
Result<int> compare_runs(const std::vector<ComparedRun>& runs, const std::string& sheet);

/// Draws all Objects of a frame together, coloured by speed, with one camera for all frames; calls progress(done, all).
Result<PictureReport> make_pictures(const PictureOptions& options, const std::function<void(int, int)>& progress);

}  // namespace aegir
