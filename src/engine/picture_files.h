// Finding and reading what pictures show: caches of a run, or files of any program.
//
//   Result<PictureSequence> sequence = find_picture_files({"runs/rain"}, {});
//   for (const auto& [frame, files] : *sequence) Result<ShownScene> scene = read_picture_frame(files, choice);
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "preview/ray_picture.h"

namespace aegir {

/// How things are drawn; automatic: surfaces as water where there are any, otherwise particles.
enum class PictureLook { automatic, water, matte, particles };

/// One file that a picture may show.
struct PictureFile {
  enum Kind { points, volumes, mesh };
  std::string path;
  Kind kind = points;
  std::string object;  ///< whose it is in a run; empty for a file given by itself
};

using PictureSequence = std::map<int, std::vector<PictureFile>>;  // by frame

/// All caches of run directories, and single files, by frame; a file without a number in its name counts up.
Result<PictureSequence> find_picture_files(const std::vector<std::string>& sources,
                                           const std::optional<std::pair<int, int>>& frames);

/// What is drawn of the files.
struct PictureChoice {
  PictureLook look = PictureLook::automatic;
  std::string color;                ///< attribute that colours particles and matte surfaces; empty: speed
  std::set<std::string> simulated;  ///< Objects of the run, whose volumes are no surfaces unless they are asked for
  std::set<std::string> covered;    ///< Objects whose particles are under a surface
  std::set<std::string> matte;      ///< Objects and surfaces that are sand: grains, unless a colour is asked for
  double layer = 0;                 ///< metres; grains in dyed layers of this thickness, by `rest`; 0: one kind of sand
};

/// Settles an automatic look by what is there; afterwards it is never automatic.
Result<PictureLook> settled_look(const PictureSequence& sequence, const PictureChoice& choice);

/// Whether layers can be drawn where they are asked for: something in the first frame that shows anything has `rest`.
Status check_layers(const PictureSequence& sequence, const PictureChoice& choice);

/// Reads one frame. The choice's look is settled.
Result<ShownScene> read_picture_frame(const std::vector<PictureFile>& files, const PictureChoice& choice);

}  // namespace aegir
