// `aegir ax`: expressions over VDB files.
#pragma once

#include <string>
#include <vector>

#include "engine/ax_job.h"
#include "parallel/comm.h"
#include "run_display.h"

namespace CLI {
class App;
}

namespace aegir {

/// What the command line says about expressions; texts are understood by ax_command.
struct AxArguments {
  AxJob job;
  ProgressStyle style = ProgressStyle::automatic;
  int threads = 0;
  std::string snippet, file, frames;
  std::vector<std::string> sets;
};

/// Adds the command and its options.
void add_ax(CLI::App& app, AxArguments& arguments);

/// Runs the snippet; the exit code.
int ax_command(AxArguments& arguments, Comm& comm);

}  // namespace aegir
