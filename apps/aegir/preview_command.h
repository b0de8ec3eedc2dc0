// `aegir preview`: pictures of a run or of files.
//
//   aegir preview runs/rain --look water   →   preview_command({.sources = {"runs/rain"}, .look = …})
#pragma once

#include <string>

#include "base/result.h"
#include "engine/pictures.h"

namespace CLI {
class App;
}

namespace aegir {

/// What the command line says; `options` is complete after understand_preview.
struct PreviewArguments {
  PictureOptions options;
  std::string frames, size = "1280x720", eye, target, from, slice_at, axis = "z";
  double field_of_view = 0;
  bool no_movie = false;
};

/// Adds the command and its options.
void add_preview(CLI::App& app, PreviewArguments& arguments);

/// Makes the pictures and says where they are; the exit code.
int preview_command(PreviewArguments& arguments);

}  // namespace aegir
