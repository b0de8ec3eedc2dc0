// stats.jsonl: one line of JSON per substep, for plots and tests.
//
//   Result<StatsFile> stats = StatsFile::open("runs/rain/stats.jsonl", moment);   // lines after the moment are cut off
//   Status written = stats->append(report);
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "engine/run_directory.h"
#include "pipeline/schedule/simulation.h"

namespace aegir {

/// The line of a substep, with the line end; numbers keep all their bits.
std::string stats_line(const StepReport& report);

/// The moment after the substep that a line of statistics tells of has run, as far as frame and substep say; nothing
/// for a torn line.
struct StatsPlace {
  int frame = 0;    ///< that the substep belongs to
  int substep = 0;  ///< from 0 inside the frame
};
std::optional<StatsPlace> stats_place(const std::string& line);

class StatsFile {
 public:
  /// Begins a new file with the lines of the old one up to `keep`; without it nothing is kept. Whoever still has the
  /// old one open (a run that slept while another took its directory over) writes into that, not between our lines.
  static Result<StatsFile> open(const std::string& path, const std::optional<RunMoment>& keep);
  StatsFile(StatsFile&& other) noexcept;
  StatsFile& operator=(StatsFile&&) = delete;
  ~StatsFile();

  /// Adds a whole line or, on failure, nothing.
  Status append(const StepReport& report);
  /// Brings everything to the disk.
  Status sync();

 private:
  StatsFile(std::string path, int descriptor, std::uint64_t size);

  std::string path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace aegir
