// The report of a run: report.html beside its caches, made from run.json, stats.jsonl and the pictures that are there.
//
//   Result<RunReport> report = write_run_report("runs/rain");   // runs/rain/report.html
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace aegir {

/// What a report was made of.
struct RunReport {
  std::string file;
  int frames = 0;
  std::int64_t substeps = 0;
  int plots = 0, pictures = 0;
  std::vector<std::string> remarks;  ///< what is missing or damaged
};

/// Writes the report of a run directory, whole or not at all, into `file` (empty: report.html in the directory). A run
/// that has not come far, or part of whose files are damaged, gets a report that says so; a folder that is no run
/// directory is a usage error.
Result<RunReport> write_run_report(const std::string& directory, const std::string& file = {});

}  // namespace aegir
