// run.json: what was run, by which program, where, and how it ended.
//
//   RunRecord record = RunRecord::load("runs/rain/run.json");
//   record.begin(options, setup, threads, ranks, from);
//   Status written = record.save();
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/input_record.h"
#include "engine/run_directory.h"
#include "pipeline/setup/setup.h"

namespace aegir {

struct RunOptions;

/// One start of the program in a run directory.
struct RunSession {
  std::string version, compiler, host, system, cpu, simd;
  long process = 0;
  int threads = 1, ranks = 1;
  std::vector<std::string> command;
  std::string folder;  ///< where the program was started
  std::string started, ended;
  std::string from;     ///< moment it went on from; empty for a fresh start
  std::string outcome;  ///< "running", "finished", "stopped", or what failed
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
  void end(const std::string& outcome);
};

}  // namespace aegir
