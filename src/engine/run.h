// Running a setup into a directory: checks, lock, resume, frames, statistics, checkpoints, stop.
//
//   RunControl control;                       // a signal handler writes to it
//   RunOptions options{.setup = "rain.yaml", .output = "runs/rain"};
//   Result<RunSummary> summary = run(options, make_catalog(), *make_comm(), control, observer);
//
// Everything here is collective: all ranks call run() with the same options. Only rank 0 talks to the observer.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/plugins.h"
#include "engine/rank_watch.h"
#include "engine/run_directory.h"
#include "parallel/comm.h"
#include "pipeline/schedule/simulation.h"

namespace aegir {

/// Where a run starts from.
struct ResumeChoice {
  enum Kind { none, latest, frame };
  Kind kind = none;
  int at = 0;  ///< for `frame`
};

/// What the user asks for.
struct RunOptions {
  std::string setup;                          ///< path of the setup file
  std::string output;                         ///< run directory; empty: default_output()
  std::optional<std::pair<int, int>> frames;  ///< first written and last frame, both included
  std::vector<std::string> sets;              ///< "path=value"
  int threads = 0;                            ///< 0: what the process may use
  ResumeChoice resume;
  std::optional<Interval> checkpoint_every;  ///< instead of the timeline's
  bool no_output = false;                    ///< simulates only; writes nothing at all
  bool split = false;                        ///< caches of points and volumes in one piece per rank
  bool preview = false;                      ///< draws every frame that is written: preview/latest.png
  double patience = 60;                      ///< seconds that ranks wait for one of them before it is named
  std::uint64_t memory_limit = 0;            ///< bytes for all ranks of a machine; 0: what it has left
  std::vector<std::string> command;          ///< for the record
  std::vector<PluginRecord> plugins;         ///< that the catalog's types come from, for the record
};

/// "runs/<name of the setup file>".
std::string default_output(const std::string& setup);

/// "1001:1120", both included.
Result<std::pair<int, int>> parse_frames(const std::string& text);

/// "10" (frames), "10 min" (time).
Result<Interval> parse_interval(const std::string& text);

/// What a signal handler or another thread asks of a run; looked at between substeps.
struct RunControl {
  std::atomic<int> stop{0};             ///< a signal number: finish the substep, write a checkpoint, end
  std::atomic<bool> checkpoint{false};  ///< write a checkpoint and go on
};

/// Who runs what.
struct RunHeader {
  std::string version, setup, hash, host, simd;
  int threads = 1, ranks = 1;
};

/// What was found in a setup.
struct CheckReport {
  int inputs = 0, groups = 0, behaviors = 0, objects = 0, outputs = 0;
  std::vector<BehaviorSummary> off;  ///< Behaviors that take no part
  Messages messages;
};

/// What a run will take, as far as that is known before the first step.
struct Forecast {
  std::uint64_t memory_needed = 0;     ///< by all ranks on the machine of rank 0
  std::uint64_t memory_available = 0;  ///< on that machine
  std::uint64_t disk_free = 0;
};

/// Where a resumed run goes on.
struct ResumeReport {
  RunMoment from;
  std::string host;                  ///< that wrote the checkpoint
  std::string last;                  ///< the moment the earlier run had reached, as far as statistics tell
  std::optional<int> first_kept;     ///< first frame that stays, if frames are there
  std::vector<std::string> changes;  ///< of the setup since then
  bool later_removed = false;        ///< frames and checkpoints after `from` were removed
};

/// A frame that is done.
struct FrameReport {
  int frame = 0, first = 0, last = 0;
  int substeps = 0;
  std::vector<std::pair<std::string, ObjectAudit>> objects;
  double max_speed = 0;
  int iterations = 0;  ///< of all solves
  double seconds = 0;
  std::uint64_t memory = 0;  ///< resident, of all ranks
  double eta = 0;            ///< seconds to the end of the run
  bool written = true;
};

/// How far the frame in work is.
struct FrameProgress {
  int frame = 0, first = 0, last = 0;
  int substep = 0;
  double fraction = 0;  ///< of the frame
  double eta = 0;
};

/// How a run ended.
struct RunSummary {
  std::string output;  ///< empty when nothing was written
  int frames = 0;      ///< done by this call
  int last_frame = 0;
  double seconds = 0;
  int stopped_by = 0;                   ///< signal number, 0 when the run is finished
  std::optional<RunMoment> checkpoint;  ///< the newest
  std::vector<std::pair<std::string, ObjectAudit>> objects;
};

/// What a run tells while it goes on; every call but rank_news() comes from the thread that called run(), on rank 0.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  virtual void header(const RunHeader&) {}
  /// After reading and building, also when that failed: errors and warnings are in the messages.
  virtual void checked(const CheckReport&) {}
  virtual void forecast(const Forecast&) {}
  virtual void resuming(const ResumeReport&) {}
  virtual void progress(const FrameProgress&) {}
  virtual void frame(const FrameReport&) {}
  virtual void warning(int /*frame*/, const std::string& /*text*/) {}
  virtual void checkpoint(const RunMoment&) {}
  virtual void done(const RunSummary&) {}
  /// The whole job is about to be ended because this rank cannot go on; on any rank.
  virtual void fatal(const Error&) {}
  /// A rank has died or is late; on any rank, from a thread of its own.
  virtual void rank_news(const RankNews&) {}
};

/// Runs a setup to its end, or until it is stopped. The directory stays usable whatever happens.
Result<RunSummary> run(const RunOptions& options, const Catalog& catalog, Comm& comm, RunControl& control,
                       RunObserver& observer);

/// Reads and builds a setup without running it; errors and warnings are in the report's messages. Writes nothing.
CheckReport check(const std::string& setup, const std::vector<std::string>& sets, const Catalog& catalog, Comm& comm);

}  // namespace aegir
