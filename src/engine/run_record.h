// run.json: what was run, by which program, where, and how it ended.
//
//   RunRecord record = RunRecord::load("runs/rain/run.json");
//   record.begin(options, setup, threads, ranks, from);
//   Status written = record.save();
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/input_record.h"
#include "engine/run_directory.h"
#include "pipeline/setup/setup.h"

namespace aegir {

struct RunOptions;

/// Something doubtful that a run has met; without a frame it was found in the setup.
struct RunWarning {
  std::optional<int> frame;
  std::string text;
};

/// One start of the program in a run directory.
struct RunSession {
  std::string version, compiler, host, system, cpu, simd;
  long process = 0;
  int threads = 1, ranks = 1;
  std::vector<std::string> command;
  std::string folder;  ///< where the program was started
  std::string started, ended;
  std::string from;               ///< moment it went on from; empty for a fresh start
  std::string outcome;            ///< "running", "finished", "stopped", or what failed
  double seconds = 0;             ///< from start to end; 0 while it runs
  std::uint64_t peak_memory = 0;  ///< greatest resident memory of all ranks at the end of a frame, in bytes
  std::vector<RunWarning> warnings;
  std::int64_t more_warnings = 0;  ///< that are not in the list, because it is long enough
};

struct RunRecord {
  std::string setup_file;
  std::string setup_hash;
  std::string setup_text;           ///< canonical YAML
  std::vector<InputRecord> inputs;  ///< what their files held when the newest session began
  int first_frame = 0, last_frame = 0;
  double fps = 24;
  std::vector<RunSession> sessions;  ///< newest last

  /// Reads a record; nothing where there is none or where it cannot be understood.
  static std::optional<RunRecord> load(const std::string& path);
  Status save(const std::string& path) const;
  /// Takes over the setup and opens a new session.
  void begin(const RunOptions& options, const Setup& setup, int threads, int ranks, const std::string& from);
  /// Closes the newest session.
  void end(const std::string& outcome, double seconds);
  /// Notes how much memory the newest session holds.
  void saw_memory(std::uint64_t bytes);
  /// Adds a warning to the newest session; nothing happens before there is one.
  void warn(std::optional<int> frame, const std::string& text);
};

}  // namespace aegir
