// `aegir surface`: particles to level sets and meshes.
#pragma once

#include <string>
#include <vector>

#include "parallel/comm.h"
#include "run_display.h"
#include "surfacing/surface_job.h"

namespace CLI {
class App;
}

namespace aegir {

/// What the command line says about surfaces; texts are understood by surface_command.
struct SurfaceArguments {
  SurfaceJob job;
  ProgressStyle style = ProgressStyle::automatic;
  int threads = 0;
  std::string frames, voxel, radius, normalisation = "local", droplet_neighbours, shutter;
  std::vector<std::string> filters, attributes;
  bool no_volumes = false;
};

/// Adds the command and its options.
void add_surface(CLI::App& app, SurfaceArguments& arguments);

/// Makes the surfaces; the exit code.
int surface_command(SurfaceArguments& arguments, Comm& comm);

}  // namespace aegir
