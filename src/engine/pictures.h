// Pictures of a run or of caches: one PNG per frame, a contact sheet and a movie.
//
//   Result<PictureReport> made = make_pictures({.sources = {"runs/rain"}, .output = "runs/rain/preview"}, [](int, int)
//   {});
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/picture_files.h"

namespace aegir {

/// Where pictures are taken from; what is not given is chosen so that everything is in the frame.
struct CameraChoice {
  std::optional<Vec3d> eye{}, target{};                  ///< metres
  std::optional<double> field_of_view{};                 ///< vertical, degrees
  std::optional<std::pair<double, double>> direction{};  ///< azimuth from +z towards +x, elevation; degrees
  std::string file{};                                    ///< glTF with a camera; "shot.glb" or "shot.glb:name"
};

/// A plane through a volume instead of a view.
struct SliceChoice {
  std::string volume{};  ///< empty: no slice
  int axis = 2;
  std::optional<double> at{};  ///< metres; empty: the middle
};

/// What to draw and where to put it.
struct PictureOptions {
  std::vector<std::string> sources;  ///< run directories, or caches and meshes
  std::string output;                ///< folder; empty: `preview` in the first run directory, or beside the first file
  int width = 1280, height = 720;
  std::optional<std::pair<int, int>> frames{};  ///< both included
  PictureLook look = PictureLook::automatic;
  std::string color{};  ///< attribute that colours; empty: speed
  double layer = 0;     ///< metres; particles in dyed layers by where they were born; 0: none
  CameraChoice camera{};
  SliceChoice slice{};
  bool movie = true;  ///< where there are several frames
};

struct PictureReport {
  std::string output;
  int pictures = 0;
  std::string sheet;   ///< path of the contact sheet
  std::string movie;   ///< path of the movie; empty: none
  std::string remark;  ///< why there is no movie
};

/// "1280x720".
Result<std::pair<int, int>> parse_size(const std::string& text);

/// "1,2.5,-3": as many numbers as asked for; `meaning` names them in the error.
Result<std::vector<double>> parse_numbers(const std::string& text, std::size_t count, const std::string& meaning);

/// A run directory and what stands under its picture.
struct ComparedRun {
  std::string directory;
  std::string caption;
};

/// Puts the last frame of every run that has caches on one sheet, all with the same camera and colours; returns how
/// many there are. Nothing is written where there are none.
Result<int> compare_runs(const std::vector<ComparedRun>& runs, const std::string& sheet);

/// Draws all Objects of a frame together, with one camera for all frames; calls progress(done, all).
Result<PictureReport> make_pictures(const PictureOptions& options, const std::function<void(int, int)>& progress);

/// Pictures of a run that is still going on: the newest frame as preview/latest.png, with one camera for all.
class LivePicture {
 public:
  /// The run's record (run.json) is written before the first picture.
  explicit LivePicture(std::string directory);
  ~LivePicture();
  /// Draws a frame whose caches are written; a frame without any is left out.
  Status draw(int frame);

 private:
  struct State;
  std::string directory_;
  std::unique_ptr<State> state_;
};

}  // namespace aegir
