// A movie of numbered pictures, where the program ffmpeg is there to make one.
//
//   Result<MovieReport> movie = make_movie(paths, 24, "runs/rain/preview/preview.mp4");
//   if (movie && !movie->made) tell(movie->why_not);
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace aegir {

struct MovieReport {
  bool made = false;
  std::string why_not;  ///< a sentence for the user
};

/// Joins pictures of equal size; the movie is there whole or not at all. Without ffmpeg nothing is made and no error.
Result<MovieReport> make_movie(const std::vector<std::string>& pictures, double fps, const std::string& path);

}  // namespace aegir
