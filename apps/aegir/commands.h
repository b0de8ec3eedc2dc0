// The commands of the program; each returns its exit code.
//
//   aegir run rain.yaml -o runs/rain   →   run_command(options, catalog, style, comm)
#pragma once

#include <string>
#include <vector>

#include "engine/export.h"
#include "engine/run.h"
#include "parallel/comm.h"
#include "run_display.h"

namespace aegir {

/// Runs a setup, with signals.
int run_command(const RunOptions& options, const Catalog& catalog, ProgressStyle style, Comm& comm);
/// Runs a setup with every combination of the values in `options.sets`.
int wedge_command(const RunOptions& options, const Catalog& catalog, ProgressStyle style, Comm& comm);
/// Says what is wrong or doubtful in a setup.
int check_command(const std::string& setup, const std::vector<std::string>& sets, const Catalog& catalog, Comm& comm);
/// Prints the timeline of a setup.
int explain_command(const std::string& setup, const std::vector<std::string>& sets, const Catalog& catalog, Comm& comm);

/// What `describe` is asked for; nothing set: the list of types.
struct DescribeChoice {
  std::string type;
  bool json = false, schema = false;
  std::string pages;        ///< folder to write the reference into
  std::string check_pages;  ///< folder to compare with the reference
};
/// Describes types, or writes and compares the reference.
int describe_command(const DescribeChoice& choice, const Catalog& catalog);
/// Describes files and folders, or prints their hashes.
int info_command(const std::vector<std::string>& paths, bool hash);
/// Writes a run for other programs.
int export_command(const ExportOptions& options);

}  // namespace aegir
