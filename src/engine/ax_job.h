// A snippet over VDB files, frame by frame: what `aegir ax` does.
//
//   AxJob job;
//   job.inputs = {"sim/water.points.$F4.vdb"}, job.output = "cooled";
//   job.work.source = {"f@heat *= 0.9f;", {}, {"-s", 1, 1}};
//   Result<AxJobReport> done = run_ax_job(job, *comm, [](const AxFile& f) { … });
//
// Frames go around the ranks; every file is there whole or not at all.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/ax_file.h"
#include "parallel/comm.h"

namespace aegir {

struct AxJob {
  std::vector<std::string> inputs;  ///< files and frame patterns
  std::string output;               ///< folder, or a file or frame pattern that ends with .vdb
  std::optional<std::pair<int, int>> frames;
  double fps = 24;
  bool resume = false;  ///< leaves files out that this job has written before
  AxWork work;          ///< $frame, $time and $dt are added to its variables
};

/// A file that is done.
struct AxFile {
  int frame = 0;
  int index = 0, count = 0;  ///< of all files of the job, from 1
  std::string input, output;
  bool skipped = false;  ///< it was there already
  AxOutcome outcome;
  double read = 0, run = 0, write = 0;  ///< seconds
};

struct AxJobReport {
  int files = 0;
  bool stopped = false;      ///< by AxWork::stop
  std::vector<AxFile> made;  ///< of all ranks on rank 0, in order; of its own elsewhere
};

/// Collective; `made` is called for every file of this rank. The first failure ends the job on its rank; others finish
/// their files.
Result<AxJobReport> run_ax_job(const AxJob& job, Comm& comm, const std::function<void(const AxFile&)>& made);

}  // namespace aegir
