// What stats.jsonl tells, as columns to plot.
//
//   const Result<RunStatistics> stats = read_run_statistics("runs/rain/stats.jsonl");
//   stats->objects[0].volume[i];   // cubic metres after line i
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/result.h"

namespace aegir {

/// One value per line of the statistics; NaN where a line does not tell.
using StatsColumn = std::vector<double>;

/// What is audited of an Object after every substep, in SI units.
struct ObjectColumns {
  std::string name;
  StatsColumn particles, mass, volume, volume_drift, kinetic_energy, potential_energy, max_speed;
  std::array<StatsColumn, 3> momentum;
  /// Mass in kg that each Behavior has put in or taken out up to the last line that tells of it.
  std::vector<std::pair<std::string, double>> added, removed;
};

/// The solves of one name; several in one substep are added up.
struct SolveColumns {
  std::string name;
  StatsColumn iterations, seconds;
};

/// What one task took over the whole run.
struct TaskTotal {
  std::string name;
  double seconds = 0, bytes = 0;
};

/// One frame and what it took.
struct FrameWork {
  int frame = 0;
  int substeps = 0;             ///< 0 for the first frame, which is the state at the start
  std::vector<double> seconds;  ///< by task, in the order of RunStatistics::tasks; may be shorter
};

struct RunStatistics {
  StatsColumn time, dt, memory;  ///< seconds, seconds, bytes
  std::vector<int> frame;
  std::vector<ObjectColumns> objects;  ///< in the order in which they appear
  std::vector<SolveColumns> solves;
  std::vector<TaskTotal> tasks;
  std::vector<FrameWork> frames;
  std::int64_t skipped = 0;        ///< damaged lines, and lines that go back in time
  std::int64_t first_skipped = 0;  ///< number of the first of them, from 1
  bool torn_end = false;           ///< the last line has no end: it was being written, and is not counted as damaged

  std::size_t lines() const { return time.size(); }
  /// Frames per second of simulated time, as the lines tell; `otherwise` where there are too few.
  double frame_rate(double otherwise) const;
};

/// Reads a file of statistics line by line; damaged lines are skipped and counted. An error where it cannot be read.
Result<RunStatistics> read_run_statistics(const std::string& path);

}  // namespace aegir
