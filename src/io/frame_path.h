// Names of files per frame: patterns of inputs, and the layout of a run directory.
//
//   FramePattern pattern("geo/statue.$F4.ply");
//   pattern.path(12);                                             // geo/statue.0012.ply
//   cache_path("sim/v012", "water", CacheKind::points, -12);      // sim/v012/water/water.points.-0012.vdb
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace aegir {

/// Digits of a frame with at least `digits` places: 7 → 0007, -12 → -0012.
std::string frame_text(int frame, int digits = 4);

/// A path with `$F`, `$F4`, `%d`, `%04d`, `####` or `{frame}` in its file name; a path without one is the same for all
/// frames.
class FramePattern {
 public:
  explicit FramePattern(std::string_view path);
  /// Whether the path depends on the frame.
  bool animated() const { return digits_ > 0; }
  /// The path of a frame.
  std::string path(int frame) const;
  /// The frame of a file name (without folder) that this pattern could have made.
  std::optional<int> frame_of(std::string_view file_name) const;
  /// Frames that exist on disk, ascending; an error when the folder cannot be read.
  Result<std::vector<int>> existing() const;
  /// Folder part, "." when there is none.
  std::string folder() const;

 private:
  std::string before_, after_;  // around the frame; the folder belongs to before_
  int digits_ = 0;
};

enum class CacheKind { points, volumes, mesh };

/// "points", "volumes" or "mesh".
std::string_view cache_kind_name(CacheKind kind);

/// `<out>/<object>/<name>.<kind>.<frame>.vdb|ply`; the name is the object's last part, so "bulk/water" →
/// bulk/water/water.points…
std::string cache_path(const std::string& out, const std::string& object, CacheKind kind, int frame);

/// The frames of an object and kind that exist in a run directory, ascending; none when its folder does not exist.
Result<std::vector<int>> existing_frames(const std::string& out, const std::string& object, CacheKind kind);

}  // namespace aegir
