// The layout of a run directory: frames, checkpoints, statistics, lock.
//
//   RunDirectory directory("runs/rain");
//   for (const FrameFile& f : directory.frames()) use(f.object, f.frame);
//   directory.checkpoint_path({1043, 0});   // runs/rain/checkpoints/1043
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace aegir {

/// A moment of a run: a complete frame and the substeps done after it.
struct RunMoment {
  int frame = 0;
  int substep = 0;
  auto operator<=>(const RunMoment&) const = default;
  /// "1043", or "1043.2" two substeps later; also the name of its checkpoint.
  std::string text() const;
  static std::optional<RunMoment> parse(std::string_view text);
};

/// A file of one frame that a run wrote.
struct FrameFile {
  std::string path;    ///< from the run directory: "bulk/water/water.points.1001.vdb"
  std::string object;  ///< "bulk/water"
  std::string kind;    ///< "points", "volumes" or "mesh"
  int frame = 0;
};

class RunDirectory {
 public:
  explicit RunDirectory(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  std::string run_file() const { return path_ + "/run.json"; }
  std::string stats_file() const { return path_ + "/stats.jsonl"; }
  std::string report_file() const { return path_ + "/report.html"; }
  std::string lock_file() const { return path_ + "/.lock"; }
  std::string ranks_file() const { return path_ + "/.aegir_ranks"; }  ///< there while several ranks are at work
  std::string checkpoint_path(const RunMoment& moment) const { return path_ + "/checkpoints/" + moment.text(); }

  /// Every frame file, by object, kind and frame; those of other runs in folders below are not ours.
  std::vector<FrameFile> frames() const;
  /// Names of checkpoints, oldest first; whether they are whole is not looked at.
  std::vector<RunMoment> checkpoints() const;
  /// An io error where checkpoints may be and cannot be listed.
  Status check_checkpoints() const;

  /// Makes the folder and the one for checkpoints; what stands in the way is a usage error, a full disk an io error.
  Status create() const;
  /// Removes temporary files and unfinished checkpoints that a killed run left, and nothing else: the folder may hold
  /// other people's files, and other runs.
  void remove_leftovers() const;
  /// Removes the frames after this one.
  void remove_frames_after(int frame) const;
  /// Removes a checkpoint; what is left of it when that is interrupted is no checkpoint.
  void remove_checkpoint(const RunMoment& moment) const;
  /// Keeps a checkpoint that cannot be read under another name (`<name>.damaged`), which is returned.
  Result<std::string> set_aside(const RunMoment& moment) const;

 private:
  std::string path_;
};

}  // namespace aegir
