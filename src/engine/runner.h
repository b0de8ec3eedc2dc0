// One call of run(), taken apart. Internal to the engine.
//
//   Runner runner(options, catalog, comm, control, observer);
//   Result<RunSummary> summary = runner.go();
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "engine/pictures.h"
#include "engine/rank_watch.h"
#include "engine/run.h"
#include "engine/run_lock.h"
#include "engine/run_record.h"
#include "engine/stats.h"

namespace aegir {

class Runner {
 public:
  Runner(const RunOptions& options, const Catalog& catalog, Comm& comm, RunControl& control, RunObserver& observer);
  Result<RunSummary> go();

 private:
  /// What is to be done between two substeps, agreed by all ranks.
  enum Request : std::int64_t { none = 0, checkpoint_now = 1, stop = 1000 };

  /// A checkpoint that could not be read, and why.
  struct DamagedCheckpoint {
    RunMoment moment;
    std::string reason;
  };

  // runner.cpp: building, the loop, checkpoints
  Status run_all();
  Status build();
  Status forecast();
  Status loop();
  Status make_first_frame();
  bool interrupted(const Status& outcome);
  Status advance();
  Status take_report(Result<StepReport> report);
  void tell_frame(const StepReport& report);
  RankReport rank_report();
  void start_watch();
  void draw_frame(int frame);
  void choose_outputs(int frame);
  std::int64_t poll();
  bool checkpoint_due() const;
  Status checkpoint();
  Status still_ours();
  void drop_partial_frame(int frame);
  void warn(std::optional<int> frame, const std::string& text);
  Status make_report();
  void close(const Status& outcome);
  Status together(const Status& mine) { return agreed(mine, comm_.agree(mine)); }
  static Status agreed(const Status& mine, const Status& all) { return all ? Status() : mine ? all : mine; }
  Status guarded(FunctionRef<Status()> body);
  bool root() const { return comm_.root(); }
  int threads() const;
  std::uint64_t sum_on_host(std::uint64_t mine) const;

  // runner_resume.cpp: the directory before the first step
  Status open_directory();
  Status take_directory();
  Status restore();
  Status restore_from(const RunMoment& moment, bool& restored);
  std::vector<RunMoment> candidates() const;
  Status set_damaged_aside();
  Error none_readable() const;
  void clear_after(const RunMoment& from);
  Status open_records();

  const RunOptions& options_;
  const Catalog& catalog_;
  MonitoredComm monitored_;
  MonitoredComm& comm_ = monitored_;
  RunControl& control_;
  RunObserver& observer_;
  Profile profile_;
  std::string hash_;
  std::unique_ptr<Simulation> simulation_;
  RunDirectory directory_;
  Interval every_;
  std::unique_ptr<RunLock> lock_;            // root only
  std::unique_ptr<RankWatch> watch_;         // where there are several ranks
  std::map<const Object*, Partition> cuts_;  // of the shares of ranks, at the end of the last substep
  CommTraffic traffic_before_;               // up to the end of the last substep
  RunRecord record_;                         // root only
  bool record_changed_ = false;              // since it was saved
  std::vector<RunWarning> early_warnings_;   // root only: from before there was a record
  std::vector<InputRecord> inputs_;          // root only: their files as they are now
  std::unique_ptr<StatsFile> stats_;         // root only
  std::unique_ptr<LivePicture> picture_;     // root only, where it is asked for
  std::set<std::string> files_before_;       // frame files that were there when the run began
  std::set<std::string> warned_;
  std::vector<DamagedCheckpoint> damaged_;
  bool resumed_ = false;
  bool recorded_ = false;
  RunMoment moment_;                          // the state as it is now
  std::optional<RunMoment> last_checkpoint_;  // newest of this state's history
  Stopwatch since_start_, since_checkpoint_, since_step_;
  double frame_started_ = 0;
  int frame_substeps_ = 0, frame_iterations_ = 0;
  std::vector<double> frame_seconds_;  // of the newest frames, for the forecast of the end
  RunSummary summary_;
};

}  // namespace aegir
